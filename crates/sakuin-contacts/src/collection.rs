//! A collection at one moment: an address book with its cards, or a tree of plain files. Names lead to entries, and the
//! order of changes is kept, so that who asks what changed since is told exactly.

use std::sync::Arc;

use bytes::Bytes;
use imbl::OrdMap;

use crate::{Card, ETag, Version, lines::lines, query::Columns};

/// The number of a collection; never given twice.
pub type CollectionId = i64;
/// The number of a principal; never given twice.
pub type PrincipalId = i64;

/// What a collection holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Cards, each with a UID of its own.
    Book,
    /// Files and folders; names are paths.
    Files,
}

/// A collection at one moment. A copy costs a few counters.
#[derive(Clone, Debug)]
pub struct Collection {
    /// Its number.
    pub id: CollectionId,
    /// What it holds.
    pub kind: Kind,
    /// Another as soon as its history was cut: emptied, or made again.
    pub(crate) epoch: u64,
    /// The number of its latest change.
    pub(crate) seq: u64,
    /// Up to which change removals are forgotten.
    pub(crate) floor: u64,
    pub(crate) entries: OrdMap<Arc<str>, Arc<Entry>>,
    /// The entry of a UID.
    uids: imbl::HashMap<Arc<str>, Arc<str>>,
    /// Which name a change was of, if none later was.
    pub(crate) log: OrdMap<u64, Arc<str>>,
    /// The changes that removed a name, if it was not made again.
    pub(crate) removed: imbl::HashMap<Arc<str>, u64>,
    /// The properties that clients set, as XML, by path below the collection; its own path is empty.
    pub(crate) properties: OrdMap<PropertyKey, Arc<str>>,
    pub(crate) locks: OrdMap<Arc<str>, Arc<Lock>>,
    /// What searches know, of all versions alike.
    pub(crate) columns: Arc<Columns>,
}

/// Where a property is: the path below its collection, the namespace and the name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropertyKey {
    /// Of the resource, below the collection; empty for the collection.
    pub path: Arc<str>,
    /// Of the property's name.
    pub namespace: Arc<str>,
    /// Without a prefix.
    pub name: Arc<str>,
}

/// What a principal may do with a collection that is another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rights {
    /// Look.
    Read,
    /// Look, put, remove.
    Write,
}

/// A resource of a collection.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name below its collection, decoded.
    pub name: Arc<str>,
    /// The change that made it what it is.
    pub seq: u64,
    /// When that was, in seconds since 1970.
    pub modified: i64,
    /// Of its bytes.
    pub etag: ETag,
    /// Of its bytes.
    pub size: u64,
    /// What it is.
    pub content: Content,
    pub(crate) body: Body,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A card of a book.
    Card {
        /// Its UID.
        uid: Arc<str>,
        /// Its version.
        version: Version,
    },
    /// A plain file.
    File {
        /// As it was sent; empty if nothing was said.
        content_type: Arc<str>,
    },
    /// A folder of plain files.
    Folder,
}

/// The bytes of an entry, or that they are in the store.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Here(Bytes),
    /// Too long for memory: what is kept of a card are its lines that are not.
    Stored {
        lean: Bytes,
    },
}

/// A lock of a resource, and of all below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The URI that whoever holds it shows.
    pub token: Arc<str>,
    /// What is locked, below the collection.
    pub path: Arc<str>,
    /// Whether all below it is locked too.
    pub is_deep: bool,
    /// Whether others may lock it likewise.
    pub is_shared: bool,
    /// What its owner said of himself, as XML.
    pub owner: Arc<str>,
    /// Who made it.
    pub principal: PrincipalId,
    /// In seconds since 1970.
    pub expires: i64,
}

/// Bodies up to this length are kept in memory, and of longer cards the lines up to the other.
const BODY_BYTES_MAX: usize = 64 << 10;
const LEAN_LINE_BYTES_MAX: usize = 4 << 10;

impl Collection {
    /// An empty one.
    pub(crate) fn new(id: CollectionId, kind: Kind, epoch: u64) -> Collection {
        Collection {
            id,
            kind,
            epoch,
            seq: 0,
            floor: 0,
            entries: OrdMap::new(),
            uids: imbl::HashMap::new(),
            log: OrdMap::new(),
            removed: imbl::HashMap::new(),
            properties: OrdMap::new(),
            locks: OrdMap::new(),
            columns: Arc::default(),
        }
    }

    /// The entry of a name.
    pub fn entry(&self, name: &str) -> Option<&Arc<Entry>> {
        self.entries.get(name)
    }

    /// The entry of a card's UID.
    pub fn of_uid(&self, uid: &str) -> Option<&Arc<Entry>> {
        self.entries.get(self.uids.get(uid)?)
    }

    /// Every entry, in the order of names.
    pub fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.values()
    }

    /// The entries below a path, in the order of names; all of them below the empty path.
    pub fn below(&self, path: &str) -> impl Iterator<Item = &Arc<Entry>> {
        let prefix: Arc<str> = match path {
            "" => "".into(),
            path => format!("{path}/").into(),
        };
        self.entries
            .range(prefix.clone()..)
            .map(|(_, entry)| entry)
            .take_while(move |entry| entry.name.starts_with(&*prefix))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of the latest change.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// A property that a client set, as XML.
    pub fn property(&self, path: &str, namespace: &str, name: &str) -> Option<&str> {
        let key = PropertyKey { path: path.into(), namespace: namespace.into(), name: name.into() };
        self.properties.get(&key).map(|value| &**value)
    }

    /// The properties that clients set of one resource.
    pub fn properties(&self, path: &str) -> impl Iterator<Item = (&PropertyKey, &str)> {
        let first = PropertyKey { path: path.into(), namespace: "".into(), name: "".into() };
        let path = first.path.clone();
        let from = self.properties.range(first..);
        from.take_while(move |(key, _)| key.path == path).map(|(key, value)| (key, &**value))
    }

    /// The locks that are in force on a resource at a moment: its own, and deep ones above it.
    pub fn locks(&self, path: &str, now: i64) -> impl Iterator<Item = &Arc<Lock>> {
        self.locks.values().filter(move |lock| {
            lock.expires > now
                && (*lock.path == *path || lock.is_deep && is_below(path, &lock.path))
        })
    }

    /// The locks that are in force on a resource or anything below it.
    pub fn locks_within(&self, path: &str, now: i64) -> impl Iterator<Item = &Arc<Lock>> {
        let below = self.locks.values();
        let below = below.filter(move |lock| lock.expires > now && is_below(&lock.path, path));
        self.locks(path, now).chain(below)
    }

    /// Puts an entry in, as a change of its own number, which is the newest.
    pub(crate) fn insert(&mut self, entry: Arc<Entry>) {
        self.forget(&entry.name);
        self.seq = self.seq.max(entry.seq);
        self.log.insert(entry.seq, entry.name.clone());
        if let Content::Card { uid, .. } = &entry.content {
            self.uids.insert(uid.clone(), entry.name.clone());
        }
        self.entries.insert(entry.name.clone(), entry);
    }

    /// Takes a name out, as a change.
    pub(crate) fn remove(&mut self, name: &Arc<str>, seq: u64) {
        self.forget(name);
        self.seq = self.seq.max(seq);
        self.log.insert(seq, name.clone());
        self.removed.insert(name.clone(), seq);
    }

    /// Takes away what is known of a name.
    fn forget(&mut self, name: &Arc<str>) {
        if let Some(seq) = self.removed.remove(name) {
            self.log.remove(&seq);
        }
        let Some(entry) = self.entries.remove(name) else { return };
        self.log.remove(&entry.seq);
        if let Content::Card { uid, .. } = &entry.content
            && self.uids.get(uid) == Some(name)
        {
            self.uids.remove(uid);
        }
    }

    /// Forgets the removals up to a change.
    pub(crate) fn prune(&mut self, floor: u64) {
        let (old, _, _) = self.log.split_lookup(&(floor + 1));
        for (seq, name) in &old {
            if self.removed.get(name) == Some(seq) {
                self.log.remove(seq);
                self.removed.remove(name);
            }
        }
        self.floor = self.floor.max(floor);
    }
}

/// Whether a path lies below another.
pub fn is_below(path: &str, above: &str) -> bool {
    match above {
        "" => !path.is_empty(),
        above => path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/')),
    }
}

impl Entry {
    /// The entry of some bytes.
    pub(crate) fn of(
        name: Arc<str>,
        seq: u64,
        modified: i64,
        bytes: &Bytes,
        content: Content,
    ) -> Entry {
        let (etag, size) = (ETag::of(bytes), bytes.len() as u64);
        Entry { name, seq, modified, etag, size, body: Body::of(bytes.clone(), &content), content }
    }

    /// Its bytes, if memory has them; else the store is to be asked.
    pub fn bytes(&self) -> Option<&Bytes> {
        match &self.body {
            Body::Here(bytes) => Some(bytes),
            Body::Stored { .. } => None,
        }
    }

    /// The card, without lines that are longer than four kilobytes if it is long: for searches.
    pub fn lean(&self) -> &str {
        let (Body::Here(bytes) | Body::Stored { lean: bytes }) = &self.body;
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.content == Content::Folder
    }
}

impl Content {
    /// Of a card.
    pub(crate) fn of_card(card: &Card) -> Content {
        Content::Card { uid: card.shared_uid().clone(), version: card.version() }
    }
}

impl Body {
    pub(crate) fn of(bytes: Bytes, content: &Content) -> Body {
        if bytes.len() <= BODY_BYTES_MAX {
            return Body::Here(bytes);
        }
        let lean = match (content, std::str::from_utf8(&bytes)) {
            (Content::Card { .. }, Ok(card)) => {
                let short = lines(card).filter(|line| line.range.len() <= LEAN_LINE_BYTES_MAX);
                short.map(|line| &card[line.range]).collect::<String>().into()
            }
            _ => Bytes::new(),
        };
        Body::Stored { lean }
    }
}
