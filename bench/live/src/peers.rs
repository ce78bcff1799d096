//! The servers, all at once on both cores: idle ones cost nothing, and so each run of one is next to a run of another.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
};

use bench_sampler::Server;

const SAKUIN: &str = "../target/release/sakuin";
const RUST: &str = "target/release/features-original";
const GO: &str = "target/features-go";
const PYTHON: &str = "target/live-python/bin/python";
const GENERATED: &str = "PYTHONPATH=target/features-python";
const CORES: &str = "0,1";

/// A server with a million records.
pub struct Peer {
    pub name: &'static str,
    pub server: Server,
    pub port: u16,
}

/// The originals: Rust under each lock, Go and Python.
pub fn originals() -> Vec<Peer> {
    let mut peers = vec![
        rust("Rust, std", "std"),
        rust("Rust, parking_lot", "parking_lot"),
        rust("Rust, tokio", "tokio"),
        rust("Rust, async-lock", "async-lock"),
    ];
    peers.push(start("Go", |port| (GO.to_owned(), vec![port])));
    peers.push(start("Python", |port| {
        let arguments = [GENERATED, PYTHON, "live/python/server.py", &port];
        ("env".to_owned(), arguments.map(ToOwned::to_owned).to_vec())
    }));
    peers
}

/// A handler of tonic that does nothing.
pub fn empty() -> Peer {
    rust("empty handler", "empty")
}

fn rust(name: &'static str, lock: &str) -> Peer {
    start(name, |port| (RUST.to_owned(), vec![port, lock.to_owned()]))
}

fn start(name: &'static str, command: impl Fn(String) -> (String, Vec<String>)) -> Peer {
    let port = free_port();
    let (command, arguments) = command(port.to_string());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Peer { name, server: Server::start(CORES, port, &command, &arguments), port }
}

/// A file with a million random records, to be copied for each server of ours.
pub fn filled(folder: &Path) -> PathBuf {
    let (config, file) = (folder.join("fill.toml"), folder.join("fill.redb"));
    fs::write(&config, configuration(&file, "sync", free_port())).expect("it can be written");
    let done = Command::new(SAKUIN)
        .args(["live", "fill", "features", "--rows", "1000000", "--random", "--config"])
        .arg(config)
        .output()
        .expect("`make build` has made it");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    file
}

/// A server of ours, whose commits survive what `durability` says.
pub fn sakuin(folder: &Path, filled: &Path, name: &'static str, durability: &str) -> Peer {
    let (port, file) = (free_port(), folder.join(format!("{durability}.redb")));
    fs::copy(filled, &file).expect("there is room");
    let config = folder.join(format!("{durability}.toml"));
    fs::write(&config, configuration(&file, durability, port)).expect("it can be written");
    let config = config.to_str().expect("UTF-8");
    Peer { name, server: Server::start(CORES, port, SAKUIN, &["serve", config]), port }
}

fn configuration(file: &Path, durability: &str, port: u16) -> String {
    format!(
        "[server]\nlisten = \"127.0.0.1:{port}\"\n\
         [live]\npath = {file:?}\ndurability = \"{durability}\"\n\
         [tables.features]\nkind = \"live\"\n\
         attributes.value = {{ type = \"int\", index = \"equal\" }}\n\
         [grpc]\ndb = {{ table = \"features\", attribute = \"value\" }}\n"
    )
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("it is bound").port()
}
