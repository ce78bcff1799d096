//! fake-gcs-server as Google Cloud Storage is: it takes what clients of the XML interface ask, but for PUT, which is
//! handed to it as what it does take. Preconditions and answers stay what they are.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use super::store::Process;
use crate::tools;

/// The emulator with a bucket `shop`.
pub(super) struct Emulator {
    /// Where it is asked.
    pub(super) address: SocketAddr,
    script: Arc<Mutex<Script>>,
    _process: Process,
}

/// When a request stays without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Before it is done.
    Before,
    /// After it was done.
    After,
}

#[derive(Default)]
struct Script {
    /// Of so many writes, the reply of one is lost after it was done; none if 0.
    lost: usize,
    writes: usize,
    requests: usize,
    silence: Option<Silence>,
}

struct Silence {
    /// The request that it is about; all if 0.
    request: usize,
    moment: Moment,
    told: Sender<()>,
}

impl Emulator {
    pub(super) fn start() -> Emulator {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // It does not tell the port that it is given, so a free one is found for it.
        let own = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (port, host) = (own.port().to_string(), address.to_string());
        let mut command = Command::new(tools::built("fake-gcs-server"));
        command.args(["-scheme", "http", "-host", "127.0.0.1", "-backend", "memory"]);
        command.args(["-port", &port, "-public-host", &host]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let process = Process(command.spawn().expect("it is built by `make tools`"));
        while TcpStream::connect(own).is_err() {
            thread::yield_now();
        }
        let created = ureq::post(format!("http://{own}/storage/v1/b?project=x"))
            .header("content-type", "application/json")
            .send(r#"{"name":"shop"}"#);
        assert_eq!(created.unwrap().status(), 200);
        let script = Arc::new(Mutex::new(Script::default()));
        let shared = script.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                let script = shared.clone();
                thread::spawn(move || relay(client.unwrap(), own, &script));
            }
        });
        Emulator { address, script, _process: process }
    }

    /// Of every so many writes, the reply of one is lost after it was done.
    pub(super) fn lose_replies(&self, lost: usize) {
        self.script.lock().unwrap().lost = lost;
    }

    /// The `request`th request from now on, counted from 1, stays without an answer; it is told when it has come.
    pub(super) fn silence(&self, request: usize, moment: Moment) -> Receiver<()> {
        let (told, silent) = channel();
        let mut script = self.script.lock().unwrap();
        script.requests = 0;
        script.silence = Some(Silence { request, moment, told });
        silent
    }

    /// No request is answered any more.
    pub(super) fn silence_all(&self) -> Receiver<()> {
        self.silence(0, Moment::Before)
    }

    /// All are answered again.
    pub(super) fn speak(&self) {
        self.script.lock().unwrap().silence = None;
    }
}

impl Script {
    /// Whether the request that has come stays without an answer, and when.
    fn silence(&mut self) -> Option<Moment> {
        self.requests += 1;
        let silence = self.silence.as_ref()?;
        (silence.request == 0 || silence.request == self.requests).then_some(silence.moment)
    }

    fn tell(&self) {
        if let Some(silence) = &self.silence {
            let _ = silence.told.send(());
        }
    }

    fn is_lost(&mut self) -> bool {
        self.writes += 1;
        self.lost > 0 && self.writes.is_multiple_of(self.lost)
    }
}

/// Says nothing until the client is gone.
fn be_silent(mut client: TcpStream, script: &Mutex<Script>) -> Option<()> {
    script.lock().unwrap().tell();
    std::io::copy(&mut client, &mut std::io::sink()).ok().map(drop)
}

/// Answers one request, and says that it is the connection's last.
fn relay(mut client: TcpStream, own: SocketAddr, script: &Mutex<Script>) -> Option<()> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let header = |name: &str| {
        let mut lines = head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    let length = header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let target = head.split(' ').nth(1)?;
    let silence = script.lock().unwrap().silence();
    if silence == Some(Moment::Before) {
        return be_silent(client, script);
    }
    if head.starts_with("PUT ") {
        let name = target.strip_prefix("/shop/")?.replace('/', "%2F");
        let condition =
            header("x-goog-if-generation-match").map(|it| format!("&ifGenerationMatch={it}"));
        let url = format!(
            "http://{own}/upload/storage/v1/b/shop/o?uploadType=media&name={name}{}",
            condition.unwrap_or_default()
        );
        let answer = match ureq::post(url).send(&body[..]) {
            Ok(mut answer) => {
                let object: serde_json::Value =
                    serde_json::from_str(&answer.body_mut().read_to_string().ok()?).ok()?;
                let (tag, generation) = (
                    object["etag"].as_str()?.to_owned(),
                    object["generation"].as_str()?.to_owned(),
                );
                format!("200 OK\r\netag: {tag}\r\nx-goog-generation: {generation}")
            }
            Err(ureq::Error::StatusCode(code)) => format!("{code} Refused"),
            Err(_) => return None,
        };
        if silence.is_some() {
            return be_silent(client, script);
        }
        if script.lock().unwrap().is_lost() {
            return None;
        }
        let answer = format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        return client.write_all(answer.as_bytes()).ok();
    }
    let mut upstream = TcpStream::connect(own).ok()?;
    let kept = head.lines().filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
    let asked: Vec<&str> = kept.take_while(|line| !line.is_empty()).collect();
    let asked = format!("{}\r\nconnection: close\r\n\r\n", asked.join("\r\n"));
    upstream.write_all(asked.as_bytes()).ok()?;
    upstream.write_all(&body).ok()?;
    if silence.is_some() {
        upstream.read_to_end(&mut Vec::new()).ok()?;
        return be_silent(client, script);
    }
    std::io::copy(&mut upstream, &mut client).ok()?;
    Some(())
}
