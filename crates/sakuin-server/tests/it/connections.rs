//! Connections that stall, and a server that stops.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use sakuin_server::{Error, Server};

use crate::support::{STORIES, Site, limits};

#[test]
fn a_client_that_does_not_finish_its_headers_is_let_go() {
    let mut limits = limits();
    limits.header_time = Duration::from_millis(200);
    let site = Site::start(STORIES, "/", &limits);
    // Nothing at all; what may become HTTP/2; a header that never ends.
    for sent in ["", "PRI * HT", "GET / HTTP/1.1\r\nHost: a\r\nX: "] {
        let mut stream = TcpStream::connect(site.address).unwrap();
        stream.write_all(sent.as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let began = Instant::now();
        let mut rest = Vec::new();
        match stream.read_to_end(&mut rest) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{sent:?}"),
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{sent:?}");
    }
    assert_eq!(site.get("/about/").status, 200);
}

#[test]
fn headers_beyond_the_limit_are_refused() {
    let site = Site::with_stories();
    let answer = site.get_with("/about/", &[("x-long", &"a".repeat(20 << 10))]);
    assert_eq!(answer.status, 431);
}

/// Clients hammer the server while it stops: whoever got a connection gets the whole answer.
#[test]
fn stopping_loses_no_request() {
    // Long enough for a client that a busy machine holds up between connecting and asking.
    let mut limits = limits();
    limits.announce_time = Duration::from_secs(1);
    let mut site = Site::start(STORIES, "/", &limits);
    let address = site.address;
    let (answered, answers) = mpsc::channel();
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let answered = answered.clone();
            thread::spawn(move || {
                // Ends when the server no longer listens.
                while let Ok(mut stream) = TcpStream::connect(address) {
                    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
                    assert!(whole_answer(&mut stream), "a request on an open connection was lost");
                    let _ = answered.send(());
                }
            })
        })
        .collect();
    drop(answered);
    assert_eq!(answers.iter().take(50).count(), 50);
    site.stop();
    site.join().unwrap();
    for client in clients {
        client.join().unwrap();
    }
}

fn whole_answer(stream: &mut TcpStream) -> bool {
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 << 10];
    loop {
        let Ok(read @ 1..) = stream.read(&mut buffer) else { return false };
        bytes.extend_from_slice(&buffer[..read]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
        assert!(head.starts_with("http/1.1 200"), "{head}");
        if bytes.len() == end + 4 + length.parse::<usize>().unwrap() {
            return true;
        }
    }
}

#[test]
fn an_address_that_is_taken_is_refused() {
    let site = Site::with_stories();
    let mut config = sakuin_server::Config::of_folder(site.folder.path());
    config.reader.as_mut().unwrap().dictionary = crate::support::dictionary().to_owned();
    config.listen_on(&site.address.to_string()).unwrap();
    let error = Server::bind(&config, &limits()).err().expect("two servers on one port");
    assert!(matches!(error, Error::Listen { address, .. } if address == site.address), "{error}");
    assert!(error.hint().unwrap().contains("--listen"));
}
