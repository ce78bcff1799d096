//! Building a packed table: entries are collected in parts, values that keys share are found, and region after region
//! is built and written. The bytes depend on what was added and in which order, not on memory, threads or time.

use std::{borrow::Cow, collections::VecDeque, io, ops::ControlFlow, path::Path, thread};

use xxhash_rust::xxh3::xxh3_128;

use crate::{
    BuildError, Content, Duplicates, Keys, Options, Progress, ValueId,
    build::{self, BuiltRegion, Failure, Plan},
    entry::{Entry, EntryValue},
    format::{self, Header, Name},
    hash::{self, KeyHash, SEEDS},
    json,
    line::Shape,
    partition::{PARTS, Partitions, Spool, spill_failed},
    region::{REGION_ENTRIES, Region},
    varint,
    write::FileWriter,
};

/// Values shorter than this are never shared: the reference would save nothing.
const SHARED_MIN: usize = 16;
/// Values longer than this do not stand in records, so that records stay close together.
const INLINE_MAX: usize = 1024;
/// Collects keys and values and writes them as one file.
///
/// ```
/// use sakuin_pack::{Builder, Content, Options, Table};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("settings.skn");
/// let mut builder = Builder::new(Content::Json, Options::new());
/// builder.add(b"timeout", b"30")?;
/// builder.add(b"hosts", br#"["a", "b"]"#)?;
/// builder.write(&path)?;
///
/// let table = Table::open(&path)?;
/// let hosts = table.get(b"hosts")?.expect("it was added");
/// assert_eq!(hosts.first().text(), Some(r#"["a","b"]"#));
/// assert!(table.get(b"ports")?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Builder {
    content: Content,
    options: Options,
    meta: Option<String>,
    entries: u64,
    /// Entries with a value that others may share, by the hash of the value.
    by_value: Partitions,
    /// Entries with a value of their own or one stored already, by the hash of the key.
    by_key: Partitions,
    /// The values stored apart from records.
    values: Spool,
    hasher: Hasher,
}

/// A value stored once and pointed to by any number of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ValueHandle(u64);

/// Where the values of a build ended up, for the sections that refer to them.
pub struct Placed {
    values: u64,
}

/// The sections that other crates add to a file.
pub struct Sections {
    sections: Vec<(Name, Vec<u8>, bool)>,
    room: usize,
}

/// What a build wrote.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Distinct keys.
    pub keys: u64,
    /// Values, counted once for each key that has them.
    pub values: u64,
    /// The length of the file.
    pub file_bytes: u64,
    /// The content id, as [`crate::Table::content_id`] gives it.
    pub content_id: String,
}

type Hasher = fn(&[u8], u64) -> KeyHash;

impl Builder {
    /// A builder with the given options.
    pub fn new(content: Content, options: Options) -> Builder {
        // The three hold entries at the same time only while values are being shared.
        let limit = options.memory / 2;
        Builder {
            content,
            meta: None,
            entries: 0,
            by_value: Partitions::new(limit),
            by_key: Partitions::new(limit),
            values: Spool::new(limit),
            hasher: KeyHash::new,
            options,
        }
    }

    /// Adds `value` to `key`.
    ///
    /// Equal values of 16 bytes or more are stored once.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), BuildError> {
        self.check(key, value)?;
        let value = self.stored(value);
        let entry = self.entry(key, EntryValue::Inline(&value));
        let pushed = if value.len() < SHARED_MIN {
            push(&mut self.by_key, entry.hash.low, &entry)
        } else {
            push(&mut self.by_value, hash::sum(&value), &entry)
        };
        self.entries += 1;
        pushed.map_err(spill_failed)
    }

    /// Stores a value once; [`Builder::point`] gives it keys.
    pub fn value(&mut self, value: &[u8]) -> Result<ValueHandle, BuildError> {
        self.check(&[], value)?;
        let value = self.stored(value);
        store(&mut self.values, &value).map(ValueHandle).map_err(spill_failed)
    }

    /// Adds a stored value to `key`.
    pub fn point(&mut self, key: &[u8], value: ValueHandle) -> Result<(), BuildError> {
        if value.0 >= self.values.length() {
            return Err(BuildError::ForeignHandle);
        }
        let entry = self.entry(key, EntryValue::Shared(value.0));
        self.entries += 1;
        push(&mut self.by_key, entry.hash.low, &entry).map_err(spill_failed)
    }

    /// The user's JSON about the table: title, source, licence.
    pub fn meta(&mut self, json: &str) -> Result<(), BuildError> {
        json::check(json).map_err(|source| BuildError::BadMeta { source })?;
        self.meta = Some(json.to_owned());
        Ok(())
    }

    /// Writes the file, replacing `path` in one step.
    pub fn write(self, path: impl AsRef<Path>) -> Result<Report, BuildError> {
        self.write_with(path, |_, _| Ok(()))
    }

    /// Writes the file; `sections` runs once every value has its place.
    pub fn write_with(
        mut self,
        path: impl AsRef<Path>,
        sections: impl FnOnce(&Placed, &mut Sections) -> Result<(), BuildError>,
    ) -> Result<Report, BuildError> {
        self.check_options()?;
        let path = path.as_ref();
        self.share_values().map_err(spill_failed)?;
        let secret = self.options.seed;
        let mut attempts = SEEDS.into_iter().map(|seed| seed ^ secret);
        let mut seed = attempts.next().unwrap_or_default();
        let mut draft = loop {
            let failure = match self.attempt(path, seed) {
                Ok(draft) => break draft,
                Err(Stop::Build(error)) => return Err(error),
                Err(Stop::OtherSeed(error)) => error,
            };
            seed = attempts.next().ok_or(failure)?;
            self.rehash(seed).map_err(spill_failed)?;
        };
        if let Some(meta) = &self.meta {
            draft.section(own(format::META), meta.as_bytes(), true)?;
        }
        let mut others = Sections { sections: Vec::new(), room: draft.file.sections_left() };
        sections(&draft.placed, &mut others)?;
        for (name, bytes, required) in others.sections {
            draft.section(name, &bytes, required)?;
        }
        let header = draft.file.finish(draft.header)?;
        Ok(Report {
            keys: header.key_count,
            values: header.value_count,
            file_bytes: header.file_length,
            content_id: format!("{:032x}", header.content_id),
        })
    }

    fn check_options(&self) -> Result<(), BuildError> {
        match self.options.keys {
            Keys::Approximate { bits } if !(4..=32).contains(&bits) => {
                Err(BuildError::BadOption { option: "fingerprint", value: u64::from(bits) })
            }
            _ => Ok(()),
        }
    }

    fn check(&self, key: &[u8], value: &[u8]) -> Result<(), BuildError> {
        let long = [(key.len() as u64, u32::MAX.into()), (value.len() as u64, (1 << 48) - 1)];
        if let Some((length, _)) = long.into_iter().find(|(length, most)| length > most) {
            return Err(BuildError::TooLong { length });
        }
        if self.content == Content::Bytes {
            return Ok(());
        }
        let text = std::str::from_utf8(value)
            .map_err(|source| BuildError::NotText { key: key.to_vec(), source })?;
        if self.content == Content::Json {
            json::check(text)
                .map_err(|source| BuildError::NotJson { key: key.to_vec(), source })?;
        }
        Ok(())
    }

    /// The bytes kept of a checked value.
    fn stored<'v>(&self, value: &'v [u8]) -> Cow<'v, [u8]> {
        match self.content {
            Content::Json => json::compact(value),
            _ => Cow::Borrowed(value),
        }
    }

    fn entry<'b>(&self, key: &'b [u8], value: EntryValue<'b>) -> Entry<'b> {
        let hash = (self.hasher)(key, self.options.seed);
        Entry { hash, ordinal: self.entries, key, value }
    }

    /// Moves the entries of `by_value` to `by_key`, their values stored once where several are equal or one is long.
    fn share_values(&mut self) -> io::Result<()> {
        for part in 0..PARTS {
            let bytes = self.by_value.load(part)?;
            let mut entries: Vec<(u128, Entry<'_>, &[u8])> = Entry::read_all(&bytes)
                .filter_map(|entry| match entry.value {
                    EntryValue::Inline(bytes) => Some((xxh3_128(bytes), entry, bytes)),
                    EntryValue::Shared(_) => None,
                })
                .collect();
            entries.sort_unstable_by_key(|(hash, entry, _)| (*hash, entry.ordinal));
            for group in entries.chunk_by(|one, other| one.0 == other.0) {
                let value = group[0].2;
                let apart = value.len() > INLINE_MAX || group.len() > 1;
                let shared = match apart {
                    true => Some(store(&mut self.values, value)?),
                    false => None,
                };
                for (_, entry, bytes) in group {
                    let value = match shared {
                        Some(offset) if *bytes == value => EntryValue::Shared(offset),
                        _ => entry.value,
                    };
                    push(&mut self.by_key, entry.hash.low, &Entry { value, ..*entry })?;
                }
            }
            drop(entries);
            drop(bytes);
            self.by_value.forget(part);
        }
        Ok(())
    }

    /// Hashes all keys again.
    fn rehash(&mut self, seed: u64) -> io::Result<()> {
        let mut anew = Partitions::new(self.options.memory / 2);
        for part in 0..PARTS {
            let bytes = self.by_key.load(part)?;
            for entry in Entry::read_all(&bytes) {
                let hash = (self.hasher)(entry.key, seed);
                push(&mut anew, hash.low, &Entry { hash, ..entry })?;
            }
            drop(bytes);
            self.by_key.forget(part);
        }
        self.by_key = anew;
        Ok(())
    }

    /// Writes everything but the description and the sections of others.
    fn attempt(&mut self, path: &Path, seed: u64) -> Result<Draft, Stop> {
        let mut file = FileWriter::create(path)?;
        let mut placed = Placed { values: format::PAGE as u64 };
        if self.values.length() > 0 {
            placed.values = file.begin(own(format::VALUES), true)?;
            self.values.read(|bytes| file.append(bytes))?;
        }
        let regions = u32::try_from(self.entries.div_ceil(REGION_ENTRIES)).unwrap_or(u32::MAX);
        let plan = Plan {
            regions,
            hash: self.options.hash,
            keys: self.options.keys,
            duplicates: self.options.duplicates,
        };
        let header = Header {
            minor: format::MINOR,
            content: self.content,
            keys: plan.keys,
            hash: plan.hash,
            slots_per_line: 1,
            multi: plan.duplicates == Duplicates::Keep,
            key_count: 0,
            value_count: 0,
            regions,
            seed,
            file_length: 0,
            content_id: 0,
            sum_of_sums: 0,
            sections: Vec::new(),
        };
        file.begin(own(format::RECORDS), true)?;
        let mut index = Index::new(header, self.options.memory / 4);
        let threads = match self.options.threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let mut done = 0;
        // The entries of regions that are not complete yet, the first of which has number `first`.
        let mut waiting: VecDeque<Vec<u8>> = VecDeque::new();
        let mut first = 0;
        for part in 0..PARTS {
            let bytes = self.by_key.load(part).map_err(spill_failed)?;
            for entry in Entry::read_all(&bytes) {
                let region = (entry.hash.region(regions).0 - first) as usize;
                if waiting.len() <= region {
                    waiting.resize_with(region + 1, Vec::new);
                }
                entry.write(&mut waiting[region]);
                done += 1;
            }
            drop(bytes);
            let complete = match part + 1 {
                PARTS => regions,
                next => KeyHash { low: (next as u64) << 56, high: 0 }.region(regions).0,
            };
            if waiting.len() < (complete - first) as usize {
                waiting.resize_with((complete - first) as usize, Vec::new);
            }
            while first < complete
                && ((complete - first) as usize >= threads || complete == regions)
            {
                let count = threads.min((complete - first) as usize);
                let batch: Vec<Vec<u8>> = waiting.drain(..count).collect();
                first += count as u32;
                for region in build_all(&plan, &batch) {
                    index.add(&mut file, &region?)?;
                }
            }
            self.report(done)?;
        }
        let header = index.write(&mut file)?;
        Ok(Draft { file, header, placed })
    }

    fn report(&self, done: u64) -> Result<(), BuildError> {
        let told = self.options.progress.as_ref();
        match told.map(|progress| progress(Progress { done, total: self.entries })) {
            Some(ControlFlow::Break(())) => Err(BuildError::BrokenOff),
            _ => Ok(()),
        }
    }
}

/// Builds regions at the same time; the results in their order.
fn build_all(plan: &Plan, regions: &[Vec<u8>]) -> Vec<Result<BuiltRegion, Failure>> {
    if let [one] = regions {
        return vec![build::build(plan, one)];
    }
    thread::scope(|scope| {
        let threads: Vec<_> =
            regions.iter().map(|region| scope.spawn(move || build::build(plan, region))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// A file that lacks only the description and the sections of others.
struct Draft {
    file: FileWriter,
    header: Header,
    placed: Placed,
}

impl Draft {
    fn section(&mut self, name: Name, bytes: &[u8], required: bool) -> Result<(), BuildError> {
        self.file.begin(name, required)?;
        self.file.append(bytes)
    }
}

/// Everything that leads to the records, gathered while they are written.
struct Index {
    header: Header,
    shape: Option<Shape>,
    lines: Spool,
    escapes: Vec<u8>,
    regions: Vec<u8>,
    seeds: Vec<u8>,
    remap: Vec<u8>,
}

impl Index {
    fn new(header: Header, memory: usize) -> Index {
        Index {
            header,
            shape: None,
            lines: Spool::new(memory),
            escapes: Vec::new(),
            regions: Vec::new(),
            seeds: Vec::new(),
            remap: Vec::new(),
        }
    }

    fn add(&mut self, file: &mut FileWriter, region: &BuiltRegion) -> Result<(), BuildError> {
        let lines = self.lines.length() / format::LINE as u64;
        let entry = Region {
            seeds: self.seeds.len() as u64,
            remap: self.remap.len() as u64,
            lines,
            keys: region.keys,
            levels: region.levels,
        };
        entry.write(&mut self.regions);
        if region.keys == 0 {
            return Ok(());
        }
        let bits = self.header.keys.fingerprint_bits();
        let shape = *self.shape.get_or_insert_with(|| {
            self.header.slots_per_line = region.best_slots_per_line(bits);
            Shape::new(self.header.slots_per_line, bits)
        });
        let records = file.section_length();
        let (lines, escapes) = region.lines(&shape, records, self.escapes.len() as u64);
        self.lines.push(&lines).map_err(spill_failed)?;
        self.escapes.extend(escapes);
        self.seeds.extend_from_slice(&region.seeds);
        self.remap.extend_from_slice(&region.remap);
        self.header.key_count += u64::from(region.keys);
        self.header.value_count += region.values;
        file.append(&region.records)
    }

    fn write(mut self, file: &mut FileWriter) -> Result<Header, BuildError> {
        if self.lines.length() > 0 {
            file.begin(own(format::LINES), true)?;
            self.lines.read(|bytes| file.append(bytes))?;
        }
        for (name, bytes) in [
            (format::ESCAPES, self.escapes),
            (format::REGIONS, self.regions),
            (format::HASH_SEEDS, self.seeds),
            (format::REMAP, self.remap),
        ] {
            if !bytes.is_empty() {
                file.begin(own(name), true)?;
                file.append(&bytes)?;
            }
        }
        Ok(self.header)
    }
}

/// Why an attempt ended.
enum Stop {
    Build(BuildError),
    OtherSeed(BuildError),
}

impl From<BuildError> for Stop {
    fn from(error: BuildError) -> Stop {
        Stop::Build(error)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        match failure {
            Failure::Duplicate { key, first, second } => {
                Stop::Build(BuildError::DuplicateKey { key, first, second })
            }
            Failure::Collision { first, second } => {
                Stop::OtherSeed(BuildError::HashCollision { first, second })
            }
            Failure::NoPerfectHash => Stop::OtherSeed(BuildError::NoPerfectHash),
        }
    }
}

impl Placed {
    /// The id by which [`crate::Table::value`] finds a value made by [`Builder::value`].
    pub fn id(&self, value: ValueHandle) -> ValueId {
        ValueId(self.values + value.0)
    }
}

impl Sections {
    /// Adds a section named `owner.name`; `required` makes readers that do not know it refuse the file.
    pub fn add(&mut self, name: &str, bytes: Vec<u8>, required: bool) -> Result<(), BuildError> {
        let bad = |what| BuildError::BadSection { name: name.to_owned(), what };
        let proper = Name::new(name).filter(|_| name.contains('.'));
        let proper = proper.ok_or(bad("it is not `owner.name` of 24 letters, digits or `.-_`"))?;
        if self.sections.iter().any(|(other, ..)| *other == proper) {
            return Err(bad("it was added already"));
        }
        if self.sections.len() == self.room {
            return Err(bad("the file has no room for more"));
        }
        self.sections.push((proper, bytes, required));
        Ok(())
    }
}

/// The name of a section of this crate.
fn own(name: &str) -> Name {
    Name::new(name).expect("a proper name")
}

fn push(entries: &mut Partitions, hash: u64, entry: &Entry<'_>) -> io::Result<()> {
    entries.push(Partitions::part(hash), |out| entry.write(out))
}

/// Appends a value to those stored apart, and says where it begins.
fn store(values: &mut Spool, value: &[u8]) -> io::Result<u64> {
    let offset = values.length();
    let mut head = Vec::with_capacity(10);
    varint::write(&mut head, value.len() as u64);
    values.push(&head)?;
    values.push(value)?;
    Ok(offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Table};

    fn colliding(hasher: Hasher) -> Result<Table, BuildError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.skn");
        let mut builder = Builder::new(Content::Bytes, Options::new());
        builder.hasher = hasher;
        for key in [b"one", b"two", b"six"] {
            builder.add(key, key).unwrap();
        }
        builder.write(&path)?;
        Ok(Table::open(&path).unwrap())
    }

    #[test]
    fn keys_that_collide_are_hashed_anew() {
        let table = colliding(|key, seed| match seed == SEEDS[0] || seed == SEEDS[1] {
            true => KeyHash { low: 1, high: key.len() as u64 },
            false => KeyHash::new(key, seed),
        });
        let table = table.unwrap();
        for key in [b"one", b"two", b"six"] {
            assert_eq!(table.get(key).unwrap().unwrap().first().bytes(), key);
        }
    }

    #[test]
    fn keys_that_always_collide_are_named() {
        let failed = colliding(|key, seed| match key {
            b"six" => KeyHash::new(key, seed),
            _ => KeyHash { low: 1, high: 1 },
        });
        let Err(BuildError::HashCollision { first, second }) = failed else {
            panic!("two keys have one hash");
        };
        assert_eq!((first.as_slice(), second.as_slice()), (&b"one"[..], &b"two"[..]));
    }
}
