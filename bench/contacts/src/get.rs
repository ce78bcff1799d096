//! One card of ten thousand, asked for by eight clients that keep their connections.

use std::{fmt::Write as _, fs, path::Path};

use bench_sampler::{Cpu, Postgres, Sampler, Server, originals, wrk};

use crate::{
    book::card,
    served::{ADA, Served, database, radicale, sakuin, sqlite, xandikos},
};

const ROUNDS: usize = 5;
const SECONDS: usize = 4;
const CLIENTS: usize = 8;
const CARDS: usize = 10_000;
const RATE: &str = "GET of one card, 10,000 cards, 8 clients: rate";
const CPU: &str = "the same: CPU of server and database for each";
const P99: &str = "the same: slowest of a hundred";
const QUERIES: &str = "the same: queries of PostgreSQL for a thousand requests";
const PGBENCH: &str = "pgbench -S, the database alone";
const ENERGY: &str = "energy for each, as the original measured it";

/// Who is asked, and what for.
struct Subject<'s> {
    name: &'static str,
    server: &'s Server,
    url: String,
    /// Where numbers stand in the paths that are asked for.
    path: (String, &'static str),
    is_authenticated: bool,
}

pub fn measure(sampler: &mut Sampler, python: &str, peers: &str) {
    let folders: Vec<_> = (0..5).map(|_| tempfile::tempdir().expect("a folder")).collect();
    let folder = |at: usize| folders[at].path();
    let postgres = Postgres::start();
    originals::fill(&postgres);
    let (alone, shared) = (database(&postgres, "alone"), database(&postgres, "shared"));
    let ours = sakuin(folder(0), &sqlite(folder(0)), "", CARDS);
    let on_postgres = behind(sakuin(folder(1), &alone, "", CARDS), &postgres);
    let many = behind(sakuin(folder(2), &shared, "servers = \"many\"\n", CARDS), &postgres);
    let (axum, uvicorn) = (originals::rust(&postgres), originals::python(python, &postgres));
    let radicale = radicale(peers, folder(3), CARDS);
    let xandikos = xandikos(peers, folder(4), CARDS);
    let dav = |name, served: &'_ Served| {
        let (_, answer) = served.ask("GET", &served.card_path(77), "0", "");
        assert!(String::from_utf8_lossy(&answer).contains(&crate::book::email(77)), "{name}");
    };
    for (name, served) in [
        ("sakuin", &ours),
        ("PostgreSQL", &on_postgres),
        ("many", &many),
        ("Radicale", &radicale),
        ("Xandikos", &xandikos),
    ] {
        dav(name, served);
    }
    let (status, plain) = ours.ask("GET", "/cards/card-77.vcf", "0", "");
    assert!(status == 200 && plain == card(77).as_bytes(), "the packed card is the same");
    let subjects = [
        of_book("sakuin", &ours),
        of_book("sakuin, PostgreSQL", &on_postgres),
        of_book("sakuin, one of many on PostgreSQL", &many),
        Subject {
            name: "sakuin, anonymous: the same bytes of a packed table",
            path: ("/cards/card-".to_owned(), ".vcf"),
            is_authenticated: false,
            ..of_book("", &ours)
        },
        of_service("axum + sqlx", &axum),
        of_service("uvicorn + asyncpg", &uvicorn),
        of_book("Radicale", &radicale),
        of_book("Xandikos, without passwords", &xandikos),
    ];
    let script = folder(0).join("every.lua");
    let mut samples = vec![[const { Vec::new() }; 3]; subjects.len()];
    let mut queries = vec![Vec::new(); subjects.len()];
    let mut benched = [const { Vec::new() }; 2];
    postgres.ask("pgbench", &["--quiet", "--initialize", &postgres.url()]);
    for round in 0..=ROUNDS {
        // Each goes first in turn, since what came before may still be busy.
        for at in (0..subjects.len()).map(|at| (at + round) % subjects.len()) {
            let subject = &subjects[at];
            write_script(&script, subject);
            let script = script.to_str().expect("a path in UTF-8");
            let (before, asked) = (subject.server.cpu(), transactions(&postgres));
            let load = wrk("0,1", CLIENTS, SECONDS, &subject.url, &["--script", script]);
            let used = subject.server.cpu() - before;
            let asked = transactions(&postgres) - asked;
            // Of others, a connection that was let go now and then is no reason to begin anew.
            let most = if subject.name.starts_with("sakuin") { 0.0 } else { load.requests / 1e3 };
            let failed = load.failed as f64;
            assert!(failed <= most, "{}: {failed} of {} failed", subject.name, load.requests);
            if round > 0 {
                samples[at][0].push(load.per_second);
                samples[at][1].push(used.microseconds_each(load.requests));
                samples[at][2].push(load.p99_ms);
                queries[at].push(asked / load.requests * 1e3);
            }
        }
        let (rate, cpu) = pgbench(&postgres);
        if round > 0 {
            benched[0].push(rate);
            benched[1].push(cpu);
        }
    }
    for (row, unit, at) in [(RATE, "requests/s", 0), (CPU, "µs", 1), (P99, "ms", 2)] {
        for (subject, samples) in subjects.iter().zip(&samples) {
            sampler.samples(row, unit, subject.name, &samples[at]);
        }
        if at < 2 {
            sampler.samples(row, unit, PGBENCH, &benched[at]);
        }
    }
    for (subject, queries) in subjects
        .iter()
        .zip(&queries)
        .filter(|(it, _)| it.name.contains("SQL") || it.name.contains("sql"))
    {
        sampler.samples(QUERIES, "", subject.name, queries);
    }
    // Of a laptop, by a meter at its plug: 7 W at 4,223 requests/s, 10 W at 2,992.
    sampler.samples(ENERGY, "mJ", "axum + sqlx, published, without its database", &[7.0 / 4.223]);
    sampler.samples(ENERGY, "mJ", "FastAPI, published, without its database", &[10.0 / 2.992]);
    let joules = energy(&subjects[0], &script);
    match joules {
        Some(joules) => sampler.samples(ENERGY, "mJ", "sakuin", &joules),
        None => {
            for at in [0, 4, 5] {
                let name = format!("{}: CPU, for want of a meter", subjects[at].name);
                sampler.samples(ENERGY, "µs", &name, &samples[at][1]);
            }
        }
    }
    sampler.target_least_ratio(RATE, 1.0, PGBENCH);
    sampler.target(CPU, 0.2, Some((CPU, "axum + sqlx")));
    sampler.target(CPU, 0.05, Some((CPU, "Radicale")));
    sampler.target(CPU, 0.05, Some((CPU, "Xandikos, without passwords")));
    sampler.target(CPU, 1.15, Some((CPU, "sakuin, anonymous: the same bytes of a packed table")));
    sampler.target(P99, 1.0, None);
    sampler.target_of(QUERIES, "sakuin, PostgreSQL", 1.0);
}

fn behind(served: Served, postgres: &Postgres) -> Served {
    Served { server: served.server.with(postgres.id()), ..served }
}

fn of_book<'s>(name: &'static str, served: &'s Served) -> Subject<'s> {
    Subject {
        name,
        server: &served.server,
        url: served.origin.clone(),
        path: (format!("{}{}", served.book, served.name.0), served.name.1),
        is_authenticated: true,
    }
}

fn of_service<'s>(name: &'static str, (server, url): &'s (Server, String)) -> Subject<'s> {
    let path = ("/contacts/".to_owned(), "");
    Subject { name, server, url: url.clone(), path, is_authenticated: false }
}

/// Asks for every card, in an order that jumps about. The services count from 1.
fn write_script(file: &Path, subject: &Subject<'_>) {
    let mut script = String::from("local number = 0\n");
    if subject.is_authenticated {
        writeln!(script, "wrk.headers[\"Authorization\"] = \"{ADA}\"").expect("a string takes all");
    }
    let (before, after) = &subject.path;
    let from = usize::from(after.is_empty());
    write!(
        script,
        "request = function()\n  number = (number + 7919) % {CARDS}\n  \
         return wrk.format(\"GET\", \"{before}\" .. (number + {from}) .. \"{after}\")\nend\n"
    )
    .expect("a string takes all");
    fs::write(file, script).expect("a file");
}

/// How many transactions the cluster has committed.
fn transactions(postgres: &Postgres) -> f64 {
    let sql = "select sum(xact_commit) from pg_stat_database";
    let told = postgres.ask(
        "psql",
        &["--dbname", &postgres.url(), "--tuples-only", "--no-align", "--command", sql],
    );
    told.trim().parse().expect("a number")
}

/// Selects a second, and CPU of the database for each.
fn pgbench(postgres: &Postgres) -> (f64, f64) {
    let process = || Cpu::of(&[postgres.id()]);
    let before = process();
    let (clients, seconds) = (CLIENTS.to_string(), SECONDS.to_string());
    let told = postgres.ask(
        "pgbench",
        &[
            "--select-only",
            "--protocol=prepared",
            "--client",
            &clients,
            "--jobs=2",
            "--time",
            &seconds,
            &postgres.url(),
        ],
    );
    let used = process() - before;
    let number = |label: &str| {
        let line = told.lines().find(|line| line.starts_with(label)).expect("pgbench says so");
        line[label.len()..]
            .split_whitespace()
            .next()
            .and_then(|it| it.parse::<f64>().ok())
            .expect("a number")
    };
    let count = number("number of transactions actually processed: ");
    (number("tps = "), used.microseconds_each(count))
}

/// Millijoules of the whole package for each request, where the processor counts them.
fn energy(subject: &Subject<'_>, script: &Path) -> Option<Vec<f64>> {
    let meter = "/sys/class/powercap/intel-rapl:0/energy_uj";
    let read = || fs::read_to_string(meter).ok()?.trim().parse::<f64>().ok();
    write_script(script, subject);
    let script = script.to_str().expect("a path in UTF-8");
    let round = |_| {
        let before = read()?;
        let load = wrk("0,1", CLIENTS, SECONDS, &subject.url, &["--script", script]);
        Some((read()? - before) / 1e3 / load.requests)
    };
    (0..ROUNDS).map(round).collect()
}
