//! An HTTP API as an origin.
//!
//! One client and one guard an origin, however many tables read from it. Tables that ask for the same thing
//! at the same moment share one request: what flies is the answer as it came, before any mapping.

mod answer;

use std::{
    collections::BTreeMap,
    error::Error as _,
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use http::{HeaderName, HeaderValue, Method, header};
use reqwest::{Certificate, Client, Url, redirect};
use sakuin_cache::{
    Clock, Failure, FailureKind, Flights, Guard, GuardLimits, Outcome, SystemClock, Tick,
};
use tokio::runtime::Handle;

use super::Validators;
use crate::{
    KeyRule, Template, TemplateError,
    config::{self, Text},
};

#[cfg(fuzzing)]
pub(crate) use answer::read;
pub(crate) use answer::{Found, copy, retry_after};

/// How long a connection may rest. Shorter than most origins keep theirs: whoever closes first should be us,
/// for a request that meets the origin's closing is lost.
const IDLE: Duration = Duration::from_secs(15);

/// Tables that wait for one request of theirs.
const SHARERS_MAX: usize = 100_000;

/// An HTTP API that tables read from.
pub(crate) struct HttpOrigin {
    client: Client,
    guard: Guard<SystemClock>,
    flights: Flights<Result<Found, Failure>>,
    url: String,
    headers: BTreeMap<String, Text>,
    max_answer: usize,
    clock: SystemClock,
    runtime: Handle,
    /// Purges so far: a request never shares a flight that began before a purge it came after.
    purges: AtomicU64,
    /// When the last answer came, in nanoseconds; zero for never.
    answered: AtomicU64,
}

/// What one table asks of an HTTP API.
pub(crate) struct Request {
    origin: Arc<HttpOrigin>,
    url: Template,
    headers: Vec<(HeaderName, Value)>,
}

enum Value {
    Fixed(HeaderValue),
    Filled(Template),
}

impl HttpOrigin {
    /// A client for an API. Nothing is connected yet.
    pub(crate) fn open(
        config: &config::Http,
        clock: SystemClock,
        runtime: Handle,
    ) -> Result<HttpOrigin, String> {
        let limits = GuardLimits {
            timeout: config.timeout,
            concurrency: config.concurrency,
            rate: config.rate.clone(),
        };
        Ok(HttpOrigin {
            client: client(config)?,
            guard: Guard::new(limits, clock.clone()),
            flights: Flights::new(SHARERS_MAX),
            url: config.url.clone(),
            headers: config.headers.clone(),
            max_answer: config.max_answer,
            clock,
            runtime,
            purges: AtomicU64::default(),
            answered: AtomicU64::default(),
        })
    }

    /// What stands before it.
    pub(crate) fn guard(&self) -> &Guard<SystemClock> {
        &self.guard
    }

    /// What talks to it.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Requests from now on share nothing that began before.
    pub(crate) fn purged(&self) {
        self.purges.fetch_add(1, Relaxed);
    }

    async fn call(&self, ask: &Ask, needed: bool) -> Result<Found, Failure> {
        self.guard.call(needed, || self.attempt(ask)).await
    }

    async fn attempt(&self, ask: &Ask) -> Result<Found, Failure> {
        let asked = self.clock.now();
        let response = match self.client.execute(ask.request()).await {
            Err(error) if is_cut(&error) && self.may_have_rested(asked) => {
                self.client.execute(ask.request()).await
            }
            response => response,
        };
        let response = response.map_err(|error| unreachable(&error))?;
        self.answered.store(self.clock.now().as_nanos(), Relaxed);
        let content =
            answer::read(response, ask.conditional, self.max_answer, self.clock.unix()).await?;
        Ok(Found { content, asked })
    }

    /// Whether a request sent now may have met a connection that rested, which the origin may have closed.
    fn may_have_rested(&self, now: Tick) -> bool {
        let answered = self.answered.load(Relaxed);
        answered > 0 && now.since(Tick::from_nanos(answered)) <= IDLE
    }
}

impl Request {
    /// What a table with keys of this rule asks.
    pub(crate) fn new(origin: Arc<HttpOrigin>, rule: &KeyRule) -> Result<Request, TemplateError> {
        let headers = origin.headers.iter().map(|(name, text)| {
            let name = HeaderName::try_from(name).expect("the configuration checked the name");
            Ok((name, Value::new(text, rule)?))
        });
        let headers = headers.collect::<Result<_, _>>()?;
        Ok(Request { url: Template::new(&origin.url, rule)?, headers, origin })
    }

    /// Asks for `key`, or whether what has these validators is still true. `needed` if nothing stale can be
    /// served meanwhile.
    pub(crate) async fn fetch(
        &self,
        key: &str,
        validators: Option<&Validators>,
        needed: bool,
    ) -> Result<Arc<Result<Found, Failure>>, Failure> {
        let ask = self.ask(key, validators)?;
        let origin = self.origin.clone();
        let sameness = format!("{} {}", self.origin.purges.load(Relaxed), ask.sameness());
        let fetch = move || async move { origin.call(&ask, needed).await };
        match self.origin.flights.join(&self.origin.runtime, &sameness, fetch).await {
            Outcome::Landed { value, .. } => Ok(value),
            Outcome::Crowded => Err(failure(FailureKind::Guarded, "too many tables ask this")),
            Outcome::Broken => Err(failure(FailureKind::Broken, "the request broke")),
        }
    }

    pub(crate) fn origin(&self) -> &HttpOrigin {
        &self.origin
    }

    fn ask(&self, key: &str, validators: Option<&Validators>) -> Result<Ask, Failure> {
        let url = Url::parse(&self.url.url(key))
            .map_err(|error| failure(FailureKind::Denied, &format!("no address: {error}")))?;
        let mut headers: Vec<(HeaderName, HeaderValue)> =
            vec![(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"))];
        for (name, value) in &self.headers {
            let value = match value {
                Value::Fixed(value) => value.clone(),
                Value::Filled(template) => HeaderValue::try_from(template.plain(key))
                    .map_err(|_| failure(FailureKind::Denied, "no header can hold this key"))?,
            };
            headers.push((name.clone(), value));
        }
        let validators = validators.filter(|validators| !validators.is_empty());
        if let Some(tag) = validators.and_then(|validators| validators.etag.clone()) {
            headers.push((header::IF_NONE_MATCH, tag));
        }
        if let Some(date) = validators.and_then(|validators| validators.last_modified.clone()) {
            headers.push((header::IF_MODIFIED_SINCE, date));
        }
        Ok(Ask { url, headers, conditional: validators.is_some() })
    }
}

impl Value {
    fn new(text: &Text, rule: &KeyRule) -> Result<Value, TemplateError> {
        let Text::Plain(plain) = text else {
            let mut secret =
                HeaderValue::try_from(text.value()).expect("the configuration checked the value");
            secret.set_sensitive(true);
            return Ok(Value::Fixed(secret));
        };
        Ok(Value::Filled(Template::new(plain, rule)?))
    }
}

/// One request, as often as it is sent.
struct Ask {
    url: Url,
    headers: Vec<(HeaderName, HeaderValue)>,
    conditional: bool,
}

impl Ask {
    fn request(&self) -> reqwest::Request {
        let mut request = reqwest::Request::new(Method::GET, self.url.clone());
        request.headers_mut().extend(self.headers.iter().cloned());
        request
    }

    /// Equal for requests that get the same answer.
    fn sameness(&self) -> String {
        let mut text = self.url.to_string();
        for (name, value) in &self.headers {
            text.push_str(&format!("\n{name}: {}", String::from_utf8_lossy(value.as_bytes())));
        }
        text
    }
}

fn client(config: &config::Http) -> Result<Client, String> {
    let mut builder = Client::builder()
        .user_agent(concat!("sakuin/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .retry(reqwest::retry::never())
        .pool_idle_timeout(IDLE)
        .connect_timeout(config.timeout);
    builder = match &config.ca {
        Some(path) => builder.tls_certs_merge(certificates(path)?),
        // The machine's certificates are many, and read for nothing where nothing is encrypted.
        None if config.url.starts_with("http://") => builder.tls_certs_only([]),
        None => builder,
    };
    builder.build().map_err(|error| innermost(&error))
}

fn certificates(path: &Path) -> Result<Vec<Certificate>, String> {
    let pem = fs::read(path).map_err(|error| {
        format!("cannot read the certificates of `{}`: {error}", path.display())
    })?;
    let certificates = Certificate::from_pem_bundle(&pem).unwrap_or_default();
    if certificates.is_empty() {
        return Err(format!("no certificate in `{}`", path.display()));
    }
    Ok(certificates)
}

/// Whether the connection ended before a byte of the answer came.
fn is_cut(error: &reqwest::Error) -> bool {
    let mut source = if error.is_connect() { None } else { error.source() };
    while let Some(inner) = source {
        if let Some(error) = inner.downcast_ref::<hyper::Error>()
            && (error.is_incomplete_message() || error.is_canceled() || error.is_closed())
        {
            return true;
        }
        if let Some(error) = inner.downcast_ref::<std::io::Error>() {
            use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
            return matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset);
        }
        source = inner.source();
    }
    false
}

fn unreachable(error: &reqwest::Error) -> Failure {
    let what = if error.is_connect() { "cannot connect" } else { "no answer" };
    failure(FailureKind::Unreachable, &format!("{what}: {}", innermost(error)))
}

/// The last cause, which says what happened; those before it say where we were, and the first one the address.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    if std::ptr::addr_eq(cause, error) { "it cannot be sent".to_owned() } else { cause.to_string() }
}

fn failure(kind: FailureKind, cause: &str) -> Failure {
    Failure { kind, cause: cause.to_owned(), retry_after: None }
}
