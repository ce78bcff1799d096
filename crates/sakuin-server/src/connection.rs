//! One connection: what is watched of it, so that a client that stalls is closed, and how it ends.
//!
//! No timer runs for a connection. Its reads, writes and requests leave the coarse time in a [`Watch`], and the
//! loop's sweep finds those that have waited too long: a request's headers for ten seconds, a client that takes
//! nothing for twenty, one that asks nothing for seventy-five. So a hit costs two stores instead of a timer.

use std::{
    io::{self, IoSlice},
    pin::{Pin, pin},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use hyper_util::{rt::TokioIo, server::conn::auto};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::TlsAcceptor;

use crate::{
    Limits,
    counters::add,
    dav::Signed,
    door::Service,
    event_loop::Local,
    http2::{Eager, Gathered},
};

/// How HTTP is spoken; the same for every connection of a loop.
pub(crate) type Http = auto::Builder<Eager>;

/// A request's line and headers together.
const HEAD_BYTES_MAX: usize = 16 << 10;

pub(crate) fn http() -> Http {
    let mut http = Http::new(Eager);
    // Not `pipeline_flush`: it holds an answer back while half of the next request is there, and for ever if that
    // is refused.
    http.http1().header_read_timeout(None).max_buf_size(HEAD_BYTES_MAX);
    http.http2()
        .max_concurrent_streams(128)
        .max_pending_accept_reset_streams(20)
        .max_local_error_reset_streams(256)
        .max_header_list_size(HEAD_BYTES_MAX as u32);
    http
}

/// What is known of a connection's progress. Times are the loop's coarse milliseconds; none is 0.
pub(crate) struct Watch {
    local: Arc<Local>,
    /// Since when the headers of a request are on their way.
    head_since: AtomicU64,
    /// When something was last written, or a request last answered.
    quiet_since: AtomicU64,
    /// Since when the client takes nothing of what is to be written.
    blocked_since: AtomicU64,
    /// Requests being answered.
    under_way: AtomicU32,
    /// On HTTP/2 bytes arrive that are no headers of a request.
    is_http2: AtomicBool,
    /// Something was flushed that is held until the next turn.
    holds_back: AtomicBool,
    /// What was held before this turn has still to go.
    releases: AtomicBool,
    verdict: AtomicU8,
    waker: OnceLock<Waker>,
}

/// What the loop decided about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Verdict {
    /// It may go on.
    Live = 0,
    /// It ends when the requests under way are answered.
    Finish = 1,
    /// It ends now.
    Close = 2,
}

impl Watch {
    fn new(local: Arc<Local>) -> Watch {
        // A new connection owes its first request.
        let now = local.now();
        Watch {
            local,
            head_since: AtomicU64::new(now),
            quiet_since: AtomicU64::new(now),
            blocked_since: AtomicU64::new(0),
            under_way: AtomicU32::new(0),
            is_http2: AtomicBool::new(false),
            holds_back: AtomicBool::new(false),
            releases: AtomicBool::new(false),
            verdict: AtomicU8::new(Verdict::Live as u8),
            waker: OnceLock::new(),
        }
    }

    /// A request's headers are complete.
    pub(crate) fn asked(&self, is_http2: bool) {
        self.head_since.store(0, Relaxed);
        if is_http2 {
            self.is_http2.store(true, Relaxed);
        }
    }

    pub(crate) fn is_http2(&self) -> bool {
        self.is_http2.load(Relaxed)
    }

    /// Whether what is held may go in this turn, as it was held before. If not, there will be another.
    pub(crate) fn may_release(&self) -> bool {
        let held_before = self.releases.swap(false, Relaxed);
        if !held_before {
            self.holds_back.store(true, Relaxed);
        }
        held_before
    }

    /// What was held is on its way.
    pub(crate) fn released(&self) {
        self.holds_back.store(false, Relaxed);
    }

    /// The connection's task runs.
    fn begin_turn(&self) {
        self.releases.store(self.holds_back.load(Relaxed), Relaxed);
    }

    /// The connection's task waits, unless it has to run again.
    fn end_turn(&self, waker: &Waker) {
        if self.holds_back.load(Relaxed) {
            waker.wake_by_ref();
        }
    }

    /// A request must wait for its answer; until the returned value is dropped, the connection is not idle.
    pub(crate) fn wait(self: &Arc<Self>) -> UnderWay {
        self.under_way.store(self.under_way.load(Relaxed) + 1, Relaxed);
        UnderWay(self.clone())
    }

    fn is_idle(&self) -> bool {
        self.under_way.load(Relaxed) == 0
    }

    fn has_read(&self) {
        if self.is_idle() && self.head_since.load(Relaxed) == 0 && !self.is_http2() {
            self.head_since.store(self.local.now(), Relaxed);
        }
    }

    fn has_written(&self) {
        self.quiet_since.store(self.local.now(), Relaxed);
        self.blocked_since.store(0, Relaxed);
    }

    fn is_blocked(&self) {
        if self.blocked_since.load(Relaxed) == 0 {
            self.blocked_since.store(self.local.now(), Relaxed);
        }
    }

    /// Whether its client has kept it waiting for too long.
    pub(crate) fn is_overdue(&self, now: u64, limits: &Limits) -> bool {
        let longer = |since: &AtomicU64, limit: Duration| {
            let since = since.load(Relaxed);
            since != 0 && u128::from(now.saturating_sub(since)) > limit.as_millis()
        };
        longer(&self.blocked_since, limits.stall_time)
            || self.is_idle()
                && (longer(&self.head_since, limits.header_time)
                    || self.blocked_since.load(Relaxed) == 0
                        && longer(&self.quiet_since, limits.idle_time))
    }

    /// Tells the connection's task, which acts on it at once.
    pub(crate) fn decide(&self, verdict: Verdict) {
        self.verdict.fetch_max(verdict as u8, Relaxed);
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }

    fn verdict(&self) -> Verdict {
        match self.verdict.load(Relaxed) {
            0 => Verdict::Live,
            1 => Verdict::Finish,
            _ => Verdict::Close,
        }
    }
}

/// A request being answered.
pub(crate) struct UnderWay(Arc<Watch>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        let Watch { under_way, quiet_since, local, .. } = &*self.0;
        under_way.store(under_way.load(Relaxed) - 1, Relaxed);
        quiet_since.store(local.now(), Relaxed);
    }
}

/// Begins to serve a connection that was counted as open already.
pub(crate) fn serve(local: &Arc<Local>, stream: TcpStream) -> Arc<Watch> {
    let _ = stream.set_nodelay(true);
    let watch = Arc::new(Watch::new(local.clone()));
    let open = Open(local.clone());
    let stream = Watched { stream, watch: watch.clone() };
    let identity = local.state.identity.load_full();
    tokio::spawn(async move {
        let local = &open.0;
        match identity {
            None => speak(local, &stream.watch.clone(), stream).await,
            Some(identity) => {
                let watch = stream.watch.clone();
                let handshake = TlsAcceptor::from(identity.config.clone()).accept(stream);
                match unless_closed(&watch, handshake).await {
                    Some(Ok(stream)) => speak(local, &watch, stream).await,
                    Some(Err(_)) => add(&local.counters().handshakes_failed),
                    None => {}
                }
            }
        }
    });
    watch
}

async fn speak<S>(local: &Arc<Local>, watch: &Arc<Watch>, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = Service { local: local.clone(), watch: watch.clone(), signed: Signed::default() };
    let stream = Gathered::new(stream, watch.clone());
    let connection = local.http.serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut finishing = false;
    std::future::poll_fn(|context| {
        watch.waker.get_or_init(|| context.waker().clone());
        match watch.verdict() {
            Verdict::Live => {}
            Verdict::Finish if finishing => {}
            Verdict::Finish => {
                finishing = true;
                connection.as_mut().graceful_shutdown();
            }
            Verdict::Close => return Poll::Ready(()),
        }
        watch.begin_turn();
        // How a connection ends is its client's affair.
        let ended = connection.as_mut().poll(context).map(drop);
        watch.end_turn(context.waker());
        ended
    })
    .await;
}

async fn unless_closed<F: Future>(watch: &Watch, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        watch.waker.get_or_init(|| context.waker().clone());
        match watch.verdict() {
            Verdict::Close => Poll::Ready(None),
            _ => future.as_mut().poll(context).map(Some),
        }
    })
    .await
}

/// A connection that counts as open.
struct Open(Arc<Local>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.closed();
    }
}

/// A socket that tells its watch what moves.
struct Watched {
    stream: TcpStream,
    watch: Arc<Watch>,
}

impl Watched {
    fn written(&self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &outcome {
            Poll::Ready(_) => self.watch.has_written(),
            Poll::Pending => self.watch.is_blocked(),
        }
        outcome
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.watch.has_read();
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, buffer);
        self.written(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.written(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
