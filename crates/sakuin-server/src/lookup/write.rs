//! `POST`, `PUT`, `PATCH` and `DELETE` of the records of live tables.
//!
//! Each request is one transaction. It reads the record, looks whether the request's conditions hold, and is
//! committed only if the record is still what was read; if another was faster it begins again. So of two clients
//! that change what they both read, one is told so, and no update is lost.

use std::sync::Arc;

use axum::{
    body::Body as RequestBody,
    http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header},
};
use sakuin::{Key, Live, Table};
use sakuin_live::{CommitError, Committed, ID_MAX, Record, Store, Transaction, Value, json};

use super::{TABLES, condition::Conditions};
use crate::{
    body::Body,
    commit::{self, committed_before},
    pool::Pool,
    reply::{Fault, read_body},
};

/// What is to become of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// `POST`: it is new, and the store gives it an id.
    Create,
    /// `PUT`: it has these values and no others.
    Replace,
    /// `PATCH`: it has these values besides those it has; a `null` takes one away (RFC 7396).
    Merge,
    /// `DELETE`
    Delete,
}

/// What a commit survives: `sync`, `interval` or `none`.
const DURABILITY: HeaderName = HeaderName::from_static("sakuin-durability");
/// Its place among all commits.
const SEQUENCE: HeaderName = HeaderName::from_static("sakuin-sequence");
/// The name under which a request that is sent again is known.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENCY_KEY_BYTES_MAX: usize = 256;

/// How long a body may be, besides the numbers of a vector.
const BODY_BYTES_MAX: usize = 1 << 20;
const NUMBER_BYTES_MAX: usize = 32;
/// A body that is longer is read on the pool: it would hold up the loop.
const INLINE_BYTES_MAX: usize = 16 << 10;

/// What is wanted of one record.
struct Wanted {
    change: Change,
    table: String,
    /// 0 for one that is to be created.
    id: u64,
    conditions: Conditions,
    request: Option<String>,
    values: Vec<(String, Option<Value>)>,
}

/// What a transaction does.
#[derive(Default)]
struct Built {
    /// The record as it will be, where that is known before the commit.
    written: Option<Record>,
    is_new: bool,
}

impl Change {
    /// What a method does to a record that has an address.
    pub(super) fn of_method(method: &Method) -> Option<Change> {
        match *method {
            Method::PUT => Some(Change::Replace),
            Method::PATCH => Some(Change::Merge),
            Method::DELETE => Some(Change::Delete),
            _ => None,
        }
    }
}

/// Changes a record, or creates one if there is no key.
pub(crate) async fn write(
    table: Arc<Table>,
    key: Option<Key>,
    change: Change,
    headers: HeaderMap,
    body: RequestBody,
    pool: Pool,
) -> Result<Response<Body>, Fault> {
    let Table::Live(live) = &*table else { return Err(Fault::method("GET, HEAD")) };
    let id = key.map_or(0, |key| key.as_str().parse().expect("the table's rule has checked it"));
    let mut wanted = Wanted {
        change,
        table: live.name().to_owned(),
        id,
        conditions: Conditions::of(&headers),
        request: None,
        values: Vec::new(),
    };
    wanted.request = request(&headers, &wanted)?;
    if change != Change::Delete {
        expect_json(change, &headers)?;
        wanted.values = values(&table, live, id, body, &pool).await?;
    }
    commit(live.store(), &wanted).await
}

/// The request's name in the store: a key counts for one method at one address.
fn request(headers: &HeaderMap, wanted: &Wanted) -> Result<Option<String>, Fault> {
    let Some(key) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let text = key.to_str().ok().filter(|key| (1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&key.len()));
    let Some(text) = text else {
        let cause = "the `Idempotency-Key` cannot be taken";
        let cure = format!("send 1 to {IDEMPOTENCY_KEY_BYTES_MAX} characters of ASCII");
        return Err(Fault::bad_request(cause, cure));
    };
    let Wanted { change, table, id, .. } = wanted;
    Ok(Some(format!("{change:?} {table}/{id} {text}")))
}

/// Refuses a body that does not say it is JSON. A browser asks before it sends such a body to another site.
fn expect_json(change: Change, headers: &HeaderMap) -> Result<(), Fault> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let is = |name: &str| kind.eq_ignore_ascii_case(name);
    let (good, cure) = match change {
        Change::Merge => (
            is("application/json") || is("application/merge-patch+json"),
            "send `content-type: application/merge-patch+json`",
        ),
        _ => (is("application/json"), "send `content-type: application/json`"),
    };
    if good {
        return Ok(());
    }
    let cause = match kind {
        "" => "the body does not say what it is".to_owned(),
        kind => format!("the body is `{}`", kind.escape_debug()),
    };
    Err(Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, cause, cure))
}

/// The values that a body names.
async fn values(
    table: &Arc<Table>,
    live: &Live,
    id: u64,
    body: RequestBody,
    pool: &Pool,
) -> Result<Vec<(String, Option<Value>)>, Fault> {
    let dimensions = live.schema().vectors().map_or(0, |vectors| vectors.dimensions);
    let bytes = read_body(body, BODY_BYTES_MAX + NUMBER_BYTES_MAX * dimensions).await?;
    if bytes.len() <= INLINE_BYTES_MAX {
        return parse(live, id, &bytes);
    }
    let table = table.clone();
    let parse = move || match &*table {
        Table::Live(live) => parse(live, id, &bytes),
        _ => Ok(Vec::new()),
    };
    pool.run(parse).await?
}

fn parse(live: &Live, id: u64, bytes: &[u8]) -> Result<Vec<(String, Option<Value>)>, Fault> {
    let fields = json::read(live.schema(), bytes)?;
    if fields.id.is_some_and(|named| named != id) {
        return Err(match id {
            0 => Fault::bad_request(
                "the `id` of a new record is given",
                "leave `id` away: the store gives it",
            ),
            _ => Fault::bad_request(
                format!("the `id` is not {id}"),
                "leave `id` away: the address has it",
            ),
        });
    }
    Ok(fields.values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Commits what is wanted, again while others are faster.
async fn commit(store: &Arc<Store>, wanted: &Wanted) -> Result<Response<Body>, Fault> {
    let request = wanted.request.as_deref();
    match commit::commit(store, request, |transaction| wanted.build(transaction)).await {
        Ok((built, committed)) => Ok(wanted.answer(store, &committed, built)),
        // What was done already may be why it cannot be done: the record is gone, or another since.
        Err(fault) => match committed_before(store, request, &wanted.table).await {
            Some(committed) => Ok(wanted.answer(store, &committed, Built::default())),
            None => Err(fault),
        },
    }
}

impl Wanted {
    /// Makes a transaction do it.
    fn build(&self, transaction: &mut Transaction) -> Result<Built, Fault> {
        let given = self.values.iter().filter_map(|(name, value)| Some((&**name, value.clone()?)));
        let Wanted { table, id, .. } = self;
        if self.change == Change::Create {
            transaction.insert(table, given)?;
            return Ok(Built { written: None, is_new: true });
        }
        let version = transaction.get(table, *id)?.map(|record| record.version());
        if !self.conditions.hold(version) {
            return Err(self.changed(version));
        }
        let is_new = version.is_none();
        match self.change {
            Change::Delete => transaction.delete(table, *id)?,
            Change::Merge => {
                transaction.patch(table, *id, given)?;
                let cleared = self.values.iter().filter(|(_, value)| value.is_none());
                transaction.clear(table, *id, cleared.map(|(name, _)| &**name))?;
            }
            _ if is_new && self.conditions.want_absence() => {
                if *id > ID_MAX {
                    let cure = format!("choose an id from 1 to {ID_MAX}");
                    return Err(Fault::bad_request("the id is too large to be chosen", cure));
                }
                transaction.put(table, *id, given)?;
            }
            _ => transaction.replace(table, *id, given)?,
        }
        // Sent again under its name, a patch may meet another record than the first time.
        let is_known = self.change != Change::Merge || self.request.is_none();
        let written = if is_known { transaction.get(table, *id)? } else { None };
        Ok(Built { written, is_new })
    }

    fn changed(&self, version: Option<u64>) -> Fault {
        let Wanted { table, id, .. } = self;
        let cause = match version {
            Some(version) => format!("record {id} of table `{table}` is at version \"{version}\""),
            None => format!("table `{table}` has no record {id}"),
        };
        let cure = match (self.conditions.want_absence(), version) {
            (true, _) => "leave `If-None-Match` away to change the record that is there",
            (false, Some(_)) => {
                "read it again, and send what you change with its `ETag` as `If-Match`"
            }
            (false, None) => "leave `If-Match` away, or create it: `If-None-Match: *`",
        };
        Fault::new(StatusCode::PRECONDITION_FAILED, cause, cure)
    }

    /// What a commit is answered with. The record is as this commit made it; if another has changed it since, it is
    /// `written`, or left out if that is not known.
    fn answer(&self, store: &Store, committed: &Committed, built: Built) -> Response<Body> {
        let Built { written, is_new } = built;
        let is_new = is_new || self.change == Change::Create;
        let id = committed.ids.first().copied().unwrap_or(self.id);
        let now = store.snapshot().get(&self.table, id).ok().flatten();
        let record = now.filter(|record| record.version() == committed.sequence);
        let mut response = match record.or(written).filter(|_| self.change != Change::Delete) {
            Some(record) => Body::json(record.to_json().into()),
            None => Response::new(Body::empty()),
        };
        let has_body = response.headers().contains_key(header::CONTENT_TYPE);
        *response.status_mut() = match (is_new, has_body) {
            (true, _) => StatusCode::CREATED,
            (false, true) => StatusCode::OK,
            (false, false) => StatusCode::NO_CONTENT,
        };
        let headers = response.headers_mut();
        let header =
            |text: String| HeaderValue::try_from(text).expect("names and numbers are ASCII");
        let place = header(format!("{TABLES}/{}/{id}", self.table));
        if self.change != Change::Delete {
            headers.insert(header::ETAG, header(format!("\"{}\"", committed.sequence)));
        }
        if has_body {
            // What is sent back is the record and not what was sent, and the tag is the record's.
            headers.insert(header::CONTENT_LOCATION, place.clone());
        }
        if is_new {
            headers.insert(header::LOCATION, place);
        }
        headers.insert(SEQUENCE, committed.sequence.into());
        headers.insert(DURABILITY, HeaderValue::from_static(committed.durability.name()));
        response
    }
}

/// One table from what a store says to what HTTP says.
impl From<CommitError> for Fault {
    fn from(error: CommitError) -> Fault {
        let cause = error.to_string();
        match error {
            CommitError::Value(error) => error.into(),
            CommitError::NotFound { table, .. } => {
                let cure = format!("`POST {TABLES}/{table}` creates a record and gives it its id");
                Fault::not_found(cause, cure)
            }
            CommitError::ReadOnly { .. } | CommitError::Unknown { .. } => {
                let cure = "reading goes on; see to the server's disk and restart it, then send this \
                    again under the same `Idempotency-Key`";
                let mut fault = Fault::new(StatusCode::SERVICE_UNAVAILABLE, cause, cure);
                fault.retry_after = Some(60);
                fault
            }
            CommitError::TooLarge { .. } | CommitError::TooManyBytes { .. } => {
                Fault::new(StatusCode::PAYLOAD_TOO_LARGE, cause, "send it in parts")
            }
            error => Fault::internal("the change cannot be committed", &error),
        }
    }
}

impl From<sakuin_live::ValueError> for Fault {
    fn from(error: sakuin_live::ValueError) -> Fault {
        let cure = error
            .hint()
            .unwrap_or_else(|| "the table's attributes are in its configuration".to_owned());
        Fault::bad_request(error.to_string(), cure)
    }
}

impl From<json::Error> for Fault {
    fn from(error: json::Error) -> Fault {
        match error {
            json::Error::Value(error) => error.into(),
            error => {
                let cure = error.hint().unwrap_or_default();
                Fault::bad_request(format!("the body is no record: {error}"), cure)
            }
        }
    }
}
