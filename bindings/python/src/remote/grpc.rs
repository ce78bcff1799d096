//! A server asked over gRPC: `sakuin.v1.Lookup` for keys, `sakuin.live.v1.Live` for records.

use std::{collections::HashMap, future::Future};

use futures_util::future::try_join_all;
use sakuin_grpc::{
    live::{self as wire, live_client::LiveClient, value::Kind, write::Write},
    lookup::{self, entry::Outcome, lookup_client::LookupClient},
};
use sakuin_live::{Assignment, Metric, Value};
use tonic::{
    Code, Request, Status,
    metadata::{AsciiMetadataKey, AsciiMetadataValue, MetadataMap},
    transport::{Channel, ClientTlsConfig, Endpoint},
};
use tonic_types::StatusExt;

use super::{Failure, Found, Key, Near, Record, request_id};
use crate::value::Fields;

/// Records of one message, keys of one question.
const RECORDS_MAX: usize = 1000;
const IDS_MAX: i32 = 100_000;
/// What a message may be, as the server has it.
const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// How long a connection may take.
const CONNECT_SECONDS: u64 = 10;

pub(super) struct Door {
    live: LiveClient<Channel>,
    lookup: LookupClient<Channel>,
    headers: MetadataMap,
}

impl Door {
    pub(super) fn new(url: &str, headers: HashMap<String, String>) -> Result<Door, String> {
        let mut endpoint = Endpoint::from_shared(url.to_owned())
            .map_err(|error| error.to_string())?
            .connect_timeout(std::time::Duration::from_secs(CONNECT_SECONDS))
            .tcp_nodelay(true);
        if url.starts_with("https://") {
            let tls = ClientTlsConfig::new().with_native_roots();
            endpoint = endpoint.tls_config(tls).map_err(|error| error.to_string())?;
        }
        let channel = endpoint.connect_lazy();
        let mut metadata = MetadataMap::new();
        for (name, value) in headers {
            // What a value is may be secret.
            let wrong = || format!("header {name:?} cannot be sent");
            let key: AsciiMetadataKey = name.to_lowercase().parse().map_err(|_| wrong())?;
            metadata.insert(key, AsciiMetadataValue::try_from(value).map_err(|_| wrong())?);
        }
        Ok(Door {
            live: LiveClient::new(channel.clone()).max_decoding_message_size(MESSAGE_BYTES_MAX),
            lookup: LookupClient::new(channel).max_decoding_message_size(MESSAGE_BYTES_MAX),
            headers: metadata,
        })
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        *request.metadata_mut() = self.headers.clone();
        request
    }

    /// Calls, and once more if the connection was gone: every write has a name, so that it is done once.
    async fn live<M: Clone, T, F: Future<Output = Result<tonic::Response<T>, Status>>>(
        &self,
        message: M,
        call: impl Fn(LiveClient<Channel>, Request<M>) -> F,
    ) -> Result<T, Failure> {
        let first = call(self.live.clone(), self.request(message.clone())).await;
        let answer = match first {
            Err(status) if is_lost(&status) => call(self.live.clone(), self.request(message)).await,
            answer => answer,
        };
        answer.map(tonic::Response::into_inner).map_err(|status| failure(&status))
    }

    pub(super) async fn record(&self, table: &str, id: u64) -> Result<Option<Record>, Failure> {
        let request = wire::GetRequest { name: record_name(table, id) };
        let answer =
            self.live(request, |mut live, request| async move { live.get(request).await }).await;
        match answer {
            Ok(answer) => answer.record.map(record).transpose(),
            Err(failure)
                if failure.class == "NotFound" && !failure.message.contains("no live table") =>
            {
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    pub(super) async fn get(&self, table: &str, key: &Key) -> Result<Option<Found>, Failure> {
        match key {
            Key::Id(id) => Ok(self.record(table, *id).await?.map(Found::Record)),
            Key::Text(_) => {
                Ok(self.get_many(table, std::slice::from_ref(key)).await?.pop().flatten())
            }
        }
    }

    pub(super) async fn get_many(
        &self,
        table: &str,
        keys: &[Key],
    ) -> Result<Vec<Option<Found>>, Failure> {
        let mut all = Vec::with_capacity(keys.len());
        for part in keys.chunks(RECORDS_MAX) {
            let (mut found, ids): (HashMap<Key, Found>, Vec<u64>) =
                (HashMap::new(), part.iter().filter_map(Key::id).collect());
            if !ids.is_empty() {
                let names = ids.iter().map(|id| record_name(table, *id)).collect();
                let request = wire::BatchGetRequest { names };
                let answer = self
                    .live(request, |mut live, request| async move { live.batch_get(request).await })
                    .await?;
                for one in answer.records {
                    let one = record(one)?;
                    found.insert(Key::Id(one.id), Found::Record(one));
                }
            }
            let texts: Vec<String> = part.iter().filter_map(Key::text).collect();
            if !texts.is_empty() {
                for entry in self.entries(table, texts).await? {
                    match entry.outcome {
                        Some(Outcome::Answer(answer)) => {
                            let value = Found::of(&answer.content_type, answer.value);
                            found.insert(Key::Text(entry.key), value);
                        }
                        Some(Outcome::Error(error)) => {
                            let message = format!("key {:?}: {}", entry.key, error.message);
                            return Err(Failure::new(
                                class(&error.reason, error.code.into()),
                                message,
                                None,
                            ));
                        }
                        None => {}
                    }
                }
            }
            all.extend(part.iter().map(|key| found.get(key).cloned()));
        }
        Ok(all)
    }

    async fn entries(&self, table: &str, keys: Vec<String>) -> Result<Vec<lookup::Entry>, Failure> {
        let message = lookup::BatchGetRequest { table: table.to_owned(), keys };
        let mut client = self.lookup.clone();
        let answer = match client.batch_get(self.request(message.clone())).await {
            Err(status) if is_lost(&status) => client.batch_get(self.request(message)).await,
            answer => answer,
        };
        Ok(answer.map_err(|status| failure(&status))?.into_inner().entries)
    }

    /// What a search finds, and the snapshot it saw.
    pub(super) async fn search(
        &self,
        table: &str,
        filter: &str,
    ) -> Result<(Vec<Record>, u64), Failure> {
        let (mut found, mut token) = (Vec::new(), String::new());
        loop {
            let page = self.page(table, filter, token, false).await?;
            for one in page.records {
                found.push(record(one)?);
            }
            token = page.next_page_token;
            if token.is_empty() {
                return Ok((found, page.snapshot));
            }
        }
    }

    pub(super) async fn search_ids(&self, table: &str, filter: &str) -> Result<Vec<u64>, Failure> {
        let (mut found, mut token) = (Vec::new(), String::new());
        loop {
            let page = self.page(table, filter, token, true).await?;
            found.extend(page.ids);
            token = page.next_page_token;
            if token.is_empty() {
                return Ok(found);
            }
        }
    }

    async fn page(
        &self,
        table: &str,
        filter: &str,
        page_token: String,
        ids_only: bool,
    ) -> Result<wire::SearchResponse, Failure> {
        let request = wire::SearchRequest {
            parent: table_name(table),
            filter: filter.to_owned(),
            page_size: if ids_only { IDS_MAX } else { RECORDS_MAX as i32 },
            page_token,
            ids_only,
        };
        self.live(request, |mut live, request| async move { live.search(request).await }).await
    }

    /// What is near to each of several vectors, asked for all at once.
    pub(super) async fn nearest(
        &self,
        table: &str,
        near: &[Near],
        names_only: bool,
    ) -> Result<Vec<Vec<(Record, f64)>>, Failure> {
        let asked = near.iter().map(|near| async move {
            let request = wire::FindNearestRequest {
                parent: table_name(table),
                vector: Some(packed(&near.vector)),
                count: i32::try_from(near.count).unwrap_or(i32::MAX),
                metric: metric(near.metric) as i32,
                filter: near.filter.clone(),
                names_only,
            };
            let answer = self
                .live(request, |mut live, request| async move { live.find_nearest(request).await })
                .await?;
            let each =
                answer.neighbors.into_iter().filter_map(|near| Some((near.record?, near.score)));
            each.map(|(near, score)| Ok((record(near)?, score))).collect()
        });
        try_join_all(asked).await
    }

    pub(super) async fn add(&self, table: &str, fields: &Fields) -> Result<u64, Failure> {
        let ids = self.add_many(table, std::slice::from_ref(fields)).await?;
        ids.first().copied().ok_or_else(|| Failure::new("Error", "the server gave no id", None))
    }

    pub(super) async fn add_many(&self, table: &str, rows: &[Fields]) -> Result<Vec<u64>, Failure> {
        let mut ids = Vec::with_capacity(rows.len());
        for part in rows.chunks(RECORDS_MAX) {
            let writes = part.iter().map(|row| create(table, row)).collect();
            ids.extend(self.commit(writes, Vec::new()).await?.ids);
        }
        Ok(ids)
    }

    pub(super) async fn put(&self, table: &str, id: u64, fields: &Fields) -> Result<(), Failure> {
        let put = self.commit(vec![replace(table, id, fields)], Vec::new()).await.map(drop);
        put.map_err(|failure| match failure.class {
            "NotFound" => Failure {
                hint: Some("a server gives ids: add() it, or put() it over HTTP".to_owned()),
                ..failure
            },
            _ => failure,
        })
    }

    pub(super) async fn patch(&self, table: &str, id: u64, fields: &Fields) -> Result<(), Failure> {
        self.commit(vec![patch(table, id, fields)], Vec::new()).await.map(drop)
    }

    pub(super) async fn delete(&self, table: &str, id: u64) -> Result<(), Failure> {
        self.commit(vec![delete(table, id)], Vec::new()).await.map(drop)
    }

    pub(super) async fn update_where(
        &self,
        table: &str,
        filter: &str,
        all: &[(String, Assignment)],
    ) -> Result<Vec<u64>, Failure> {
        Ok(self.commit(vec![update_where(table, filter, all)], Vec::new()).await?.matched)
    }

    /// Writes all of it or nothing, if what was read is still so.
    pub(super) async fn commit(
        &self,
        writes: Vec<wire::Write>,
        preconditions: Vec<wire::Precondition>,
    ) -> Result<wire::CommitResponse, Failure> {
        let request = wire::CommitRequest {
            writes,
            preconditions,
            request_id: request_id(),
            validate_only: false,
        };
        self.live(request, |mut live, request| async move { live.commit(request).await }).await
    }
}

impl Key {
    fn id(&self) -> Option<u64> {
        if let Key::Id(id) = self { Some(*id) } else { None }
    }

    fn text(&self) -> Option<String> {
        if let Key::Text(text) = self { Some(text.clone()) } else { None }
    }
}

/// Whether the connection broke, and not the server refused.
fn is_lost(status: &Status) -> bool {
    status.code() == Code::Unavailable && status.get_details_error_info().is_none()
}

fn failure(status: &Status) -> Failure {
    let info = status.get_details_error_info();
    let reason = info.as_ref().map_or("", |info| &info.reason);
    if is_lost(status) {
        return Failure::unavailable(status.message());
    }
    let retry_at = info.as_ref().and_then(|info| info.metadata.get("retry_at")?.parse().ok());
    let failure = Failure::new(class(reason, status.code()), status.message(), None);
    Failure { retry_at: retry_at.unwrap_or(0), ..failure }
}

/// The class of an error with a reason of the server's.
fn class(reason: &str, code: Code) -> &'static str {
    match (reason, code) {
        ("CONFLICT" | "ETAG_MISMATCH" | "SNAPSHOT_EXPIRED", _) => "Conflict",
        ("INVALID_FILTER", _) => "InvalidFilter",
        ("TOO_LARGE" | "ANSWER_TOO_LARGE", _) => "TooLarge",
        ("READ_ONLY", _) => "ReadOnly",
        ("OUTCOME_UNKNOWN", _) => "OutcomeUnknown",
        (_, Code::NotFound) => "NotFound",
        (_, Code::InvalidArgument) => "InvalidValue",
        (_, Code::Unimplemented) => "Unsupported",
        (_, Code::Unavailable | Code::DeadlineExceeded | Code::ResourceExhausted) => "Unavailable",
        _ => "Error",
    }
}

fn table_name(table: &str) -> String {
    format!("tables/{table}")
}

pub(super) fn record_name(table: &str, id: u64) -> String {
    format!("tables/{table}/records/{id}")
}

fn metric(metric: Option<Metric>) -> wire::Metric {
    match metric {
        None => wire::Metric::Unspecified,
        Some(Metric::Cosine) => wire::Metric::Cosine,
        Some(Metric::Dot) => wire::Metric::Dot,
        Some(_) => wire::Metric::L2,
    }
}

fn packed(vector: &[f32]) -> wire::Value {
    let bytes: Vec<u8> = vector.iter().flat_map(|one| one.to_le_bytes()).collect();
    wire::Value { kind: Some(Kind::PackedVector(bytes.into())) }
}

fn written(value: &Value) -> wire::Value {
    match value {
        Value::Vector(numbers) => packed(numbers),
        other => other.into(),
    }
}

fn record(record: wire::Record) -> Result<Record, Failure> {
    let mut values = Vec::with_capacity(record.values.len());
    for (name, value) in record.values {
        let read = sakuin_grpc::value::read(value);
        let read = read.map_err(|flaw| Failure::new("Error", format!("{name}: {flaw:?}"), None))?;
        values.extend(read.map(|value| (name, value)));
    }
    values.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(Record { id: record.id, version: record.version, values })
}

/// A record as it is sent: those attributes that have values.
fn sent(name: String, fields: &Fields) -> wire::Record {
    let values =
        fields.iter().filter_map(|(name, value)| Some((name.clone(), written(value.as_ref()?))));
    wire::Record { name, values: values.collect(), ..wire::Record::default() }
}

fn write(write: Write) -> wire::Write {
    wire::Write { write: Some(write) }
}

pub(super) fn create(table: &str, fields: &Fields) -> wire::Write {
    let record = Some(sent(String::new(), fields));
    write(Write::Create(wire::CreateWrite { parent: table_name(table), record }))
}

pub(super) fn replace(table: &str, id: u64, fields: &Fields) -> wire::Write {
    update(table, id, fields, vec!["*".to_owned()])
}

pub(super) fn patch(table: &str, id: u64, fields: &Fields) -> wire::Write {
    update(table, id, fields, fields.iter().map(|(name, _)| name.clone()).collect())
}

fn update(table: &str, id: u64, fields: &Fields, paths: Vec<String>) -> wire::Write {
    let record = Some(sent(record_name(table, id), fields));
    let update_mask = Some(prost_types::FieldMask { paths });
    write(Write::Update(wire::UpdateWrite { record, update_mask }))
}

pub(super) fn delete(table: &str, id: u64) -> wire::Write {
    write(Write::Delete(wire::DeleteWrite { name: record_name(table, id), etag: String::new() }))
}

pub(super) fn update_where(table: &str, filter: &str, all: &[(String, Assignment)]) -> wire::Write {
    use wire::assignment::To;
    let assignment = |(name, to): &(String, Assignment)| wire::Assignment {
        attribute: name.clone(),
        to: Some(match to {
            Assignment::Set(value) => To::Set(written(value)),
            Assignment::Add(value) => To::Add(written(value)),
            _ => To::Clear(true),
        }),
    };
    write(Write::UpdateWhere(wire::UpdateWhereWrite {
        parent: table_name(table),
        filter: filter.to_owned(),
        assignments: all.iter().map(assignment).collect(),
    }))
}
