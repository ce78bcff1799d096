//! Where cached tables read from.
//!
//! An origin is set up once, whoever reads from it: one HTTP client or one pool of connections, one guard. All
//! of it lives on a runtime of its own, and so does the work on what it answers; the loops that serve never
//! wait for any of it.

#[cfg(feature = "http-origin")]
pub(crate) mod http;
#[cfg(feature = "sql-origin")]
pub(crate) mod sql;

use std::{collections::BTreeMap, sync::Arc};

use ::http::HeaderValue;
use bytes::Bytes;
use sakuin_cache::{GuardStats, SystemClock};
use tokio::runtime::Handle;

use crate::{OpenError, config};

/// The origins of a configuration, by name.
#[derive(Clone)]
pub struct Origins {
    origins: BTreeMap<String, Arc<Shared>>,
    surroundings: Surroundings,
}

/// What everything of an origin needs of its surroundings.
#[derive(Clone)]
pub(crate) struct Surroundings {
    /// Where fetches run.
    pub(crate) runtime: Handle,
    /// One clock, so that moments can be compared.
    pub(crate) clock: SystemClock,
    /// Where answers are mapped and compressed.
    pub(crate) work: Handle,
}

/// One origin, shared by the tables that read from it.
pub(crate) struct Shared {
    config: config::Origin,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    #[cfg(feature = "http-origin")]
    Http(Arc<http::HttpOrigin>),
    #[cfg(feature = "sql-origin")]
    Sql(Arc<sql::SqlOrigin>),
}

/// What an origin says about a key.
#[derive(Clone)]
pub(crate) enum Content {
    Found(Box<Body>),
    NotModified,
    Missing,
}

/// A body as an origin sent it.
#[derive(Clone)]
pub(crate) struct Body {
    pub(crate) bytes: Bytes,
    pub(crate) content_type: &'static str,
    pub(crate) validators: Validators,
    pub(crate) tags: Vec<Box<str>>,
}

impl Default for Body {
    fn default() -> Body {
        Body {
            bytes: Bytes::new(),
            content_type: "application/json",
            validators: Validators::default(),
            tags: Vec::new(),
        }
    }
}

/// What an origin can be asked "is it still this?" with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Validators {
    pub(crate) etag: Option<HeaderValue>,
    pub(crate) last_modified: Option<HeaderValue>,
}

impl Validators {
    #[cfg(feature = "http-origin")]
    pub(crate) fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }

    pub(crate) fn weight(&self) -> usize {
        [&self.etag, &self.last_modified].into_iter().flatten().map(HeaderValue::len).sum()
    }
}

impl Origins {
    /// Sets up every origin. Whether they answer is not asked: a server starts while its origins are away.
    /// Everything of them runs on `runtime`, which needs two threads, but for the work on answers, which runs on
    /// `work`. Both live as long as they do.
    pub fn open(
        configs: &BTreeMap<String, config::Origin>,
        runtime: &Handle,
        work: &Handle,
    ) -> Result<Origins, OpenError> {
        let surroundings = Surroundings {
            runtime: runtime.clone(),
            clock: SystemClock::default(),
            work: work.clone(),
        };
        Origins { origins: BTreeMap::new(), surroundings }.reopen(configs)
    }

    /// Sets up the origins of a changed configuration. One whose description is the same goes on as it is, with
    /// its connections, its guard and what that counted. Nothing of `self` is changed.
    pub fn reopen(&self, configs: &BTreeMap<String, config::Origin>) -> Result<Origins, OpenError> {
        let mut origins = BTreeMap::new();
        for (name, config) in configs {
            let before = self.origins.get(name).filter(|before| before.config == *config);
            let origin = match before {
                Some(before) => before.clone(),
                None => Arc::new(Shared::open(name, config, &self.surroundings)?),
            };
            origins.insert(name.clone(), origin);
        }
        Ok(Origins { origins, surroundings: self.surroundings.clone() })
    }

    /// Every origin's name with what its guard counts.
    pub fn guard_stats(&self) -> impl Iterator<Item = (&str, GuardStats)> {
        self.origins.iter().map(|(name, origin)| (name.as_str(), origin.guard_stats()))
    }

    /// Whether a table that reads from this origin reads from the same in `other`.
    pub fn is_same(&self, name: &str, other: &Origins) -> bool {
        match (self.origins.get(name), other.origins.get(name)) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            _ => false,
        }
    }

    pub(crate) fn origin(&self, name: &str) -> Option<&Arc<Shared>> {
        self.origins.get(name)
    }

    pub(crate) fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }
}

impl Shared {
    fn open(
        name: &str,
        config: &config::Origin,
        surroundings: &Surroundings,
    ) -> Result<Shared, OpenError> {
        let _ = surroundings;
        #[allow(unused_variables, reason = "without features nothing can be set up")]
        let refused = |cause| OpenError::Origin { origin: name.to_owned(), cause };
        let kind = match config {
            #[cfg(feature = "http-origin")]
            config::Origin::Http(http) => {
                let Surroundings { runtime, clock, .. } = surroundings.clone();
                let opened = http::HttpOrigin::open(http, clock, runtime);
                Kind::Http(Arc::new(opened.map_err(refused)?))
            }
            #[cfg(feature = "sql-origin")]
            config::Origin::Sql(sql) => {
                let opened = sql::SqlOrigin::open(sql, surroundings);
                Kind::Sql(Arc::new(opened.map_err(refused)?))
            }
            #[cfg(not(feature = "http-origin"))]
            config::Origin::Http(_) => return Err(lacking(name, "http-origin")),
            #[cfg(not(feature = "sql-origin"))]
            config::Origin::Sql(_) => return Err(lacking(name, "sql-origin")),
        };
        Ok(Shared { config: config.clone(), kind })
    }

    pub(crate) fn config(&self) -> &config::Origin {
        &self.config
    }

    pub(crate) fn guard_stats(&self) -> GuardStats {
        match self.kind {
            #[cfg(feature = "http-origin")]
            Kind::Http(ref http) => http.guard().stats(),
            #[cfg(feature = "sql-origin")]
            Kind::Sql(ref sql) => sql.guard().stats(),
        }
    }
}

#[cfg(not(all(feature = "http-origin", feature = "sql-origin")))]
fn lacking(origin: &str, feature: &'static str) -> OpenError {
    OpenError::Feature { origin: origin.to_owned(), feature }
}
