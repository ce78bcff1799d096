//! Writes and preconditions of a call, read and made a transaction of.

use std::{collections::BTreeMap, sync::Arc};

use prost_types::FieldMask;
use sakuin_grpc::live::{self as wire, precondition::Precondition, write::Write as Wire};
use sakuin_live::{
    Assignment, CommitError, Committed, Conflict, Filter, Snapshot, Store, Transaction, Value,
};

use super::{live::filter, name, refusal::Refusal, value};
use crate::commit::{commit_unless, committed_before, submit};

/// The longest name of a request.
const REQUEST_BYTES_MAX: usize = 128;

/// What a call wants to be written, and what must be so for that.
#[derive(Default)]
pub(crate) struct Change {
    writes: Vec<Write>,
    /// By table and id, the version that the record must have; none if it must not be there.
    records: BTreeMap<(String, u64), Option<u64>>,
    searches: Vec<(String, Filter, u64)>,
    /// Whether the only condition is the etag of the only write.
    is_by_etag: bool,
}

enum Write {
    Create { table: String, values: Values },
    Update { table: String, id: u64, to: Update },
    Delete { table: String, id: u64 },
    UpdateWhere { table: String, filter: Filter, assignments: Vec<(String, Assignment)> },
}

type Values = Vec<(String, Value)>;

enum Update {
    All(Values),
    Some { set: Values, clear: Vec<String> },
}

impl Change {
    /// One write by itself.
    pub(crate) fn of_one(snapshot: &Snapshot, write: wire::Write) -> Result<Change, Refusal> {
        let mut change = Change::default();
        change.write(snapshot, write)?;
        change.is_by_etag = true;
        Ok(change)
    }

    /// Several writes that happen together, under conditions.
    pub(crate) fn read(
        snapshot: &Snapshot,
        writes: Vec<wire::Write>,
        preconditions: Vec<wire::Precondition>,
    ) -> Result<Change, Refusal> {
        let mut change = Change::default();
        for write in writes {
            change.write(snapshot, write)?;
        }
        for precondition in preconditions {
            change.precondition(snapshot, precondition)?;
        }
        Ok(change)
    }

    fn write(&mut self, snapshot: &Snapshot, write: wire::Write) -> Result<(), Refusal> {
        let write = match write.write {
            Some(Wire::Create(wire::CreateWrite { parent, record })) => {
                let table = name::parent("parent", &parent)?.to_owned();
                let values = values(record.unwrap_or_default().values)?;
                let values = values.into_iter().filter_map(|(name, value)| Some((name, value?)));
                Write::Create { table, values: values.collect() }
            }
            Some(Wire::Update(wire::UpdateWrite { record, update_mask })) => {
                let record = record.unwrap_or_default();
                let (table, id) = name::parse("record.name", &record.name)?;
                self.expect_etag("record.etag", table, id, &record.etag)?;
                let to = masked(&values(record.values)?, update_mask)?;
                Write::Update { table: table.to_owned(), id, to }
            }
            Some(Wire::Delete(wire::DeleteWrite { name, etag })) => {
                let (table, id) = name::parse("name", &name)?;
                self.expect_etag("etag", table, id, &etag)?;
                Write::Delete { table: table.to_owned(), id }
            }
            Some(Wire::UpdateWhere(update)) => {
                let table = name::parent("parent", &update.parent)?;
                let filter = filter(snapshot, "filter", table, &update.filter)?;
                let assignments = value::assignments(update.assignments)?;
                Write::UpdateWhere { table: table.to_owned(), filter, assignments }
            }
            None => return Err(Refusal::field("writes", "one says nothing", "leave it out")),
        };
        self.writes.push(write);
        Ok(())
    }

    fn expect_etag(
        &mut self,
        field: &str,
        table: &str,
        id: u64,
        etag: &str,
    ) -> Result<(), Refusal> {
        match name::version(field, etag)? {
            Some(version) => self.expect(field, table, id, Some(version)),
            None => Ok(()),
        }
    }

    fn expect(
        &mut self,
        field: &str,
        table: &str,
        id: u64,
        version: Option<u64>,
    ) -> Result<(), Refusal> {
        match self.records.insert((table.to_owned(), id), version) {
            Some(before) if before != version => {
                let cause = format!("{} is to have two versions", name::record(table, id));
                Err(Refusal::field(field, cause, "send the one that was read"))
            }
            _ => Ok(()),
        }
    }

    fn precondition(
        &mut self,
        snapshot: &Snapshot,
        precondition: wire::Precondition,
    ) -> Result<(), Refusal> {
        match precondition.precondition {
            Some(Precondition::Record(record)) => {
                let field = "preconditions.record.name";
                let (table, id) = name::parse(field, &record.name)?;
                let version = Some(record.version).filter(|version| *version != 0);
                self.expect(field, table, id, version)
            }
            Some(Precondition::Search(search)) => {
                let table = name::parent("preconditions.search.parent", &search.parent)?;
                let field = "preconditions.search.filter";
                let filter = filter(snapshot, field, table, &search.filter)?;
                self.searches.push((table.to_owned(), filter, search.snapshot));
                Ok(())
            }
            None => Err(Refusal::field("preconditions", "one says nothing", "leave it out")),
        }
    }

    /// Writes it, or refuses it without having written anything.
    pub(crate) async fn commit(
        &self,
        store: &Arc<Store>,
        request_id: &str,
    ) -> Result<Committed, Refusal> {
        let request = request(request_id)?;
        let build = |transaction: &mut Transaction| {
            self.build(transaction).and_then(|()| self.conditions(transaction))
        };
        let committed = commit_unless(store, request, build, |found| self.fatal(found)).await;
        match committed {
            Ok(((), committed)) => Ok(committed),
            Err(refusal) => {
                // Its first sending may have deleted the very record that is missed.
                let before = committed_before(store, request, self.table()).await;
                before.ok_or(refusal)
            }
        }
    }

    /// Checks it as if it were to be written, and returns the snapshot that it was checked against.
    pub(crate) async fn validate(&self, store: &Arc<Store>) -> Result<u64, Refusal> {
        self.build(&mut store.begin())?;
        let mut conditions = store.begin();
        self.conditions(&mut conditions)?;
        match submit(store, conditions).await {
            Ok(committed) => Ok(committed.sequence),
            Err(CommitError::Conflict(conflict)) => Err(Refusal::conflict(&conflict)),
            Err(error) => Err(error.into()),
        }
    }

    fn build(&self, transaction: &mut Transaction) -> Result<(), Refusal> {
        self.writes.iter().try_for_each(|write| {
            write.build(transaction).map_err(|error| match error {
                CommitError::NotFound { table, id } => self.missing(table, id),
                error => error.into(),
            })
        })
    }

    /// What is to be written to is not there: a conflict if its client knows it otherwise.
    fn missing(&self, table: String, id: u64) -> Refusal {
        let key = (table, id);
        let is_expected = matches!(self.records.get(&key), Some(Some(_)));
        let (table, id) = key;
        if !is_expected {
            return Refusal::no_record(&table, id);
        }
        let records = vec![(table, id, None)];
        self.conflict(&Conflict { records, searches: Vec::new(), retry_at: 0 })
    }

    /// After the writes, which remember the versions they see.
    fn conditions(&self, transaction: &mut Transaction) -> Result<(), Refusal> {
        for ((table, id), version) in &self.records {
            transaction.expect(table, *id, *version)?;
        }
        for (table, filter, since) in &self.searches {
            transaction.expect_search(table, filter, *since)?;
        }
        Ok(())
    }

    /// The refusal that a conflict is, if it is one with what the client read.
    fn fatal(&self, conflict: &Conflict) -> Option<Refusal> {
        let is_expected = |(table, id, _): &(String, u64, Option<u64>)| {
            self.records.contains_key(&(table.clone(), *id))
        };
        let is_fatal = !conflict.searches.is_empty() || conflict.records.iter().any(is_expected);
        is_fatal.then(|| self.conflict(conflict))
    }

    fn conflict(&self, conflict: &Conflict) -> Refusal {
        match self.is_by_etag {
            true => Refusal::etag(conflict),
            false => Refusal::conflict(conflict),
        }
    }

    /// A table that it is about.
    fn table(&self) -> &str {
        let written = self.writes.first().map(|write| match write {
            Write::Create { table, .. }
            | Write::Update { table, .. }
            | Write::Delete { table, .. }
            | Write::UpdateWhere { table, .. } => table,
        });
        let read = || self.records.keys().next().map(|(table, _)| table);
        written.or_else(read).map_or("", String::as_str)
    }
}

impl Write {
    fn build(&self, transaction: &mut Transaction) -> Result<(), CommitError> {
        match self {
            Write::Create { table, values } => transaction.insert(table, named(values)),
            Write::Delete { table, id } => transaction.delete(table, *id),
            Write::Update { table, id, to: Update::All(values) } => {
                transaction.replace(table, *id, named(values))
            }
            Write::Update { table, id, to: Update::Some { set, clear } } => {
                transaction.patch(table, *id, named(set))?;
                match clear.is_empty() {
                    true => Ok(()),
                    false => transaction.clear(table, *id, clear.iter().map(String::as_str)),
                }
            }
            Write::UpdateWhere { table, filter, assignments } => {
                let named = assignments.iter().map(|(name, to)| (name.as_str(), to.clone()));
                let named: Vec<_> = named.collect();
                Ok(transaction.update_where(table, filter, &named)?)
            }
        }
    }
}

/// The name of a request, if it has one.
pub(crate) fn request(request_id: &str) -> Result<Option<&str>, Refusal> {
    if request_id.len() > REQUEST_BYTES_MAX {
        let cause = format!("it is longer than {REQUEST_BYTES_MAX} bytes");
        return Err(Refusal::field("request_id", cause, "a UUID would do"));
    }
    Ok(Some(request_id).filter(|name| !name.is_empty()))
}

fn named(values: &Values) -> impl Iterator<Item = (&str, Value)> {
    values.iter().map(|(name, value)| (name.as_str(), value.clone()))
}

fn values(values: BTreeMap<String, wire::Value>) -> Result<Vec<(String, Option<Value>)>, Refusal> {
    let read = values.into_iter().map(|(name, value)| {
        let value = value::read(&format!("values.{name}"), value)?;
        Ok((name, value))
    });
    read.collect()
}

/// What becomes of a record, by the mask of an update.
fn masked(values: &[(String, Option<Value>)], mask: Option<FieldMask>) -> Result<Update, Refusal> {
    let given = || values.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
    let paths = mask.unwrap_or_default().paths;
    if paths.iter().any(|path| path == "*" || path == "values") {
        return Ok(Update::All(given().collect()));
    }
    if paths.is_empty() {
        let clear = values.iter().filter(|(_, value)| value.is_none());
        let clear = clear.map(|(name, _)| name.clone()).collect();
        return Ok(Update::Some { set: given().collect(), clear });
    }
    let (mut set, mut clear) = (Values::new(), Vec::new());
    for path in paths {
        let name = path.strip_prefix("values.").unwrap_or(&path);
        match values.iter().find(|(given, _)| given == name) {
            Some((_, Some(value))) => set.push((name.to_owned(), value.clone())),
            _ => clear.push(name.to_owned()),
        }
    }
    Ok(Update::Some { set, clear })
}
