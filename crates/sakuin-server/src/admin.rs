//! The admin door: how the server is, and the reload. It has no password, so it listens on loopback alone and
//! takes nothing that a web page could make a browser send: a request must name a loopback host, and a reload
//! must carry a header that no form can.
//!
//! It runs on a thread of its own, so it answers when the loops do not.

use std::{
    convert::Infallible,
    net::{IpAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use axum::http::{HeaderValue, Method, Request, Response, StatusCode, header, uri::Authority};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use jiff::Timestamp;
use tokio::{net::TcpStream, time};

use crate::{
    Error, Reloader, body::Body, counters::millis, metrics::metrics, reply::Fault, state::State,
    tls::REREAD_TIME,
};

/// A loop that has not turned for this long hangs.
const HANGS_AFTER: Duration = Duration::from_secs(5);
/// What a client of this door may take to send its headers.
const HEADER_TIME: Duration = Duration::from_secs(5);
const RELOAD_HEADER: &str = "sakuin-admin";
const RELOAD_HINT: &str = "send the header `Sakuin-Admin: 1`";

/// What runs beside the loops.
pub(crate) struct Admin {
    state: Arc<State>,
    reloader: Reloader,
    listener: Option<TcpListener>,
}

impl Admin {
    pub(crate) fn new(state: &Arc<State>, listener: Option<TcpListener>) -> Admin {
        Admin { state: state.clone(), reloader: Reloader::new(state.clone()), listener }
    }

    /// Answers until `ended`.
    pub(crate) async fn run(self, ended: impl Future<Output = ()>) -> Result<(), Error> {
        let listener = self.listener.map(tokio::net::TcpListener::from_std).transpose();
        let listener = listener.map_err(Error::Start)?;
        let door = Door { state: self.state, reloader: self.reloader };
        let mut rereads = time::interval(REREAD_TIME);
        let mut refused = None;
        let mut ended = std::pin::pin!(ended);
        loop {
            tokio::select! {
                () = &mut ended => return Ok(()),
                _ = rereads.tick() => door.state.reread_identity(&mut refused),
                stream = next(listener.as_ref()) => door.serve(stream),
            }
        }
    }
}

/// The next connection; none ever without a listener.
async fn next(listener: Option<&tokio::net::TcpListener>) -> TcpStream {
    let Some(listener) = listener else { return std::future::pending().await };
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(_) => time::sleep(Duration::from_millis(100)).await,
        }
    }
}

#[derive(Clone)]
struct Door {
    state: Arc<State>,
    reloader: Reloader,
}

impl Door {
    fn serve(&self, stream: TcpStream) {
        let door = self.clone();
        let service = service_fn(move |request| {
            let door = door.clone();
            async move {
                let answer = door.answer(&request).await;
                Ok::<_, Infallible>(answer.unwrap_or_else(Fault::into_problem))
            }
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME);
        let connection = http.serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            let _ = connection.await;
        });
    }

    async fn answer(&self, request: &Request<Incoming>) -> Result<Response<Body>, Fault> {
        if !names_loopback(request) {
            let cause = "the request names another host";
            return Err(Fault::new(StatusCode::FORBIDDEN, cause, "name this door by its address"));
        }
        let path = request.uri().path();
        if path == "/reload" {
            return self.reload(request).await;
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Err(Fault::method("GET, HEAD"));
        }
        match path {
            "/live" => Ok(self.live()),
            "/ready" => Ok(self.ready()),
            "/versions" => Ok(self.versions()),
            "/metrics" => Ok(text(StatusCode::OK, METRICS, metrics(&self.state))),
            "/config" => {
                let config = self.state.serving.load().config.to_string();
                Ok(text(StatusCode::OK, "application/toml", config))
            }
            _ => Err(Fault::not_found(
                "the admin door has no such address",
                "it has `/live`, `/ready`, `/metrics`, `/config`, `/versions` and `POST /reload`",
            )),
        }
    }

    async fn reload(&self, request: &Request<Incoming>) -> Result<Response<Body>, Fault> {
        if request.method() != Method::POST {
            return Err(Fault::method("POST"));
        }
        if request.headers().get(RELOAD_HEADER).is_none_or(|value| value != "1") {
            let cause = "a reload must be meant";
            return Err(Fault::new(StatusCode::FORBIDDEN, cause, RELOAD_HINT));
        }
        let reloader = self.reloader.clone();
        let reloaded = tokio::task::spawn_blocking(move || reloader.reload()).await;
        match reloaded {
            Ok(Ok(())) => Ok(json(StatusCode::OK, &serde_json::json!({ "reloaded": true }))),
            Ok(Err(error)) => {
                let hint = error.hint().unwrap_or_else(|| "what was in force stays".to_owned());
                Err(Fault::new(StatusCode::CONFLICT, error.chain(), hint))
            }
            Err(_) => Err(Fault::panicked()),
        }
    }

    /// Whether every loop turns.
    fn live(&self) -> Response<Body> {
        let now = millis(self.state.start);
        let hangs = |ticked: u64| u128::from(now.saturating_sub(ticked)) > HANGS_AFTER.as_millis();
        let loops = self.state.loops.iter().enumerate();
        let hanging: Vec<_> =
            loops.filter(|(_, one)| hangs(one.now())).map(|(number, _)| number).collect();
        let status =
            if hanging.is_empty() { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
        json(status, &serde_json::json!({ "live": hanging.is_empty(), "hanging_loops": hanging }))
    }

    /// What of each repository is served, and how old that is.
    fn versions(&self) -> Response<Body> {
        let serving = self.state.serving.load();
        let now = Timestamp::now();
        let seconds = |since: Timestamp| now.duration_since(since).as_secs().max(0);
        let rows = serving.lookup.tables().repositories().map(|(name, follower)| {
            let (current, status) = (follower.current(), follower.status());
            serde_json::json!({
                "repository": name,
                "url": follower.repository().url(),
                "channel": follower.channel(),
                "version": current.as_ref().map(|current| current.number),
                "age_seconds": current.as_ref().map(|current| seconds(current.made)),
                "announced": status.announced,
                "refused": status.refused,
                "lag_seconds": status.looked.map(seconds),
                "failure": status.failure,
                "fetching_bytes": status.fetching.map(|(there, all)| [there, all]),
            })
        });
        let rows: Vec<_> = rows.collect();
        json(StatusCode::OK, &serde_json::json!({ "repositories": rows }))
    }

    /// Whether it should be sent requests. An origin that is away is told and changes nothing: it is away for
    /// every server alike, and each still has what it knew. Live tables that cannot be written are this server's
    /// alone, and somebody has to see to its disk.
    fn ready(&self) -> Response<Body> {
        let stopping = self.state.is_stopping();
        let serving = self.state.serving.load();
        let stale: Vec<_> = serving
            .lookup
            .tables()
            .iter()
            .filter(|(_, table)| table.stats().is_some_and(|stats| stats.stale_cover.is_some()))
            .map(|(name, _)| name)
            .collect();
        let read_only = serving.read_only();
        let ready = !stopping && read_only.is_none();
        let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        let mut state = serde_json::json!({ "ready": ready, "tables_without_origin": stale });
        if let Some(cause) = read_only {
            state["live_tables_read_only"] = cause.into();
        }
        json(status, &state)
    }
}

const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

fn json(status: StatusCode, value: &serde_json::Value) -> Response<Body> {
    text(status, "application/json", value.to_string())
}

fn text(status: StatusCode, kind: &'static str, text: String) -> Response<Body> {
    let mut response = Body::json(text.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Whether the host that a request names is this machine. A page of another site that had its name point here
/// would send its own name.
fn names_loopback<B>(request: &Request<B>) -> bool {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let Some(authority) = host.and_then(|host| host.parse::<Authority>().ok()) else {
        return false;
    };
    let host = authority.host().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_a_host_of_this_door() {
        let names = |host: &str| {
            names_loopback(&Request::builder().header(header::HOST, host).body(()).unwrap())
        };
        for host in ["127.0.0.1:8081", "127.9.9.9", "[::1]:8081", "localhost:8081"] {
            assert!(names(host), "{host}");
        }
        for host in
            ["example.org:8081", "10.0.0.1", "localhost.example.org", "", "127.0.0.1.example.org"]
        {
            assert!(!names(host), "{host}");
        }
        assert!(!names_loopback(&Request::new(())));
    }
}
