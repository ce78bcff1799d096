//! Reading a packed table: from a key to its slot, its line, its record and its values.
//! Every stretch of the file goes through `Inner::stretch`, which bounds it and checks its block once;
//! whatever a file says, a read ends in an answer or an error, allocates nothing and takes bounded time.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use crate::{
    Content, Hash, Keys, Load, OpenError, OpenReason, ReadError, Value, ValueId, Values, chd,
    check::Checked,
    format::{self, BLOCK, Header, LINE, REGION},
    hash::{KeyHash, Point},
    line::{Shape, Span},
    map::{Bytes, prefetch},
    phast::{self, Level},
    region::Region,
    varint,
};

/// An open packed table: immutable, mapped, cheap to clone and to share between threads.
#[derive(Clone)]
pub struct Table {
    inner: Arc<Inner>,
}

/// How to open a table: `TableOptions::new().verify(true).open(path)`.
#[derive(Clone, Debug, Default)]
pub struct TableOptions {
    load: Load,
    verify: bool,
    known: Vec<String>,
}

impl TableOptions {
    /// Mapped, checked at first touch, knowing no section of other crates.
    pub fn new() -> TableOptions {
        TableOptions::default()
    }

    /// How the bytes are brought in.
    pub fn load(mut self, load: Load) -> TableOptions {
        self.load = load;
        self
    }

    /// Whether to check every block before the table is opened, instead of each at first touch.
    pub fn verify(mut self, verify: bool) -> TableOptions {
        self.verify = verify;
        self
    }

    /// Says that the caller reads this section, so that files which require it are opened.
    pub fn section(mut self, name: &str) -> TableOptions {
        self.known.push(name.to_owned());
        self
    }

    /// Opens a file with these options.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Table, OpenError> {
        let path = path.as_ref();
        let bytes = Bytes::open(path, self.load).map_err(|error| OpenReason::Io(error).of(path))?;
        self.table(bytes, path)
    }

    /// A table from bytes already in memory, which are copied.
    pub fn from_bytes(&self, bytes: impl AsRef<[u8]>) -> Result<Table, OpenError> {
        let path = Path::new("");
        let bytes =
            Bytes::copied(bytes.as_ref()).map_err(|error| OpenReason::Io(error).of(path))?;
        self.table(bytes, path)
    }

    fn table(&self, bytes: Bytes, path: &Path) -> Result<Table, OpenError> {
        let header = Header::parse(&bytes, &self.known).map_err(|reason| reason.of(path))?;
        let table = Table { inner: Arc::new(Inner::new(bytes, header, path, self.clone())) };
        if self.verify {
            table.verify().map_err(|error| OpenReason::Read(error).of(path))?;
        }
        Ok(table)
    }
}

impl Table {
    /// Opens a file in constant time.
    pub fn open(path: impl AsRef<Path>) -> Result<Table, OpenError> {
        TableOptions::new().open(path)
    }

    /// A table from bytes already in memory, which are copied.
    pub fn from_bytes(bytes: impl AsRef<[u8]>) -> Result<Table, OpenError> {
        TableOptions::new().from_bytes(bytes)
    }

    /// The values of `key`.
    ///
    /// A table with approximate keys answers for an absent key, with another key's values, once in 2^bits.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Result<Option<Values<'_>>, ReadError> {
        self.inner.get(key)
    }

    /// Whether the table has `key`.
    pub fn contains(&self, key: &[u8]) -> Result<bool, ReadError> {
        Ok(self.inner.get(key)?.is_some())
    }

    /// The values of many keys, in their order, with the memory accesses overlapped.
    pub fn get_many<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
    ) -> Result<Vec<Option<Values<'_>>>, ReadError> {
        let mut found = Vec::with_capacity(keys.len());
        for keys in keys.chunks(BATCH) {
            self.inner.get_batch(keys, &mut found)?;
        }
        Ok(found)
    }

    /// The value stored at `id`, an id that [`crate::Placed::id`] gave at build.
    #[inline]
    pub fn value(&self, id: ValueId) -> Result<Value<'_>, ReadError> {
        let start = self.inner.values.offset;
        match id.0.checked_sub(start) {
            Some(at) if at < self.inner.values.length => self.inner.shared(at),
            _ => Err(ReadError::NoSuchValue { id: id.0 }),
        }
    }

    /// Every key and its values, in the order of the file, which is no order of the keys.
    pub fn iter(&self) -> Result<Iter<'_>, ReadError> {
        match self.inner.header.keys {
            Keys::Exact => Ok(Iter { table: &self.inner, region: 0, current: None, slot: 0 }),
            Keys::Approximate { .. } => Err(ReadError::KeysNotStored),
        }
    }

    /// A section that another crate owns, checked, 64-byte aligned.
    pub fn section(&self, name: &str) -> Result<Option<&[u8]>, ReadError> {
        if format::OWN.contains(&name) {
            return Ok(None);
        }
        let Some(section) = self.inner.header.section(name) else { return Ok(None) };
        let (start, end) = (section.offset, section.offset + section.length);
        self.inner.touch(start, end)?;
        Ok(Some(&self.inner.bytes[start as usize..end as usize]))
    }

    /// The JSON given to [`crate::Builder::meta`].
    pub fn meta(&self) -> Result<Option<&str>, ReadError> {
        let Some(section) = self.inner.header.section(format::META) else { return Ok(None) };
        let (start, end) = (section.offset, section.offset + section.length);
        self.inner.touch(start, end)?;
        match std::str::from_utf8(&self.inner.bytes[start as usize..end as usize]) {
            Ok(meta) => Ok(Some(meta)),
            Err(_) => Err(self.inner.malformed(format::META, "is not UTF-8")),
        }
    }

    /// Checks every block of the file.
    pub fn verify(&self) -> Result<(), ReadError> {
        self.inner.blocks.all(&self.inner.bytes).map_err(|block| self.inner.corrupt(block))
    }

    /// The content id: equal bytes, equal id. 32 hexadecimal digits.
    pub fn content_id(&self) -> String {
        format!("{:032x}", self.inner.header.content_id)
    }

    /// How many keys the table has.
    pub fn len(&self) -> u64 {
        self.inner.header.key_count
    }

    /// Whether the table has no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the values are.
    pub fn content(&self) -> Content {
        self.inner.header.content
    }

    /// Whether a key may have several values.
    pub fn is_multi(&self) -> bool {
        self.inner.header.multi
    }

    /// The table that stands at this table's path now; `None` if it is the same or the table is from bytes.
    ///
    /// A replaced file does not disturb the readers of the old one; ask from time to time and use what is returned.
    pub fn refresh(&self) -> Result<Option<Table>, OpenError> {
        if self.inner.path.as_os_str().is_empty() {
            return Ok(None);
        }
        let table = self.inner.options.open(&self.inner.path)?;
        let same = table.inner.header.content_id == self.inner.header.content_id;
        Ok((!same).then_some(table))
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.inner.path.display();
        write!(out, "Table(`{path}`, {} keys, {})", self.len(), self.content_id())
    }
}

/// What an open table is made of.
pub(crate) struct Inner {
    pub(crate) bytes: Bytes,
    pub(crate) header: Header,
    pub(crate) path: PathBuf,
    pub(crate) options: TableOptions,
    blocks: Checked,
    shape: Shape,
    values: Stretch,
    records: Stretch,
    lines: Stretch,
    escapes: Stretch,
    regions: Stretch,
    seeds: Stretch,
    remap: Stretch,
    /// The regions as lookups want them, made at the first one.
    places: OnceLock<Box<[Place]>>,
}

/// A region, checked to lie within its sections; as long as its entry in the file.
#[derive(Clone, Copy)]
struct Place {
    /// Where in the file its seeds begin.
    seeds: u64,
    /// Where in the file its lines begin.
    lines: u64,
    level: Level,
}

/// A section of this crate: where it is.
#[derive(Clone, Copy)]
struct Stretch {
    name: &'static str,
    offset: u64,
    length: u64,
}

/// Keys looked up together: as many as the processor has misses in flight, and some more.
const BATCH: usize = 32;

impl Inner {
    fn new(bytes: Bytes, header: Header, path: &Path, options: TableOptions) -> Inner {
        let section = |name| {
            let section = header.section(name);
            let (offset, length) = section.map_or((0, 0), |it| (it.offset, it.length));
            Stretch { name, offset, length }
        };
        Inner {
            blocks: Checked::new(&header),
            shape: Shape::new(header.slots_per_line, header.keys.fingerprint_bits()),
            values: section(format::VALUES),
            records: section(format::RECORDS),
            lines: section(format::LINES),
            escapes: section(format::ESCAPES),
            regions: section(format::REGIONS),
            seeds: section(format::HASH_SEEDS),
            remap: section(format::REMAP),
            places: OnceLock::new(),
            path: path.to_owned(),
            options,
            bytes,
            header,
        }
    }

    #[inline]
    fn get(&self, key: &[u8]) -> Result<Option<Values<'_>>, ReadError> {
        let hash = KeyHash::new(key, self.header.seed);
        let Some((region, point)) = self.place(hash)? else { return Ok(None) };
        let Some(slot) = self.slot(region, point)? else { return Ok(None) };
        let (line, index) = self.line(self.line_of(region, slot))?;
        if !self.shape.may_be(line, index, hash) {
            return Ok(None);
        }
        let record = self.record(line, index)?;
        self.answer(key, record)
    }

    /// As `get`, in stages over the whole batch: what one stage asks the memory for is there for the next.
    fn get_batch<'t, K: AsRef<[u8]>>(
        &'t self,
        keys: &[K],
        found: &mut Vec<Option<Values<'t>>>,
    ) -> Result<(), ReadError> {
        let mut hashes = [KeyHash { low: 0, high: 0 }; BATCH];
        let mut places = [None; BATCH];
        for ((key, hash), place) in keys.iter().zip(&mut hashes).zip(&mut places) {
            *hash = KeyHash::new(key.as_ref(), self.header.seed);
            *place = self.place(*hash)?;
            if let Some((region, point)) = *place {
                let bucket = region.level.bucket(point);
                prefetch(&self.bytes, (region.seeds + u64::from(bucket)) as usize);
            }
        }
        let mut lines = [None; BATCH];
        for (place, line) in places[..keys.len()].iter().zip(&mut lines) {
            let Some((region, point)) = *place else { continue };
            let Some(slot) = self.slot(region, point)? else { continue };
            let (at, index) = self.line_of(region, slot);
            prefetch(&self.bytes, at as usize);
            *line = Some((at, index));
        }
        let mut records: [Option<&[u8]>; BATCH] = [None; BATCH];
        for ((line, hash), record) in lines[..keys.len()].iter().zip(&hashes).zip(&mut records) {
            let Some(place) = *line else { continue };
            let (line, index) = self.line(place)?;
            if self.shape.may_be(line, index, *hash) {
                let bytes = self.record(line, index)?;
                prefetch(bytes, 0);
                prefetch(bytes, LINE);
                *record = Some(bytes);
            }
        }
        for (key, record) in keys.iter().zip(&records) {
            found.push(match record {
                Some(record) => self.answer(key.as_ref(), record)?,
                None => None,
            });
        }
        Ok(())
    }

    /// The region of a key, and its point there; `None` if the region is empty.
    #[inline]
    fn place(&self, hash: KeyHash) -> Result<Option<(&Place, Point)>, ReadError> {
        let places = self.places()?;
        let (index, point) = hash.region(self.header.regions);
        let place = places.get(index as usize).filter(|place| place.level.keys > 0);
        Ok(place.map(|place| (place, point)))
    }

    #[inline]
    fn places(&self) -> Result<&[Place], ReadError> {
        match self.places.get() {
            Some(places) => Ok(places),
            None => self.read_places(),
        }
    }

    #[cold]
    fn read_places(&self) -> Result<&[Place], ReadError> {
        let count = self.header.regions;
        let places: Result<Box<[Place]>, ReadError> =
            (0..count).map(|index| self.read_place(&self.region(index)?)).collect();
        let places = places?;
        Ok(self.places.get_or_init(|| places))
    }

    fn read_place(&self, region: &Region) -> Result<Place, ReadError> {
        let level = Level::new(region.keys);
        let within = |section: &Stretch, at: Option<u64>, length: u64| {
            let end = at.and_then(|at| at.checked_add(length));
            match (at, end.is_some_and(|end| end <= section.length)) {
                (Some(at), true) => Ok(section.offset + at),
                _ => Err(self.malformed(section.name, "a region reaches beyond its end")),
            }
        };
        let seeds = match self.header.hash {
            Hash::Phast => u64::from(level.buckets),
            // Read one by one, each within the section.
            Hash::Chd => 0,
        };
        let lines = u64::from(region.keys).div_ceil(u64::from(self.header.slots_per_line));
        let first_line = region.lines.checked_mul(LINE as u64);
        Ok(Place {
            seeds: within(&self.seeds, Some(region.seeds), seeds)?,
            lines: within(&self.lines, first_line, lines * LINE as u64)?,
            level,
        })
    }

    fn region(&self, index: u32) -> Result<Region, ReadError> {
        let bytes = self.array(&self.regions, u64::from(index) * REGION)?;
        Region::read(bytes).ok_or_else(|| self.malformed(format::REGIONS, "has too many keys"))
    }

    /// The one slot where a key can be.
    #[inline]
    fn slot(&self, place: &Place, point: Point) -> Result<Option<u32>, ReadError> {
        if self.header.hash == Hash::Chd {
            return self.chd_slot(place, point).map(Some);
        }
        let [seed] = self.aligned(place.seeds + u64::from(place.level.bucket(point)))?;
        match place.level.slot(point, *seed) {
            Some(slot) => Ok(Some(slot)),
            None => self.lower_slot(place, point),
        }
    }

    fn chd_slot(&self, place: &Place, point: Point) -> Result<u32, ReadError> {
        let keys = place.level.keys;
        let start = place.seeds - self.seeds.offset;
        let seed = chd::Place::new(chd::bucket(point, keys), keys);
        let (at, bit, width) = seed.lane(self.number(&self.seeds, start, seed.word)?);
        let first = self.number(&self.seeds, start, at)?;
        let second = self.number(&self.seeds, start, at + 16)?;
        Ok(chd::slot(point, chd::seed(first, second, bit, width), keys))
    }

    /// The slot of a key that left the first level.
    #[cold]
    fn lower_slot(&self, place: &Place, point: Point) -> Result<Option<u32>, ReadError> {
        let index = self.places()?.element_offset(place).unwrap_or(0);
        let region = self.region(index as u32)?;
        phast::lower_slot(
            point,
            region.keys,
            region.levels,
            |at| Ok(self.array::<1>(&self.seeds, region.seeds.saturating_add(at))?[0]),
            |at| {
                let at = region.remap.saturating_add(at);
                Ok(u64::from_le_bytes(*self.array(&self.remap, at)?))
            },
        )
    }

    /// Where in the file the line of a slot stands, and the slot's place in it.
    #[inline]
    fn line_of(&self, place: &Place, slot: u32) -> (u64, u32) {
        let (line, index) = self.shape.line(slot);
        (place.lines + u64::from(line) * LINE as u64, index)
    }

    #[inline]
    fn line(&self, (at, index): (u64, u32)) -> Result<(&[u8; LINE], u32), ReadError> {
        Ok((self.aligned(at)?, index))
    }

    /// The record of a slot.
    #[inline]
    fn record(&self, line: &[u8; LINE], index: u32) -> Result<&[u8], ReadError> {
        let (start, end) = match self.shape.span(line, index) {
            Span::Record(start, end) => (start, end),
            Span::Escaped { ends, index } => self.escaped(ends, index)?,
        };
        self.range(&self.records, start, end)
    }

    #[cold]
    fn escaped(&self, ends: u64, index: u32) -> Result<(u64, u64), ReadError> {
        let at = ends.saturating_add(u64::from(index) * 8);
        let start = u64::from_le_bytes(*self.array(&self.escapes, at)?);
        let end = u64::from_le_bytes(*self.array(&self.escapes, at.saturating_add(8))?);
        Ok((start, end))
    }

    #[inline]
    fn answer<'t>(&'t self, key: &[u8], record: &'t [u8]) -> Result<Option<Values<'t>>, ReadError> {
        let (stored, plain, body) = self.parts(record)?;
        if self.header.keys == Keys::Exact && stored != key {
            return Ok(None);
        }
        Values::read(self, plain, body).map(Some)
    }

    /// A record's key, whether its body is one value, and the body.
    #[inline]
    fn parts<'t>(&self, record: &'t [u8]) -> Result<(&'t [u8], bool, &'t [u8]), ReadError> {
        let cut = || self.malformed(format::RECORDS, "a record is cut");
        let (head, length) = varint::read(record).ok_or_else(cut)?;
        let key = usize::try_from(head >> 1).unwrap_or(usize::MAX);
        let (key, body) = record[length..].split_at_checked(key).ok_or_else(cut)?;
        Ok((key, head & 1 != 0, body))
    }

    /// The value at an offset of `values`.
    #[inline]
    pub(crate) fn shared(&self, at: u64) -> Result<Value<'_>, ReadError> {
        let bad = || self.malformed(format::VALUES, "a value runs over its end");
        let rest = self.values.length.checked_sub(at).ok_or_else(bad)?;
        let head = self.stretch(&self.values, at, rest.min(10))?;
        let (length, head) = varint::read(head).ok_or_else(bad)?;
        let bytes = self.stretch(&self.values, at + head as u64, length)?;
        Ok(Value { id: ValueId(self.values.offset + at), bytes })
    }

    /// The id of a value that stands in a record: its place in the file.
    #[inline]
    pub(crate) fn id_of(&self, value: &[u8]) -> ValueId {
        ValueId((value.as_ptr().addr() - self.bytes.as_ptr().addr()) as u64)
    }

    /// Bytes at a place in the file that is known to lie in its section, aligned to their length: within one block,
    /// then.
    #[inline]
    fn aligned<const N: usize>(&self, at: u64) -> Result<&[u8; N], ReadError> {
        self.blocks.touch_one(&self.bytes, at).map_err(|block| self.corrupt(block))?;
        let bytes = self.bytes.get(at as usize..).and_then(|rest| rest.first_chunk());
        bytes.ok_or_else(|| self.malformed(format::REGIONS, "leads beyond the end of the file"))
    }

    #[inline]
    fn number(&self, section: &Stretch, start: u64, at: u64) -> Result<u32, ReadError> {
        let at = start.saturating_add(at);
        Ok(u32::from_le_bytes(*self.array(section, at)?))
    }

    #[inline]
    fn array<const N: usize>(&self, section: &Stretch, at: u64) -> Result<&[u8; N], ReadError> {
        let bytes = self.stretch(section, at, N as u64)?;
        bytes.first_chunk().ok_or_else(|| self.malformed(section.name, "is too short"))
    }

    /// Some bytes of a section, within its bounds and in checked blocks.
    #[inline]
    fn stretch(&self, section: &Stretch, at: u64, length: u64) -> Result<&[u8], ReadError> {
        self.range(section, at, at.saturating_add(length))
    }

    #[inline]
    fn range(&self, section: &Stretch, start: u64, end: u64) -> Result<&[u8], ReadError> {
        if start > end || end > section.length {
            return Err(self.malformed(section.name, "something reaches beyond its end"));
        }
        let (start, end) = (section.offset + start, section.offset + end);
        self.touch(start, end)?;
        let bytes = self.bytes.get(start as usize..end as usize);
        bytes.ok_or_else(|| self.malformed(section.name, "reaches beyond the end of the file"))
    }

    #[inline]
    fn touch(&self, start: u64, end: u64) -> Result<(), ReadError> {
        self.blocks.touch(&self.bytes, start, end).map_err(|block| self.corrupt(block))
    }

    #[cold]
    fn corrupt(&self, block: u64) -> ReadError {
        let start = block * BLOCK;
        let sections = &self.header.sections;
        let section = sections.iter().rev().find(|section| section.offset <= start);
        let section = section.or(sections.first()).map_or("", |section| section.name.as_str());
        ReadError::Corrupt { file: self.path.clone(), section: section.to_owned(), block }
    }

    #[cold]
    fn malformed(&self, section: &'static str, what: &'static str) -> ReadError {
        ReadError::Malformed { file: self.path.clone(), section, what }
    }

    #[cold]
    pub(crate) fn bad_list(&self) -> ReadError {
        self.malformed(format::RECORDS, "a list of values is cut")
    }
}

/// Every key and its values; ends with the first error.
pub struct Iter<'t> {
    table: &'t Inner,
    /// The number of the region to go on with.
    region: u32,
    current: Option<&'t Place>,
    slot: u32,
}

impl<'t> Iterator for Iter<'t> {
    type Item = Result<(&'t [u8], Values<'t>), ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.entry().transpose()?;
        if entry.is_err() {
            (self.current, self.region) = (None, self.table.header.regions);
        }
        Some(entry)
    }
}

impl<'t> Iter<'t> {
    fn entry(&mut self) -> Result<Option<(&'t [u8], Values<'t>)>, ReadError> {
        let place = loop {
            match self.current {
                Some(place) if self.slot < place.level.keys => break place,
                _ if self.region == self.table.header.regions => return Ok(None),
                _ => {
                    self.current = self.table.places()?.get(self.region as usize);
                    self.region += 1;
                    self.slot = 0;
                }
            }
        };
        let (line, index) = self.table.line(self.table.line_of(place, self.slot))?;
        self.slot += 1;
        let (key, plain, body) = self.table.parts(self.table.record(line, index)?)?;
        Ok(Some((key, Values::read(self.table, plain, body)?)))
    }
}
