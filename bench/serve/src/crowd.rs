//! A crowd: so many connections that ask at once, and when each is answered.

use std::time::{Duration, Instant};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::Builder,
    sync::Semaphore,
    task::JoinSet,
};

use crate::peers;

/// When a crowd was answered, from the first byte sent.
pub struct Answered {
    pub first: Duration,
    pub last: Duration,
}

/// Opens a connection for each, then asks all at once; every answer must be `body`.
pub fn ask_at_once(port: u16, stop: &str, body: &str, count: usize) -> Answered {
    run(async {
        let request = request(stop);
        let mut connections = Vec::new();
        for _ in 0..count {
            connections.push(TcpStream::connect(("127.0.0.1", port)).await.expect("it listens"));
        }
        let start = Instant::now();
        let mut answers = JoinSet::new();
        for mut connection in connections {
            let request = request.clone();
            answers.spawn(async move {
                connection.write_all(request.as_bytes()).await.expect("it reads");
                (answer(&mut connection).await, start.elapsed(), connection)
            });
        }
        // Looked at, and closed, when all are there: the server needs the cores until then.
        let answers = answers.join_all().await;
        for ((head, own), ..) in &answers {
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
            assert_eq!(own, body, "an answer differs");
        }
        let times = || answers.iter().map(|(_, time, _)| *time);
        let (first, last) = (times().min(), times().max());
        Answered { first: first.expect("there are some"), last: last.expect("there are some") }
    })
}

/// Asks for each stop once, eight at a time, on connections of their own.
pub fn ask_each(port: u16, stops: impl Iterator<Item = String>) {
    run(async {
        let eight = std::sync::Arc::new(Semaphore::new(8));
        let mut answers = JoinSet::new();
        for stop in stops {
            let place = eight.clone().acquire_owned().await.expect("it stays open");
            answers.spawn(async move {
                let mut connection =
                    TcpStream::connect(("127.0.0.1", port)).await.expect("it listens");
                connection.write_all(request(&stop).as_bytes()).await.expect("it reads");
                let (head, _) = answer(&mut connection).await;
                assert!(head.starts_with("HTTP/1.1 200"), "{stop}: {head}");
                drop(place);
            });
        }
        while let Some(answer) = answers.join_next().await {
            answer.expect("no panic");
        }
    });
}

fn run<T>(work: impl Future<Output = T>) -> T {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(work)
}

fn request(stop: &str) -> String {
    format!("GET {} HTTP/1.1\r\nhost: localhost\r\n\r\n", peers::path(stop))
}

/// Head and body, by its length.
async fn answer(connection: &mut TcpStream) -> (String, String) {
    let mut bytes = Vec::with_capacity(3_000);
    loop {
        let text = std::str::from_utf8(&bytes).expect("text");
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            if body.len() == length.unwrap_or(0) {
                return (head.to_owned(), body.to_owned());
            }
        }
        let read = connection.read_buf(&mut bytes).await.expect("it answers");
        assert!(read > 0, "the connection ended in mid-answer");
    }
}
