//! HTTP/2 without TLS, as a client that knows what it meets: answers of every length, streams that wait beside
//! streams that do not, a client that resets what it asked, and a server that stops.

use std::{error::Error as _, net::SocketAddr, sync::Arc, time::Duration};

use http_body_util::{BodyExt, Empty};
use hyper::{Request, Response, body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use sakuin_pack::{Builder, Content, Options};
use sakuin_server::Config;
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::{
    origin::{Origin, cached},
    support::{Running, limits},
};

type Sender = http2::SendRequest<Empty<&'static [u8]>>;

async fn connect(address: SocketAddr) -> Option<Sender> {
    let stream = TcpStream::connect(address).await.ok()?;
    let shaken = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (sender, connection) = shaken.ok()?;
    tokio::spawn(connection);
    Some(sender)
}

fn request(path: &str) -> Request<Empty<&'static [u8]>> {
    Request::get(format!("http://localhost{path}")).body(Empty::new()).unwrap()
}

async fn ask(sender: &Sender, path: &str) -> Response<Incoming> {
    sender.clone().send_request(request(path)).await.unwrap()
}

async fn body(response: Response<Incoming>) -> Vec<u8> {
    response.into_body().collect().await.unwrap().to_bytes().to_vec()
}

/// Values around the sizes of a frame, of what is gathered and of the window.
const LENGTHS: [usize; 8] = [0, 1, 255, 2_048, 16_384, 16_385, 65_536, 1 << 20];

fn value(length: usize) -> Vec<u8> {
    (0..length).map(|at| b'a' + (at % 26) as u8).collect()
}

fn table(announce: Duration) -> (Running, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = Builder::new(Content::Text, Options::new());
    for length in LENGTHS {
        builder.add(length.to_string().as_bytes(), &value(length)).unwrap();
    }
    builder.write(folder.path().join("one.skn")).unwrap();
    let text = "[server]\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n\
        [tables.one]\nkind = \"packed\"\nfile = \"one.skn\"\nroute = \"/one/{key}\"\n";
    let config = Config::parse(text, "test.toml", folder.path()).unwrap();
    let mut limits = limits();
    limits.announce_time = announce;
    (Running::start(&config, &limits), folder)
}

/// Ends a server from a test that is a task itself.
async fn end(running: impl Send + 'static) {
    tokio::task::spawn_blocking(move || drop(running)).await.unwrap();
}

#[tokio::test]
async fn answers_of_every_length_arrive_whole() {
    let (running, _folder) = table(Duration::from_millis(50));
    let sender = connect(running.address).await.unwrap();
    let answers = LENGTHS.repeat(20).into_iter().map(|length| {
        let sender = sender.clone();
        tokio::spawn(async move {
            let response = ask(&sender, &format!("/one/{length}")).await;
            assert_eq!(response.status(), 200);
            assert!(body(response).await == value(length), "{length} bytes");
        })
    });
    for answer in answers.collect::<Vec<_>>() {
        answer.await.unwrap();
    }
    end(running).await;
}

#[tokio::test]
async fn a_stream_that_waits_holds_up_no_other() {
    let origin = Origin::start();
    let stops = cached(&origin, "ttl = \"1h\"");
    let sender = connect(stops.running.address).await.unwrap();
    let (other, asking) = (sender.clone(), Arc::new(tokio::sync::Notify::new()));
    let asked = asking.clone();
    let waiting = tokio::spawn(async move {
        let answer = other.clone().send_request(request("/stops/09999"));
        asked.notify_one();
        body(answer.await.unwrap()).await
    });
    asking.notified().await;
    for _ in 0..3 {
        assert_eq!(ask(&sender, "/stops/01012").await.status(), 200);
        assert_eq!(ask(&sender, "/stops/x").await.status(), 400);
    }
    assert!(!waiting.is_finished());
    origin.release();
    assert!(String::from_utf8(waiting.await.unwrap()).unwrap().contains("09999"));
    end(stops).await;
}

/// What resets do to a server is known as "rapid reset": the connection ends, and the server goes on.
#[tokio::test]
async fn a_client_that_only_resets_is_let_go() {
    let origin = Origin::start();
    let stops = cached(&origin, "ttl = \"1h\"");
    let sender = connect(stops.running.address).await.unwrap();
    let mut is_open = true;
    for _ in 0..100_000 {
        let mut sender = sender.clone();
        is_open = sender.ready().await.is_ok();
        if !is_open {
            break;
        }
        // Sent once polled; reset by being dropped.
        let answer = sender.send_request(request("/stops/09999"));
        let _ = tokio::time::timeout(Duration::ZERO, answer).await;
        tokio::task::yield_now().await;
    }
    assert!(!is_open, "100,000 requests could be reset");
    let other = connect(stops.running.address).await.unwrap();
    assert_eq!(ask(&other, "/stops/01012").await.status(), 200);
    origin.release();
    end(stops).await;
}

/// Clients hammer the server while it stops: a request that was sent is answered whole, and one that was not says
/// so, so that its client may ask elsewhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_loses_no_request() {
    let (mut running, _folder) = table(Duration::from_secs(1));
    let address = running.address;
    let (answered, mut answers) = tokio::sync::mpsc::unbounded_channel();
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let answered = answered.clone();
            tokio::spawn(async move {
                while let Some(sender) = connect(address).await {
                    // Four at a time, until the server has said that this connection ends.
                    let streams = (0..4).map(|_| {
                        let (sender, answered) = (sender.clone(), answered.clone());
                        tokio::spawn(async move {
                            while ask_or_be_refused(&sender).await {
                                let _ = answered.send(());
                            }
                        })
                    });
                    for stream in streams.collect::<Vec<_>>() {
                        stream.await.unwrap();
                    }
                }
            })
        })
        .collect();
    drop(answered);
    for _ in 0..200 {
        answers.recv().await.unwrap();
    }
    running.stop();
    tokio::task::spawn_blocking(move || running.join().unwrap()).await.unwrap();
    for client in clients {
        client.await.unwrap();
    }
}

/// Whether the server took the request; an answer must be whole.
async fn ask_or_be_refused(sender: &Sender) -> bool {
    let mut sender = sender.clone();
    if sender.ready().await.is_err() {
        return false;
    }
    match sender.try_send_request(request("/one/16385")).await {
        Ok(response) => {
            assert_eq!((response.status().as_u16(), body(response).await.len()), (200, 16_385));
            true
        }
        Err(mut error) => {
            let was_sent = error.take_message().is_none();
            let error = error.into_error();
            assert!(!was_sent || is_not_begun(&error), "a request was lost: {error:?}");
            false
        }
    }
}

/// Whether the server ended the connection before it began this stream (RFC 9113 6.8).
fn is_not_begun(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<h2::Error>());
    cause.is_some_and(|it| {
        it.is_go_away() && it.is_remote() && it.reason() == Some(h2::Reason::NO_ERROR)
    })
}
