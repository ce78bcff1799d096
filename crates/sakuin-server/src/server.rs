//! The server: one event loop per core, each with its own listeners on the same ports, and one thread beside
//! them that answers the admin door, reloads and watches the certificate.
//!
//! When the server is asked to stop it first goes on accepting while it tells every client to close,
//! then takes what still waits in the listeners' queues, and only then stops listening: no request of a
//! connection that was made is lost.

use std::{
    net::{SocketAddr, TcpListener},
    panic::resume_unwind,
    pin::pin,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use sakuin_japanese::dictionary::Dictionary;
use tokio::{runtime::Runtime, sync::mpsc};
use tokio_util::sync::CancellationToken;

use crate::{
    Config, Error, ReaderConfig, Reloader,
    admin::Admin,
    check::old,
    event_loop::EventLoop,
    follow,
    listen::{connections_max, listen},
    log,
    pool::Pool,
    reader::day::Day,
    state::{Reloads, Serving, State},
    tls::Identity,
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
    /// Connections at once, over all loops; the next ones wait. Four fifths of the descriptors that the system
    /// allows, if not said.
    pub connections: Option<usize>,
    /// A request's headers must arrive within this time, and so must the first request of a connection.
    pub header_time: Duration,
    /// How long a client may take nothing of an answer.
    pub stall_time: Duration,
    /// How long a connection may be without a request.
    pub idle_time: Duration,
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
            connections: None,
            header_time: Duration::from_secs(10),
            stall_time: Duration::from_secs(20),
            idle_time: Duration::from_secs(75),
            announce_time: Duration::from_millis(300),
            drain_time: Duration::from_secs(30),
        }
    }
}

/// A server that listens, and serves once it runs.
pub struct Server {
    state: Arc<State>,
    /// Every address it listens on, with a listener for each loop.
    listeners: Vec<(SocketAddr, Vec<TcpListener>)>,
    admin: Option<(SocketAddr, TcpListener)>,
}

impl Server {
    /// Opens what the configuration names, and begins to listen.
    pub fn bind(config: &Config, limits: &Limits) -> Result<Server, Error> {
        let pool = Pool::start(limits.workers, limits.waiting).map_err(Error::Start)?;
        let server = &config.server;
        let identity = server.tls.as_ref().map(Identity::read).transpose()?.map(Arc::new);
        let stopping = CancellationToken::new();
        let serving = Serving::open(config.clone(), &pool, &stopping, None)?;
        let loops = limits.loops.max(1);
        let bound = server.listen.iter().map(|&wanted| {
            let (listeners, address) = listen(wanted, loops)?;
            Ok((address, listeners))
        });
        let listeners = bound.collect::<Result<Vec<_>, Error>>()?;
        let admin = server.admin.map(|wanted| {
            let (mut listeners, address) = listen(wanted, 1)?;
            Ok::<_, Error>((address, listeners.remove(0)))
        });
        let admin = admin.transpose()?;
        let state = State {
            serving: ArcSwap::from_pointee(serving),
            identity: ArcSwapOption::new(identity),
            loops: (0..loops).map(|_| Default::default()).collect(),
            pool,
            limits: limits.clone(),
            connections_max: limits.connections.unwrap_or_else(connections_max),
            stopping,
            start: Instant::now(),
            reloads: Reloads::default(),
        };
        Ok(Server { state: Arc::new(state), listeners, admin })
    }

    /// Where it listens first: with port 0, the port it was given.
    pub fn address(&self) -> SocketAddr {
        self.listeners[0].0
    }

    /// Every address it listens on.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.listeners.iter().map(|(address, _)| *address)
    }

    /// Where its admin door listens.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(|(address, _)| *address)
    }

    /// The address of its first page, or of its tables.
    pub fn url(&self) -> String {
        let serving = self.state.serving.load();
        let path = serving.config.reader.as_ref().map_or("/", |reader| &reader.path);
        let scheme = if serving.config.server.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.address())
    }

    /// Reloads it while it runs.
    pub fn reloader(&self) -> Reloader {
        Reloader::new(self.state.clone())
    }

    /// Serves until `stop` is done and the requests under way are answered.
    pub fn run(self, stop: impl Future<Output = ()>) -> Result<(), Error> {
        let Server { state, listeners, admin } = self;
        let ended = CancellationToken::new();
        let _ended = ended.clone().drop_guard();
        let admin = Admin::new(&state, admin.map(|(_, listener)| listener));
        let mut event_loops = event_loops(&state, listeners).into_iter();
        let first = event_loops.next().expect("a server has a loop");
        thread::scope(|scope| {
            let spawn = |name: String, run: Box<dyn FnOnce() -> Result<(), Error> + Send>| {
                thread::Builder::new().name(name).spawn_scoped(scope, run).map_err(Error::Start)
            };
            let loops: Vec<_> = event_loops
                .zip(1..)
                .map(|(event_loop, number)| {
                    let run = move || runtime()?.block_on(event_loop.run());
                    spawn(format!("sakuin-loop-{number}"), Box::new(run))
                })
                .collect::<Result<_, _>>()?;
            let beside = {
                let ended = ended.clone();
                let run = move || runtime()?.block_on(admin.run(ended.cancelled()));
                spawn("sakuin-admin".to_owned(), Box::new(run))?
            };
            let following = {
                let (ended, state) = (ended.clone(), state.clone());
                let run = move || {
                    runtime()?.block_on(follow::run(&state, &ended));
                    Ok(())
                };
                spawn("sakuin-follow".to_owned(), Box::new(run))?
            };
            let served = runtime()?.block_on(async {
                let mut run = pin!(first.run());
                tokio::select! {
                    served = &mut run => return served,
                    () = stop => state.stopping.cancel(),
                }
                run.await
            });
            state.stopping.cancel();
            let join = |other: thread::ScopedJoinHandle<'_, _>| {
                other.join().unwrap_or_else(|panic| resume_unwind(panic))
            };
            let served = loops.into_iter().map(join).fold(served, Result::and);
            ended.cancel();
            served.and(join(beside)).and(join(following)).and(state.close())
        })
    }
}

/// The loops, each with a listener of every address and the way to every other.
fn event_loops(
    state: &Arc<State>,
    listeners: Vec<(SocketAddr, Vec<TcpListener>)>,
) -> Vec<EventLoop> {
    let mut listeners: Vec<_> =
        listeners.into_iter().map(|(_, listeners)| listeners.into_iter()).collect();
    let channels = state.loops.iter().map(|_| mpsc::unbounded_channel());
    let (senders, receivers): (Vec<_>, Vec<_>) = channels.unzip();
    let event_loop = |(number, handed)| {
        let own = listeners.iter_mut().filter_map(Iterator::next).collect();
        EventLoop::new(state, number, own, handed, senders.clone())
    };
    receivers.into_iter().enumerate().map(event_loop).collect()
}

/// Serves until SIGTERM or SIGINT, having printed the address of the first page; a second signal ends
/// the process at once, and SIGHUP reloads. The log goes to stderr.
pub fn serve(config: &Config) -> Result<(), Error> {
    log::start();
    let server = Server::bind(config, &Limits::default())?;
    if let Some(site) = &server.state.serving.load().reader {
        for warning in old(site.shared.sources(), Day::today()) {
            tracing::warn!("{warning}");
        }
    }
    println!("{}", server.url());
    let reloader = server.reloader();
    server.run(signals(reloader))
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

async fn signals(reloader: Reloader) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt), Ok(mut hang_up)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
        signal(SignalKind::hangup()),
    ) else {
        tracing::warn!("signals cannot be received, the server stops at once when told to");
        return std::future::pending().await;
    };
    tokio::spawn(async move {
        while hang_up.recv().await.is_some() {
            let reloader = reloader.clone();
            // What it says is in the log.
            let _ = tokio::task::spawn_blocking(move || reloader.reload()).await;
        }
    });
    let mut next = async move || {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
    };
    next().await;
    tokio::spawn(async move {
        next().await;
        std::process::exit(1);
    });
}
