//! A cached table: entries and flights together.
//!
//! A request that finds a servable entry is answered at once. Any other boards the flight of its key, and is
//! answered by what it brings; past the room or the time it may wait, and where the flight fails, by what is
//! stale, as long as that may be served.

use std::{
    collections::{HashMap, VecDeque},
    future::poll_fn,
    ops::ControlFlow,
    pin::pin,
    sync::{Arc, atomic::AtomicUsize},
    task::Poll,
    time::Duration,
};

use tokio::runtime::Handle;

use crate::{
    Answer, Clock, Depth, Entry, Failure, Fill, Flights, Kind, Lifetimes, Origin, Purge, Source,
    State, Stats, Strategy, SystemClock, Tick,
    entry::Generations,
    fetch::{Fetch, Landing},
    flight::Boarding,
    stats::{Counters, Ending},
    store::Store,
    sync::{Mutex, lock},
};

/// How a table keeps and serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long a found value lives.
    pub lifetimes: Lifetimes,
    /// How long a known absence is believed.
    pub missing: Duration,
    /// How entries are stored.
    pub strategy: Strategy,
    /// Keys, values and what surrounds them may take this much; known absences a tenth of it.
    pub max_bytes: usize,
    /// Requests that may wait for one flight; the next is answered stale or refused.
    pub max_waiters: usize,
    /// How long a request waits for a flight before it is answered stale or refused.
    pub wait: Duration,
}

/// What a table can say without waiting.
#[derive(Debug)]
pub enum Peek<V> {
    /// A fresh entry.
    Fresh(Arc<Entry<V>>),
    /// A stale one that may be served; its refresh has begun.
    Stale(Arc<Entry<V>>),
    /// Nothing to serve at once: [`CachedTable::answer`] waits for the origin.
    Absent,
}

/// Why a table has no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The origin failed, and nothing stale may be served.
    #[error("the origin does not answer")]
    Origin(#[source] Failure),
    /// Too many wait for this key already.
    #[error("too many wait for this key")]
    Crowded,
    /// The origin took longer than a request may wait; its answer is still awaited.
    #[error("the origin takes too long")]
    Late,
}

/// A table that answers from memory what an origin said; cheap to clone.
///
/// ```
/// use std::time::Duration;
/// use sakuin_cache::{
///     CacheError, CachedTable, Failure, Fetched, Fill, Kind, Lifetimes, Options, Origin, Source,
///     Strategy, SystemClock,
/// };
///
/// /// Knows how long a word is, and is slow to say so.
/// struct Lengths;
///
/// impl Origin for Lengths {
///     type Value = usize;
///
///     async fn fetch(&self, key: &str, _: Option<&usize>) -> Result<Fetched<usize>, Failure> {
///         Ok(Fetched::New(Fill {
///             value: key.len(),
///             kind: Kind::Found,
///             bytes: size_of::<usize>(),
///             tags: Vec::new(),
///             lifetimes: None,
///             age: Duration::ZERO,
///         }))
///     }
/// }
///
/// let options = Options {
///     lifetimes: Lifetimes {
///         fresh: Duration::from_secs(15),
///         stale_while_revalidate: Duration::from_secs(15),
///         stale_if_error: Duration::from_secs(600),
///     },
///     missing: Duration::from_secs(15),
///     strategy: Strategy::default(),
///     max_bytes: 64 << 20,
///     max_waiters: 20_000,
///     wait: Duration::from_secs(10),
/// };
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(async {
/// let runtime = tokio::runtime::Handle::current();
/// let table = CachedTable::new(Lengths, options, SystemClock::default(), runtime);
/// let answer = table.answer("sakuin").await?;
/// assert_eq!((*answer.entry.value(), answer.source), (6, Source::Miss { collapsed: false }));
/// assert_eq!(table.answer("sakuin").await?.source, Source::Hit);
/// # Ok::<(), CacheError>(())
/// # }).expect("it answers");
/// ```
pub struct CachedTable<O: Origin, C: Clock = SystemClock> {
    inner: Arc<Inner<O, C>>,
}

pub(crate) struct Inner<O: Origin, C: Clock> {
    pub(crate) origin: O,
    pub(crate) clock: C,
    pub(crate) options: Options,
    pub(crate) runtime: Handle,
    pub(crate) store: Store<O::Value>,
    pub(crate) flights: Flights<Landing<O::Value>>,
    pub(crate) generations: Generations,
    pub(crate) counters: Counters,
    pub(crate) absences: Mutex<Absences>,
    /// Hashes of keys whose answers could not be kept lately, and until when that is remembered. Two keys of
    /// one hash do each other no harm.
    pub(crate) unstorable: Mutex<HashMap<u64, Tick>>,
    /// Fetches under way for them.
    pub(crate) alone: AtomicUsize,
}

/// The known absences in the order they came, and their weight.
#[derive(Default)]
pub(crate) struct Absences {
    order: VecDeque<(Box<str>, Tick, usize)>,
    bytes: usize,
}

/// What is served, and as what.
type Served<V> = (Arc<Entry<V>>, Source);

/// What a flight needs to know at its start.
pub(crate) struct Seed<V> {
    pub(crate) previous: Option<Arc<Entry<V>>>,
    pub(crate) generation: u64,
}

impl<O: Origin, C: Clock> CachedTable<O, C> {
    /// An empty table. Fetches run as tasks on `runtime`.
    pub fn new(origin: O, options: Options, clock: C, runtime: Handle) -> CachedTable<O, C> {
        CachedTable {
            inner: Arc::new(Inner {
                store: Store::new(options.strategy, options.max_bytes),
                flights: Flights::new(options.max_waiters),
                generations: Generations::default(),
                counters: Counters::default(),
                absences: Mutex::default(),
                unstorable: Mutex::default(),
                alone: AtomicUsize::new(0),
                origin,
                clock,
                options,
                runtime,
            }),
        }
    }

    /// What can be served without waiting; begins a refresh when that is stale. Allocates nothing on a hit.
    #[inline]
    pub fn peek(&self, key: &str) -> Peek<O::Value> {
        self.peek_at(key, self.inner.clock.now())
    }

    /// The same for who has read the clock already.
    #[inline]
    pub fn peek_at(&self, key: &str, now: Tick) -> Peek<O::Value> {
        let inner = &*self.inner;
        let Some(entry) = inner.store.get(key) else { return Peek::Absent };
        if entry.is_fresh(now, &inner.generations) {
            inner.counters.count(Ending::Hit);
            return Peek::Fresh(entry);
        }
        if !self.is_served_stale(key, &entry, now) {
            return Peek::Absent;
        }
        inner.counters.count(Ending::Stale);
        Peek::Stale(entry)
    }

    /// The answer for `key`, waiting for the origin if need be.
    pub async fn answer(&self, key: &str) -> Result<Answer<O::Value>, CacheError> {
        let found = self.inner.store.get(key);
        if let Some(entry) = &found {
            let now = self.inner.clock.now();
            if entry.is_fresh(now, &self.inner.generations) {
                return Ok(self.answered(entry.clone(), Source::Hit));
            }
            if self.is_served_stale(key, entry, now) {
                return Ok(self.answered(entry.clone(), Source::Stale));
            }
        }
        match self.in_time(self.fetched(key)).await {
            Ok((entry, source)) => Ok(self.answered(entry, source)),
            Err(error) => {
                let now = self.inner.clock.now();
                let rest = found.filter(|entry| self.inner.state(entry, now) != State::Gone);
                match rest {
                    Some(entry) => Ok(self.answered(entry, Source::Stale)),
                    None => {
                        self.inner.counters.count(Ending::Refused);
                        Err(error)
                    }
                }
            }
        }
    }

    /// Purges entries, and keeps flights under way from storing what they began to fetch before. Returns how
    /// many entries it found. A soft purge of all costs nothing, of a prefix or tag a walk over all entries.
    pub fn purge(&self, purge: Purge<'_>, depth: Depth) -> usize {
        // The flights first: one that has not landed by then will see the mark, and what the others stored is
        // met in the store.
        let flights = &self.inner.flights;
        match purge {
            Purge::Key(key) => self.purge_key(key, depth),
            Purge::Prefix(prefix) => {
                flights.purge(depth, |key| key.starts_with(prefix));
                self.purge_where(depth, |key, _| key.starts_with(prefix))
            }
            Purge::Tag(tag) => {
                // Which tags the answer of a flight will have, nobody knows yet.
                flights.purge(depth, |_| true);
                self.purge_where(depth, |_, entry| entry.has_tag(tag))
            }
            Purge::All => self.purge_all(depth),
        }
    }

    /// Takes over every entry of another table, as after a change of strategy; ages go on. What this table
    /// has already stays.
    pub fn adopt(&self, other: &CachedTable<O, C>) {
        let inner = &*self.inner;
        let (there, now) = (other.inner.clock.now(), inner.clock.now());
        let generation = inner.generations.current();
        let mut adopted = Vec::new();
        other.inner.store.for_each(&mut |key, entry| {
            let generation = match other.inner.generations.purged(entry) {
                None => generation,
                Some(Depth::Soft) => inner.generations.outdated(),
                Some(Depth::Hard) => return,
            };
            let entry = entry.adopted(key, entry.age(there), now, generation);
            adopted.push((Box::<str>::from(key), Arc::new(entry)));
        });
        for (key, entry) in adopted {
            inner.keep_if_new(&key, entry);
        }
    }

    /// Stores values that were not asked for, as when a table is warmed. Their freshness is shortened by up
    /// to a tenth, each by another part, so that they do not all expire at once. What the table has already
    /// stays.
    pub fn load<K: AsRef<str>>(&self, values: impl IntoIterator<Item = (K, Fill<O::Value>)>) {
        let inner = &*self.inner;
        for (key, fill) in values {
            let key = key.as_ref();
            if fill.kind == Kind::Unstorable {
                continue;
            }
            let mut lifetimes = inner.lifetimes(&fill);
            let part = (inner.flights.hash(key) % 1024) as u32;
            lifetimes.fresh -= lifetimes.fresh / 10 * part / 1024;
            let generation = inner.generations.current();
            let entry = Entry::new(key, fill, lifetimes, inner.clock.now(), generation);
            inner.keep_if_new(key, Arc::new(entry));
        }
    }

    /// What happened so far, and what is kept. While fetches fail this walks over all entries.
    pub fn stats(&self) -> Stats {
        let inner = &*self.inner;
        let mut stats = inner.counters.sum();
        stats.entries = inner.store.len() as u64;
        stats.bytes = inner.store.bytes() as u64;
        stats.evictions = inner.store.evictions();
        if inner.counters.failing() {
            let now = inner.clock.now();
            inner.store.for_each(&mut |_, entry| {
                if inner.state(entry, now) != State::Gone {
                    let left = entry.lifetimes().end().saturating_sub(entry.age(now));
                    stats.stale_cover = Some(stats.stale_cover.map_or(left, |own| own.min(left)));
                }
            });
        }
        stats
    }

    /// The clock it goes by.
    pub fn clock(&self) -> &C {
        &self.inner.clock
    }

    /// The origin it reads from.
    pub fn origin(&self) -> &O {
        &self.inner.origin
    }

    fn purge_key(&self, key: &str, depth: Depth) -> usize {
        let inner = &*self.inner;
        inner.flights.purge_key(depth, key);
        let Some(entry) = inner.store.look(key) else { return 0 };
        entry.purge(depth, &inner.generations);
        inner.store.remove_if(key, Entry::is_forgotten);
        1
    }

    fn purge_where(&self, depth: Depth, covers: impl Fn(&str, &Entry<O::Value>) -> bool) -> usize {
        let inner = &*self.inner;
        let mut found: Vec<Box<str>> = Vec::new();
        inner.store.for_each(&mut |key, entry| {
            if covers(key, entry) {
                entry.purge(depth, &inner.generations);
                found.push(key.into());
            }
        });
        if depth == Depth::Hard {
            found.iter().for_each(|key| inner.store.remove_if(key, Entry::is_forgotten));
        }
        found.len()
    }

    fn purge_all(&self, depth: Depth) -> usize {
        let inner = &*self.inner;
        inner.generations.purge(depth);
        inner.flights.purge(depth, |_| true);
        let found = inner.store.len();
        if depth == Depth::Hard {
            inner.store.clear();
        }
        found
    }

    /// Whether an entry that is not fresh may be served at once; begins its refresh if that is due.
    fn is_served_stale(&self, key: &str, entry: &Arc<Entry<O::Value>>, now: Tick) -> bool {
        let held_back = entry.is_held_back(now);
        match self.inner.state(entry, now) {
            State::Fresh => true,
            State::Stale if held_back => true,
            State::Stale => {
                self.refresh(key, entry);
                true
            }
            State::Failing => held_back,
            State::Gone => false,
        }
    }

    /// Begins a flight to replace `entry`, unless one is under way or has replaced it meanwhile.
    fn refresh(&self, key: &str, entry: &Arc<Entry<O::Value>>) {
        let start = || {
            let found = self.inner.store.look(key);
            let replaced = found.is_some_and(|found| !Arc::ptr_eq(&found, entry));
            let held_back = entry.is_held_back(self.inner.clock.now());
            (!replaced && !held_back).then(|| self.inner.seed(Some(entry.clone())))
        };
        if let Some((pilot, seed)) = self.inner.flights.refresh(key, start) {
            Fetch::begin(&self.inner, key, seed, pilot);
        }
    }

    /// What the origin says, asked by this request or another.
    async fn fetched(&self, key: &str) -> Result<Served<O::Value>, CacheError> {
        let inner = &self.inner;
        loop {
            if inner.is_unstorable(key) {
                return match &*Fetch::alone(inner, key).await? {
                    Landing::Filled(entry) => {
                        Ok((entry.clone(), Source::Miss { collapsed: false }))
                    }
                    Landing::Failed(failure) => Err(CacheError::Origin(failure.clone())),
                };
            }
            let (ticket, collapsed, outdated) = match inner.flights.board(key, || inner.start(key))
            {
                Boarding::Needless(found) => return Ok(found),
                Boarding::Crowded => return Err(CacheError::Crowded),
                Boarding::Joined { ticket, outdated } => (ticket, true, outdated),
                Boarding::Begun { ticket, pilot, seed } => {
                    Fetch::begin(inner, key, seed, pilot);
                    (ticket, false, false)
                }
            };
            let landing = ticket.landing().await;
            // A flight that began before a purge is no answer to a request that came after it.
            if outdated {
                continue;
            }
            return match landing.as_deref() {
                Some(Landing::Filled(entry)) => Ok((entry.clone(), Source::Miss { collapsed })),
                Some(Landing::Failed(failure)) => Err(CacheError::Origin(failure.clone())),
                None => Err(CacheError::Origin(Failure::broken())),
            };
        }
    }

    /// Gives up on `answer` when its time is over.
    async fn in_time<T>(
        &self,
        answer: impl Future<Output = Result<T, CacheError>>,
    ) -> Result<T, CacheError> {
        let mut answer = pin!(answer);
        let mut late = self.inner.clock.sleep(self.inner.options.wait);
        poll_fn(|context| match answer.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(answer),
            Poll::Pending => late.as_mut().poll(context).map(|()| Err(CacheError::Late)),
        })
        .await
    }

    fn answered(&self, entry: Arc<Entry<O::Value>>, source: Source) -> Answer<O::Value> {
        self.inner.counters.count(match source {
            Source::Hit => Ending::Hit,
            Source::Miss { .. } => Ending::Miss,
            Source::Stale => Ending::Stale,
        });
        Answer { age: entry.age(self.inner.clock.now()), entry, source }
    }
}

impl<O: Origin, C: Clock> Inner<O, C> {
    pub(crate) fn state(&self, entry: &Entry<O::Value>, now: Tick) -> State {
        entry.state(now, &self.generations)
    }

    /// Looks again, now that no flight is under way, and says what a new one needs if there has to be one.
    fn start(&self, key: &str) -> ControlFlow<Served<O::Value>, Seed<O::Value>> {
        let found = self.store.look(key);
        if let Some(entry) = &found {
            let now = self.clock.now();
            match self.state(entry, now) {
                State::Fresh => return ControlFlow::Break((entry.clone(), Source::Hit)),
                State::Stale | State::Failing if entry.is_held_back(now) => {
                    return ControlFlow::Break((entry.clone(), Source::Stale));
                }
                _ => {}
            }
        }
        ControlFlow::Continue(self.seed(found))
    }

    fn seed(&self, previous: Option<Arc<Entry<O::Value>>>) -> Seed<O::Value> {
        // What was purged is not there to be confirmed.
        let previous = previous.filter(|entry| self.generations.purged(entry) != Some(Depth::Hard));
        Seed { previous, generation: self.generations.current() }
    }

    /// How long a value lives, by its own word or the table's.
    pub(crate) fn lifetimes(&self, fill: &Fill<O::Value>) -> Lifetimes {
        fill.lifetimes.unwrap_or_else(|| self.usual_lifetimes(fill.kind == Kind::Missing))
    }

    pub(crate) fn usual_lifetimes(&self, missing: bool) -> Lifetimes {
        if !missing {
            return self.options.lifetimes;
        }
        Lifetimes {
            fresh: self.options.missing,
            stale_while_revalidate: Duration::ZERO,
            stale_if_error: Duration::ZERO,
        }
    }

    /// Stores an entry, and keeps known absences within their tenth.
    pub(crate) fn keep(&self, key: &str, entry: Arc<Entry<O::Value>>) {
        if !entry.is_missing() {
            return self.store.insert(key, entry);
        }
        let (asked, weight) = (entry.asked(), entry.weight() + 2 * key.len() + 64);
        self.store.insert(key, entry);
        let mut absences = lock(&self.absences);
        absences.order.push_back((key.into(), asked, weight));
        absences.bytes += weight;
        while absences.bytes > self.options.max_bytes / 10 {
            let Some((key, asked, weight)) = absences.order.pop_front() else { break };
            absences.bytes -= weight;
            self.store.remove_if(&key, |entry| entry.is_missing() && entry.asked() == asked);
        }
    }

    /// Stores an entry that nobody asked for, unless the origin has said something newer.
    fn keep_if_new(&self, key: &str, entry: Arc<Entry<O::Value>>) {
        self.flights.hold(key, || {
            if self.store.look(key).is_none() {
                self.keep(key, entry);
            }
        });
    }

    fn is_unstorable(&self, key: &str) -> bool {
        let hash = self.flights.hash(key);
        let mut unstorable = lock(&self.unstorable);
        let remembered = unstorable.get(&hash).is_some_and(|until| self.clock.now() < *until);
        if !remembered {
            unstorable.remove(&hash);
        }
        remembered
    }
}

impl<O: Origin, C: Clock> Clone for CachedTable<O, C> {
    fn clone(&self) -> Self {
        CachedTable { inner: self.inner.clone() }
    }
}
