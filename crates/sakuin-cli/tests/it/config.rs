//! `config` and `reload`.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
};

use crate::command::Folder;

const CONFIG: &str = r#"
[server]
admin = "127.0.0.1:8081"
[origins.lta]
url = "http://127.0.0.1:9100/v3/BusArrival?BusStopCode={stop}"
headers.AccountKey = { env = "LTA_ACCOUNT_KEY" }
[tables.timings]
kind = "cached"
origin = "lta"
key.stop = { pattern = "[0-9]{5}" }
ttl = "15s"
"#;

#[test]
fn config_prints_every_default_and_no_secret() {
    let folder = Folder::with(&[("sakuin.toml", CONFIG)]);
    let output = folder.command(&["config"]).env("LTA_ACCOUNT_KEY", "s3cret").output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(printed.contains("headers.accountkey = { env = \"LTA_ACCOUNT_KEY\" }"), "{printed}");
    assert!(printed.contains("stale_if_error = \"10m\"\nstrategy = \"sharded\""), "{printed}");
    assert!(printed.contains("[server]\nlisten = [\"127.0.0.1:8080\"]\n"), "{printed}");
    assert!(!printed.contains("s3cret"), "{printed}");
    let error = folder.refused(&["config"]);
    assert!(error.contains("sakuin.toml:6: "), "{error}");
    assert!(error.contains("hint: set the variable: `export LTA_ACCOUNT_KEY=…`"), "{error}");
}

#[test]
fn check_opens_the_tables() {
    let folder = Folder::with(&[("cities.json", r#"{"tokyo":1,"osaka":2}"#)]);
    folder.ok(&["pack", "cities.json", "-o", "cities.skn"]);
    let packed = "[tables.cities]\nkind = \"packed\"\nfile = \"cities.skn\"\n";
    let config = CONFIG.replace("{ env = \"LTA_ACCOUNT_KEY\" }", "\"x\"");
    std::fs::write(folder.path("sakuin.toml"), format!("{config}{packed}")).unwrap();
    let checked = folder.ok(&["check", "sakuin.toml"]);
    assert!(checked.contains("table         cities: 2 keys\n"), "{checked}");
    assert!(checked.contains("table         timings: cached from lta\n"), "{checked}");

    std::fs::write(folder.path("sakuin.toml"), format!("{config}map = \".a |\"\n")).unwrap();
    let error = folder.refused(&["check", "sakuin.toml"]);
    assert!(error.contains("cannot open table `timings`: the mapping is no jq"), "{error}");
    std::fs::write(folder.path("cities.skn"), "damaged").unwrap();
    std::fs::write(folder.path("sakuin.toml"), packed).unwrap();
    let error = folder.refused(&["check", "sakuin.toml"]);
    assert!(error.contains("cannot open table `cities`: ") && error.contains("hint: "), "{error}");
}

/// An admin door that gives one answer; returns what it was asked.
fn admin(answer: &'static str) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
        let head = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        stream.write_all(answer.as_bytes()).unwrap();
        head
    });
    (address, asked)
}

#[test]
fn reload_asks_the_admin_door_and_tells_why_it_refused() {
    let folder = Folder::with(&[]);
    let (address, asked) = admin("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    // The secrets of the configuration are not needed to reload it.
    std::fs::write(folder.path("sakuin.toml"), CONFIG.replace("127.0.0.1:8081", &address)).unwrap();
    folder.ok(&["reload"]);
    let asked = asked.join().unwrap();
    assert!(asked.starts_with("POST /reload ") && asked.contains("sakuin-admin: 1"), "{asked}");

    let (address, asked) = admin(concat!(
        "HTTP/1.1 422 x\r\ncontent-type: application/problem+json\r\ncontent-length: 56\r\n\r\n",
        r#"{"status":422,"detail":"line 3 is bad","hint":"mend it"}"#
    ));
    let error = folder.refused(&["reload", "--admin", &address]);
    asked.join().unwrap();
    assert_eq!(error, "error: the server goes on as it was: line 3 is bad\nhint: mend it\n");

    std::fs::write(folder.path("none.toml"), "[server]\n").unwrap();
    let error = folder.refused(&["reload", "--config", "none.toml"]);
    assert!(error.contains("none.toml:1: `server.admin` is missing"), "{error}");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let error = folder.refused(&["reload", "--admin", &free]);
    assert!(error.contains(&format!("no server answers at {free}")), "{error}");
}
