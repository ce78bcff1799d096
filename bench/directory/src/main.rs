//! Measures `/contacts/{id}` out of PostgreSQL: a cached table, and the two services that teams wrote, all ten thousand
//! contacts asked for by eight clients. What a request costs is counted for the server and the database together.
//!
//! `cargo run --release -p bench-directory -- DATE OUTPUT.jsonl PYTHON`, from the folder `bench`, after `make build`; `PYTHON` is
//! an interpreter that has `directory/requirements.txt`, and Debian's `postgresql` and `wrk` are installed.

use std::{
    io::{Read, Write},
    net::TcpStream,
    path::Path,
};

use bench_sampler::{Load, Postgres, Sampler, Server, originals, wrk};

const SAKUIN: &str = "../target/release/sakuin";
const ROUNDS: usize = 5;
const SECONDS: usize = 5;
const CLIENTS: usize = 8;
const ROW: &str = "/contacts/{id} warm, 10,000 contacts, 8 clients";
const CPU_ROW: &str = "CPU of server and PostgreSQL for a contact";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [date, output, python] = arguments.as_slice() else {
        eprintln!("usage: bench-directory DATE OUTPUT.jsonl PYTHON");
        std::process::exit(2);
    };
    let mut sampler = Sampler::new("directory", date);
    let postgres = Postgres::start();
    originals::fill(&postgres);
    let folder = tempfile::tempdir().expect("a folder");
    let servers = [
        ("sakuin", sakuin(folder.path(), &postgres)),
        ("axum + sqlx", originals::rust(&postgres)),
        ("uvicorn + asyncpg", originals::python(python, &postgres)),
    ];
    let bodies = servers.each_ref().map(|(_, (_, url))| body(url));
    assert!(bodies.iter().all(|body| *body == bodies[0]), "the services differ: {bodies:#?}");

    let mut rates = vec![Vec::new(); servers.len()];
    let mut cpu = vec![Vec::new(); servers.len()];
    for round in 0..=ROUNDS {
        for (at, (name, (server, url))) in servers.iter().enumerate() {
            let before = server.cpu();
            let load: Load =
                wrk("0,1", CLIENTS, SECONDS, url, &["--script", "directory/every_contact.lua"]);
            let used = server.cpu() - before;
            assert!(load.failed == 0, "{name}: {} of {} failed", load.failed, load.requests);
            if round > 0 {
                rates[at].push(load.per_second);
                cpu[at].push(used.microseconds_each(load.requests));
            }
        }
    }
    for ((name, _), (rates, cpu)) in servers.iter().zip(rates.iter().zip(&cpu)) {
        sampler.samples(ROW, "requests/s", name, rates);
        sampler.samples(CPU_ROW, "µs", name, cpu);
    }
    for peer in ["axum + sqlx", "uvicorn + asyncpg"] {
        sampler.target_least_ratio(ROW, 5.0, peer);
        sampler.target(CPU_ROW, 0.2, Some((CPU_ROW, peer)));
    }
    std::fs::write(output, sampler.lines()).expect("the output can be written");
}

fn sakuin(folder: &Path, postgres: &Postgres) -> (Server, String) {
    let config = folder.join("sakuin.toml");
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[origins.directory]\nsql = \"{}\"\n\
         [tables.contacts]\nkind = \"cached\"\norigin = \"directory\"\nroute = \"/contacts/{{id}}\"\n\
         key.id = {{ range = \"1..2147483647\" }}\n\
         query = \"select id, firstname, lastname, phone, email from contact where id = $1\"\nttl = \"15s\"\n",
        postgres.url()
    );
    std::fs::write(&config, text).expect("the configuration can be written");
    let config = config.to_str().expect("a path in UTF-8");
    let (server, url) = Server::start_printing("0,1", SAKUIN, &["serve", config]);
    (server.with(postgres.id()), url.trim_end_matches('/').to_owned())
}

/// One contact as the service answers it: all must answer the same record.
fn body(url: &str) -> serde_json::Value {
    let address = url.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request =
        format!("GET /contacts/77 HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    serde_json::from_str(body).expect("JSON")
}
