//! What the server says while it runs: to stderr, as text on a terminal and as JSON elsewhere.
//!
//! Requests are not logged unless the configuration asks for a sample of them or for slow ones; a request that
//! is not logged costs one comparison. An address is logged without its query, which may hold what is private.

use std::{
    io::{IsTerminal, stderr},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use axum::http::{Method, Request, StatusCode, Uri};
use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};

use crate::AccessLog;

/// Begins to log; does nothing if the process logs already. `RUST_LOG` chooses what, `info` by default.
pub(crate) fn start() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let layer = tracing_subscriber::fmt::layer().with_writer(stderr);
    let registry = tracing_subscriber::registry().with(filter);
    let started = if stderr().is_terminal() {
        registry.with(layer).try_init()
    } else {
        registry.with(layer.json().flatten_event(true)).try_init()
    };
    if started.is_ok() {
        std::panic::set_hook(Box::new(|panic| {
            let message = panic.payload_as_str().unwrap_or("a value that is no text");
            let place = panic.location().map(ToString::to_string);
            tracing::error!(place, "panicked: {message}");
        }));
    }
}

/// A request that may be logged.
pub(crate) struct Line {
    method: Method,
    uri: Uri,
    began: Instant,
    /// Logged only if it takes longer.
    slow: Option<Duration>,
}

impl Line {
    /// The line of a request; none if it is not to be logged, whatever it takes.
    pub(crate) fn begin<B>(
        log: &AccessLog,
        until_sample: &AtomicU64,
        request: &Request<B>,
    ) -> Option<Line> {
        if log.sample.is_none() && log.slow.is_none() {
            return None;
        }
        let is_sampled = log.sample.is_some_and(|one_of| is_sampled(until_sample, one_of));
        if !is_sampled && log.slow.is_none() {
            return None;
        }
        Some(Line {
            method: request.method().clone(),
            uri: request.uri().clone(),
            began: Instant::now(),
            slow: log.slow.filter(|_| !is_sampled),
        })
    }

    /// Logs how the request was answered.
    pub(crate) fn end(self, status: StatusCode) {
        let took = self.began.elapsed();
        if self.slow.is_some_and(|slow| took < slow) {
            return;
        }
        tracing::info!(
            target: "sakuin::access",
            method = self.method.as_str(),
            path = self.uri.path(),
            status = status.as_u16(),
            microseconds = took.as_micros() as u64,
            "request"
        );
    }
}

/// Whether this is the one of so many. Only one thread counts here.
fn is_sampled(until_sample: &AtomicU64, one_of: u64) -> bool {
    match until_sample.load(Relaxed) {
        0 => {
            until_sample.store(one_of - 1, Relaxed);
            true
        }
        left => {
            // A reload may have made the sample denser.
            until_sample.store((left - 1).min(one_of - 1), Relaxed);
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_so_many_is_sampled() {
        let count = AtomicU64::new(0);
        let sampled = (0..100).filter(|_| is_sampled(&count, 10)).count();
        assert_eq!(sampled, 10);
        count.store(5000, Relaxed);
        assert_eq!((0..10).filter(|_| is_sampled(&count, 3)).count(), 3);
    }
}
