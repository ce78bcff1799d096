//! The server: one event loop per core, each with its own listener on the same port.
//!
//! The kernel shares the connections out among the listeners, so the loops never wait for one another.
//! When the server is asked to stop it first goes on accepting while it tells every client to close,
//! then takes what still waits in the listeners' queues, and only then stops listening: no request of a
//! connection that was made is lost.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    panic::resume_unwind,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    http::{HeaderValue, Request, Version, header},
};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use sakuin_japanese::dictionary::Dictionary;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::{net::TcpStream, runtime::Runtime, time};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use crate::{
    Config, Error, ReaderConfig,
    check::old,
    pool::Pool,
    reader::{self, Reader, Shared, day::Day, stories::Stories},
};

/// How much a server takes on, and how long it waits. The defaults are meant to stay.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Event loops; one per core.
    pub loops: usize,
    /// Threads for scans and pages; one per core.
    pub workers: usize,
    /// Pieces of work that may wait for a thread; the next is refused with 503.
    pub waiting: usize,
    /// A request's headers must arrive within this time.
    pub header_time: Duration,
    /// How long a stopping server goes on accepting, telling clients to close.
    pub announce_time: Duration,
    /// How long a stopping server waits for the requests under way.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Limits {
            loops: cores,
            workers: cores,
            waiting: 128 * cores,
            header_time: Duration::from_secs(10),
            announce_time: Duration::from_millis(300),
            drain_time: Duration::from_secs(30),
        }
    }
}

/// A server that listens, and serves once it runs.
pub struct Server {
    listeners: Vec<TcpListener>,
    address: SocketAddr,
    reader: Option<(ReaderConfig, Arc<Shared>)>,
    limits: Limits,
}

impl Server {
    /// Opens the dictionary and the stories, and begins to listen.
    pub fn bind(config: &Config, limits: &Limits) -> Result<Server, Error> {
        let wanted = config.server.listen[0];
        let failed = |source| Error::Listen { address: wanted, source };
        let (listeners, address) = listen(wanted, limits.loops).map_err(failed)?;
        let pool = Pool::start(limits.workers, limits.waiting).map_err(Error::Start)?;
        let open = |reader: &ReaderConfig| {
            let dictionary = open_dictionary(reader)?;
            runtime()?.block_on(Stories::open(&reader.stories))?;
            let shared = Arc::new(Shared::new(dictionary, &reader.path, pool));
            Ok::<_, Error>((reader.clone(), shared))
        };
        let reader = config.reader.as_ref().map(open).transpose()?;
        Ok(Server { listeners, address, reader, limits: limits.clone() })
    }

    /// Where it listens: with port 0, the port it was given.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of its first page.
    pub fn url(&self) -> String {
        let path = self.reader.as_ref().map_or("/", |(config, _)| &config.path);
        format!("http://{}{path}", self.address)
    }

    /// Serves until `stop` is done and the requests under way are answered.
    pub fn run(self, stop: impl Future<Output = ()>) -> Result<(), Error> {
        let stopping = CancellationToken::new();
        let mut listeners = self.listeners.into_iter();
        let first = listeners.next().expect("a server has a listener");
        let event_loop = |listener| EventLoop {
            listener,
            reader: self.reader.as_ref().map(|(config, shared)| Reader {
                stories: Stories::reader(&config.stories),
                shared: shared.clone(),
            }),
            limits: &self.limits,
            stopping: stopping.clone(),
        };
        thread::scope(|scope| {
            let others: Vec<_> = listeners
                .enumerate()
                .map(|(number, listener)| {
                    let event_loop = &event_loop;
                    let name = format!("sakuin-loop-{}", number + 1);
                    let run =
                        move || runtime()?.block_on(async { event_loop(listener).run().await });
                    thread::Builder::new().name(name).spawn_scoped(scope, run).map_err(Error::Start)
                })
                .collect::<Result<_, _>>()?;
            let served = runtime()?.block_on(async {
                let run = event_loop(first).run();
                let mut run = pin!(run);
                tokio::select! {
                    served = &mut run => return served,
                    () = stop => stopping.cancel(),
                }
                run.await
            });
            stopping.cancel();
            let others = others
                .into_iter()
                .map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            others.fold(served, Result::and)
        })
    }
}

/// Serves until SIGTERM or SIGINT, having printed the address of the first page; a second signal ends
/// the process at once. Warnings go to stderr.
pub fn serve(config: &Config) -> Result<(), Error> {
    let server = Server::bind(config, &Limits::default())?;
    if let Some((_, shared)) = &server.reader {
        for warning in old(shared.sources(), Day::today()) {
            eprintln!("warning: {warning}");
        }
    }
    println!("{}", server.url());
    server.run(signals())
}

pub(crate) fn open_dictionary(config: &ReaderConfig) -> Result<Dictionary, Error> {
    Dictionary::open(&config.dictionary).map_err(|source| Error::Dictionary {
        file: config.dictionary.display().to_string(),
        source,
    })
}

/// Threads of a loop that read long answers back from disk.
const BLOCKING_THREADS_MAX: usize = 4;

pub(crate) fn runtime() -> Result<Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .build()
        .map_err(Error::Start)
}

async fn signals() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        eprintln!("warning: signals cannot be received, the server stops at once when told to");
        return std::future::pending().await;
    };
    let mut next = async move || {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
    };
    next().await;
    tokio::spawn(async move {
        next().await;
        std::process::exit(1);
    });
}

/// Opens `count` listeners on one port. They share it, so another process of the same user could
/// quietly join them: a first listener that does not share makes sure that nobody is there.
fn listen(wanted: SocketAddr, count: usize) -> io::Result<(Vec<TcpListener>, SocketAddr)> {
    if wanted.port() != 0 {
        drop(listener(wanted, false)?);
    }
    let first = listener(wanted, true)?;
    let address = first.local_addr()?;
    let others = (1..count).map(|_| listener(address, true));
    let listeners = std::iter::once(Ok(first)).chain(others).collect::<io::Result<_>>()?;
    Ok((listeners, address))
}

fn listener(address: SocketAddr, shared: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    Ok(socket.into())
}

/// One core's share of the server.
struct EventLoop<'a> {
    listener: TcpListener,
    reader: Option<Reader>,
    limits: &'a Limits,
    stopping: CancellationToken,
}

impl EventLoop<'_> {
    async fn run(self) -> Result<(), Error> {
        let listener = tokio::net::TcpListener::from_std(self.listener).map_err(Error::Start)?;
        let connections = Connections {
            http: http(self.limits.header_time),
            router: self.reader.map(reader::router).unwrap_or_default(),
            graceful: GracefulShutdown::new(),
            stopping: self.stopping.clone(),
            header_time: self.limits.header_time,
        };
        let mut announced = pin!(async {
            self.stopping.cancelled().await;
            time::sleep(self.limits.announce_time).await;
        });
        loop {
            tokio::select! {
                biased;
                () = &mut announced => break,
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => connections.serve(stream),
                    // Out of descriptors, most likely: some will be free again.
                    Err(_) => time::sleep(Duration::from_millis(100)).await,
                },
            }
        }
        let listener = listener.into_std().map_err(Error::Start)?;
        while let Ok((stream, _)) = listener.accept() {
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = TcpStream::from_std(stream)
            {
                connections.serve(stream);
            }
        }
        drop(listener);
        // The last ones accepted get the time to send their first request.
        time::sleep(self.limits.announce_time / 2).await;
        let _ = time::timeout(self.limits.drain_time, connections.graceful.shutdown()).await;
        Ok(())
    }
}

type Http = auto::Builder<TokioExecutor>;

fn http(header_time: Duration) -> Arc<Http> {
    let mut http = Http::new(TokioExecutor::new());
    http.http1().timer(TokioTimer::new()).header_read_timeout(header_time).max_buf_size(16 << 10);
    http.http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(128)
        .max_header_list_size(16 << 10)
        .keep_alive_interval(Duration::from_secs(30));
    Arc::new(http)
}

/// What every connection of a loop shares.
struct Connections {
    http: Arc<Http>,
    router: Router,
    graceful: GracefulShutdown,
    stopping: CancellationToken,
    header_time: Duration,
}

impl Connections {
    fn serve(&self, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let spoke = Arc::new(AtomicBool::new(false));
        let service = {
            let (router, stopping, spoke) =
                (self.router.clone(), self.stopping.clone(), spoke.clone());
            service_fn(move |request: Request<Incoming>| {
                spoke.store(true, Ordering::Relaxed);
                let closes = request.version() < Version::HTTP_2;
                let answer = router.clone().call(request.map(Body::new));
                let stopping = stopping.clone();
                async move {
                    let mut response = answer.await?;
                    if closes && stopping.is_cancelled() {
                        let close = HeaderValue::from_static("close");
                        response.headers_mut().insert(header::CONNECTION, close);
                    }
                    Ok::<_, std::convert::Infallible>(response)
                }
            })
        };
        let connection = self.http.serve_connection(TokioIo::new(stream), service).into_owned();
        let connection = self.graceful.watch(connection);
        let header_time = self.header_time;
        tokio::spawn(async move {
            // Until the first bytes tell HTTP/1 from HTTP/2, no timer of hyper's runs.
            let silent = async {
                time::sleep(header_time).await;
                if spoke.load(Ordering::Relaxed) {
                    std::future::pending::<()>().await;
                }
            };
            // How a connection ends is its client's affair.
            tokio::select! { _ = connection => {}, () = silent => {} }
        });
    }
}
