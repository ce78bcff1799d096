//! `sakuin.v1.Lookup`: answers of tables of every kind.

use std::{collections::BTreeMap, sync::Arc};

use axum::http::header;
use futures_util::{StreamExt, stream};
use prost::Message;
use sakuin::{Answer, Table};
use sakuin_grpc::lookup::{self as wire, entry::Outcome, lookup_server::Lookup};
use tonic::{Code, Request, Response, Status};

use super::{
    ANSWER_BYTES_MAX,
    live::{RECORDS_MAX, at_most},
    refusal::Refusal,
};
use crate::reply::Fault;

/// The service.
pub(crate) struct Door {
    pub(crate) tables: BTreeMap<String, Arc<Table>>,
}

/// So many keys of a call wait for an origin at once.
const WAITING_MAX: usize = 64;

#[tonic::async_trait]
impl Lookup for Door {
    async fn get(
        &self,
        request: Request<wire::GetRequest>,
    ) -> Result<Response<wire::GetResponse>, Status> {
        let wire::GetRequest { table, key } = request.into_inner();
        let answer = answer(self.table(&table)?, &key).await?;
        let answer = answer.ok_or_else(|| {
            let cause = format!("table `{table}` has no key `{key}`");
            Refusal::new(Code::NotFound, "KEY_NOT_FOUND", cause)
        })?;
        Ok(Response::new(wire::GetResponse { answer: Some(answer) }))
    }

    async fn batch_get(
        &self,
        request: Request<wire::BatchGetRequest>,
    ) -> Result<Response<wire::BatchGetResponse>, Status> {
        let wire::BatchGetRequest { table, keys } = request.into_inner();
        at_most("keys", keys.len(), RECORDS_MAX)?;
        let table = self.table(&table)?;
        let asked = keys.into_iter().map(|key| async {
            let outcome = match answer(table, &key).await {
                Ok(None) => None,
                Ok(Some(answer)) => Some(Outcome::Answer(answer)),
                Err(refusal) => Some(Outcome::Error(wire::Error {
                    code: refusal.code as i32,
                    reason: refusal.reason.to_owned(),
                    message: refusal.message,
                })),
            };
            outcome.map(|outcome| wire::Entry { key, outcome: Some(outcome) })
        });
        let mut entries = Vec::new();
        let mut bytes = 0;
        let mut found = stream::iter(asked).buffered(WAITING_MAX);
        while let Some(entry) = found.next().await {
            let Some(entry) = entry else { continue };
            bytes += entry.encoded_len() + 8;
            if bytes > ANSWER_BYTES_MAX {
                return Err(Refusal::too_long("entries", "ask for fewer keys").into());
            }
            entries.push(entry);
        }
        Ok(Response::new(wire::BatchGetResponse { entries }))
    }
}

impl Door {
    fn table(&self, name: &str) -> Result<&Table, Refusal> {
        let table = self.tables.get(name).map(|table| &**table);
        table.ok_or_else(|| {
            let cause = format!("there is no table `{name}`");
            Refusal::new(Code::NotFound, "TABLE_NOT_FOUND", cause)
        })
    }
}

/// The answer for a key; none if the table knows that it has none.
async fn answer(table: &Table, key: &str) -> Result<Option<wire::Answer>, Refusal> {
    let key = table.key_rule().check(key).map_err(|error| {
        let fault = Fault::of_key(&error);
        Refusal::field("key", fault.cause, fault.cure)
    })?;
    let answer = match table.peek(&key) {
        Some(answer) => answer,
        None => table.answer(&key).await,
    };
    let answer = answer.map_err(Fault::from)?;
    Ok(answer.filter(|answer| !answer.is_missing()).map(|answer| written(&answer)))
}

fn written(answer: &Answer) -> wire::Answer {
    use sakuin::Source;
    let headers = answer.prepared().representation(|_| false).headers();
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let source = match answer.source {
        Source::Packed => wire::Source::Packed,
        Source::Live => wire::Source::Live,
        Source::Hit => wire::Source::Hit,
        Source::Miss { .. } => wire::Source::Miss,
        Source::Stale => wire::Source::Stale,
        _ => wire::Source::Unspecified,
    };
    wire::Answer {
        value: answer.body().clone(),
        content_type: content_type.unwrap_or_default().to_owned(),
        version: answer.version().to_owned(),
        age: prost_types::Duration::try_from(answer.age).ok(),
        source: source as i32,
        published: answer.published(),
    }
}
