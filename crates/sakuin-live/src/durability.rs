//! When a commit counts as done.

use std::str::FromStr;

/// What an acknowledged commit survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Durability {
    /// A power cut: it is on the disk before it is acknowledged or seen. Commits that wait together share one write.
    #[default]
    Sync,
    /// What happens more than 50 ms later: it is acknowledged in memory and written at that pace.
    Interval,
    /// An orderly end: it is written when the store is closed, or never if the store is in memory alone.
    None,
}

impl Durability {
    /// Every mode, the safest first.
    pub const ALL: [Durability; 3] = [Durability::Sync, Durability::Interval, Durability::None];

    /// Its name in a configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Durability::Sync => "sync",
            Durability::Interval => "interval",
            Durability::None => "none",
        }
    }
}

impl FromStr for Durability {
    type Err = ();

    fn from_str(name: &str) -> Result<Durability, ()> {
        Durability::ALL.into_iter().find(|one| one.name() == name).ok_or(())
    }
}
