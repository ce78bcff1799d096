//! `serve`, `check`, `stories add` and `completions`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use crate::command::Folder;

const CONFIG: &str = "[server]\nlisten = \"127.0.0.1:0\"\n[reader]\ndictionary = \"j.skn\"\n";

fn folder() -> Folder {
    let folder = Folder::with(&[
        ("words", "猫 [ねこ] /(n) cat/(P)/\n"),
        ("sakuin.toml", CONFIG),
        ("bad.toml", "[reader]\ndictionnary = \"j.skn\"\n"),
        (
            "stories.jsonl",
            "{\"date\":\"2026-11-20\",\"title\":\"猫《ねこ》\",\"content\":\"猫がいる。\"}\n",
        ),
        ("bad.jsonl", "{\"date\":\"2026-11-20\",\"title\":\"猫\"}\n"),
    ]);
    folder.ok(&["japanese", "pack", "--words", "words", "-o", "j.skn"]);
    folder
}

#[test]
fn a_site_is_checked_filled_and_served() {
    let folder = folder();
    assert!(folder.ok(&["check", "sakuin.toml"]).contains("sakuin.toml: sound"));
    let ran = folder.run(&["stories", "add", "stories.jsonl"]);
    assert!(ran.stderr.contains("1 added, 0 updated, 0 unchanged"), "{}", ran.stderr);

    let mut command = folder.command(&["serve", "sakuin.toml", "--listen", "127.0.0.1:0"]);
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let address = url.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let mut connection = TcpStream::connect(&address).unwrap();
    let request = format!("GET / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let mut page = String::new();
    connection.read_to_string(&mut page).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(page.starts_with("HTTP/1.1 200 OK"), "{page}");
    assert!(page.contains("<rt>ねこ</rt>"), "{page}");
}

#[test]
fn bad_configurations_and_stories_are_refused() {
    let folder = folder();
    let error = folder.refused(&["check", "bad.toml"]);
    assert!(error.contains("bad.toml:2: unknown key `reader.dictionnary`"), "{error}");
    assert!(error.contains("hint: did you mean `dictionary`?"), "{error}");
    let error = folder.refused(&["stories", "add", "bad.jsonl"]);
    assert!(error.contains("bad.jsonl:1: missing field `content`"), "{error}");
    let error = folder.refused(&["serve", "sakuin.toml", "--listen", "nowhere"]);
    assert!(error.contains("`nowhere` is no address"), "{error}");
}

#[test]
fn completions_name_the_subcommands() {
    let script = Folder::with(&[]).ok(&["completions", "bash"]);
    assert!(script.contains("inspect") && script.contains("japanese"), "{script}");
}
