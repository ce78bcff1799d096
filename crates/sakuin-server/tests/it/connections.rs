//! Connections that stall, loops that share them, and a server that stops.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use sakuin_pack::{Builder, Content, Options};
use sakuin_server::{Config, Error, Limits, Server};
use tempfile::TempDir;

use crate::support::{Running, STORIES, Site, limits};

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

#[test]
fn a_server_that_stops_says_so_first_and_still_answers() {
    let mut limits = limits();
    limits.announce_time = Duration::from_secs(2);
    let (mut running, _folder) = table(10, &limits);
    let mut open = TcpStream::connect(running.address).unwrap();
    open.write_all(REQUEST).unwrap();
    assert!(whole_answer(&mut open));
    assert_eq!(running.admin("/ready").status, 200);
    running.stop();
    wait_until(|| running.admin("/ready").status == 503);
    let answer = running.get("/one/key");
    assert_eq!((answer.status, answer.header("connection")), (200, "close"));
    open.write_all(REQUEST).unwrap();
    assert!(whole_answer(&mut open), "a connection that was open is served until it ends");
    running.join().unwrap();
    assert!(TcpStream::connect(running.address).is_err());
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

/// A server over one packed table of one long value.
fn table(bytes: usize, limits: &Limits) -> (Running, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = Builder::new(Content::Text, Options::new());
    builder.add(b"key", "x".repeat(bytes).as_bytes()).unwrap();
    builder.write(folder.path().join("one.skn")).unwrap();
    let text = "[server]\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n\
        [tables.one]\nkind = \"packed\"\nfile = \"one.skn\"\nroute = \"/one/{key}\"\n";
    let config = Config::parse(text, "test.toml", folder.path()).unwrap();
    (Running::start(&config, limits), folder)
}

const REQUEST: &[u8] = b"GET /one/key HTTP/1.1\r\nHost: a\r\n\r\n";

fn wait_until(mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(30), "it does not come");
        thread::yield_now();
    }
}

#[test]
fn a_client_that_takes_nothing_is_let_go() {
    let mut limits = limits();
    limits.stall_time = Duration::from_millis(200);
    let (running, _folder) = table(16 << 20, &limits);
    let mut stream = TcpStream::connect(running.address).unwrap();
    stream.write_all(REQUEST).unwrap();
    wait_until(|| running.metric("sakuin_connections_timed_out_total", "") == 1.0);
    wait_until(|| running.metric("sakuin_connections", "") == 0.0);
}

#[test]
fn a_client_that_asks_no_more_is_let_go_and_one_that_asks_is_not() {
    let mut limits = limits();
    limits.idle_time = Duration::from_millis(400);
    let (running, _folder) = table(10, &limits);
    let mut idle = TcpStream::connect(running.address).unwrap();
    let mut busy = TcpStream::connect(running.address).unwrap();
    idle.write_all(REQUEST).unwrap();
    assert!(whole_answer(&mut idle));
    idle.set_nonblocking(true).unwrap();
    wait_until(|| {
        busy.write_all(REQUEST).unwrap();
        assert!(whole_answer(&mut busy), "a busy connection was closed");
        !idle.read(&mut [0; 16]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    });
    busy.write_all(REQUEST).unwrap();
    assert!(whole_answer(&mut busy), "a busy connection was closed");
}

#[test]
fn a_request_that_drips_is_let_go() {
    let mut limits = limits();
    limits.header_time = Duration::from_millis(300);
    let (running, _folder) = table(10, &limits);
    let mut stream = TcpStream::connect(running.address).unwrap();
    // The first request is answered; the second never ends, whatever trickles in.
    stream.write_all(REQUEST).unwrap();
    assert!(whole_answer(&mut stream));
    stream.write_all(b"GET /one/key HTTP/1.1\r\nX: ").unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let is_open = |stream: &mut TcpStream| {
        let read = stream.write_all(b"y").and_then(|()| stream.read(&mut [0; 1]));
        read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    wait_until(|| !is_open(&mut stream));
    assert_eq!(running.metric("sakuin_connections_timed_out_total", ""), 1.0);
}

/// All connections come in on one loop, as an unlucky hash would have it.
#[test]
fn a_loop_passes_on_what_is_too_much_for_it() {
    let mut limits = limits();
    limits.loops = 2;
    let (running, _folder) = table(10, &limits);
    let accepted = || running.metric("sakuin_connections_accepted_total", "loop=\"0\"");
    let mut kept = Vec::new();
    while kept.len() < 60 {
        let before = accepted();
        let mut stream = TcpStream::connect(running.address).unwrap();
        stream.write_all(REQUEST).unwrap();
        assert!(whole_answer(&mut stream), "a request was lost in passing");
        if accepted() > before {
            kept.push(stream);
        }
    }
    wait_until(|| running.metric("sakuin_connections", "") == 60.0);
    assert!(running.metric("sakuin_connections_handed_over_total", "") > 0.0);
    for number in 0..2 {
        let open = running.metric("sakuin_connections", &format!("loop=\"{number}\""));
        assert!(open <= 30.0 + 8.0, "{open}");
    }
    for stream in &mut kept {
        stream.write_all(REQUEST).unwrap();
        assert!(whole_answer(stream));
    }
}

#[test]
fn pipelined_requests_are_answered_even_beside_half_a_one() {
    let (running, _folder) = table(10, &limits());
    let mut stream = TcpStream::connect(running.address).unwrap();
    stream.write_all(&REQUEST.repeat(16)).unwrap();
    stream.write_all(&REQUEST[..20]).unwrap();
    let mut answers = Vec::new();
    let mut buffer = [0; 4096];
    while answers.windows(15).filter(|window| window == b"HTTP/1.1 200 OK").count() < 16 {
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0);
        answers.extend_from_slice(&buffer[..read]);
    }
}

#[test]
fn one_connection_too_many_waits_for_its_turn() {
    let mut limits = limits();
    (limits.loops, limits.connections) = (1, Some(4));
    let (running, _folder) = table(10, &limits);
    let connect = || {
        let mut stream = TcpStream::connect(running.address).unwrap();
        stream.write_all(REQUEST).unwrap();
        stream
    };
    let mut full: Vec<_> = (0..4).map(|_| connect()).collect();
    assert!(full.iter_mut().all(whole_answer));
    let mut next = connect();
    next.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let kind = next.read(&mut [0; 1]).unwrap_err().kind();
    assert_eq!(kind, ErrorKind::WouldBlock, "it was answered beyond the limit");
    next.set_read_timeout(None).unwrap();
    drop(full.pop());
    assert!(whole_answer(&mut next));
}
