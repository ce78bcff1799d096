//! `sakuin.live.v1.Live`: live tables.

use std::{pin::Pin, sync::Arc};

use futures_util::Stream;
use prost::Message;
use sakuin_grpc::live::{self as wire, live_server::Live};
use sakuin_live::{Filter, Nearest, Snapshot, Store};
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

use super::{
    ANSWER_BYTES_MAX,
    change::Change,
    name,
    page::{self, Kept},
    pipeline,
    refusal::Refusal,
    value, watch,
};
use crate::pool::Pool;

/// The service.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) store: Arc<Store>,
    pub(crate) pool: Pool,
    pub(crate) kept: Kept,
    pub(crate) stopping: CancellationToken,
}

/// Records of a page and of a batch, ids of a page, and neighbours.
pub(crate) const RECORDS_MAX: usize = 1000;
pub(crate) const IDS_MAX: usize = 100_000;
const RECORDS_DEFAULT: usize = 100;
pub(crate) const NEAREST_DEFAULT: usize = 10;

type Streamed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl Live for Door {
    type WatchStream = Streamed<wire::WatchResponse>;
    type PipelineStream = Streamed<wire::PipelineResponse>;

    async fn get(
        &self,
        request: Request<wire::GetRequest>,
    ) -> Result<Response<wire::GetResponse>, Status> {
        let wire::GetRequest { name } = request.into_inner();
        let (table, id) = name::parse("name", &name)?;
        let snapshot = self.store.snapshot();
        let record = snapshot.get(table, id).map_err(Refusal::from)?;
        let record = record.ok_or_else(|| Refusal::no_record(table, id))?;
        Ok(Response::new(wire::GetResponse {
            record: Some(value::record(table, &record)),
            snapshot: snapshot.sequence(),
        }))
    }

    async fn batch_get(
        &self,
        request: Request<wire::BatchGetRequest>,
    ) -> Result<Response<wire::BatchGetResponse>, Status> {
        let wire::BatchGetRequest { names } = request.into_inner();
        at_most("names", names.len(), RECORDS_MAX)?;
        let snapshot = self.store.snapshot();
        let mut answer =
            wire::BatchGetResponse { snapshot: snapshot.sequence(), ..Default::default() };
        let mut bytes = 0;
        for name in names {
            let (table, id) = name::parse("names", &name)?;
            match snapshot.get(table, id).map_err(Refusal::from)? {
                None => answer.missing.push(name),
                Some(record) => {
                    let record = value::record(table, &record);
                    bytes += record.encoded_len();
                    if bytes > ANSWER_BYTES_MAX {
                        return Err(Refusal::too_long("records", "ask for fewer records").into());
                    }
                    answer.records.push(record);
                }
            }
        }
        Ok(Response::new(answer))
    }

    async fn list(
        &self,
        request: Request<wire::ListRequest>,
    ) -> Result<Response<wire::ListResponse>, Status> {
        let request = request.into_inner();
        if !matches!(request.order_by.trim(), "" | "id" | "id asc") {
            let cause = format!("records are not listed by `{}`", request.order_by);
            return Err(Refusal::field("order_by", cause, "leave it empty: they come by id").into());
        }
        let page = Asked {
            parent: &request.parent,
            filter: &request.filter,
            size: request.page_size,
            token: &request.page_token,
            ids_only: false,
        };
        let Page { records, next, snapshot, .. } = self.page(page).await?;
        Ok(Response::new(wire::ListResponse { records, next_page_token: next, snapshot }))
    }

    async fn search(
        &self,
        request: Request<wire::SearchRequest>,
    ) -> Result<Response<wire::SearchResponse>, Status> {
        let request = request.into_inner();
        let page = Asked {
            parent: &request.parent,
            filter: &request.filter,
            size: request.page_size,
            token: &request.page_token,
            ids_only: request.ids_only,
        };
        let Page { records, ids, next, snapshot } = self.page(page).await?;
        let answer = wire::SearchResponse { records, ids, next_page_token: next, snapshot };
        Ok(Response::new(answer))
    }

    async fn find_nearest(
        &self,
        request: Request<wire::FindNearestRequest>,
    ) -> Result<Response<wire::FindNearestResponse>, Status> {
        let request = request.into_inner();
        let table = name::parent("parent", &request.parent)?;
        let nearest = Nearest {
            vector: value::vector("vector", request.vector)?,
            count: size("count", request.count, NEAREST_DEFAULT, RECORDS_MAX)?,
            metric: value::metric("metric", request.metric)?,
            filter: filter(&self.store.snapshot(), "filter", table, &request.filter)?,
        };
        let found = nearest_of(&self.store, table, nearest).await?;
        let mut bytes = 0;
        let mut neighbors = Vec::with_capacity(found.found.len());
        for neighbor in found.found {
            let record = match request.names_only {
                true => value::written(table, neighbor.record.id(), neighbor.record.version()),
                false => value::record(table, &neighbor.record),
            };
            bytes += record.encoded_len() + 16;
            if bytes > ANSWER_BYTES_MAX {
                return Err(Refusal::too_long("neighbors", "ask for fewer, or `names_only`").into());
            }
            neighbors.push(wire::Neighbor { record: Some(record), score: neighbor.score });
        }
        let snapshot = found.snapshot;
        Ok(Response::new(wire::FindNearestResponse { neighbors, snapshot }))
    }

    async fn create(
        &self,
        request: Request<wire::CreateRequest>,
    ) -> Result<Response<wire::CreateResponse>, Status> {
        let wire::CreateRequest { parent, record, request_id } = request.into_inner();
        let table = name::parent("parent", &parent)?.to_owned();
        let write = wire::write::Write::Create(wire::CreateWrite { parent, record });
        let committed = self.one(write, &request_id).await?;
        let id = committed.ids.first().copied().unwrap_or_default();
        Ok(Response::new(wire::CreateResponse {
            record: Some(value::written(&table, id, committed.sequence)),
            snapshot: committed.sequence,
            durability: value::durability(committed.durability),
        }))
    }

    async fn update(
        &self,
        request: Request<wire::UpdateRequest>,
    ) -> Result<Response<wire::UpdateResponse>, Status> {
        let wire::UpdateRequest { record, update_mask, request_id } = request.into_inner();
        let record = record.unwrap_or_default();
        let name = record.name.clone();
        let write = wire::UpdateWrite { record: Some(record), update_mask };
        let committed = self.one(wire::write::Write::Update(write), &request_id).await?;
        let (table, id) = name::parse("record.name", &name)?;
        Ok(Response::new(wire::UpdateResponse {
            record: Some(value::written(table, id, committed.sequence)),
            snapshot: committed.sequence,
            durability: value::durability(committed.durability),
        }))
    }

    async fn delete(
        &self,
        request: Request<wire::DeleteRequest>,
    ) -> Result<Response<wire::DeleteResponse>, Status> {
        let wire::DeleteRequest { name, etag, request_id } = request.into_inner();
        let write = wire::write::Write::Delete(wire::DeleteWrite { name, etag });
        let committed = self.one(write, &request_id).await?;
        Ok(Response::new(wire::DeleteResponse {
            snapshot: committed.sequence,
            durability: value::durability(committed.durability),
        }))
    }

    async fn update_where(
        &self,
        request: Request<wire::UpdateWhereRequest>,
    ) -> Result<Response<wire::UpdateWhereResponse>, Status> {
        let wire::UpdateWhereRequest { parent, filter, assignments, request_id } =
            request.into_inner();
        let write = wire::UpdateWhereWrite { parent, filter, assignments };
        let committed = self.one(wire::write::Write::UpdateWhere(write), &request_id).await?;
        Ok(Response::new(wire::UpdateWhereResponse {
            ids: committed.matched,
            snapshot: committed.sequence,
            durability: value::durability(committed.durability),
        }))
    }

    async fn commit(
        &self,
        request: Request<wire::CommitRequest>,
    ) -> Result<Response<wire::CommitResponse>, Status> {
        let wire::CommitRequest { writes, preconditions, request_id, validate_only } =
            request.into_inner();
        let change = Change::read(&self.store.snapshot(), writes, preconditions)?;
        if validate_only {
            let snapshot = change.validate(&self.store).await?;
            let answer = wire::CommitResponse { snapshot, ..Default::default() };
            return Ok(Response::new(answer));
        }
        let committed = change.commit(&self.store, &request_id).await?;
        Ok(Response::new(wire::CommitResponse {
            ids: committed.ids,
            matched: committed.matched,
            snapshot: committed.sequence,
            durability: value::durability(committed.durability),
        }))
    }

    async fn watch(
        &self,
        request: Request<wire::WatchRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let stream = watch::watch(self.clone(), request.into_inner())?;
        Ok(Response::new(Box::pin(stream)))
    }

    async fn pipeline(
        &self,
        request: Request<Streaming<wire::PipelineRequest>>,
    ) -> Result<Response<Self::PipelineStream>, Status> {
        let stream = pipeline::pipeline(self.clone(), request.into_inner());
        Ok(Response::new(Box::pin(stream)))
    }
}

/// What page of what.
struct Asked<'r> {
    parent: &'r str,
    filter: &'r str,
    size: i32,
    token: &'r str,
    ids_only: bool,
}

struct Page {
    records: Vec<wire::Record>,
    ids: Vec<u64>,
    next: String,
    snapshot: u64,
}

impl Door {
    /// Commits one write.
    async fn one(
        &self,
        write: wire::write::Write,
        request_id: &str,
    ) -> Result<sakuin_live::Committed, Refusal> {
        let write = wire::Write { write: Some(write) };
        let change = Change::of_one(&self.store.snapshot(), write)?;
        change.commit(&self.store, request_id).await
    }

    async fn page(&self, asked: Asked<'_>) -> Result<Page, Refusal> {
        let table = name::parent("parent", asked.parent)?;
        let (most, default) = match asked.ids_only {
            true => (IDS_MAX, IDS_MAX),
            false => (RECORDS_MAX, RECORDS_DEFAULT),
        };
        // As AIP-158 has it, more than the most is the most.
        let size = size("page_size", asked.size.min(most as i32), default, most)?;
        let ids_only = if asked.ids_only { "ids" } else { "records" };
        let hash = page::asked(&[table, asked.filter, ids_only]);
        let (snapshot, after) = {
            let now = || self.store.snapshot();
            self.kept.begin(asked.token, hash, Instant::now(), now)?
        };
        let filter = filter(&snapshot, "filter", table, asked.filter)?;
        let is_quick = snapshot.schema(table).is_ok_and(|schema| filter.is_quick(schema));
        let moment = snapshot.clone();
        let (found, name) =
            (Found { filter, after, size, ids_only: asked.ids_only }, table.to_owned());
        let read = move || found.read(&moment, &name);
        // A page in the order of ids costs no more than its records.
        let (records, ids, last) = match is_quick || asked.filter.trim().is_empty() {
            true => read()?,
            false => self.pool.run(read).await??,
        };
        let next = last.map(|last| self.kept.next(snapshot.clone(), last, hash));
        let next = next.unwrap_or_default();
        Ok(Page { records, ids, next, snapshot: snapshot.sequence() })
    }
}

/// What a page is to hold.
struct Found {
    filter: Filter,
    after: u64,
    size: usize,
    ids_only: bool,
}

/// Records, ids, and the last of the page if there are more.
type Read = (Vec<wire::Record>, Vec<u64>, Option<u64>);

impl Found {
    fn read(&self, snapshot: &Snapshot, table: &str) -> Result<Read, Refusal> {
        if self.filter.is_all() && !self.ids_only {
            let records = snapshot.records_from(table, self.after.saturating_add(1))?;
            return self.fill(table, records);
        }
        let mut ids = match self.filter.is_all() {
            true => snapshot.records_from(table, 1)?.map(|record| record.id()).collect(),
            false => snapshot.search_ids(table, &self.filter)?,
        };
        ids.drain(..ids.partition_point(|id| *id <= self.after));
        if self.ids_only {
            let more = ids.len() > self.size;
            ids.truncate(self.size);
            let last = ids.last().copied().filter(|_| more);
            return Ok((Vec::new(), ids, last));
        }
        let records = ids.into_iter().filter_map(|id| snapshot.get(table, id).ok().flatten());
        self.fill(table, records)
    }

    /// As many records as a page and a message have room for.
    fn fill(
        &self,
        table: &str,
        found: impl Iterator<Item = sakuin_live::Record>,
    ) -> Result<Read, Refusal> {
        let mut records: Vec<wire::Record> = Vec::new();
        let mut bytes = 0;
        for record in found {
            let record = value::record(table, &record);
            bytes += record.encoded_len() + 8;
            if records.len() == self.size || bytes > ANSWER_BYTES_MAX {
                let last = records.last().map(|record| record.id);
                let last = last.ok_or_else(|| Refusal::too_long("records", "read it over HTTP"))?;
                return Ok((records, Vec::new(), Some(last)));
            }
            records.push(record);
        }
        Ok((records, Vec::new(), None))
    }
}

/// The filter that `field` has for a table of a snapshot.
pub(crate) fn filter(
    snapshot: &Snapshot,
    field: &str,
    table: &str,
    text: &str,
) -> Result<Filter, Refusal> {
    let schema = snapshot.schema(table)?;
    Filter::parse(text, schema).map_err(|error| Refusal::of_filter(field, &error))
}

/// How many are asked for: the default if that is not said.
fn size(field: &str, asked: i32, default: usize, most: usize) -> Result<usize, Refusal> {
    let Ok(asked) = usize::try_from(asked) else {
        return Err(Refusal::field(field, "it is negative", "leave it out for the default"));
    };
    at_most(field, asked, most)?;
    Ok(if asked == 0 { default } else { asked })
}

pub(crate) fn at_most(field: &str, found: usize, most: usize) -> Result<(), Refusal> {
    if found <= most {
        return Ok(());
    }
    let cause = format!("{found} are more than the {most} of one call");
    Err(Refusal::too_large(field, cause, "ask in parts"))
}

/// The nearest records, found without holding up the loop.
pub(crate) async fn nearest_of(
    store: &Arc<Store>,
    table: &str,
    nearest: Nearest,
) -> Result<sakuin_live::Neighbors, Refusal> {
    let (sender, receiver) = oneshot::channel();
    store.nearest_then(table, nearest, move |found| {
        // Nobody waits any more whose time is over.
        let _ = sender.send(found);
    });
    let failed = |_| Refusal::from(crate::pool::Refused::Panicked);
    Ok(receiver.await.map_err(failed)??)
}
