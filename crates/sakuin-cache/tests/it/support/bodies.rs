//! Tables of bytes, to fill them.

use sakuin_cache::{CachedTable, Fill, Kind, Options, Strategy};
use tokio::runtime::Handle;

use super::{Simulated, fill, options};

pub(crate) const MEBIBYTE: usize = 1 << 20;

/// A table of bytes with this much room.
pub(crate) fn table(strategy: Strategy, max_bytes: usize) -> CachedTable<Bodies, Simulated> {
    let options = Options { max_bytes, ..options(strategy) };
    CachedTable::new(Bodies, options, Simulated::new(), Handle::current())
}

/// Never asked.
pub(crate) struct Bodies;

impl sakuin_cache::Origin for Bodies {
    type Value = Vec<u8>;

    async fn fetch(
        &self,
        _: &str,
        _: Option<&Vec<u8>>,
    ) -> Result<sakuin_cache::Fetched<Vec<u8>>, sakuin_cache::Failure> {
        std::future::pending().await
    }
}

pub(crate) fn body(bytes: usize) -> Fill<Vec<u8>> {
    let Fill { kind, tags, lifetimes, age, .. } = fill(0, Kind::Found);
    let bytes = bytes + size_of::<Vec<u8>>();
    Fill { value: vec![1; bytes - size_of::<Vec<u8>>()], kind, bytes, tags, lifetimes, age }
}
