//! The file under the tables: a log of groups, and an image of the records that the log is folded into.
//!
//! | table | key → value |
//! | --- | --- |
//! | `meta` | `schema` → the tables by number; `state` → up to which commit the image goes, and the next ids |
//! | `log` | sequence of its first commit → a group |
//! | `record` | table, id → a row |
//! | `request` | time and sequence of the last → answers that are no longer in the log |
//!
//! A group is one value, since a row each costs ten times as much. What piles up is folded a little with each group:
//! rows that changed, requests, then the log behind them goes. A fold that is cut off is no harm, since groups hold
//! whole records: applied again in order, they lead to the same end.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use redb::{
    Database, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition, WriteTransaction,
};

use crate::{
    OpenError,
    bytes::{Damage, Reader, put_number, seal, sealable, unseal},
    committer::Group,
    frame,
    layout::{Layout, Stored},
    requests::{KEPT, Known, Requests, milliseconds},
    snapshot::Root,
    table::Table,
};

const META: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("meta");
const LOG: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("log");
const RECORD: TableDefinition<'static, (u32, u64), &[u8]> = TableDefinition::new("record");
const REQUEST: TableDefinition<'static, (u64, u64), &[u8]> = TableDefinition::new("request");

const SCHEMA: &str = "schema";
const STATE: &str = "state";

/// What this writes, as the first number of the state. A file that says more is from a later version.
const FORMAT: u64 = 1;

/// The pages that redb keeps. Only folds read any, and those in order, so that more would be memory for nothing.
const CACHE: usize = 8 << 20;

/// The log is folded once it is longer than this, and than a quarter of the image.
pub(crate) const FOLD_AT: u64 = 64 << 20;

/// What a group costs in the log beside its bytes.
const GROUP_COST: u64 = 64;

/// Rows that a fold writes at once; more when nobody waits.
const ROWS_AT_ONCE: usize = 512;
const ROWS_WHEN_IDLE: usize = 8192;

/// Rows that a fold looks at for each that it may write: most have not changed.
const LOOKS: usize = 128;

/// Groups, and requests, that a fold moves for each row it may write.
const GROUPS: usize = 4;
const REQUESTS: usize = 2;

/// The file, and how far its image goes.
pub(crate) struct Disk {
    database: Database,
    layout: Arc<Layout>,
    fold_at: u64,
    /// The image has every commit up to this one.
    folded: u64,
    log_bytes: u64,
    record_bytes: u64,
    /// Records that the image may have and that are deleted, by table and id.
    deleted: BTreeSet<(usize, u64)>,
    fold: Option<Fold>,
}

/// A fold under way.
struct Fold {
    /// The image will have every commit up to this one.
    to: u64,
    deleted: Vec<(usize, u64)>,
    stage: Stage,
}

enum Stage {
    Deleted,
    /// Rows from this table and this id on.
    Rows(usize, u64),
    /// Requests after this sequence.
    Requests(u64),
    /// The log is taken away.
    Log,
}

/// Where remembered requests come from: those after a sequence, up to another, so many at most.
pub(crate) type Answers<'k> = &'k dyn Fn(u64, u64, usize) -> Vec<Arc<Known>>;

/// What a file held.
pub(crate) struct Opened {
    pub(crate) disk: Disk,
    pub(crate) layout: Arc<Layout>,
    pub(crate) root: Root,
    pub(crate) requests: Requests,
}

/// Why the file could not be opened, without its name.
pub(crate) enum Refused {
    Disk(redb::Error),
    Damage { what: String },
    Schema { table: String, cause: String },
}

impl Disk {
    pub(crate) fn open(path: &Path, tables: Vec<Table>, fold_at: u64) -> Result<Opened, OpenError> {
        let opened = create(path, &tables).and_then(|()| {
            let database = builder().open(path)?;
            Disk::load(database, tables, fold_at)
        });
        opened.map_err(|refused| refused.at(path))
    }

    pub(crate) fn open_on(
        backend: impl StorageBackend,
        tables: Vec<Table>,
        fold_at: u64,
    ) -> Result<Opened, OpenError> {
        let opened = builder().create_with_backend(backend);
        let opened = opened.map_err(Refused::from);
        let opened = opened.and_then(|database| Disk::load(database, tables, fold_at));
        opened.map_err(|refused| refused.at(Path::new("the backend")))
    }

    fn load(database: Database, tables: Vec<Table>, fold_at: u64) -> Result<Opened, Refused> {
        let (layout, state) = begin(&database, &tables)?;
        let layout = Arc::new(layout);
        let mut disk = Disk {
            database,
            layout: layout.clone(),
            fold_at,
            folded: state.folded,
            log_bytes: 0,
            record_bytes: 0,
            deleted: BTreeSet::new(),
            fold: None,
        };
        let mut root = Root { sequence: state.folded, tables };
        for (number, next_id) in state.next_ids {
            let table = layout.table(number).map_err(|damage| in_meta(STATE, damage))?;
            root.tables[table].skip_ids(next_id);
        }
        let read = disk.database.begin_read()?;
        disk.read_records(&read.open_table(RECORD)?, &mut root)?;
        let mut known = read_requests(&read.open_table(REQUEST)?)?;
        disk.replay(&read.open_table(LOG)?, &mut root, &mut known)?;
        root.tables.iter_mut().for_each(Table::build_indexes);
        let now = milliseconds();
        known.retain(|known| known.time.saturating_add(KEPT) >= now);
        known.sort_by_key(|known| known.sequence);
        let mut requests = Requests::default();
        for known in known {
            if requests.get(&known.request).is_none_or(|before| before.sequence < known.sequence) {
                requests.remember(known);
            }
        }
        Ok(Opened { disk, layout, root, requests })
    }

    fn read_records(
        &mut self,
        records: &impl ReadableTable<(u32, u64), &'static [u8]>,
        root: &mut Root,
    ) -> Result<(), Refused> {
        for entry in records.iter()? {
            let (key, value) = entry?;
            let (number, id) = key.value();
            let value = value.value();
            self.record_bytes += value.len() as u64;
            let table = self.layout.table(number.into());
            let row = table.and_then(|table| {
                let (version, cells) = frame::row(value, table, id, &self.layout)?;
                Ok((table, version, cells))
            });
            let (table, version, cells) = row.map_err(|damage| {
                let what = format!("`record` of table {number}, id {id}: {damage}");
                Refused::Damage { what }
            })?;
            root.tables[table].restore(id, version, &cells);
        }
        Ok(())
    }

    fn replay(
        &mut self,
        log: &impl ReadableTable<u64, &'static [u8]>,
        root: &mut Root,
        known: &mut Vec<Known>,
    ) -> Result<(), Refused> {
        for entry in log.range(self.folded + 1..)? {
            let (first, value) = entry?;
            let (first, value) = (first.value(), value.value());
            self.log_bytes += value.len() as u64 + GROUP_COST;
            let damaged = |damage| {
                let what = format!("`log` at sequence {first}: {damage}");
                Refused::Damage { what }
            };
            if first != root.sequence + 1 {
                let what = format!("`log` has {first} where {} comes next", root.sequence + 1);
                return Err(Refused::Damage { what });
            }
            for commit in frame::group(value, first, &self.layout).map_err(damaged)? {
                root.sequence = commit.sequence;
                for (table, id, cells) in commit.records {
                    let place = &mut root.tables[table];
                    place.skip_ids(id + 1);
                    match cells {
                        Some(cells) => place.restore(id, commit.sequence, &cells),
                        None => {
                            place.forget(id);
                            self.deleted.insert((table, id));
                        }
                    }
                }
                known.extend(commit.known);
            }
        }
        Ok(())
    }

    /// Writes a group, and a little of a fold with it. `root` is what the group leads to.
    pub(crate) fn write(
        &mut self,
        mut group: Group,
        root: &Root,
        answers: Answers<'_>,
    ) -> Result<(), redb::Error> {
        let records = group.records;
        self.deleted.append(&mut group.deleted.into_iter().collect());
        self.begin_fold(root);
        let write = self.database.begin_write()?;
        if let Some(frame) = group.frame.as_mut().filter(|frame| frame.commits() > 0) {
            let bytes = frame.sealed(group.first);
            write.open_table(LOG)?.insert(group.first, bytes)?;
            self.log_bytes += bytes.len() as u64 + GROUP_COST;
        }
        self.fold(&write, root, ROWS_AT_ONCE.max(2 * records), answers)?;
        Ok(write.commit()?)
    }

    /// Whether there is something to be done while nobody writes.
    pub(crate) fn is_folding(&self) -> bool {
        self.fold.is_some()
    }

    /// More of a fold, while nobody writes. `root` is on the disk.
    pub(crate) fn fold_on(&mut self, root: &Root, answers: Answers<'_>) -> Result<(), redb::Error> {
        let write = self.database.begin_write()?;
        self.fold(&write, root, ROWS_WHEN_IDLE, answers)?;
        Ok(write.commit()?)
    }

    /// Writes all that is not in the image yet, at once.
    pub(crate) fn write_whole(
        &mut self,
        deleted: Vec<(usize, u64)>,
        root: &Root,
        answers: Answers<'_>,
    ) -> Result<(), redb::Error> {
        self.deleted.extend(deleted);
        if root.sequence == self.folded {
            return Ok(());
        }
        self.fold = Some(Fold::new(root.sequence, std::mem::take(&mut self.deleted)));
        let write = self.database.begin_write()?;
        while self.fold.is_some() {
            self.fold(&write, root, ROWS_WHEN_IDLE, answers)?;
        }
        Ok(write.commit()?)
    }

    fn begin_fold(&mut self, root: &Root) {
        if self.fold.is_none() && self.log_bytes > self.fold_at.max(self.record_bytes / 4) {
            self.fold = Some(Fold::new(root.sequence, std::mem::take(&mut self.deleted)));
        }
    }

    /// A step of the fold under way, if there is one: so many rows at most.
    fn fold(
        &mut self,
        write: &WriteTransaction,
        root: &Root,
        rows: usize,
        answers: Answers<'_>,
    ) -> Result<(), redb::Error> {
        let Some(fold) = &mut self.fold else { return Ok(()) };
        match &mut fold.stage {
            Stage::Deleted => {
                let mut records = write.open_table(RECORD)?;
                let left = fold.deleted.len().saturating_sub(rows);
                for (table, id) in fold.deleted.drain(left..) {
                    // It may have been brought back under its id.
                    if root.tables[table].get(id).is_some() {
                        continue;
                    }
                    if let Some(row) = records.remove((self.layout.number(table), id))? {
                        self.record_bytes -= row.value().len() as u64;
                    }
                }
                if left == 0 {
                    fold.stage = Stage::Rows(0, 1);
                }
            }
            Stage::Rows(at, first) => {
                let mut records = write.open_table(RECORD)?;
                let (mut looks, mut left) = (rows * LOOKS, rows);
                while let Some(table) = root.tables.get(*at) {
                    let mut from = table.rows_from(*first);
                    while looks > 0
                        && left > 0
                        && let Some((id, row)) = from.next()
                    {
                        (looks, *first) = (looks - 1, id + 1);
                        if row.version() <= self.folded {
                            continue;
                        }
                        left -= 1;
                        let row =
                            frame::put_row(&self.layout, *at, id, row.version(), &row.cells());
                        let key = (self.layout.number(*at), id);
                        let before = records.insert(key, row.as_slice())?;
                        self.record_bytes += row.len() as u64;
                        self.record_bytes -= before.map_or(0, |row| row.value().len() as u64);
                    }
                    if looks == 0 || left == 0 {
                        return Ok(());
                    }
                    (*at, *first) = (*at + 1, 1);
                }
                fold.stage = Stage::Requests(self.folded);
            }
            Stage::Requests(after) => {
                let some = answers(*after, fold.to, rows * REQUESTS);
                match some.last() {
                    Some(last) => {
                        let key = (last.time, last.sequence);
                        let block = frame::put_answers(&some, last.sequence);
                        write.open_table(REQUEST)?.insert(key, block.as_slice())?;
                        *after = last.sequence;
                        let old = last.time.saturating_sub(KEPT);
                        write.open_table(REQUEST)?.retain_in(..(old, 0), |_, _| false)?;
                    }
                    None => fold.stage = Stage::Log,
                }
            }
            Stage::Log => {
                let state = State::of(fold.to, root, &self.layout);
                write.open_table(META)?.insert(STATE, state.bytes().as_slice())?;
                let mut log = write.open_table(LOG)?;
                let (mut groups, mut freed) = (0, 0);
                let old = log.extract_from_if(..=fold.to, |_, _| true)?;
                for group in old.take(rows * GROUPS) {
                    freed += group?.1.value().len() as u64 + GROUP_COST;
                    groups += 1;
                }
                self.log_bytes = self.log_bytes.saturating_sub(freed);
                self.folded = fold.to;
                if groups < rows * GROUPS {
                    self.fold = None;
                }
            }
        }
        Ok(())
    }
}

impl Fold {
    fn new(to: u64, deleted: BTreeSet<(usize, u64)>) -> Fold {
        Fold { to, deleted: deleted.into_iter().collect(), stage: Stage::Deleted }
    }
}

/// How far the image goes.
struct State {
    folded: u64,
    /// By the number of the table.
    next_ids: Vec<(u64, u64)>,
}

impl State {
    fn of(folded: u64, root: &Root, layout: &Layout) -> State {
        let tables = root.tables.iter().enumerate();
        let next_ids = tables.map(|(at, table)| (u64::from(layout.number(at)), table.next_id()));
        State { folded, next_ids: next_ids.collect() }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = sealable();
        put_number(&mut out, FORMAT);
        put_number(&mut out, self.folded);
        put_number(&mut out, self.next_ids.len() as u64);
        for (table, next_id) in &self.next_ids {
            put_number(&mut out, *table);
            put_number(&mut out, *next_id);
        }
        seal(&mut out, 0);
        out
    }

    fn read(bytes: &[u8]) -> Result<State, Damage> {
        let mut reader = unseal(bytes, 0)?;
        if reader.number()? > FORMAT {
            return Err(Damage("it was written by a later version; hint: open it with that"));
        }
        let folded = reader.number()?;
        let next_ids =
            reader.many(|reader: &mut Reader<'_>| Ok((reader.number()?, reader.number()?)))?;
        reader.end()?;
        Ok(State { folded, next_ids })
    }
}

/// Reads what the file says of itself, and writes what it does not say yet.
fn begin(database: &Database, tables: &[Table]) -> Result<(Layout, State), Refused> {
    let write = database.begin_write()?;
    let mut meta = write.open_table(META)?;
    let state = match meta.get(STATE)? {
        Some(bytes) => State::read(bytes.value()).map_err(|damage| in_meta(STATE, damage))?,
        None => State { folded: 0, next_ids: Vec::new() },
    };
    let stored = match meta.get(SCHEMA)? {
        Some(bytes) => unseal(bytes.value(), 0)
            .and_then(Stored::read)
            .map_err(|damage| in_meta(SCHEMA, damage))?,
        None => Stored::default(),
    };
    let mut now = stored.clone();
    let described: Vec<_> = tables.iter().map(|table| (&*table.name, &table.schema)).collect();
    let layout = now.agree(&described);
    let layout =
        layout.map_err(|misfit| Refused::Schema { table: misfit.table, cause: misfit.cause })?;
    if now == stored && meta.get(STATE)?.is_some() {
        return Ok((layout, state));
    }
    let mut schema = sealable();
    now.write(&mut schema);
    seal(&mut schema, 0);
    meta.insert(SCHEMA, schema.as_slice())?;
    meta.insert(STATE, state.bytes().as_slice())?;
    drop(meta);
    write.open_table(LOG)?;
    write.open_table(RECORD)?;
    write.open_table(REQUEST)?;
    write.commit()?;
    Ok((layout, state))
}

fn read_requests(
    requests: &impl ReadableTable<(u64, u64), &'static [u8]>,
) -> Result<Vec<Known>, Refused> {
    let mut known = Vec::new();
    for entry in requests.iter()? {
        let (key, value) = entry?;
        let (_, last) = key.value();
        let answers = frame::answers(value.value(), last).map_err(|damage| {
            let what = format!("`request` up to sequence {last}: {damage}");
            Refused::Damage { what }
        })?;
        known.extend(answers);
    }
    Ok(known)
}

fn builder() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE);
    builder
}

/// Begins a file, if there is none. It gets its name when it is whole, so that no power cut leaves a half of one.
fn create(path: &Path, tables: &[Table]) -> Result<(), Refused> {
    if path.try_exists()? {
        return Ok(());
    }
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let database = builder().create(&new)?;
    begin(&database, tables)?;
    drop(database);
    fs::rename(&new, path)?;
    // Its name is on the disk once its folder is.
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

fn in_meta(key: &str, damage: Damage) -> Refused {
    Refused::Damage { what: format!("`meta`, {key}: {damage}") }
}

impl Refused {
    fn at(self, path: &Path) -> OpenError {
        let path: PathBuf = path.into();
        match self {
            Refused::Schema { table, cause } => OpenError::Schema { path, table, cause },
            Refused::Damage { what } => OpenError::Damaged { path, what },
            Refused::Disk(redb::Error::Corrupted(what)) => OpenError::Damaged { path, what },
            Refused::Disk(redb::Error::DatabaseAlreadyOpen) => OpenError::InUse { path },
            Refused::Disk(error) => OpenError::File { path, cause: error.to_string() },
        }
    }
}

impl<E: Into<redb::Error>> From<E> for Refused {
    fn from(error: E) -> Refused {
        Refused::Disk(error.into())
    }
}
