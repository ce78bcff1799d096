//! Measures a cached table over HTTP beside its peers, one hot answer of 2,048 bytes of JSON: what a hit costs,
//! plain, over TLS and over HTTP/2; what happens when entries expire, when ten thousand ask at once, when the
//! configuration is read again under load; and what memory it all takes.
//!
//! `cargo run --release -p bench-serve -- DATE OUTPUT.jsonl [SECONDS [PART [SAKUIN]]]`, from the folder `bench`, after
//! `make build`. A run lasts SECONDS, 5 if not said. PART is `hits`, `tls`, `expiry`, `crowd` or `reload`. Debian's
//! nginx, varnish, wrk, nghttp2-client and openssl are installed.

mod crowd;
mod load;
mod peers;

use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};

use bench_sampler::{Sampler, wrk};
use peers::{Peer, STOP, Stage, Table};

const ROUNDS: usize = 5;
const CONNECTIONS: usize = 64;
const LONG: &str = "ttl = \"1h\"";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [date, output, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: bench-serve DATE OUTPUT.jsonl [SECONDS [PART [SAKUIN]]]");
        std::process::exit(2);
    };
    let seconds = rest.first().map_or(5, |seconds| seconds.parse().expect("a number"));
    let sakuin = rest.get(2).map_or("../target/release/sakuin", String::as_str);
    allow_many_files();
    let mut sampler = Sampler::new("serve", date);
    for (part, run) in [
        ("hits", hits as fn(&mut Sampler, &str, usize)),
        ("tls", tls),
        ("expiry", expiry),
        ("crowd", crowd),
        ("reload", reload),
    ] {
        if rest.get(1).is_none_or(|only| only == part) {
            run(&mut sampler, sakuin, seconds);
        }
    }
    std::fs::write(output, sampler.lines()).expect("the output can be written");
}

/// One hot answer: the server on one core and the client on the other, then both on both.
fn hits(sampler: &mut Sampler, sakuin: &str, seconds: usize) {
    let stage = Stage::new(sakuin, 0);
    let origin = stage.origin(&[]);
    for (name, server_cores, client_cores) in
        [("1 + 1 cores", "0", "1"), ("2 + 2 cores", "0,1", "0,1")]
    {
        let table = Table { origin: origin.port, timeout: "2s", times: LONG };
        let peers = [
            stage.sakuin(server_cores, &table, None),
            stage.nginx_return(server_cores, None),
            stage.nginx_proxy_cache(server_cores, origin.port),
            stage.varnish(server_cores, origin.port),
            stage.original(server_cores),
        ];
        for peer in &peers {
            let (status, body) = peers::get(peer.port, &peers::path(STOP));
            assert!(status == "200" && body == stage.body, "{}: {status} {body}", peer.name);
        }
        let loads = alternate(&peers, |peer| {
            let load = wrk(client_cores, CONNECTIONS, seconds, &peer.url("http"), &[]);
            assert!(load.failed == 0, "{}: {} failed", peer.name, load.failed);
            (load.requests, load.per_second)
        });
        let row = |what: &str| format!("{what} of a hit, 2 KB JSON, {name}");
        let (cpu, user, rate) = (row("CPU"), row("user CPU"), row("rate"));
        note(sampler, &loads, &cpu, Some(&user), &rate);
        sampler.target(&cpu, 1.0, Some((&cpu, "nginx return")));
        sampler.target(&user, 0.6, Some((&user, "actix-web")));
        sampler.target_least_ratio(&rate, 1.1, "actix-web");
        sampler.target_least_ratio(&rate, 1.6, "nginx proxy_cache");
        sampler.target_least_ratio(&rate, 1.3, "Varnish");
    }
}

/// The same over TLS 1.3 and HTTP/2, and handshakes alone. The client needs more than the server there, so the
/// figure is CPU.
fn tls(sampler: &mut Sampler, sakuin: &str, seconds: usize) {
    let stage = Stage::new(sakuin, 0);
    let origin = stage.origin(&[]);
    let certificate = stage.certificate();
    let table = Table { origin: origin.port, timeout: "2s", times: LONG };
    let peers = [
        stage.sakuin("0", &table, Some(&certificate)),
        stage.nginx_return("0", Some(&certificate)),
    ];
    let hits = alternate(&peers, |peer| {
        let load = wrk("1", CONNECTIONS, seconds, &peer.url("https"), &[]);
        assert!(load.failed == 0, "{}: {} failed", peer.name, load.failed);
        (load.requests, load.per_second)
    });
    let (cpu, rate) = ("CPU of a hit over TLS 1.3", "rate of hits over TLS 1.3");
    note(sampler, &hits, cpu, None, rate);
    sampler.target_least_ratio(rate, 1.0, "nginx return");

    let hits = alternate(&peers, |peer| {
        let load = load::h2load("1", seconds, &peer.url("https"));
        assert!(load.failed == 0.0, "{}: {} failed", peer.name, load.failed);
        (load.requests, load.per_second)
    });
    let (cpu, rate) = ("CPU of a hit over HTTP/2", "rate of hits over HTTP/2");
    note(sampler, &hits, cpu, None, rate);
    sampler.target_least_ratio(rate, 1.5, "nginx return");

    let handshakes = alternate(&peers, |peer| {
        let load = load::handshakes("1", seconds, peer.port);
        (load.requests, load.per_second)
    });
    let (cpu, rate) = ("CPU of a full handshake", "rate of full handshakes, one after the other");
    note(sampler, &handshakes, cpu, None, rate);
    // 1.2 times as many for the same CPU.
    sampler.target(cpu, 0.83, Some((cpu, "nginx return")));
}

/// The original's run: 100 clients, one key, an origin of 200 ms that fails for one call in twenty; and the same
/// without expiry. The time to live is a fifth of the run, so that there are five in each.
fn expiry(sampler: &mut Sampler, sakuin: &str, seconds: usize) {
    let stage = Stage::new(sakuin, 0);
    let times = format!(
        "ttl = \"{}ms\"\nstale_while_revalidate = \"15s\"\nstale_if_error = \"10m\"",
        seconds * 200
    );
    let run = |origin: &peers::Origin, times: &str| {
        let peer = stage.sakuin("0", &Table { origin: origin.port, timeout: "2s", times }, None);
        let (status, _) = peers::get(peer.port, &peers::path(STOP));
        assert_eq!(status, "200");
        let before = origin.calls(STOP);
        let script = ["--script", "serve/percentiles.lua"];
        let load = wrk("1", 100, seconds, &peer.url("http"), &script);
        let calls = origin.calls(STOP) - before;
        (load, calls, peer.server.memory_peak())
    };
    let [mut without, mut with, mut calls, mut failed, mut memory] = [const { Vec::new() }; 5];
    for round in 0..ROUNDS {
        let still = stage.origin(&["--delay", "200"]);
        without.push(run(&still, LONG).0.p999_ms.expect("the script prints it"));
        let seed = round.to_string();
        let failing = stage.origin(&["--delay", "200", "--fail", "5", "--seed", &seed]);
        let (load, made, peak) = run(&failing, &times);
        with.push(load.p999_ms.expect("the script prints it"));
        calls.push(made as f64 / 5.0);
        failed.push(load.failed as f64);
        memory.push(peak);
    }
    let row = "the original's run, `wrk -c100`";
    sampler.samples(&format!("{row}: p99.9"), "ms", "sakuin", &with);
    sampler.samples(&format!("{row}: p99.9"), "ms", "without expiry", &without);
    let p999 = format!("{row}: p99.9");
    sampler.target(&p999, 1.2, Some((&p999, "without expiry")));
    for (what, unit, samples, most) in [
        ("not 2xx", "answers", failed, 0.0),
        ("origin calls in a time to live", "calls", calls, 1.1),
        ("most memory", "MB", memory, 16.0),
    ] {
        let row = format!("{row}: {what}");
        sampler.samples(&row, unit, "sakuin", &samples);
        sampler.target(&row, most, None);
    }
}

/// Ten thousand at once on a cold key, and five thousand keys.
fn crowd(sampler: &mut Sampler, sakuin: &str, _: usize) {
    const CROWD: usize = 10_000;
    const DELAY: Duration = Duration::from_secs(3);
    let stage = Stage::new(sakuin, 5_000);
    let delay = DELAY.as_millis().to_string();
    let [mut after, mut between, mut calls] = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        let origin = stage.origin(&["--delay", &delay]);
        let table = Table { origin: origin.port, timeout: "9s", times: LONG };
        let peer = stage.sakuin("0,1", &table, None);
        let all = crowd::ask_at_once(peer.port, STOP, &stage.body, CROWD);
        after.push(all.last.saturating_sub(DELAY).as_secs_f64() * 1e3);
        between.push((all.last - all.first).as_secs_f64() * 1e3);
        calls.push(origin.calls(STOP) as f64);
    }
    let row = "10,000 at once on a cold key: from the first request and the origin's 3 s to the last answer";
    sampler.samples(row, "ms", "sakuin", &after);
    sampler.target(row, 150.0, None);
    let row = "10,000 at once on a cold key: from the first answer to the last";
    sampler.samples(row, "ms", "sakuin", &between);
    sampler.target(row, 150.0, None);
    let row = "10,000 at once on a cold key: origin calls";
    sampler.samples(row, "calls", "sakuin", &calls);
    sampler.target(row, 1.0, None);

    let origin = stage.origin(&[]);
    let table = Table { origin: origin.port, timeout: "2s", times: LONG };
    let peer = stage.sakuin("0,1", &table, None);
    crowd::ask_each(peer.port, (0..5_000).map(|stop| format!("{stop:05}")));
    let row = "most memory with 5,000 keys of 2 KB";
    sampler.samples(row, "MB", "sakuin", &[peer.server.memory_peak()]);
    sampler.target(row, 32.0, None);
}

/// A hundred reloads under load, and metrics read every second.
fn reload(sampler: &mut Sampler, sakuin: &str, seconds: usize) {
    let stage = Stage::new(sakuin, 0);
    let origin = stage.origin(&[]);
    let table = Table { origin: origin.port, timeout: "2s", times: LONG };
    let peer = stage.sakuin("0", &table, None);
    let admin = stage.admin(&peer);
    let load = |seconds: usize, beside: &(dyn Fn() + Sync)| {
        thread::scope(|scope| {
            let running = scope.spawn(|| wrk("1", CONNECTIONS, seconds, &peer.url("http"), &[]));
            while !running.is_finished() {
                beside();
            }
            running.join().expect("no panic")
        })
    };
    const READINGS: usize = 1_000;
    let before = peer.server.cpu();
    (0..READINGS).for_each(|_| drop(peers::get(admin, "/metrics")));
    let reading = (peer.server.cpu() - before).microseconds_each(READINGS as f64);
    // Against a second of one core, once a second.
    let row = "CPU of one reading of the metrics";
    sampler.samples(row, "µs", "sakuin", &[reading]);
    sampler.target(row, 20_000.0, None);

    let [mut without, mut with] = [const { [Vec::new(), Vec::new()] }; 2];
    for round in 0..2 * ROUNDS {
        for reads in [round % 2 == 0, round % 2 == 1] {
            let before = peer.server.cpu();
            let load = load(seconds, &|| {
                if reads {
                    assert_eq!(peers::get(admin, "/metrics").0, "200");
                }
                thread::sleep(Duration::from_secs(1));
            });
            let cpu = (peer.server.cpu() - before).microseconds_each(load.requests);
            let [rates, cpus] = if reads { &mut with } else { &mut without };
            rates.push(load.per_second);
            cpus.push(cpu);
        }
    }
    for (at, row, unit) in [
        (0, "rate of hits, metrics read every second", "requests/s"),
        (1, "CPU of a hit, metrics read every second", "µs"),
    ] {
        sampler.samples(row, unit, "sakuin", &with[at]);
        sampler.samples(row, unit, "without", &without[at]);
    }
    sampler.target_least_ratio("rate of hits, metrics read every second", 0.98, "without");
    let cpu = "CPU of a hit, metrics read every second";
    sampler.target(cpu, 1.02, Some((cpu, "without")));

    let reloads = std::sync::atomic::AtomicUsize::new(0);
    let pause = Duration::from_millis(seconds as u64 * 8);
    let process = peer.server.id().to_string();
    let start = Instant::now();
    let load = load(3 * seconds, &|| {
        if reloads.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 100 {
            Command::new("kill").args(["-HUP", &process]).status().expect("it runs");
        }
        thread::sleep(pause);
    });
    let made = reloads.into_inner().min(100);
    assert!(made == 100, "{made} reloads in {:?}", start.elapsed());
    let row = "100 reloads under load: failed requests";
    sampler.samples(row, "requests", "sakuin", &[load.failed as f64]);
    sampler.target(row, 0.0, None);
}

/// CPU of a request, user CPU of a request, requests a second: a sample for each round, by peer.
type Loads = Vec<(&'static str, [Vec<f64>; 3])>;

/// Lets the peers take turns; the first round warms them up and does not count.
fn alternate(peers: &[Peer], run: impl Fn(&Peer) -> (f64, f64)) -> Loads {
    let mut loads: Loads =
        peers.iter().map(|peer| (peer.name, [const { Vec::new() }; 3])).collect();
    for round in 0..=ROUNDS {
        for (peer, (_, samples)) in peers.iter().zip(&mut loads) {
            let before = peer.server.cpu();
            let (requests, per_second) = run(peer);
            let used = peer.server.cpu() - before;
            if round > 0 {
                samples[0].push(used.microseconds_each(requests));
                samples[1].push(used.user_microseconds_each(requests));
                samples[2].push(per_second);
            }
        }
    }
    loads
}

fn note(sampler: &mut Sampler, loads: &Loads, cpu: &str, user: Option<&str>, rate: &str) {
    let rows = [Some((cpu, "µs")), user.map(|user| (user, "µs")), Some((rate, "requests/s"))];
    for (at, (row, unit)) in rows.iter().enumerate().filter_map(|(at, row)| Some((at, (*row)?))) {
        for (name, samples) in loads {
            sampler.samples(row, unit, name, &samples[at]);
        }
    }
}

/// Ten thousand connections need twenty thousand descriptors, here and in the server, which inherits the limit.
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most })
        .expect("up to the maximum");
}
