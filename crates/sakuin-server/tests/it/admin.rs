//! What the admin door tells, and to whom.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use sakuin_server::Config;
use tempfile::TempDir;

use crate::support::{Running, dictionary, limits};

fn running() -> (Running, TempDir) {
    let text = format!(
        "[server]\nlisten = [\"127.0.0.1:0\", \"127.0.0.1:0\"]\nadmin = \"127.0.0.1:0\"\n\
         health = \"/api/v1/health\"\n[reader]\ndictionary = {:?}\nstories = \"sqlite://s.db\"\n",
        dictionary()
    );
    let folder = tempfile::tempdir().unwrap();
    let config = Config::parse(&text, "test.toml", folder.path()).unwrap();
    (Running::start(&config, &limits()), folder)
}

/// Sends what no client would, and returns the status.
fn status(running: &Running, request: &str) -> u16 {
    let mut stream = TcpStream::connect(running.admin.unwrap()).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn it_says_how_the_server_is() {
    let (mut running, _folder) = running();
    let live = running.admin("/live");
    assert_eq!((live.status, live.text()), (200, "{\"hanging_loops\":[],\"live\":true}"));
    assert_eq!(running.admin("/ready").json()["ready"], true);
    assert_eq!(running.get("/api/v1/health").text(), "ok\n");
    assert_eq!(running.admin("/elsewhere").status, 404);
    let config = running.admin("/config");
    assert!(config.text().starts_with("[server]\nlisten = "), "{}", config.text());
    running.stop();
    running.join().unwrap();
}

#[test]
fn metrics_count_what_was_answered() {
    let (running, _folder) = running();
    let count = |door: &str, status: &str| {
        running.metric("sakuin_requests_total", &format!("door=\"{door}\",status=\"{status}\""))
    };
    assert_eq!(count("reader", "2xx"), 0.0);
    assert_eq!(running.get("/about/").status, 200);
    assert_eq!(running.get("/about/").status, 200);
    assert_eq!(running.get("/v1/tables/none/x").status, 404);
    assert_eq!((count("reader", "2xx"), count("lookup", "4xx")), (2.0, 1.0));
    assert!(running.metric("sakuin_connections_accepted_total", "") >= 3.0);
    assert_eq!(running.metric("sakuin_reload_success", ""), 1.0);
    let metrics = running.admin("/metrics");
    assert!(metrics.header("content-type").starts_with("application/openmetrics-text"));
    assert!(metrics.text().ends_with("# EOF\n"));
    assert_well_formed(metrics.text());
}

/// Every sample belongs to the family described before it.
fn assert_well_formed(metrics: &str) {
    let mut family = String::new();
    for line in metrics.lines() {
        if let Some(described) = line.strip_prefix("# TYPE ") {
            family = described.split(' ').next().unwrap().to_owned();
        } else if !line.starts_with('#') {
            let (series, value) = line.rsplit_once(' ').unwrap();
            assert!(series.starts_with(&family) && !family.is_empty(), "{line}");
            value.parse::<f64>().unwrap();
        }
    }
}

#[test]
fn it_answers_loopback_alone_and_reloads_only_when_that_is_meant() {
    let (running, _folder) = running();
    let request = |method: &str, path: &str, headers: &str| {
        status(&running, &format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n{headers}\r\n"))
    };
    assert_eq!(request("GET", "/live", "host: localhost\r\n"), 200);
    assert_eq!(request("GET", "/live", "host: example.org\r\n"), 403);
    assert_eq!(request("GET", "/live", ""), 403);
    assert_eq!(request("POST", "/live", "host: localhost\r\n"), 405);
    let meant = "sakuin-admin: 1\r\ncontent-length: 0\r\n";
    assert_eq!(request("POST", "/reload", &format!("host: 127.0.0.1\r\n{meant}")), 200);
    assert_eq!(request("POST", "/reload", &format!("host: example.org\r\n{meant}")), 403);
    assert_eq!(request("POST", "/reload", "host: localhost\r\ncontent-length: 0\r\n"), 403);
    assert_eq!(request("GET", "/reload", &format!("host: localhost\r\n{meant}")), 405);
    assert_eq!(running.metric("sakuin_reloads_total", "done"), 1.0);
}
