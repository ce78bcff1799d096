//! What a connection calls for each request: find out what is asked, answer at once what can be, and hand the
//! rest to a future.
//!
//! A hit touches nothing but the configuration in force, the table and the counters of its own loop. Whatever
//! panics below here costs its own request a 500 and nobody else anything.

use std::{
    convert::Infallible,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{Context, Poll, ready},
};

use axum::http::{HeaderValue, Method, Request, Response, StatusCode, Version, header};
use hyper::body::Incoming;
use tower_service::Service as _;

use crate::{
    body::Body,
    connection::{UnderWay, Watch},
    contacts,
    counters::Door,
    dav,
    event_loop::Local,
    grpc,
    log::Line,
    lookup::{self, Target},
    proxy,
    reply::Fault,
    state::Serving,
};

/// The longest address, with its query.
const URI_BYTES_MAX: usize = 8 << 10;

/// The service of one connection.
pub(crate) struct Service {
    pub(crate) local: Arc<Local>,
    pub(crate) watch: Arc<Watch>,
    pub(crate) signed: dav::Signed,
}

/// An answer, or what becomes one.
pub(crate) enum Answering {
    Ready(Option<Response<Body>>),
    Waiting(Box<Waiting>),
}

type Later = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;

/// An answer that is not there yet.
pub(crate) struct Waiting {
    later: Later,
    finish: Finish,
    _under_way: UnderWay,
}

/// What is done with an answer before it is sent.
struct Finish {
    local: Arc<Local>,
    door: Door,
    form: Form,
    line: Option<Line>,
}

/// What the form of an answer depends on.
#[derive(Clone, Copy)]
struct Form {
    is_http1: bool,
    is_head: bool,
}

/// A request that stays where it is until somebody needs all of it, as a hit does not: it is large.
struct Lent(Option<Request<Incoming>>);

impl Lent {
    fn whole(&self) -> &Request<Incoming> {
        self.0.as_ref().expect("whoever takes it answers it")
    }

    fn take(&mut self) -> Request<Incoming> {
        self.0.take().expect("whoever takes it answers it")
    }
}

/// What a request leads to.
enum Step {
    Now(Response<Body>),
    Later(Later),
}

impl hyper::service::Service<Request<Incoming>> for Service {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<Incoming>) -> Answering {
        let form = Form {
            is_http1: request.version() < Version::HTTP_2,
            is_head: request.method() == Method::HEAD,
        };
        self.watch.asked(!form.is_http1);
        let serving = self.local.state.serving.load();
        let line = Line::begin(&serving.config.server.log, &self.local.until_sample, &request);
        let mut door = Door::None;
        let mut lent = Lent(Some(request));
        let step = catch_unwind(AssertUnwindSafe(|| self.step(&serving, &mut lent, &mut door)));
        let response = match step {
            Ok(Step::Now(response)) => response,
            Ok(Step::Later(later)) => {
                let finish = Finish { local: self.local.clone(), door, form, line };
                let _under_way = self.watch.wait();
                return Answering::Waiting(Box::new(Waiting { later, finish, _under_way }));
            }
            Err(_) => panicked(&self.local),
        };
        Answering::Ready(Some(finish(&self.local, door, form, line, response)))
    }
}

impl Service {
    fn step(&self, serving: &Arc<Serving>, lent: &mut Lent, door: &mut Door) -> Step {
        let request = lent.whole();
        let uri = request.uri();
        if uri.path_and_query().is_some_and(|address| address.as_str().len() > URI_BYTES_MAX) {
            return Step::Now(too_long().into_problem());
        }
        if grpc::is_call(request.method(), request.headers()) {
            *door = Door::Grpc;
            return self.call(serving, lent);
        }
        if let Some(target) = serving.lookup.find(request.method(), uri) {
            *door = Door::Lookup;
            return self
                .table(serving, lent, target)
                .unwrap_or_else(|fault| Step::Now(fault.into_problem()));
        }
        if serving.config.server.health.as_deref() == Some(uri.path()) {
            return Step::Now(self.health(serving));
        }
        if let Some(proxy) = serving.lookup.proxy(uri.path()) {
            *door = Door::Lookup;
            return later(proxy::answer(proxy.clone(), lent.take()));
        }
        if let Some(dav) = serving.dav.as_ref().filter(|dav| dav.has(uri.path())) {
            *door = Door::Dav;
            if let Some(response) =
                dav.peek(request.method(), uri.path(), request.headers(), &self.signed)
            {
                return Step::Now(response);
            }
            let request = lent.take().map(axum::body::Body::new);
            return Step::Later(Box::pin(dav.clone().answer(request)));
        }
        if let Some(pages) = serving.contacts.as_ref().filter(|_| contacts::has(uri.path())) {
            *door = Door::Contacts;
            return page(pages.clone(), lent);
        }
        let Some(site) = self.local.site(serving) else {
            // Where nothing else is served, contacts are the first page.
            let is_first = uri.path() == "/" && serving.contacts.is_some();
            return Step::Now(match is_first {
                true => Body::redirect(StatusCode::SEE_OTHER, contacts::PATH),
                false => nothing_here().into_problem(),
            });
        };
        *door = Door::Reader;
        page(site, lent)
    }

    fn call(&self, serving: &Serving, lent: &mut Lent) -> Step {
        if lent.whole().version() < Version::HTTP_2 {
            return Step::Now(grpc::too_old().into_problem());
        }
        let answer = serving.services.call(lent.take(), self.watch.wait());
        Step::Later(Box::pin(async { answer.await.map(Body::from) }))
    }

    fn table(
        &self,
        serving: &Serving,
        lent: &mut Lent,
        target: Result<Target<'_>, Fault>,
    ) -> Result<Step, Fault> {
        Ok(match target? {
            Target::Record(table, key) => {
                match lookup::peek(table, &key, lent.whole().headers())? {
                    Some(response) => Step::Now(response),
                    None => {
                        let asked = lent.take().into_parts().0.headers;
                        later(lookup::answer(table.clone(), key, asked))
                    }
                }
            }
            Target::Change(table, key, change) => {
                let (parts, body) = lent.take().into_parts();
                let (headers, body) = (parts.headers, axum::body::Body::new(body));
                let pool = self.local.state.pool.clone();
                later(lookup::write(table.clone(), key, change, headers, body, pool))
            }
            Target::List => Step::Now(lookup::list(serving.lookup.tables())),
            Target::Description => Step::Now(lookup::description()),
            Target::Batch(name, table) => {
                let body = axum::body::Body::new(lent.take().into_body());
                later(lookup::batch(name, table, self.local.state.pool.clone(), body))
            }
        })
    }

    /// Whether this server should be sent requests.
    fn health(&self, serving: &Serving) -> Response<Body> {
        let (status, text) = if self.local.state.is_stopping() {
            (StatusCode::SERVICE_UNAVAILABLE, "stopping\n")
        } else if serving.read_only().is_some() {
            (StatusCode::SERVICE_UNAVAILABLE, "read-only\n")
        } else {
            (StatusCode::OK, "ok\n")
        };
        let mut response = Response::new(Body::from(bytes::Bytes::from_static(text.as_bytes())));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

fn later(answer: impl Future<Output = Result<Response<Body>, Fault>> + Send + 'static) -> Step {
    Step::Later(Box::pin(async { answer.await.unwrap_or_else(Fault::into_problem) }))
}

impl Future for Answering {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Answering::Ready(response) => {
                Poll::Ready(Ok(response.take().expect("a future is not polled after its end")))
            }
            Answering::Waiting(waiting) => waiting.poll(context).map(Ok),
        }
    }
}

impl Waiting {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Response<Body>> {
        let response = ready!(poll_caught(&mut self.later, context));
        let response = response.unwrap_or_else(|| panicked(&self.finish.local));
        let Finish { local, door, form, line } = &mut self.finish;
        Poll::Ready(finish(local, *door, *form, line.take(), response))
    }
}

/// What a future comes to; none if it panicked.
fn poll_caught(later: &mut Later, context: &mut Context<'_>) -> Poll<Option<Response<Body>>> {
    let polled = catch_unwind(AssertUnwindSafe(|| later.as_mut().poll(context)));
    polled.map_or(Poll::Ready(None), |polled| polled.map(Some))
}

/// Counts an answer and gives it what it has in common with all others.
fn finish(
    local: &Local,
    door: Door,
    form: Form,
    line: Option<Line>,
    mut response: Response<Body>,
) -> Response<Body> {
    let status = match door {
        Door::Grpc if response.status() == StatusCode::OK => grpc::status(response.headers()),
        _ => response.status(),
    };
    local.counters().answered(door, status);
    if form.is_http1 && local.state.is_stopping() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if let Some(line) = line {
        line.end(status);
    }
    // The length of a body that is sent is written with it.
    if form.is_head
        && let Body::Full(body) = response.body_mut()
        && let Some(body) = body.take()
    {
        response.headers_mut().insert(header::CONTENT_LENGTH, body.len().into());
    }
    response
}

/// The hook has logged the panic already.
fn panicked(local: &Local) -> Response<Body> {
    local.counters().panics.fetch_add(1, Relaxed);
    Fault::panicked().into_problem()
}

/// An answer of pages.
fn page(mut pages: axum::Router, lent: &mut Lent) -> Step {
    let answer = pages.call(lent.take().map(axum::body::Body::new));
    Step::Later(Box::pin(async move {
        let Ok(response) = answer.await;
        response.map(Body::from)
    }))
}

fn too_long() -> Fault {
    let cause = format!("the address is longer than {URI_BYTES_MAX} bytes");
    Fault::new(StatusCode::URI_TOO_LONG, cause, "send long keys to `:batchGet`")
}

fn nothing_here() -> Fault {
    Fault::not_found("nothing is served at this address", "`GET /v1/tables` lists the tables")
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn a_panic_ends_its_own_answer_alone() {
        let mut context = Context::from_waker(Waker::noop());
        let mut bad: Later = Box::pin(async { panic!("a bug in a handler") });
        assert!(matches!(poll_caught(&mut bad, &mut context), Poll::Ready(None)));
        let mut good: Later = Box::pin(async { Response::new(Body::empty()) });
        assert!(matches!(poll_caught(&mut good, &mut context), Poll::Ready(Some(_))));
    }
}
