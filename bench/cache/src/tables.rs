//! Tables to measure, and numbers that look random.

use std::{future::ready, sync::LazyLock, time::Duration};

use sakuin_cache::{
    CachedTable, Failure, Fetched, Fill, Kind, Lifetimes, Options, Origin, Strategy, SystemClock,
};
use tokio::runtime::Runtime;

pub type Table = CachedTable<Echo>;

/// An origin that answers at once.
pub struct Echo {
    bytes: usize,
}

impl Origin for Echo {
    type Value = Vec<u8>;

    fn fetch(
        &self,
        _: &str,
        _: Option<&Vec<u8>>,
    ) -> impl Future<Output = Result<Fetched<Vec<u8>>, Failure>> + Send {
        ready(Ok(Fetched::New(fill(self.bytes))))
    }
}

pub fn fill(bytes: usize) -> Fill<Vec<u8>> {
    Fill {
        value: vec![1; bytes],
        kind: Kind::Found,
        bytes: bytes + size_of::<Vec<u8>>(),
        tags: Vec::new(),
        lifetimes: None,
        age: Duration::ZERO,
    }
}

/// A table whose entries are fresh for so long, and then stale for an hour.
pub fn table(strategy: Strategy, max_bytes: usize, fresh: Duration, bytes: usize) -> Table {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).enable_time().build().expect("a runtime")
    });
    let hour = Duration::from_secs(3600);
    let options = Options {
        lifetimes: Lifetimes { fresh, stale_while_revalidate: hour, stale_if_error: hour },
        missing: hour,
        strategy,
        max_bytes,
        max_waiters: 1000,
        wait: hour,
    };
    CachedTable::new(Echo { bytes }, options, SystemClock::default(), RUNTIME.handle().clone())
}

/// A sequence without period that matters (SplitMix64).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        number ^ (number >> 31)
    }

    /// From 0 to 1.
    pub fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Places by Zipf's law: the first is asked for most.
pub struct Zipf(Vec<f64>);

impl Zipf {
    pub fn new(count: usize, exponent: f64) -> Zipf {
        let mut sum = 0.0;
        let sums = (1..=count).map(|place| {
            sum += (place as f64).powf(-exponent);
            sum
        });
        Zipf(sums.collect())
    }

    pub fn place(&self, numbers: &mut Numbers) -> usize {
        let wanted = numbers.part() * self.0[self.0.len() - 1];
        self.0.partition_point(|sum| *sum < wanted)
    }
}
