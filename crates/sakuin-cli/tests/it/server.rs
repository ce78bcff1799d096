//! A command that serves, and a client that asks it: HTTP/1.1 by hand, so that a cut or missing answer shows.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::command::Folder;

/// A running command; killed when dropped.
pub(crate) struct Server {
    child: Child,
    /// Where it said that it listens.
    pub(crate) address: SocketAddr,
}

/// An answer, or what arrived of it.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Server {
    /// Starts a command that prints its address in a first line.
    pub(crate) fn start(folder: &Folder, arguments: &[&str]) -> Server {
        Server::start_with(folder, arguments, &[])
    }

    /// The same with variables of the environment.
    pub(crate) fn start_with(
        folder: &Folder,
        arguments: &[&str],
        environment: &[(String, String)],
    ) -> Server {
        let mut command = folder.command(arguments);
        command.envs(environment.iter().cloned());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().trim_start_matches("http://").split('/').next().unwrap();
        Server { address: address.parse().unwrap(), child }
    }

    /// Has it read its configuration again.
    pub(crate) fn reload(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    }

    /// Asks once, on a connection of its own.
    pub(crate) fn get(&self, target: &str) -> Reply {
        self.ask("GET", target, &[]).unwrap()
    }

    /// Asks once, of a server that may not answer: nothing if it is silent for a second.
    pub(crate) fn attempt(&self, target: &str) -> Option<Reply> {
        ask_within(Duration::from_secs(1), self.address, "GET", target, &[])
    }

    /// Asks once with headers; nothing if the connection breaks before a whole head.
    pub(crate) fn ask(&self, method: &str, target: &str, headers: &[&str]) -> Option<Reply> {
        ask(self.address, method, target, headers)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks once with headers; nothing if the connection breaks before a whole head.
pub(crate) fn ask(to: SocketAddr, method: &str, target: &str, headers: &[&str]) -> Option<Reply> {
    ask_within(Duration::from_secs(20), to, method, target, headers)
}

/// Sends a body, and hears an answer; nothing if the connection breaks before a whole head.
pub(crate) fn send(
    to: SocketAddr,
    method: &str,
    target: &str,
    headers: &[&str],
    body: &str,
) -> Option<Reply> {
    exchange(Duration::from_secs(20), to, method, target, headers, Some(body))
}

fn ask_within(
    time: Duration,
    to: SocketAddr,
    method: &str,
    target: &str,
    headers: &[&str],
) -> Option<Reply> {
    exchange(time, to, method, target, headers, None)
}

fn exchange(
    time: Duration,
    to: SocketAddr,
    method: &str,
    target: &str,
    headers: &[&str],
    body: Option<&str>,
) -> Option<Reply> {
    let mut stream = match (TcpStream::connect(to), body) {
        (Ok(stream), _) => stream,
        // Who sends may meet a server that is gone.
        (Err(_), Some(_)) => return None,
        (Err(error), None) => panic!("{error}"),
    };
    stream.set_read_timeout(Some(time)).unwrap();
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.map(|body| format!("content-length: {}\r\n", body.len())).unwrap_or_default();
    let request = format!(
        "{method} {target} HTTP/1.1\r\nhost: {to}\r\n{headers}{length}connection: close\r\n\r\n{}",
        body.unwrap_or_default()
    );
    let written = stream.write_all(request.as_bytes());
    assert!(written.is_ok() || body.is_some(), "{written:?}");
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|end| end == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Reply { status, head, body: bytes[end + 4..].to_vec() })
}

impl Reply {
    /// A header's value; empty if it has none.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
    }

    /// The body as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}
