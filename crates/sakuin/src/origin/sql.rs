//! A SQL query as an origin.

use sakuin_cache::{Guard, SystemClock};

use std::sync::Arc;

use sakuin_cache::Failure;

use super::{Content, Surroundings};
use crate::{KeyRule, config};

pub(crate) struct SqlOrigin {
    guard: Guard<SystemClock>,
}

impl SqlOrigin {
    pub(crate) fn open(_: &config::Sql, _: &Surroundings) -> Result<SqlOrigin, String> {
        unimplemented!()
    }

    pub(crate) fn guard(&self) -> &Guard<SystemClock> {
        &self.guard
    }
}

pub(crate) struct Query {
    origin: Arc<SqlOrigin>,
}

impl Query {
    pub(crate) fn open(
        origin: Arc<SqlOrigin>,
        _: &str,
        _: bool,
        _: &KeyRule,
    ) -> Result<Query, String> {
        Ok(Query { origin })
    }

    pub(crate) async fn fetch(&self, _: &str, _: bool) -> Result<Content, Failure> {
        unimplemented!()
    }

    pub(crate) fn origin(&self) -> &SqlOrigin {
        &self.origin
    }
}
