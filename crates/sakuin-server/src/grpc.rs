//! The gRPC door, on the port of all others: what is of `application/grpc` comes here.
//!
//! Each service is a file below; this one finds the service of a call and sees to what all calls have in common: their
//! deadline, and that a connection is not idle while a stream of it is open.

mod change;
mod db;
mod health;
mod live;
mod lookup;
mod name;
mod page;
mod pipeline;
mod refusal;
mod value;
mod watch;

use std::{
    collections::BTreeMap,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use bytes::Bytes;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use sakuin::Tables;
use sakuin_grpc::{
    db::db_server::DbServer, live::live_server::LiveServer, lookup::lookup_server::LookupServer,
};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status, server::NamedService};
use tonic_health::pb::health_server::HealthServer;
use tower_service::Service;

use crate::{Error, GrpcConfig, connection::UnderWay, pool::Pool, reply::Fault};
use page::Kept;
use refusal::Refusal;

/// The longest message, in either direction.
const MESSAGE_BYTES_MAX: usize = 4 << 20;

/// What answers hold of records at most, so that the message is not longer.
const ANSWER_BYTES_MAX: usize = MESSAGE_BYTES_MAX - (64 << 10);

const LIVE: &str = "sakuin.live.v1.Live";
const DB: &str = "db.DB";

/// The services of a configuration.
pub(crate) struct Services {
    by_name: BTreeMap<&'static str, Handler>,
    kept: Kept,
}

type Handler = Box<dyn Fn(Request<Incoming>) -> Answering + Send + Sync>;
type Answering =
    Pin<Box<dyn Future<Output = Result<Response<tonic::body::Body>, Infallible>> + Send>>;

impl Services {
    /// The services for what there is. Pages of `before` go on.
    pub(crate) fn open(
        tables: &Tables,
        config: &GrpcConfig,
        pool: &Pool,
        stopping: &CancellationToken,
        before: Option<&Services>,
    ) -> Result<Services, Error> {
        let kept = before.map(|before| before.kept.clone()).unwrap_or_default();
        let mut services = Services { by_name: BTreeMap::new(), kept: kept.clone() };
        let by_name = tables.iter().map(|(name, table)| (name.to_owned(), table.clone()));
        let door = lookup::Door { tables: by_name.collect() };
        services.add(LookupServer::new(door).max_encoding_message_size(MESSAGE_BYTES_MAX));
        if let Some(store) = tables.store() {
            let (store, pool, stopping) = (store.clone(), pool.clone(), stopping.clone());
            let door = live::Door { store, pool, kept, stopping };
            services.add(LiveServer::new(door).max_encoding_message_size(MESSAGE_BYTES_MAX));
        }
        if let (Some(config), Some(store)) = (&config.db, tables.store()) {
            services.add(DbServer::new(db::Door::new(store.clone(), pool.clone(), config)));
        }
        let health = health::Door {
            services: services.by_name.keys().copied().collect(),
            store: tables.store().cloned(),
            stopping: stopping.clone(),
        };
        services.add(HealthServer::new(health));
        services.reflect()?;
        Ok(services)
    }

    /// Lets clients ask which services there are, and what they look like.
    fn reflect(&mut self) -> Result<(), Error> {
        use tonic_reflection::server::Builder;
        let builder = |own| {
            let builder = Builder::configure()
                .register_encoded_file_descriptor_set(sakuin_grpc::DESCRIPTORS)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET);
            let names = self.by_name.keys().copied().chain([own]);
            names.fold(builder, Builder::with_service_name)
        };
        let refused = |error: tonic_reflection::server::Error| {
            Error::Start(std::io::Error::other(error.to_string()))
        };
        let v1 = builder("grpc.reflection.v1.ServerReflection").build_v1().map_err(refused)?;
        let v1alpha =
            builder("grpc.reflection.v1alpha.ServerReflection").build_v1alpha().map_err(refused)?;
        self.add(v1);
        self.add(v1alpha);
        Ok(())
    }

    fn add<S>(&mut self, service: S)
    where
        S: Service<
                Request<Incoming>,
                Response = Response<tonic::body::Body>,
                Error = Infallible,
                Future = Answering,
            > + NamedService
            + Clone
            + Send
            + Sync
            + 'static,
    {
        let handler = move |request| service.clone().call(request);
        self.by_name.insert(S::NAME, Box::new(handler));
    }

    /// What answers a call. Nothing of it happens after its deadline that has not begun before.
    pub(crate) fn call(
        &self,
        request: Request<Incoming>,
        under_way: UnderWay,
    ) -> impl Future<Output = Response<Body>> + Send + use<> {
        let deadline = deadline(request.headers());
        let service = request.uri().path().split('/').nth(1).unwrap_or_default();
        let answering = match self.by_name.get(service) {
            Some(handler) => Ok(handler(request)),
            None => {
                let cause = format!("there is no service `{service}`; reflection lists them");
                Err(Refusal::new(Code::Unimplemented, "SERVICE_NOT_FOUND", cause))
            }
        };
        async move {
            let deadline = match deadline {
                Ok(deadline) => deadline,
                Err(refusal) => return refused(refusal),
            };
            let answering = match answering {
                Ok(answering) => answering,
                Err(refusal) => return refused(refusal),
            };
            let response = match deadline {
                None => answering.await,
                Some(deadline) if deadline <= Instant::now() => {
                    return refused(Refusal::deadline());
                }
                Some(deadline) => match tokio::time::timeout_at(deadline, answering).await {
                    Ok(response) => response,
                    Err(_) => return refused(Refusal::deadline()),
                },
            };
            let Ok(response) = response;
            response.map(|body| {
                let deadline = deadline.filter(|_| !body.is_end_stream());
                let deadline = deadline.map(|deadline| Box::pin(sleep_until(deadline)));
                Body { body, deadline, is_over: false, _under_way: Some(under_way) }
            })
        }
    }
}

/// Whether a request is of this door.
pub(crate) fn is_call(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::POST
        && headers.get(header::CONTENT_TYPE).is_some_and(|content_type| {
            let rest = content_type.as_bytes().strip_prefix(b"application/grpc");
            rest.is_some_and(|rest| rest.first().is_none_or(|next| matches!(next, b'+' | b';')))
        })
}

/// The answer to a call that did not come over HTTP/2.
pub(crate) fn too_old() -> Fault {
    let status = StatusCode::HTTP_VERSION_NOT_SUPPORTED;
    Fault::new(status, "gRPC is spoken over HTTP/2", "let the client use HTTP/2 without upgrade")
}

fn refused(refusal: Refusal) -> Response<Body> {
    let response = Status::from(refusal).into_http::<tonic::body::Body>();
    response.map(|body| Body { body, deadline: None, is_over: false, _under_way: None })
}

/// When an answer is of no use any more (`grpc-timeout`); none if its client did not say.
fn deadline(headers: &HeaderMap) -> Result<Option<Instant>, Refusal> {
    let Some(timeout) = headers.get("grpc-timeout") else { return Ok(None) };
    let time = parse_timeout(timeout).ok_or_else(|| {
        let cure = "send up to eight digits and a unit, such as `500m`";
        Refusal::field("grpc-timeout", format!("{timeout:?} is no time"), cure)
    })?;
    Ok(Instant::now().checked_add(time))
}

fn parse_timeout(timeout: &HeaderValue) -> Option<Duration> {
    let (unit, digits) = timeout.as_bytes().split_last()?;
    if !(1..=8).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let count: u64 = str::from_utf8(digits).ok()?.parse().ok()?;
    Some(match unit {
        b'H' => Duration::from_secs(count * 3600),
        b'M' => Duration::from_secs(count * 60),
        b'S' => Duration::from_secs(count),
        b'm' => Duration::from_millis(count),
        b'u' => Duration::from_micros(count),
        b'n' => Duration::from_nanos(count),
        _ => return None,
    })
}

/// How an answer counts among those of the other doors: gRPC says it beside the status of HTTP.
pub(crate) fn status(headers: &HeaderMap) -> StatusCode {
    // Of an answer that has a body, the trailers tell: it was begun, so it counts as given.
    let Some(code) = headers.get("grpc-status") else { return StatusCode::OK };
    match Code::from_bytes(code.as_bytes()) {
        Code::Ok => StatusCode::OK,
        Code::Unknown | Code::Internal | Code::DataLoss => StatusCode::INTERNAL_SERVER_ERROR,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// The messages of an answer, and its status.
pub(crate) struct Body {
    body: tonic::body::Body,
    /// When a stream that still goes on is ended.
    deadline: Option<Pin<Box<Sleep>>>,
    is_over: bool,
    /// While it is sent, its connection is not idle.
    _under_way: Option<UnderWay>,
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame);
        }
        let is_late = self
            .deadline
            .as_mut()
            .is_some_and(|deadline| deadline.as_mut().poll(context).is_ready());
        if !is_late {
            return Poll::Pending;
        }
        self.is_over = true;
        let mut trailers = HeaderMap::new();
        let written = Status::from(Refusal::deadline()).add_header(&mut trailers);
        Poll::Ready(Some(written.map(|()| Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_read_as_grpc_writes_them() {
        let check = |text: &str, wanted| {
            assert_eq!(parse_timeout(&HeaderValue::from_str(text).unwrap()), wanted, "{text}");
        };
        check("1H", Some(Duration::from_secs(3600)));
        check("2M", Some(Duration::from_secs(120)));
        check("99999999S", Some(Duration::from_secs(99_999_999)));
        check("5m", Some(Duration::from_millis(5)));
        check("5u", Some(Duration::from_micros(5)));
        check("0n", Some(Duration::ZERO));
        for bad in ["", "5", "m", "123456789m", "-5m", "5s", "5 m", "+5m"] {
            check(bad, None);
        }
    }

    #[test]
    fn calls_are_known_by_their_content_type() {
        let check = |content_type: &'static str, wanted| {
            let content_type = HeaderValue::from_static(content_type);
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, content_type)]);
            assert_eq!(is_call(&Method::POST, &headers), wanted);
            assert!(!is_call(&Method::GET, &headers));
        };
        check("application/grpc", true);
        check("application/grpc+proto", true);
        check("application/grpc;x", true);
        check("application/grpc-web", false);
        check("application/json", false);
        assert!(!is_call(&Method::POST, &HeaderMap::new()));
    }
}
