//! A server that is asked at a steady rate, in turns while nothing happens and while it is switched to another version ten
//! times a second. Every answer is looked at.

use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use bench_sampler::{Sampler, Server};
use reqwest::Client;
use sakuin_publish::Repository;
use tokio::time::{interval, sleep};

use crate::SAKUIN;

const KEYS: usize = 100_000;
const ASKED: usize = 20;
const CLIENTS: u64 = 8;
const PER_SECOND: u64 = 2_000;
const ROUNDS: usize = 10;
const SWITCHES: u64 = 100;
const PERIOD: Duration = Duration::from_millis(100);

/// What a phase came to.
#[derive(Default)]
struct Seen {
    milliseconds: Mutex<Vec<f64>>,
    bad: AtomicU64,
}

pub async fn measure(sampler: &mut Sampler, folder: &Path) {
    let at = |name: &str| folder.join(name).display().to_string();
    let url = format!("file://{}", at("versions"));
    for value in ["one", "two"] {
        for table in ["words", "names"] {
            let text: String =
                (0..KEYS).map(|key| format!("[\"key{key}\",\"{value}\"]\n")).collect();
            fs::write(at("in.jsonl"), text).expect("there is room");
            let out = at(&format!("{table}.skn"));
            sakuin(&["pack", &at("in.jsonl"), "--content-type", "text", "-o", &out]);
        }
        let tables =
            ["words", "names"].map(|table| format!("{table}={}", at(&format!("{table}.skn"))));
        sakuin(&["publish", &url, &tables[0], &tables[1]]);
    }
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n\
         [repositories.shop]\nurl = \"{url}\"\ndirectory = \"{}\"\npoll = \"10ms\"\n\
         [tables.words]\nkind = \"packed\"\nrepository = \"shop\"\n\
         [tables.names]\nkind = \"packed\"\nrepository = \"shop\"\n",
        at("followed")
    );
    fs::write(at("sakuin.toml"), config).expect("there is room");
    let (_server, address) = Server::start_printing("0-1", SAKUIN, &["serve", &at("sakuin.toml")]);
    let address = address.trim_end_matches('/').to_owned();
    let repository = Repository::open(&url).expect("it is there");
    let client = Client::new();
    let (mut quiet, mut switching) = (Vec::new(), Vec::new());
    let (mut asked, mut bad) = (0, 0);
    let (mut number, mut served) = (2, 2);
    for _ in 0..ROUNDS {
        let (p99, seen) = phase(&address, sleep(PERIOD * SWITCHES as u32)).await;
        quiet.push(p99);
        bad += seen.bad.load(Relaxed);
        let switches = async {
            let mut ticks = interval(PERIOD);
            for _ in 0..SWITCHES {
                ticks.tick().await;
                served = 3 - served;
                let announced = repository.rollback("stable", Some(served), "a bench", "a bench");
                number = announced.await.expect("nobody else announces").number;
                until_served(&client, &address, served).await;
            }
        };
        let (p99, seen) = phase(&address, switches).await;
        switching.push(p99);
        bad += seen.bad.load(Relaxed);
        asked += seen.milliseconds.lock().unwrap_or_else(PoisonError::into_inner).len();
    }
    assert_eq!(number, 2 + ROUNDS as u64 * SWITCHES);
    let row = "the slowest of a hundred batches of 20 keys, 2,000 a second, while versions switch ten times a second";
    sampler.samples(row, "ms", "sakuin", &switching);
    sampler.samples(row, "ms", "sakuin, while nothing switches", &quiet);
    sampler.target(row, 1.5, Some((row, "sakuin, while nothing switches")));
    assert!(asked > 180_000, "{asked} batches were asked for");
    let row = "batches that failed or were of two versions, of 200,000 over 1,000 switches";
    sampler.samples(row, "batches", "sakuin", &[bad as f64]);
    sampler.target(row, 0.0, None);
}

fn sakuin(arguments: &[&str]) {
    let done = Command::new(SAKUIN).args(arguments).output().expect("it is built");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

async fn until_served(client: &Client, address: &str, version: u64) {
    loop {
        let asked = client.get(format!("{address}/v1/tables/names/key1")).send().await;
        let answer = asked.expect("it answers");
        if answer.headers()["sakuin-version"] == version.to_string().as_str() {
            return;
        }
        sleep(Duration::from_millis(2)).await;
    }
}

/// Asks at a steady rate until something is done. What is asked late because an answer before it was late counts from when
/// it was due.
async fn phase(address: &str, done: impl Future<Output = ()>) -> (f64, Arc<Seen>) {
    let (seen, is_over) = (Arc::new(Seen::default()), Arc::new(AtomicBool::new(false)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (seen, is_over) = (seen.clone(), is_over.clone());
            let host = address.trim_start_matches("http://").to_owned();
            thread::spawn(move || ask(&host, &seen, &is_over))
        })
        .collect();
    done.await;
    is_over.store(true, Relaxed);
    for client in clients {
        client.join().expect("it counts what goes wrong");
    }
    let mut all = seen.milliseconds.lock().unwrap_or_else(PoisonError::into_inner).clone();
    all.sort_by(f64::total_cmp);
    (all[all.len() * 99 / 100], seen)
}

fn ask(host: &str, seen: &Seen, is_over: &AtomicBool) {
    let keys: Vec<String> = (0..ASKED).map(|key| format!("\"key{}\"", key * 4_999)).collect();
    let body = format!("{{\"keys\":[{}]}}", keys.join(","));
    let request = format!(
        "POST /v1/tables/words:batchGet HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let stream = TcpStream::connect(host).expect("it listens");
    stream.set_nodelay(true).expect("it is TCP");
    let mut stream = BufReader::new(stream);
    let period = Duration::from_micros(1_000_000 * CLIENTS / PER_SECOND);
    let mut due = Instant::now();
    while !is_over.load(Relaxed) {
        due += period;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if !is_of_one_version(&mut stream, &request).unwrap_or(false) {
            seen.bad.fetch_add(1, Relaxed);
        }
        let milliseconds = due.elapsed().as_secs_f64() * 1e3;
        seen.milliseconds.lock().unwrap_or_else(PoisonError::into_inner).push(milliseconds);
    }
}

fn is_of_one_version(stream: &mut BufReader<TcpStream>, request: &str) -> io::Result<bool> {
    stream.get_mut().write_all(request.as_bytes())?;
    let (mut is_well, mut length) = (false, 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        is_well |= line.starts_with("HTTP/1.1 200");
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let count = |text: &str| body.windows(text.len()).filter(|it| *it == text.as_bytes()).count();
    let (ones, twos) = (count("\"text\":\"one\""), count("\"text\":\"two\""));
    Ok(is_well && matches!((ones, twos), (ASKED, 0) | (0, ASKED)))
}
