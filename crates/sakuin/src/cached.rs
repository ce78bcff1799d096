//! A cached table over an HTTP or SQL origin: fetch, map, prepare, keep.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use sakuin_cache::{
    CacheError, CachedTable, Clock, Depth, Failure, FailureKind, Fetched, Fill, GuardStats, Origin,
    Peek, Purge, Stats, Tick,
};

use crate::{
    Answer, Key, KeyRule, MapError, Mapping, OpenError, Prepared, Source,
    config::{self, Ask},
    origin::{Content, Kind, Origins, Shared, Surroundings, Validators},
};

#[cfg(feature = "sql-origin")]
use crate::origin::sql::coherence::{Change, Coherence};

/// A cached table as a configuration describes it.
pub struct Cached {
    rule: KeyRule,
    origin: Arc<Shared>,
    #[cfg(feature = "sql-origin")]
    step: Option<Step>,
    table: CachedTable<Fetching>,
}

/// What a cached table keeps for a key.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) prepared: Prepared,
    /// What the origin can be asked with whether it is still true.
    validators: Validators,
}

impl Cached {
    /// Opens a table: compiles its mapping, checks its query. What it reads from may be away.
    pub fn open(
        name: &str,
        config: &config::CachedTable,
        origins: &Origins,
    ) -> Result<Cached, OpenError> {
        let refused = |cause: String| OpenError::Table { table: name.to_owned(), cause };
        let origin = origins
            .origin(&config.origin)
            .ok_or_else(|| refused(format!("there is no origin `{}`", config.origin)))?;
        let map = config.map.as_deref().map(Mapping::compile).transpose();
        let surroundings = origins.surroundings().clone();
        let fetching = Fetching {
            asking: Asking::open(config, origin).map_err(refused)?,
            map: map.map_err(|error| refused(error.to_string()))?.map(Arc::new),
            table: name.to_owned(),
            surroundings: surroundings.clone(),
        };
        let Surroundings { clock, runtime, .. } = surroundings;
        let table = CachedTable::new(fetching, config.options.clone(), clock, runtime);
        Ok(Cached {
            rule: config.key.clone(),
            #[cfg(feature = "sql-origin")]
            step: Step::open(config, &table).map_err(refused)?,
            origin: origin.clone(),
            table,
        })
    }

    /// What its keys look like.
    pub fn key_rule(&self) -> &KeyRule {
        &self.rule
    }

    /// The answer, if it can be given without waiting; begins a refresh if that is due.
    pub fn peek(&self, key: &Key) -> Option<Answer> {
        #[cfg(feature = "sql-origin")]
        if self.step.as_ref().is_some_and(|step| !step.coherence.is_good()) {
            return None;
        }
        self.kept(key)
    }

    /// What the table can serve as far as it knows.
    fn kept(&self, key: &Key) -> Option<Answer> {
        let now = self.table.clock().now();
        let (entry, source) = match self.table.peek_at(key.as_str(), now) {
            Peek::Fresh(entry) => (entry, Source::Hit),
            Peek::Stale(entry) => (entry, Source::Stale),
            Peek::Absent => return None,
        };
        let age = entry.age(now);
        Some(Answer::cached(entry, age, source))
    }

    /// The answer, waiting for the origin if need be.
    pub async fn answer(&self, key: &Key) -> Result<Answer, CacheError> {
        #[cfg(feature = "sql-origin")]
        if let Some(step) = &self.step
            && !step.is_kept(&self.table).await
            && let Some(answer) = self.kept(key)
        {
            return Ok(answer.stale());
        }
        let answer = self.table.answer(key.as_str()).await?;
        let source = match answer.source {
            sakuin_cache::Source::Hit => Source::Hit,
            sakuin_cache::Source::Miss { collapsed } => Source::Miss { collapsed },
            sakuin_cache::Source::Stale => Source::Stale,
        };
        Ok(Answer::cached(answer.entry, answer.age, source))
    }

    /// Purges answers, and keeps what is being fetched from counting as newer than that. Returns how many there
    /// were.
    pub fn purge(&self, purge: Purge<'_>, depth: Depth) -> usize {
        self.table.origin().asking.purged();
        self.table.purge(purge, depth)
    }

    /// Takes over what another table has, as after a change of its options.
    pub fn adopt(&self, other: &Cached) {
        self.table.adopt(&other.table);
    }

    /// What it counts.
    pub fn stats(&self) -> Stats {
        self.table.stats()
    }

    /// What the guard of its origin counts, for all tables that read from there.
    pub fn guard_stats(&self) -> GuardStats {
        self.origin.guard_stats()
    }
}

/// How a table over SQL is kept in step with its database.
#[cfg(feature = "sql-origin")]
struct Step {
    coherence: Coherence,
    /// How long answers are served, as stale, while nobody knows whether they are still true.
    unknown_max: Duration,
    wait: Duration,
}

#[cfg(feature = "sql-origin")]
impl Step {
    fn open(
        config: &config::CachedTable,
        table: &CachedTable<Fetching>,
    ) -> Result<Option<Step>, String> {
        let (Ask::Query { coherence: Some(coherence), .. }, Asking::Sql(query)) =
            (&config.ask, &table.origin().asking)
        else {
            return Ok(None);
        };
        let expired = table.clone();
        let expire = move |change: Change<'_>| {
            let purge = match change {
                Change::All => Purge::All,
                Change::Key(key) => Purge::Key(key),
            };
            expired.purge(purge, Depth::Soft);
        };
        Ok(Some(Step {
            coherence: Coherence::open(query.origin(), coherence, expire)?,
            unknown_max: coherence.every + config.options.lifetimes.stale_if_error,
            wait: config.options.wait,
        }))
    }

    /// Whether the table is in step. While that cannot be found out, what it has is stale, and forgotten when
    /// that has lasted too long.
    async fn is_kept(&self, table: &CachedTable<Fetching>) -> bool {
        if self.coherence.is_good() {
            return true;
        }
        let Ok(known) = tokio::time::timeout(self.wait, self.coherence.wait()).await else {
            return false;
        };
        let now = table.clock().now();
        if !known.good && known.good_at.is_none_or(|at| now.since(at) > self.unknown_max) {
            table.purge(Purge::All, Depth::Hard);
        }
        known.good
    }
}

/// From a key to what is kept: ask, map, prepare.
struct Fetching {
    asking: Asking,
    map: Option<Arc<Mapping>>,
    /// The table's name, for messages.
    table: String,
    surroundings: Surroundings,
}

/// How the origin is asked.
enum Asking {
    #[cfg(feature = "http-origin")]
    Http(crate::origin::http::Request),
    #[cfg(feature = "sql-origin")]
    Sql(crate::origin::sql::Query),
}

impl Origin for Fetching {
    type Value = Kept;

    async fn fetch(&self, key: &str, previous: Option<&Kept>) -> Result<Fetched<Kept>, Failure> {
        let begun = self.surroundings.clock.now();
        let (content, asked) = self.asking.fetch(key, previous, begun).await?;
        // A request shared with another table may have begun earlier than this fetch.
        let age = begun.since(asked);
        let (prepared, kind, validators, tags) = match content {
            Content::NotModified => return Ok(Fetched::NotModified(None)),
            Content::Missing => {
                let detail = format!("table `{}` has no `{key}`", self.table);
                let missing = Prepared::missing(&detail);
                (missing, sakuin_cache::Kind::Missing, Validators::default(), Vec::new())
            }
            Content::Found(body) => {
                let prepared = self.prepare(key, body.bytes, body.content_type).await?;
                (prepared, sakuin_cache::Kind::Found, body.validators, body.tags)
            }
        };
        let bytes = prepared.weight() + validators.weight();
        let value = Kept { prepared, validators };
        Ok(Fetched::New(Fill { value, kind, bytes, tags, lifetimes: None, age }))
    }
}

impl Fetching {
    /// Maps and compresses an answer, on a thread that may take its time.
    async fn prepare(
        &self,
        key: &str,
        bytes: Bytes,
        content_type: &'static str,
    ) -> Result<Prepared, Failure> {
        let Surroundings { clock, work, .. } = &self.surroundings;
        let broken = |cause: &str| Failure {
            kind: FailureKind::Broken,
            cause: cause.to_owned(),
            retry_after: None,
        };
        let (map, key) = (self.map.clone(), key.to_owned());
        let now = clock.unix();
        let prepared = work.spawn(async move {
            Ok::<_, String>(match map {
                None => Prepared::found(bytes, content_type),
                Some(map) => {
                    let mapped = mapped(&map, &bytes, content_type, &key, now)?;
                    Prepared::found(mapped.into(), "application/json")
                }
            })
        });
        match prepared.await {
            Ok(Ok(prepared)) => Ok(prepared),
            Ok(Err(cause)) => Err(Failure {
                kind: FailureKind::BadAnswer,
                cause: format!("table `{}`: {cause}", self.table),
                retry_after: None,
            }),
            Err(_) => Err(broken("preparing the answer broke")),
        }
    }
}

fn mapped(
    map: &Mapping,
    bytes: &[u8],
    content_type: &str,
    key: &str,
    now: std::time::SystemTime,
) -> Result<Vec<u8>, String> {
    map.run(bytes, key, now).map_err(|error| match error {
        MapError::Input { .. } if content_type == "text/html" => {
            "the answer is HTML where JSON was expected".to_owned()
        }
        error => error.to_string(),
    })
}

impl Asking {
    fn open(config: &config::CachedTable, origin: &Arc<Shared>) -> Result<Asking, String> {
        match (&config.ask, &origin.kind) {
            #[cfg(feature = "http-origin")]
            (Ask::Url, Kind::Http(http)) => {
                let request = crate::origin::http::Request::new(http.clone(), &config.key);
                request.map(Asking::Http).map_err(|error| error.to_string())
            }
            #[cfg(feature = "sql-origin")]
            (Ask::Query { query, many, .. }, Kind::Sql(sql)) => {
                crate::origin::sql::Query::open(sql.clone(), query, *many, &config.key)
                    .map(Asking::Sql)
            }
            (Ask::Proxy, _) => Err("a caching proxy is opened by its door".to_owned()),
            _ => Err("it asks what its origin cannot answer".to_owned()),
        }
    }

    /// What the origin says, and when it was asked.
    async fn fetch(
        &self,
        key: &str,
        previous: Option<&Kept>,
        begun: Tick,
    ) -> Result<(Content, Tick), Failure> {
        let needed = previous.is_none();
        match *self {
            #[cfg(feature = "http-origin")]
            Asking::Http(ref request) => {
                let validators = previous.map(|kept| &kept.validators);
                let found = request.fetch(key, validators, needed).await?;
                let found = found.as_ref().as_ref().map_err(Clone::clone)?;
                Ok((found.content.clone(), found.asked))
            }
            #[cfg(feature = "sql-origin")]
            Asking::Sql(ref query) => Ok((query.fetch(key, needed).await?, begun)),
        }
    }

    fn purged(&self) {
        match *self {
            #[cfg(feature = "http-origin")]
            Asking::Http(ref request) => request.origin().purged(),
            #[cfg(feature = "sql-origin")]
            Asking::Sql(_) => {}
        }
    }
}
