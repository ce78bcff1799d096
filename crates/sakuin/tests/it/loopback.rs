//! An origin on the loopback interface that does what a test says, byte by byte.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_rustls::TlsAcceptor;

/// One thing that an origin does.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Sends the same bytes again and again, until nobody listens.
    Flood(Vec<u8>),
    /// Waits until the test gives a permit.
    Wait(Arc<Semaphore>),
    /// Does nothing more, and keeps the connection.
    Hang,
    /// Ends the connection.
    Close,
    /// Breaks the connection off.
    Reset,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// Which connection it came on, counted from 0.
    pub(crate) connection: usize,
    /// The path with its query.
    pub(crate) path: String,
    /// Everything up to the empty line.
    pub(crate) head: String,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// An origin; gone with its runtime.
pub(crate) struct Loopback {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
}

type Script = dyn Fn(usize, &Received) -> Vec<Act> + Send + Sync;

impl Loopback {
    /// Answers each request, counted from 0, with what `script` says.
    pub(crate) async fn start(
        script: impl Fn(usize, &Received) -> Vec<Act> + Send + Sync + 'static,
    ) -> Loopback {
        Loopback::start_with(None, script).await
    }

    /// The same behind TLS.
    pub(crate) async fn start_tls(
        acceptor: TlsAcceptor,
        script: impl Fn(usize, &Received) -> Vec<Act> + Send + Sync + 'static,
    ) -> Loopback {
        Loopback::start_with(Some(acceptor), script).await
    }

    async fn start_with(
        acceptor: Option<TlsAcceptor>,
        script: impl Fn(usize, &Received) -> Vec<Act> + Send + Sync + 'static,
    ) -> Loopback {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::<Mutex<Vec<Received>>>::default();
        let (log, script): (_, Arc<Script>) = (received.clone(), Arc::new(script));
        tokio::spawn(async move {
            for connection in 0.. {
                let Ok((stream, _)) = listener.accept().await else { return };
                let (log, script, acceptor) = (log.clone(), script.clone(), acceptor.clone());
                tokio::spawn(async move {
                    match acceptor {
                        None => converse(connection, stream, &log, &*script).await,
                        Some(acceptor) => {
                            let Ok(stream) = acceptor.accept(stream).await else { return };
                            converse(connection, stream, &log, &*script).await;
                        }
                    }
                });
            }
        });
        Loopback { address, received }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    pub(crate) fn calls(&self) -> usize {
        self.received.lock().unwrap().len()
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {
    /// Breaks off instead of closing.
    fn reset(self);
}

impl Stream for TcpStream {
    fn reset(self) {
        self.set_zero_linger().unwrap();
    }
}

impl Stream for tokio_rustls::server::TlsStream<TcpStream> {
    fn reset(self) {
        self.into_inner().0.reset();
    }
}

async fn converse(
    connection: usize,
    mut stream: impl Stream,
    log: &Mutex<Vec<Received>>,
    script: &Script,
) {
    while let Some(head) = read_head(&mut stream).await {
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let received = Received { connection, path, head };
        let number = {
            let mut log = log.lock().unwrap();
            log.push(received.clone());
            log.len() - 1
        };
        for act in script(number, &received) {
            match act {
                Act::Send(bytes) => {
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Act::Flood(bytes) => while stream.write_all(&bytes).await.is_ok() {},
                Act::Wait(gate) => gate.acquire().await.unwrap().forget(),
                Act::Hang => std::future::pending().await,
                Act::Close => {
                    let _ = stream.shutdown().await;
                    return;
                }
                Act::Reset => return stream.reset(),
            }
        }
    }
}

async fn read_head(stream: &mut impl Stream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

/// An answer with its length.
pub(crate) fn answer(status: &str, headers: &[&str], body: impl AsRef<[u8]>) -> Vec<Act> {
    let body = body.as_ref();
    let mut bytes = head(status, headers, body.len());
    bytes.extend(body);
    vec![Act::Send(bytes)]
}

/// The head of an answer that announces a length.
pub(crate) fn head(status: &str, headers: &[&str], length: usize) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n");
    headers.iter().for_each(|header| head.extend([header, "\r\n"]));
    head.push_str("\r\n");
    head.into_bytes()
}

pub(crate) fn json(body: &str) -> Vec<Act> {
    answer("200 OK", &["content-type: application/json"], body)
}

/// A future that is looked at until it says yes. Panics after ten seconds.
pub(crate) async fn until(condition: impl Fn() -> bool) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !condition() {
        assert!(std::time::Instant::now() < end, "it never comes true");
        tokio::task::yield_now().await;
    }
}
