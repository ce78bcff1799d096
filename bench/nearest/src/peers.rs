//! The searches of others, in a Python process that is told line by line what to search for.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

pub struct Peers {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    pub subjects: Vec<String>,
}

/// What a peer found, and how long that took it.
pub struct Searched {
    pub seconds: f64,
    pub ids: Vec<Vec<u64>>,
}

impl Peers {
    /// Waits until all have the vectors, and those with graphs have built them.
    pub fn start(python: &str, folder: &str, rows: usize) -> Peers {
        let mut process = Command::new(python)
            .args(["nearest/peers.py", folder, &rows.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python can be started");
        let input = process.stdin.take().expect("it is piped");
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut peers = Peers { process, input, output, subjects: Vec::new() };
        let names = peers.line();
        let names = names.as_array().expect("a list of names").iter();
        peers.subjects = names.map(|name| name.as_str().expect("a name").to_owned()).collect();
        peers
    }

    /// Searches for the first `count` queries.
    pub fn search(
        &mut self,
        subject: &str,
        threads: usize,
        together: usize,
        count: usize,
    ) -> Searched {
        let asked =
            json!({"subject": subject, "threads": threads, "together": together, "count": count});
        writeln!(self.input, "{asked}").expect("it reads");
        let answer = self.line();
        let ids = |found: &Value| {
            found.as_array().expect("ids").iter().map(|id| id.as_u64().unwrap_or(0)).collect()
        };
        Searched {
            seconds: answer["seconds"].as_f64().expect("a time"),
            ids: answer["ids"].as_array().expect("a list for each query").iter().map(ids).collect(),
        }
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it writes");
        serde_json::from_str(&line).expect("JSON; otherwise Python has said why")
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
