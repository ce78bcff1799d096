//! Many small operations in each message of a stream.
//!
//! Operations are done in their order. Writes that follow each other are built into one transaction, so that they cost
//! one commit and one write to the disk; an operation that cannot be built is left out of it and fails by itself. A
//! read waits for the writes before it.

use std::collections::VecDeque;

use futures_util::{Stream, StreamExt, stream};
use sakuin_grpc::live::{self as wire, operation::Operation, result};
use sakuin_live::{
    Assignment, Committed, Filter, Nearest, Record, Schema, Snapshot, Transaction, Value,
};
use tonic::{Status, Streaming};

use super::{
    ANSWER_BYTES_MAX, change,
    live::{self, Door, IDS_MAX, NEAREST_DEFAULT, RECORDS_MAX, at_most},
    refusal::Refusal,
    value,
};
use crate::commit::{commit, published};

/// Operations of a message.
const OPERATIONS_MAX: usize = 10_000;

/// After so many operations, other connections of the loop have their turn.
const TURN: usize = 128;

struct Pipeline {
    door: Door,
    messages: Streaming<wire::PipelineRequest>,
    table: String,
    attributes: Vec<String>,
    ready: VecDeque<wire::PipelineResponse>,
    is_over: bool,
}

/// Answers messages one after another.
pub(crate) fn pipeline(
    door: Door,
    messages: Streaming<wire::PipelineRequest>,
) -> impl Stream<Item = Result<wire::PipelineResponse, Status>> + Send {
    let (table, attributes, ready) = Default::default();
    let pipeline = Pipeline { door, messages, table, attributes, ready, is_over: false };
    stream::unfold(pipeline, |mut pipeline| async {
        if pipeline.is_over {
            return None;
        }
        let next = pipeline.next().await.transpose()?;
        pipeline.is_over = next.is_err();
        Some((next, pipeline))
    })
}

impl Pipeline {
    /// The next answer; none after the client's last message.
    async fn next(&mut self) -> Result<Option<wire::PipelineResponse>, Status> {
        if let Some(response) = self.ready.pop_front() {
            return Ok(Some(response));
        }
        let message = tokio::select! {
            biased;
            message = self.messages.next() => message.transpose()?,
            // What has arrived is answered; what has not will be elsewhere.
            () = self.door.stopping.cancelled() => {
                return Err(Refusal::stopping(self.door.store.status().sequence).into());
            }
        };
        let Some(message) = message else { return Ok(None) };
        self.answer(message).await?;
        Ok(self.ready.pop_front())
    }

    async fn answer(&mut self, message: wire::PipelineRequest) -> Result<(), Refusal> {
        let wire::PipelineRequest { table, attributes, operations, request_id } = message;
        at_most("operations", operations.len(), OPERATIONS_MAX)?;
        self.address(table, attributes)?;
        let mut batch = Batch {
            door: &self.door,
            table: &self.table,
            attributes: &self.attributes,
            request: change::request(&request_id)?,
            snapshot: self.door.store.snapshot(),
            response: wire::PipelineResponse {
                results: Vec::with_capacity(operations.len()),
                ..Default::default()
            },
            bytes: 0,
            full: VecDeque::new(),
        };
        batch.response.durability = value::durability(self.door.store.status().durability);
        batch.run(operations).await?;
        let Batch { mut full, mut response, snapshot, .. } = batch;
        response.snapshot = snapshot.sequence();
        full.push_back(response);
        self.ready = full;
        Ok(())
    }

    /// Takes over what a message says of the table and its attributes.
    fn address(&mut self, table: String, attributes: Vec<String>) -> Result<(), Refusal> {
        if table.is_empty() && self.table.is_empty() {
            return Err(Refusal::field(
                "table",
                "no message has named one",
                "send it with the first",
            ));
        }
        if table.is_empty() && attributes.is_empty() {
            return Ok(());
        }
        if !table.is_empty() {
            self.table = table;
        }
        let snapshot = self.door.store.snapshot();
        let schema = snapshot.schema(&self.table)?;
        let known = || schema.attributes().iter().map(|attribute| &attribute.name);
        if let Some(unknown) = attributes.iter().find(|name| !known().any(|known| known == *name)) {
            let known: Vec<_> = known().map(String::as_str).collect();
            let cause = format!("there is no attribute `{unknown}`");
            let cure = format!("there are {}", known.join(", "));
            return Err(Refusal::field("attributes", cause, cure));
        }
        self.attributes = match attributes.is_empty() {
            true => known().cloned().collect(),
            false => attributes,
        };
        Ok(())
    }
}

/// The operations of one message.
struct Batch<'p> {
    door: &'p Door,
    table: &'p str,
    attributes: &'p [String],
    request: Option<&'p str>,
    /// What reads see: every write before them.
    snapshot: Snapshot,
    response: wire::PipelineResponse,
    /// About how long the response is.
    bytes: usize,
    /// Responses that have no more room.
    full: VecDeque<wire::PipelineResponse>,
}

type Outcome = Result<result::Result, Refusal>;

impl<'p> Batch<'p> {
    async fn run(&mut self, operations: Vec<wire::Operation>) -> Result<(), Refusal> {
        let mut operations = operations.into_iter().enumerate().peekable();
        let mut writes = Vec::new();
        while let Some((place, operation)) = operations.next() {
            if place % TURN == TURN - 1 {
                tokio::task::yield_now().await;
            }
            let wire::Operation { tag, operation } = operation;
            match operation {
                Some(write) if is_write(&write) => {
                    writes.push((tag, write));
                    let goes_on = operations
                        .peek()
                        .is_some_and(|(_, next)| next.operation.as_ref().is_some_and(is_write));
                    if !goes_on {
                        self.write(place, std::mem::take(&mut writes)).await?;
                    }
                }
                Some(Operation::UpdateWhere(update)) => {
                    let outcome = self.update_where(place, update).await;
                    self.push(tag, outcome);
                }
                Some(Operation::Get(get)) => {
                    let outcome = self.get(get.id);
                    self.push(tag, outcome);
                }
                Some(Operation::Search(search)) => {
                    let outcome = self.search(search).await;
                    self.push(tag, outcome);
                }
                Some(Operation::FindNearest(nearest)) => {
                    let outcome = self.find_nearest(nearest).await;
                    self.push(tag, outcome);
                }
                Some(_) | None => {
                    let refusal = Refusal::field("operations", "one says nothing", "leave it out");
                    self.push(tag, Err(refusal));
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, tag: u64, outcome: Outcome) {
        let result = outcome.unwrap_or_else(|refusal| {
            result::Result::Error(wire::Error {
                code: refusal.code as i32,
                reason: refusal.reason.to_owned(),
                message: refusal.message,
            })
        });
        let bytes = length(&result);
        if self.bytes + bytes > ANSWER_BYTES_MAX && !self.response.results.is_empty() {
            let snapshot = self.snapshot.sequence();
            let durability = self.response.durability;
            let next = wire::PipelineResponse { durability, ..Default::default() };
            let full = std::mem::replace(&mut self.response, next);
            self.full.push_back(wire::PipelineResponse { snapshot, continues: true, ..full });
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.response.results.push(wire::Result { tag, result: Some(result) });
    }

    fn get(&self, id: u64) -> Outcome {
        let record = self.snapshot.get(self.table, id)?;
        let record = record.ok_or_else(|| Refusal::no_record(self.table, id))?;
        Ok(result::Result::Row(self.row(&record)))
    }

    async fn search(&self, search: wire::SearchOperation) -> Outcome {
        use wire::search_operation::By;
        let filter = match search.by {
            Some(By::Equal(cell)) => self.equal(cell)?,
            Some(By::Filter(text)) => live::filter(&self.snapshot, "filter", self.table, &text)?,
            None => Filter::all(),
        };
        let most = if search.records { RECORDS_MAX } else { IDS_MAX };
        let limit = match search.limit as usize {
            0 => RECORDS_MAX,
            limit => limit,
        };
        at_most("limit", limit, most)?;
        let mut ids = if filter.is_quick(self.schema()?) {
            self.snapshot.search_ids(self.table, &filter)?
        } else {
            let (snapshot, table) = (self.snapshot.clone(), self.table.to_owned());
            self.door.pool.run(move || snapshot.search_ids(&table, &filter)).await??
        };
        let more = ids.len() > limit;
        ids.truncate(limit);
        if !search.records {
            return Ok(result::Result::Ids(wire::Ids { ids, more }));
        }
        let records = ids.into_iter().filter_map(|id| self.snapshot.get(self.table, id).ok()?);
        let rows = wire::Rows { rows: records.map(|record| self.row(&record)).collect(), more };
        let result = result::Result::Rows(rows);
        match length(&result) > ANSWER_BYTES_MAX {
            true => Err(Refusal::too_long("rows", "set a lower `limit`")),
            false => Ok(result),
        }
    }

    async fn find_nearest(&self, nearest: wire::FindNearestOperation) -> Outcome {
        let count = match nearest.count as usize {
            0 => NEAREST_DEFAULT,
            count => count,
        };
        at_most("count", count, RECORDS_MAX)?;
        let nearest = Nearest {
            vector: value::vector("vector", nearest.vector)?,
            count,
            metric: value::metric("metric", nearest.metric)?,
            filter: live::filter(&self.snapshot, "filter", self.table, &nearest.filter)?,
        };
        let found = live::nearest_of(&self.door.store, self.table, nearest).await?.found;
        Ok(result::Result::Nearest(wire::Nearest {
            ids: found.iter().map(|neighbor| neighbor.record.id()).collect(),
            scores: found.iter().map(|neighbor| neighbor.score).collect(),
        }))
    }

    async fn update_where(&mut self, place: usize, update: wire::UpdateWhereOperation) -> Outcome {
        use wire::update_where_operation::By;
        let filter = match update.by {
            Some(By::Equal(cell)) => self.equal(cell)?,
            Some(By::Filter(text)) => live::filter(&self.snapshot, "filter", self.table, &text)?,
            None => Filter::all(),
        };
        let assignments = self.assignments(update.assignments)?;
        let request = self.request(place);
        let build = |transaction: &mut Transaction| {
            transaction.update_where(self.table, &filter, &assignments).map_err(Refusal::from)
        };
        let ((), committed) = commit(&self.door.store, request.as_deref(), build).await?;
        let ids = committed.matched.clone();
        self.shown(&committed).await;
        Ok(result::Result::Ids(wire::Ids { ids, more: false }))
    }

    /// Writes that follow each other, the last of them at `place`, as one commit.
    async fn write(&mut self, place: usize, writes: Vec<(u64, Operation)>) -> Result<(), Refusal> {
        let (tags, writes): (Vec<_>, Vec<_>) = writes.into_iter().unzip();
        let writes: Vec<_> = writes.into_iter().map(|write| self.read(write)).collect();
        let build = |transaction: &mut Transaction| {
            let built = writes.iter().map(|write| match write {
                Ok(write) => self.build(transaction, write),
                Err(_) => Ok(Built::Nothing),
            });
            Ok::<_, Refusal>(built.collect::<Vec<_>>())
        };
        let outcome = commit(&self.door.store, self.request(place).as_deref(), build).await;
        let (built, committed) = match outcome {
            Ok(outcome) => outcome,
            Err(refusal) => {
                for tag in tags {
                    let Refusal { code, reason, message, .. } = &refusal;
                    self.push(tag, Err(Refusal::new(*code, reason, message.clone())));
                }
                return Ok(());
            }
        };
        self.shown(&committed).await;
        let mut inserted = committed.ids.iter();
        for ((tag, write), built) in tags.into_iter().zip(writes).zip(built) {
            let id = match write.and(built) {
                Ok(Built::Changed(id)) => Ok(id),
                Ok(Built::Inserted) => Ok(inserted.next().copied().unwrap_or_default()),
                Ok(Built::Nothing) => Ok(0),
                Err(refusal) => Err(refusal),
            };
            let written =
                |id| result::Result::Written(wire::Written { id, version: committed.sequence });
            self.push(tag, id.map(written));
        }
        Ok(())
    }

    fn read(&self, write: Operation) -> Result<Write<'p>, Refusal> {
        Ok(match write {
            Operation::Create(create) => Write::Create(self.cells(create.cells)?),
            Operation::Update(wire::UpdateOperation { id, version, assignments }) => {
                let assignments = self.assignments(assignments)?;
                Write::Update { id, version, assignments }
            }
            Operation::Delete(wire::DeleteOperation { id, version }) => {
                Write::Delete { id, version }
            }
            _ => return Err(Refusal::field("operations", "it is no write", "report this")),
        })
    }

    /// Adds a write to a transaction, or leaves the transaction as it was.
    fn build(&self, transaction: &mut Transaction, write: &Write<'_>) -> Result<Built, Refusal> {
        match write {
            Write::Create(cells) => {
                transaction.insert(self.table, cells.iter().cloned())?;
                Ok(Built::Inserted)
            }
            Write::Update { id, version, assignments } => {
                let record = self.present(transaction, *id, *version)?;
                let (mut set, mut clear) = (Vec::with_capacity(assignments.len()), Vec::new());
                for (name, assignment) in assignments {
                    match assignment {
                        Assignment::Set(value) => set.push((*name, value.clone())),
                        Assignment::Add(value) => {
                            set.push((*name, sum(name, record.value(name), value)?));
                        }
                        _ => clear.push(*name),
                    }
                }
                transaction.patch(self.table, *id, set)?;
                if !clear.is_empty() {
                    transaction.clear(self.table, *id, clear)?;
                }
                Ok(Built::Changed(*id))
            }
            Write::Delete { id, version } => {
                self.present(transaction, *id, *version)?;
                transaction.delete(self.table, *id)?;
                Ok(Built::Changed(*id))
            }
        }
    }

    /// A record that must have a version, or any if that is 0.
    fn present(
        &self,
        transaction: &mut Transaction,
        id: u64,
        version: u64,
    ) -> Result<Record, Refusal> {
        let record = transaction.get(self.table, id)?;
        let record = record.ok_or_else(|| Refusal::no_record(self.table, id))?;
        if version != 0 && record.version() != version {
            let now = match record.version() {
                0 => "an operation before this one has changed it".to_owned(),
                version => format!("its version is {version}"),
            };
            let cause = format!("record {id} is another than expected: {now}");
            return Err(Refusal::new(tonic::Code::Aborted, "ETAG_MISMATCH", cause));
        }
        Ok(record)
    }

    /// Lets reads see a commit.
    async fn shown(&mut self, committed: &Committed) {
        published(&self.door.store, committed.sequence).await;
        self.snapshot = self.door.store.snapshot();
    }

    /// The name of the commit that ends at a place.
    fn request(&self, place: usize) -> Option<String> {
        self.request.map(|request| format!("{request}/{place}"))
    }

    fn schema(&self) -> Result<&Schema, Refusal> {
        Ok(self.snapshot.schema(self.table)?)
    }

    fn attribute(&self, place: u32) -> Result<&'p str, Refusal> {
        let attribute = self.attributes.get(place as usize).map(String::as_str);
        attribute.ok_or_else(|| {
            let cause = format!("there is no attribute at place {place}");
            let cure = format!("there are {}, from 0", self.attributes.len());
            Refusal::field("attribute", cause, cure)
        })
    }

    fn equal(&self, cell: wire::Cell) -> Result<Filter, Refusal> {
        let attribute = self.attribute(cell.attribute)?;
        Ok(Filter::equal(attribute, value::required("equal", cell.value)?))
    }

    fn cells(&self, cells: Vec<wire::Cell>) -> Result<Vec<(&'p str, Value)>, Refusal> {
        let cells = cells.into_iter().map(|wire::Cell { attribute, value }| {
            Ok((self.attribute(attribute)?, value::required("cells", value)?))
        });
        cells.collect()
    }

    fn assignments(
        &self,
        assignments: Vec<wire::CellAssignment>,
    ) -> Result<Vec<(&'p str, Assignment)>, Refusal> {
        use wire::cell_assignment::To;
        let read = assignments.into_iter().map(|wire::CellAssignment { attribute, to }| {
            let value = |value| value::required("assignments", Some(value));
            let assignment = match to {
                Some(To::Set(set)) => Assignment::Set(value(set)?),
                Some(To::Add(add)) => Assignment::Add(value(add)?),
                Some(To::Clear(true)) => Assignment::Clear,
                Some(To::Clear(false)) | None => {
                    let cure = "send `set`, `add` or `clear`";
                    return Err(Refusal::field("assignments", "one says nothing", cure));
                }
            };
            Ok((self.attribute(attribute)?, assignment))
        });
        read.collect()
    }

    fn row(&self, record: &Record) -> wire::Row {
        let cells = record.values().filter_map(|(name, value)| {
            let place = self.attributes.iter().position(|attribute| attribute == name)?;
            Some(wire::Cell { attribute: place as u32, value: Some((&value).into()) })
        });
        wire::Row { id: record.id(), version: record.version(), cells: cells.collect() }
    }
}

/// A write that was read.
enum Write<'p> {
    Create(Vec<(&'p str, Value)>),
    Update { id: u64, version: u64, assignments: Vec<(&'p str, Assignment)> },
    Delete { id: u64, version: u64 },
}

/// What a write has become in its transaction.
enum Built {
    Inserted,
    Changed(u64),
    Nothing,
}

fn is_write(operation: &Operation) -> bool {
    matches!(operation, Operation::Create(_) | Operation::Update(_) | Operation::Delete(_))
}

fn sum(attribute: &str, before: Option<Value>, value: &Value) -> Result<Value, Refusal> {
    let too_large = || sakuin_live::ValueError::TooLarge { attribute: attribute.to_owned() };
    Ok(match (before, value) {
        (None, Value::Int(_) | Value::Float(_)) => value.clone(),
        (Some(Value::Int(before)), Value::Int(value)) => {
            Value::Int(before.checked_add(*value).ok_or_else(too_large)?)
        }
        (Some(Value::Float(before)), Value::Float(value)) => Value::Float(before + value),
        (_, value) => {
            let error = sakuin_live::ValueError::NoSum {
                attribute: attribute.to_owned(),
                of: value.type_of(),
            };
            return Err(error.into());
        }
    })
}

/// About how long a result is when written.
fn length(result: &result::Result) -> usize {
    use prost::Message;
    match result {
        result::Result::Ids(ids) => 24 + 10 * ids.ids.len(),
        result::Result::Written(_) => 40,
        result::Result::Nearest(nearest) => 24 + 18 * nearest.ids.len(),
        result::Result::Row(row) => 24 + row.encoded_len(),
        result::Result::Rows(rows) => 24 + rows.encoded_len(),
        result::Result::Error(error) => 24 + error.encoded_len(),
    }
}
