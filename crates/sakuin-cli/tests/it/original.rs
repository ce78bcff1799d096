//! A client in Python, generated from the original's protocol file by what everybody generates from, runs the
//! original's loop against `sakuin serve`.

use std::{path::Path, process::Command};

use crate::{command::Folder, server::Server, tools};

const CONFIG: &str = "[server]\nlisten = \"127.0.0.1:0\"\n[live]\npath = \"live.redb\"\n\
    [tables.features]\nkind = \"live\"\nattributes.value = { type = \"int\", index = \"equal\" }\n\
    [grpc]\ndb = { table = \"features\", attribute = \"value\" }\n";

#[test]
fn a_client_of_the_original_works_unchanged() {
    let folder = Folder::with(&[("sakuin.toml", CONFIG)]);
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/original");
    let python = tools::built("grpc-python/bin/python");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&python);
        let ran = command.current_dir(folder.path("")).args(arguments).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    };
    std::fs::copy(here.join("db.proto"), folder.path("db.proto")).unwrap();
    std::fs::copy(here.join("client.py"), folder.path("client.py")).unwrap();
    let protoc = ["-m", "grpc_tools.protoc", "-I.", "--python_out=.", "--grpc_python_out=."];
    run(&[&protoc[..], &["db.proto"]].concat());

    let server = Server::start(&folder, &["serve", "sakuin.toml"]);
    let said = run(&["client.py", &server.address.to_string()]);
    assert_eq!(said, "20 clients, 400 turns\n");
}
