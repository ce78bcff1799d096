//! The original question over gRPC: one service, the servers that were compared then, ours, and a handler that does
//! nothing, which shows what gRPC itself costs. All servers run all the time and take turns.
//!
//! The original kept nothing on disk: what is compared with it is ours with `durability = "none"`. Ours with `sync`
//! stands beside it.

use std::time::Duration;

use bench_sampler::Sampler;
use tokio::runtime::Runtime;
use tonic::transport::Channel;

use crate::{
    live::{Moving, Pipeline, Pipelined, Transactions, UpdateWheres},
    load::{Run, Worker, channels, endpoint, run, runtime},
    original::{AsItWas, Cycles, Deletes, Searches, VALUES, lost, random, survives_bad_index},
    peers::{self, Peer},
};

const CLIENTS: [usize; 5] = [1, 5, 10, 15, 20];
const ROUNDS: usize = 3;
const SECOND: Duration = Duration::from_secs(1);
/// Values that all clients fight for.
const HOT: i32 = 100;

const SEARCH: &str = "search over gRPC";
const CYCLE: &str = "search and update over gRPC";

pub fn measure(sampler: &mut Sampler) {
    let folder = tempfile::tempdir().expect("a folder");
    let filled = peers::filled(folder.path());
    let ours = |name, durability| peers::sakuin(folder.path(), &filled, name, durability);
    let mut stage = Stage {
        originals: peers::originals(),
        empty: peers::empty(),
        none: ours("sakuin", "none"),
        interval: ours("sakuin, interval", "interval"),
        sync: ours("sakuin, sync", "sync"),
        runtime: runtime(),
        sampler,
    };
    stage.searches();
    stage.cycles();
    stage.as_it_was();
    stage.transactions();
    stage.pipelines();
    stage.losses();
    stage.deletes();
    stage.bad_indexes();
}

struct Stage<'s> {
    originals: Vec<Peer>,
    empty: Peer,
    none: Peer,
    interval: Peer,
    sync: Peer,
    runtime: Runtime,
    sampler: &'s mut Sampler,
}

impl Stage<'_> {
    fn searches(&mut self) {
        let mut peers: Vec<&Peer> = vec![&self.none, &self.empty];
        peers.extend(&self.originals);
        let runs = self.curves(&peers, |channel, seed| Searches::new(channel, seed));
        self.note_curves(SEARCH, runs);
    }

    fn cycles(&mut self) {
        let mut peers: Vec<&Peer> = vec![&self.none, &self.interval, &self.sync, &self.empty];
        peers.extend(&self.originals);
        let runs = self.curves(&peers, |channel, seed| Cycles::new(channel, seed, VALUES));
        self.note_curves(CYCLE, runs);
    }

    /// A channel for each turn, and queries of which nine in ten find nothing.
    fn as_it_was(&mut self) {
        for (row, updates) in [
            ("the original's own run, search, 20 clients", false),
            ("the original's own run, search and update, 20 clients", true),
        ] {
            let mut peers: Vec<&Peer> = vec![&self.none, &self.empty];
            peers.extend(&self.originals);
            let runs = self.turns(&peers, |peer, round| {
                let worker =
                    |client| AsItWas::new(endpoint(peer.port), seed(round, client), updates);
                self.once(peer, (0..20).map(worker).collect())
            });
            self.note(row, &runs);
            self.targets(row, &runs);
        }
    }

    fn ours(&self) -> [&Peer; 3] {
        [&self.none, &self.interval, &self.sync]
    }

    /// What the original's two calls should have been.
    fn transactions(&mut self) {
        let runs = self.turns(&self.ours(), |peer, round| {
            let channels = channels(&self.runtime, peer.port, 20);
            let worker = |(client, channel): (usize, Channel)| {
                Transactions::new(channel, seed(round, client), VALUES.into())
            };
            self.once(peer, channels.into_iter().enumerate().map(worker).collect())
        });
        self.note("search and update in a transaction, 20 clients", &runs);
        let runs = self.turns(&self.ours(), |peer, round| {
            let channels = channels(&self.runtime, peer.port, 20);
            let worker = |(client, channel): (usize, Channel)| {
                let seed = seed(round, client);
                let moving = Moving::onwards(client, 20, &mut random(seed));
                UpdateWheres::new(channel, seed, moving)
            };
            self.once(peer, channels.into_iter().enumerate().map(worker).collect())
        });
        self.note("search and update as one UpdateWhere, 20 clients", &runs);
    }

    fn pipelines(&mut self) {
        for (what, kind) in [
            ("gets", Pipelined::Gets),
            ("searches", Pipelined::Searches),
            ("updates", Pipelined::Updates),
            ("searches and updates by turns", Pipelined::SearchesAndUpdates),
        ] {
            let runs = self.turns(&[&self.none, &self.sync], |peer, round| {
                let channels = channels(&self.runtime, peer.port, 4);
                let open = |(client, channel): (usize, Channel)| {
                    self.runtime.block_on(Pipeline::open(channel, seed(round, client), kind))
                };
                self.once(peer, channels.into_iter().enumerate().map(open).collect())
            });
            let row = format!("pipelined {what}, 4 clients");
            let (rate, cpu) = (format!("{row}: operations"), format!("{row}: CPU of the server"));
            for (name, runs) in &runs {
                self.sampler.samples(&rate, "/s", name, &each(runs, |run| run.per_second));
            }
            for (name, runs) in &runs {
                self.sampler.samples(&cpu, "µs", name, &each(runs, |run| run.cpu_microseconds));
            }
            self.sampler.target_least(&rate, 1e6);
        }
    }

    /// All clients move records among the same few values.
    fn losses(&mut self) {
        let row = "20 clients at 100 values: lost updates in 1,000";
        let mut losses: Vec<(String, f64)> = Vec::new();
        let share = |lost: usize, moves: usize| lost as f64 * 1e3 / moves.max(1) as f64;
        for peer in std::iter::once(&self.none).chain(&self.originals) {
            let channels = channels(&self.runtime, peer.port, 20).into_iter().enumerate();
            let workers = channels.map(|(client, channel)| Cycles::new(channel, client, HOT));
            let (_, workers) = run(&self.runtime, &peer.server, workers.collect(), 2 * SECOND);
            let moves = || workers.iter().flat_map(|worker| worker.moves().iter().copied());
            let name = if peer.name == "sakuin" { "sakuin, by db.DB" } else { peer.name };
            losses.push((name.to_owned(), share(lost(moves()), moves().count())));
        }
        let peer = &self.none;
        let indexed = || channels(&self.runtime, peer.port, 20).into_iter().enumerate();
        let workers = indexed().map(|(at, channel)| Transactions::new(channel, at, HOT.into()));
        let (_, workers) = run(&self.runtime, &peer.server, workers.collect(), 2 * SECOND);
        let moves = || workers.iter().flat_map(|worker| worker.moves().iter().copied());
        losses.insert(0, ("sakuin".to_owned(), share(lost(moves()), moves().count())));
        let moving = || Moving::Anywhere(HOT.into());
        let workers = indexed().map(|(at, channel)| UpdateWheres::new(channel, at, moving()));
        let (_, workers) = run(&self.runtime, &peer.server, workers.collect(), 2 * SECOND);
        let moves = || workers.iter().flat_map(|worker| worker.moves().iter().copied());
        let name = "sakuin, by UpdateWhere".to_owned();
        losses.insert(1, (name, share(lost(moves()), moves().count())));
        for (name, lost) in &losses {
            self.sampler.samples(row, "updates", name, &[*lost]);
        }
        self.sampler.target(row, 0.0, None);
        self.sampler.target_of(row, "sakuin, by UpdateWhere", 0.0);
    }

    /// Each client deletes what it found and looks whether that is what went.
    fn deletes(&mut self) {
        let row = "20 clients delete what they found: wrong records in 1,000";
        for peer in std::iter::once(&self.none).chain(&self.originals) {
            let channels = channels(&self.runtime, peer.port, 20).into_iter().enumerate();
            let workers = channels.map(|(client, channel)| Deletes::new(channel, client, 20));
            let (_, workers) = run(&self.runtime, &peer.server, workers.collect(), SECOND);
            let outcomes: Vec<_> = workers.iter().map(Deletes::outcome).collect();
            let deleted: usize = outcomes.iter().map(|(deleted, ..)| deleted).sum();
            let left: usize = outcomes.iter().map(|(_, left, _)| left).sum();
            let failed: usize = outcomes.iter().map(|(.., failed)| failed).sum();
            assert!(failed == 0 || peer.name != "sakuin", "{failed} deletes failed");
            let wrong = left as f64 * 1e3 / deleted.max(1) as f64;
            self.sampler.samples(row, "records", peer.name, &[wrong]);
        }
        self.sampler.target(row, 0.0, None);
    }

    /// The last of all: some servers do not live on.
    fn bad_indexes(&mut self) {
        let row = "answers on after an index that is not there (1) or not (0)";
        for peer in std::iter::once(&self.none).chain(&self.originals) {
            let survives = self.runtime.block_on(survives_bad_index(&endpoint(peer.port)));
            self.sampler.samples(row, "", peer.name, &[f64::from(u8::from(survives))]);
        }
        self.sampler.target_least(row, 1.0);
    }

    /// Runs of each peer at each number of clients.
    fn curves<W: Worker>(
        &self,
        peers: &[&Peer],
        worker: impl Fn(Channel, usize) -> W,
    ) -> Vec<(usize, Runs)> {
        let at = |clients: usize| {
            let runs = self.turns(peers, |peer, round| {
                let channels = channels(&self.runtime, peer.port, clients).into_iter().enumerate();
                let workers = channels.map(|(at, channel)| worker(channel, seed(round, at)));
                self.once(peer, workers.collect())
            });
            (clients, runs)
        };
        CLIENTS.into_iter().map(at).collect()
    }

    /// Lets the peers take turns.
    fn turns(&self, peers: &[&Peer], once: impl Fn(&Peer, usize) -> Run) -> Runs {
        let mut runs: Runs = peers.iter().map(|peer| (peer.name, Vec::new())).collect();
        for round in 0..ROUNDS {
            for (peer, (_, runs)) in peers.iter().zip(&mut runs) {
                runs.push(once(peer, round));
            }
        }
        runs
    }

    fn once<W: Worker>(&self, peer: &Peer, workers: Vec<W>) -> Run {
        run(&self.runtime, &peer.server, workers, SECOND).0
    }

    fn note_curves(&mut self, workload: &str, curves: Vec<(usize, Runs)>) {
        for (clients, runs) in &curves {
            for (name, runs) in runs {
                let rates = each(runs, |run| run.per_second);
                self.sampler.point(&format!("{workload}: rate"), *clients, "/s", name, &rates);
                let p99 = each(runs, |run| run.p99_ms);
                self.sampler.point(&format!("{workload}: p99"), *clients, "ms", name, &p99);
            }
        }
        let Some((clients, runs)) = curves.last() else { return };
        let row = format!("{workload}, {clients} clients");
        self.note(&row, runs);
        self.targets(&row, runs);
    }

    fn note(&mut self, row: &str, runs: &Runs) {
        let figures: [(&str, &str, fn(&Run) -> f64); 5] = [
            ("operations", "/s", |run| run.per_second),
            ("CPU of the server", "µs", |run| run.cpu_microseconds),
            ("p50", "ms", |run| run.p50_ms),
            ("p99", "ms", |run| run.p99_ms),
            ("p99.9", "ms", |run| run.p999_ms),
        ];
        for (what, unit, figure) in figures {
            for (name, runs) in runs {
                self.sampler.samples(&format!("{row}: {what}"), unit, name, &each(runs, figure));
            }
        }
    }

    /// Against the best of the Rust and Go originals, and against what gRPC alone costs.
    fn targets(&mut self, row: &str, runs: &Runs) {
        let best = |figure: fn(&Run) -> f64| {
            let originals =
                runs.iter().filter(|(name, _)| name.starts_with("Rust") || *name == "Go");
            let medians = originals.map(|(name, runs)| (*name, median(each(runs, figure))));
            medians.min_by(|one, other| one.1.total_cmp(&other.1)).expect("there are some").0
        };
        let cpu = format!("{row}: CPU of the server");
        self.sampler.target(&cpu, 0.2, Some((&cpu, best(|run| run.cpu_microseconds))));
        let p99 = format!("{row}: p99");
        self.sampler.target(&p99, 0.3, Some((&p99, best(|run| run.p99_ms))));
        self.sampler.target_least_ratio(&format!("{row}: operations"), 0.8, "empty handler");
    }
}

/// The runs of each peer.
type Runs = Vec<(&'static str, Vec<Run>)>;

fn each(runs: &[Run], figure: impl Fn(&Run) -> f64) -> Vec<f64> {
    runs.iter().map(figure).collect()
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// No two clients of one run begin alike, and no two rounds.
fn seed(round: usize, client: usize) -> usize {
    1_000 * (round + 1) + client
}
