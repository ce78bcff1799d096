//! How a table is built.

use std::{fmt, ops::ControlFlow, sync::Arc};

/// What the values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// JSON, checked at build; white space outside strings is dropped, every other byte kept.
    Json,
    /// UTF-8.
    Text,
    /// Any bytes.
    Bytes,
}

/// The perfect hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hash {
    /// PHast: smaller and faster.
    #[default]
    Phast,
    /// Compress, hash and displace: the classic, simple to read from any language.
    Chd,
}

/// What a table keeps of its keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keys {
    /// The keys themselves: an absent key is never found.
    #[default]
    Exact,
    /// A fingerprint of 4 to 32 bits: an absent key is found, with the value of another, once in 2^bits.
    Approximate {
        /// The length of a fingerprint.
        bits: u8,
    },
}

/// What to do when a key is added again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// Refuse, naming the key and both entries.
    #[default]
    Error,
    /// Keep the first value.
    First,
    /// Keep the last value.
    Last,
    /// Keep every value, in the order added: a key may have several.
    Keep,
}

/// How far a build is, in entries: those added to the table, counted again for each pass over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Entries done.
    pub done: u64,
    /// Entries in all.
    pub total: u64,
}

pub(crate) type ProgressCallback = Arc<dyn Fn(Progress) -> ControlFlow<()> + Send + Sync>;

/// How to build: hash, key mode, duplicates, memory, threads.
#[derive(Clone)]
pub struct Options {
    pub(crate) hash: Hash,
    pub(crate) keys: Keys,
    pub(crate) duplicates: Duplicates,
    pub(crate) memory: usize,
    pub(crate) threads: usize,
    pub(crate) seed: u64,
    pub(crate) progress: Option<ProgressCallback>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            hash: Hash::default(),
            keys: Keys::default(),
            duplicates: Duplicates::default(),
            memory: 256 << 20,
            threads: 0,
            seed: 0,
            progress: None,
        }
    }
}

impl Options {
    /// PHast, exact keys, no duplicates, 256 MiB, a thread a core.
    pub fn new() -> Options {
        Options::default()
    }

    /// Which perfect hash.
    pub fn hash(mut self, hash: Hash) -> Options {
        self.hash = hash;
        self
    }

    /// What is kept of the keys.
    pub fn keys(mut self, keys: Keys) -> Options {
        self.keys = keys;
        self
    }

    /// What to do when a key is added again.
    pub fn duplicates(mut self, duplicates: Duplicates) -> Options {
        self.duplicates = duplicates;
        self
    }

    /// Bytes of entries held in memory before they go to temporary files. The file is the same whatever the limit.
    pub fn memory(mut self, bytes: usize) -> Options {
        self.memory = bytes;
        self
    }

    /// Threads to build on; 0 for as many as there are cores. The file is the same whatever the number.
    pub fn threads(mut self, threads: usize) -> Options {
        self.threads = threads;
        self
    }

    /// The seed of the key hash. A secret one keeps others from computing keys that an approximate table
    /// takes for its own, if the file stays secret too.
    pub fn seed(mut self, seed: u64) -> Options {
        self.seed = seed;
        self
    }

    /// Called now and then while the table is written, by the thread that writes it. A callback that breaks off ends
    /// the build with [`crate::BuildError::BrokenOff`].
    pub fn progress(
        mut self,
        callback: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Options {
        self.progress = Some(Arc::new(callback));
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Options")
            .field("hash", &self.hash)
            .field("keys", &self.keys)
            .field("duplicates", &self.duplicates)
            .field("memory", &self.memory)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}
