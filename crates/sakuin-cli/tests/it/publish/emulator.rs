//! fake-gcs-server as Google Cloud Storage is: it takes what clients of the XML interface ask, but for PUT, which is
//! handed to it as what it does take. Preconditions and answers stay what they are.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use super::Process;
use crate::tools;

/// Starts the emulator with a bucket `shop`; returns where it is asked. Of every `lost` writes, if not 0, the reply of one
/// is lost after it was done.
pub(super) fn start(lost: usize) -> (SocketAddr, Process) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let public = listener.local_addr().unwrap();
    // It does not tell the port that it is given, so a free one is found for it.
    let own = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (port, host) = (own.port().to_string(), public.to_string());
    let mut command = Command::new(tools::built("fake-gcs-server"));
    command.args(["-scheme", "http", "-host", "127.0.0.1", "-backend", "memory", "-port", &port]);
    command.args(["-public-host", &host]).stdout(Stdio::null()).stderr(Stdio::null());
    let process = Process(command.spawn().expect("it is built by `make tools`"));
    while TcpStream::connect(own).is_err() {
        thread::yield_now();
    }
    let created = ureq::post(format!("http://{own}/storage/v1/b?project=x"))
        .header("content-type", "application/json")
        .send(r#"{"name":"shop"}"#);
    assert_eq!(created.unwrap().status(), 200);
    thread::spawn(move || {
        let writes = Arc::new(AtomicUsize::new(0));
        for client in listener.incoming() {
            let writes = writes.clone();
            let is_lost = move || lost > 0 && writes.fetch_add(1, Relaxed) % lost == lost - 1;
            thread::spawn(move || relay(client.unwrap(), own, is_lost));
        }
    });
    (public, process)
}

/// Answers one request, and says that it is the connection's last.
fn relay(mut client: TcpStream, own: SocketAddr, is_lost: impl Fn() -> bool) -> Option<()> {
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
        if is_lost() {
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
    std::io::copy(&mut upstream, &mut client).ok()?;
    Some(())
}
