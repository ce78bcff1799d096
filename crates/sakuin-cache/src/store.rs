//! How entries are stored: six ways, chosen by name.

use std::{fmt, str::FromStr};

/// A way of storing entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// One map behind one read-write lock.
    RwLock,
    /// Many maps, each behind its own lock.
    #[default]
    Sharded,
    /// The `dashmap` crate.
    DashMap,
    /// The `papaya` crate: readers take no lock.
    Papaya,
    /// The `moka` crate, with its own eviction (W-TinyLFU).
    Moka,
    /// The `quick_cache` crate, with its own eviction (S3-FIFO).
    QuickCache,
}

impl Strategy {
    /// Every strategy, in the order of the documentation.
    pub const ALL: [Strategy; 6] = [
        Strategy::RwLock,
        Strategy::Sharded,
        Strategy::DashMap,
        Strategy::Papaya,
        Strategy::Moka,
        Strategy::QuickCache,
    ];

    /// Its name in a configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::RwLock => "rwlock",
            Strategy::Sharded => "sharded",
            Strategy::DashMap => "dashmap",
            Strategy::Papaya => "papaya",
            Strategy::Moka => "moka",
            Strategy::QuickCache => "quick_cache",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Strategy {
    type Err = ();

    fn from_str(name: &str) -> Result<Strategy, ()> {
        Strategy::ALL.into_iter().find(|strategy| strategy.name() == name).ok_or(())
    }
}
