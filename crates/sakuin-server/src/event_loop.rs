//! One core's share of the server: accept, hand over, sweep, and at the end drain.
//!
//! The kernel shares connections out among the loops' listeners by a hash, which can be unfair to one of them
//! for as long as the connections live. So a loop that holds markedly more than the mean passes a new
//! connection on, before a byte of it is read and never later.

use std::{
    net::TcpListener,
    pin::pin,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::Poll,
    time::Duration,
};

use axum::Router;
use tokio::{
    net::TcpStream,
    sync::{
        Notify,
        mpsc::{UnboundedReceiver, UnboundedSender},
    },
    time,
};

use crate::{
    Error,
    connection::{self, Http, Verdict, Watch, http},
    counters::{Counters, add},
    reader::{self, Reader, stories::Stories},
    state::{Serving, State},
};

/// How many connections more than the mean a loop holds before it passes new ones on.
const UNEVEN: usize = 8;

/// What one loop owns and its connections use.
pub(crate) struct Local {
    pub(crate) state: Arc<State>,
    pub(crate) number: usize,
    pub(crate) http: Http,
    /// The site's routes with this loop's connections to the stories, made when first needed.
    site: Mutex<Option<(Weak<Serving>, Router)>>,
    /// Counts requests down to the next that is logged.
    pub(crate) until_sample: AtomicU64,
    empty: Notify,
}

impl Local {
    pub(crate) fn counters(&self) -> &Counters {
        &self.state.loops[self.number]
    }

    /// The coarse clock.
    pub(crate) fn now(&self) -> u64 {
        self.counters().now()
    }

    /// The site of `serving` on this loop; none if it has none.
    pub(crate) fn site(&self, serving: &Arc<Serving>) -> Option<Router> {
        let site = serving.reader.as_ref()?;
        let mut kept = self.site.lock().expect("nothing under this lock panics");
        if let Some((of, router)) = &*kept
            && of.as_ptr() == Arc::as_ptr(serving)
        {
            return Some(router.clone());
        }
        let stories = Stories::reader(&site.config.stories);
        let router = reader::router(Reader { stories, shared: site.shared.clone() });
        *kept = Some((Arc::downgrade(serving), router.clone()));
        Some(router)
    }

    /// A connection of this loop has ended.
    pub(crate) fn closed(&self) {
        if self.counters().open.fetch_sub(1, Relaxed) == 1 {
            self.empty.notify_one();
        }
    }
}

/// A loop before it runs.
pub(crate) struct EventLoop {
    local: Arc<Local>,
    listeners: Vec<TcpListener>,
    handed: UnboundedReceiver<std::net::TcpStream>,
    others: Vec<UnboundedSender<std::net::TcpStream>>,
}

impl EventLoop {
    pub(crate) fn new(
        state: &Arc<State>,
        number: usize,
        listeners: Vec<TcpListener>,
        handed: UnboundedReceiver<std::net::TcpStream>,
        others: Vec<UnboundedSender<std::net::TcpStream>>,
    ) -> EventLoop {
        let local = Local {
            state: state.clone(),
            number,
            http: http(),
            site: Mutex::default(),
            until_sample: AtomicU64::new(0),
            empty: Notify::new(),
        };
        EventLoop { local: Arc::new(local), listeners, handed, others }
    }

    /// Serves until the server is told to stop and its connections have ended.
    pub(crate) async fn run(self) -> Result<(), Error> {
        let EventLoop { local, listeners, mut handed, others } = self;
        let state = &local.state;
        state.loops[local.number].tick(state.start);
        let listeners = listeners.into_iter().map(tokio::net::TcpListener::from_std);
        let listeners: Vec<_> = listeners.collect::<Result<_, _>>().map_err(Error::Start)?;
        let mut connections = Connections { local: local.clone(), others, watches: Vec::new() };
        let mut announced = pin!(async {
            state.stopping.cancelled().await;
            time::sleep(state.limits.announce_time).await;
        });
        let mut sweeps = time::interval(sweep_time(state));
        sweeps.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
        loop {
            let is_full = connections.are_full();
            tokio::select! {
                biased;
                () = &mut announced => break,
                _ = sweeps.tick() => connections.sweep(),
                Some(stream) = handed.recv() => connections.take(stream),
                // Some will end soon, here or on another loop.
                () = time::sleep(Duration::from_millis(20)), if is_full => {}
                accepted = accept(&listeners), if !is_full => match accepted {
                    Ok(stream) => connections.share(stream),
                    // Out of descriptors, most likely: some will be free again.
                    Err(_) => time::sleep(Duration::from_millis(100)).await,
                },
            }
        }
        connections.others.clear();
        for listener in listeners {
            let listener = listener.into_std().map_err(Error::Start)?;
            while let Ok((stream, _)) = listener.accept() {
                connections.count();
                connections.take(stream);
            }
        }
        // Ends when no loop is left that could hand over.
        while let Some(stream) = handed.recv().await {
            connections.take(stream);
        }
        // The last ones accepted get the time to send their first request.
        let first_requests = time::sleep(state.limits.announce_time / 2);
        connections.sweep_until(first_requests, &mut sweeps).await;
        connections.decide(Verdict::Finish);
        let ended = local.ended();
        let drained = time::timeout(state.limits.drain_time, ended);
        connections.sweep_until(drained, &mut sweeps).await;
        Ok(())
    }
}

impl Local {
    async fn ended(&self) {
        while self.counters().open.load(Relaxed) > 0 {
            self.empty.notified().await;
        }
    }
}

/// How often stalled connections are looked for: four times in the shortest limit, once a second at least.
fn sweep_time(state: &State) -> Duration {
    let limits = &state.limits;
    let shortest = limits.header_time.min(limits.idle_time).min(limits.stall_time);
    (shortest / 4).clamp(Duration::from_millis(10), Duration::from_secs(1))
}

async fn accept(listeners: &[tokio::net::TcpListener]) -> std::io::Result<TcpStream> {
    std::future::poll_fn(|context| {
        for listener in listeners {
            if let Poll::Ready(accepted) = listener.poll_accept(context) {
                return Poll::Ready(accepted.map(|(stream, _)| stream));
            }
        }
        Poll::Pending
    })
    .await
}

/// The connections of a loop.
struct Connections {
    local: Arc<Local>,
    /// The way to every loop, this one included.
    others: Vec<UnboundedSender<std::net::TcpStream>>,
    watches: Vec<Weak<Watch>>,
}

impl Connections {
    /// Whether the server holds as many as it may.
    fn are_full(&self) -> bool {
        let state = &self.local.state;
        state.loops.iter().map(|one| one.open.load(Relaxed)).sum::<usize>() >= state.connections_max
    }

    /// Serves a new connection, here or on the loop that has the fewest.
    fn share(&mut self, stream: TcpStream) {
        let Some(number) = emptier(&self.local.state.loops, self.local.number) else {
            self.count();
            return self.serve(stream);
        };
        let (own, other) = (self.local.counters(), &self.local.state.loops[number]);
        add(&own.accepted);
        add(&own.handed_over);
        other.open.fetch_add(1, Relaxed);
        let sent = stream.into_std().is_ok_and(|stream| self.others[number].send(stream).is_ok());
        if !sent {
            other.open.fetch_sub(1, Relaxed);
        }
    }

    fn count(&self) {
        add(&self.local.counters().accepted);
        self.local.counters().open.fetch_add(1, Relaxed);
    }

    /// Serves a connection that was counted for this loop.
    fn take(&mut self, stream: std::net::TcpStream) {
        let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
        match stream {
            Ok(stream) => self.serve(stream),
            Err(_) => self.local.closed(),
        }
    }

    fn serve(&mut self, stream: TcpStream) {
        let watch = connection::serve(&self.local, stream);
        self.watches.push(Arc::downgrade(&watch));
    }

    /// Sets the coarse clock and closes what waits for its client too long.
    fn sweep(&mut self) {
        let state = &self.local.state;
        let now = self.local.counters().tick(state.start);
        self.watches.retain(|watch| {
            let Some(watch) = watch.upgrade() else { return false };
            if watch.is_overdue(now, &state.limits) {
                add(&self.local.counters().timed_out);
                watch.decide(Verdict::Close);
                return false;
            }
            true
        });
    }

    async fn sweep_until(&mut self, done: impl Future, sweeps: &mut time::Interval) {
        let mut done = pin!(done);
        loop {
            tokio::select! {
                biased;
                _ = &mut done => return,
                _ = sweeps.tick() => self.sweep(),
            }
        }
    }

    fn decide(&self, verdict: Verdict) {
        for watch in self.watches.iter().filter_map(Weak::upgrade) {
            watch.decide(verdict);
        }
    }
}

/// The loop with the fewest connections, if `number` has markedly more than the mean.
fn emptier(loops: &[Counters], number: usize) -> Option<usize> {
    let open = |one: &Counters| one.open.load(Relaxed);
    let mean = loops.iter().map(open).sum::<usize>() / loops.len();
    if open(&loops[number]) < mean + UNEVEN {
        return None;
    }
    let (emptiest, _) = loops.iter().enumerate().min_by_key(|(_, one)| open(one))?;
    (emptiest != number).then_some(emptiest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_uneven_loop_passes_on() {
        let check = |open: &[usize], number, wanted| {
            let loops: Vec<Counters> = open.iter().map(|_| Counters::default()).collect();
            for (one, open) in loops.iter().zip(open) {
                one.open.store(*open, Relaxed);
            }
            assert_eq!(emptier(&loops, number), wanted, "{open:?}");
        };
        check(&[100], 0, None);
        check(&[7, 0], 0, None);
        check(&[16, 0], 0, Some(1));
        check(&[16, 0], 1, None);
        check(&[50, 10, 20, 12], 0, Some(1));
        check(&[24, 20, 20, 20], 0, None);
    }
}
