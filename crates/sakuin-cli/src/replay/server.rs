//! The stand-in origin itself: answers from memory, failing as asked.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::{Body, Frame, Incoming, SizeHint},
    header::{CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, RETRY_AFTER},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use socket2::SockRef;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
    time,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{Recording, Target};

/// Where the counts of calls are asked for; not itself a call.
const CALLS: &str = "/_replay/calls";

/// How the origin behaves.
pub(super) struct Weather {
    pub(super) delay: Duration,
    pub(super) jitter: Duration,
    /// The share of requests that fail.
    pub(super) fail: f64,
    pub(super) seed: u64,
    pub(super) outages: Vec<Outage>,
    pub(super) start: Instant,
}

/// A time after the start during which nothing is answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outage {
    pub(super) from: Duration,
    pub(super) to: Duration,
}

/// A way to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Error,
    Unavailable,
    Reset,
    Cut,
    Hang,
}

/// The faults in their turn.
const FAULTS: [Fault; 5] =
    [Fault::Error, Fault::Unavailable, Fault::Reset, Fault::Cut, Fault::Hang];

impl Weather {
    /// A number from 0 to 1 that only the seed, a request's number and the question decide.
    fn dice(&self, number: u64, question: u8) -> f64 {
        let mut bytes = [question; 9];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        (xxh3_64_with_seed(&bytes, self.seed) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn fails(&self, number: u64) -> bool {
        self.dice(number, 0) < self.fail
    }

    fn wait(&self, number: u64) -> Duration {
        self.delay + self.jitter.mul_f64(self.dice(number, 1))
    }

    fn is_out(&self) -> bool {
        let now = self.start.elapsed();
        self.outages.iter().any(|outage| (outage.from..outage.to).contains(&now))
    }
}

/// A recording with what happened to it.
pub(super) struct Replay {
    targets: BTreeMap<String, (Target, AtomicU64)>,
    /// Calls of targets that are not recorded.
    unknown: AtomicU64,
    calls: AtomicU64,
    failures: AtomicU64,
    weather: Weather,
}

impl Replay {
    pub(super) fn new(recording: Recording, weather: Weather) -> Replay {
        let counted = |(name, target)| (name, (target, AtomicU64::new(0)));
        Replay {
            targets: recording.0.into_iter().map(counted).collect(),
            unknown: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            weather,
        }
    }

    /// The answer to a request; none if its connection is to be reset.
    async fn answer(&self, request: &Request<Incoming>) -> Option<Response<Reply>> {
        let asked = request.uri().path_and_query().map_or("/", |target| target.as_str());
        if asked == CALLS {
            return Some(self.counts());
        }
        if self.weather.is_out() {
            return None;
        }
        let number = self.calls.fetch_add(1, Relaxed);
        let target = self.targets.get(asked);
        let calls = target.map_or(&self.unknown, |(_, calls)| calls);
        let turn = calls.fetch_add(1, Relaxed);
        let fault = self.weather.fails(number).then(|| {
            let failure = self.failures.fetch_add(1, Relaxed);
            FAULTS[(failure % FAULTS.len() as u64) as usize]
        });
        let wait = self.weather.wait(number);
        if !wait.is_zero() {
            time::sleep(wait).await;
        }
        let answer = || match target {
            Some((target, _)) => recorded(target, turn, request),
            None => text(StatusCode::NOT_FOUND, "not recorded\n"),
        };
        match fault {
            None => Some(answer()),
            Some(Fault::Error) => Some(text(StatusCode::INTERNAL_SERVER_ERROR, "as asked\n")),
            Some(Fault::Unavailable) => {
                let mut response = text(StatusCode::SERVICE_UNAVAILABLE, "as asked\n");
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
                Some(response)
            }
            Some(Fault::Reset) => None,
            Some(Fault::Cut) => Some(answer().map(Reply::cut)),
            Some(Fault::Hang) => std::future::pending().await,
        }
    }

    fn counts(&self) -> Response<Reply> {
        let target = |(name, (_, calls)): (&String, &(Target, AtomicU64))| {
            (name.clone(), calls.load(Relaxed).into())
        };
        let counts = serde_json::json!({
            "calls": self.calls.load(Relaxed),
            "failures": self.failures.load(Relaxed),
            "unknown": self.unknown.load(Relaxed),
            "targets": self.targets.iter().map(target).collect::<serde_json::Map<_, _>>(),
        });
        let mut response = Response::new(Reply::new(Bytes::from(format!("{counts:#}\n"))));
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        response
    }
}

/// A recorded answer: its next body, or 304 if the client has it.
fn recorded(target: &Target, turn: u64, request: &Request<Incoming>) -> Response<Reply> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are recorded\n");
    }
    let answer = &target.answers[(turn % target.answers.len() as u64) as usize];
    let tag = target.headers.get(ETAG).unwrap_or(&answer.tag);
    let (body, status) = match target.status {
        StatusCode::OK if has(request.headers(), tag) => (Bytes::new(), StatusCode::NOT_MODIFIED),
        status => (answer.body.clone(), status),
    };
    let mut response = Response::new(Reply::new(body));
    *response.status_mut() = status;
    *response.headers_mut() = target.headers.clone();
    response.headers_mut().insert(ETAG, tag.clone());
    response
}

/// Whether the client has the body of a tag (RFC 9110 13.1.2).
fn has(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let weak = |tag: &'_ str| tag.trim().trim_start_matches("W/").to_owned();
    let tag = weak(tag.to_str().unwrap_or_default());
    let lists = headers.get_all(IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|asked| asked.trim() == "*" || weak(asked) == tag)
}

fn text(status: StatusCode, text: &'static str) -> Response<Reply> {
    let mut response = Response::new(Reply::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

/// Serves for ever.
pub(super) async fn run(listener: TcpListener, replay: Replay) {
    let replay = Arc::new(replay);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(connection(stream, replay.clone()))),
            // Out of file descriptors: they come back as connections end.
            Err(_) => time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn connection(stream: TcpStream, replay: Arc<Replay>) {
    // Without it, small answers wait for the client's acknowledgements.
    let _ = stream.set_nodelay(true);
    let reset = Arc::new(Notify::new());
    let service = service_fn(|request| {
        let (replay, reset) = (replay.clone(), reset.clone());
        async move {
            match replay.answer(&request).await {
                Some(response) => Ok::<_, Infallible>(response),
                None => {
                    reset.notify_one();
                    std::future::pending().await
                }
            }
        }
    });
    let mut http =
        http1::Builder::new().pipeline_flush(true).serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        // A client that went, or a body that was cut as asked.
        _ = &mut http => {}
        () = reset.notified() => {
            let stream = http.into_parts().io.into_inner();
            // What is closed without lingering is reset.
            let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
        }
    }
}

/// A body of one piece, perhaps cut in the middle.
struct Reply {
    rest: Bytes,
    length: u64,
    cut: Cut,
}

enum Cut {
    No,
    /// Once what came before is sent.
    Later,
    Now,
}

impl Reply {
    fn new(body: Bytes) -> Reply {
        Reply { length: body.len() as u64, rest: body, cut: Cut::No }
    }

    /// The first half of it, under the length of the whole.
    fn cut(self) -> Reply {
        Reply { rest: self.rest.slice(..self.rest.len() / 2), cut: Cut::Later, ..self }
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(rest))));
        }
        match self.cut {
            Cut::No => Poll::Ready(None),
            Cut::Now => Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into()))),
            // The connection is closed at once by an error, so what is before it has to leave first.
            Cut::Later => {
                self.cut = Cut::Now;
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && matches!(self.cut, Cut::No)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weather(seed: u64, fail: f64) -> Weather {
        Weather {
            delay: Duration::from_millis(100),
            jitter: Duration::from_millis(50),
            fail,
            seed,
            outages: Vec::new(),
            start: Instant::now(),
        }
    }

    #[test]
    fn a_seed_decides_what_fails() {
        let failing = |seed| -> Vec<u64> {
            let weather = weather(seed, 0.05);
            (0..10_000).filter(|number| weather.fails(*number)).collect()
        };
        assert_eq!(failing(1), failing(1));
        assert_ne!(failing(1), failing(2));
        assert!((400..600).contains(&failing(1).len()), "{}", failing(1).len());
        assert!(!weather(1, 0.0).fails(0) && weather(1, 1.0).fails(0));
    }

    #[test]
    fn waits_lie_within_the_jitter() {
        let weather = weather(1, 0.0);
        let waits: Vec<_> = (0..1000).map(|number| weather.wait(number).as_millis()).collect();
        assert!(waits.iter().all(|wait| (100..150).contains(wait)));
        assert!(waits.iter().min() < Some(&105) && waits.iter().max() > Some(&145));
    }

    #[test]
    fn an_outage_has_a_begin_and_an_end() {
        let hour = Duration::from_secs(3600);
        let out = |from, to| Weather { outages: vec![Outage { from, to }], ..weather(0, 0.0) };
        assert!(out(Duration::ZERO, hour).is_out());
        assert!(!out(hour, 2 * hour).is_out() && !out(Duration::ZERO, Duration::ZERO).is_out());
    }
}
