//! The door of tables: `/v1/tables`, and the routes that the configuration gives to tables.
//!
//! Tables are read here; the records of live ones are written here too, but only below `/v1/tables`: a route is for
//! those who read.
//!
//! [`Lookup::find`] says what a request asks for, without allocating more than the key. A key that can be
//! answered at once is answered at once; only one that must wait for its origin becomes a future.

mod batch;
mod condition;
mod list;
mod record;
mod route;
mod write;

use std::sync::Arc;

use axum::http::{Method, Response, Uri};
use bytes::Bytes;
use percent_encoding::percent_decode_str;
use sakuin::{Key, Table, Tables, proxy::Proxy};

use crate::{Config, Error, body::Body, reply::Fault};
use route::Routes;

pub(crate) use batch::batch;
pub(crate) use list::list;
pub(crate) use record::{answer, peek};
pub(crate) use write::{Change, write};

/// The tables of a configuration as a door serves them.
pub(crate) struct Lookup {
    tables: Tables,
    routes: Routes,
}

/// What a request asks for.
pub(crate) enum Target<'a> {
    /// `GET /v1/tables`
    List,
    /// `GET /v1/openapi.json`
    Description,
    /// The answer for one key.
    Record(&'a Arc<Table>, Key),
    /// A record of a live table is to change, or to be if it has no key yet.
    Change(&'a Arc<Table>, Option<Key>, Change),
    /// The answers for many keys.
    Batch(String, Arc<Table>),
}

/// Where all of the door but the routes begins.
const TABLES: &str = "/v1/tables";
const DESCRIPTION: &str = "/v1/openapi.json";
const BATCH: &str = ":batchGet";

impl Lookup {
    /// The door of these tables; refuses a route that would hide another address.
    pub(crate) fn new(tables: Tables, config: &Config) -> Result<Lookup, Error> {
        let site = config.reader.as_ref().map(|reader| reader.path.as_str());
        let routes = Routes::new(&tables, site, &config.taken())?;
        for (name, proxy) in tables.proxies() {
            let route = proxy.route();
            if site.is_some_and(|site| site.starts_with(route)) {
                let cause = "it would hide the site of `[reader]`".to_owned();
                return Err(Error::Route {
                    table: name.to_owned(),
                    route: route.to_owned(),
                    cause,
                });
            }
        }
        Ok(Lookup { tables, routes })
    }

    /// The tables.
    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The caching proxy before what lies at `path`: of several, the one that lies nearest.
    pub(crate) fn proxy(&self, path: &str) -> Option<&Arc<Proxy>> {
        let proxies = self.tables.proxies().map(|(_, proxy)| proxy);
        let covering = proxies.filter(|proxy| proxy.covers(path) && !path.starts_with("/v1/"));
        covering.max_by_key(|proxy| proxy.route().len())
    }

    /// What a request asks for; none if its address is not of this door.
    pub(crate) fn find<'a>(
        &'a self,
        method: &Method,
        uri: &Uri,
    ) -> Option<Result<Target<'a>, Fault>> {
        if let Some(record) = self.routes.find(uri) {
            let record = || record.map(|(table, key)| Target::Record(table, key));
            return Some(reading(method).and_then(|()| record()));
        }
        let path = uri.path();
        let rest = match path.strip_prefix(TABLES) {
            Some("" | "/") => return Some(reading(method).map(|()| Target::List)),
            Some(rest) => rest.strip_prefix('/')?,
            None if path == DESCRIPTION => {
                return Some(reading(method).map(|()| Target::Description));
            }
            None => return None,
        };
        Some(match rest.split_once('/') {
            Some((name, key)) => self.record(method, name, key),
            None => self.whole_table(method, rest),
        })
    }

    fn record(&self, method: &Method, name: &str, key: &str) -> Result<Target<'_>, Fault> {
        let table = self.table(name)?;
        match Change::of_method(method) {
            Some(change) if is_live(table) => {
                Ok(Target::Change(table, Some(checked(table, key)?), change))
            }
            _ if is_live(table) => reading_or(method, "GET, HEAD, PUT, PATCH, DELETE")
                .and_then(|()| record(table, key)),
            _ => reading(method).and_then(|()| record(table, key)),
        }
    }

    fn whole_table(&self, method: &Method, name: &str) -> Result<Target<'_>, Fault> {
        match name.strip_suffix(BATCH) {
            Some(name) if method == Method::POST => {
                Ok(Target::Batch(name.to_owned(), self.table(name)?.clone()))
            }
            Some(_) => Err(Fault::method("POST")),
            None => match self.table(name)? {
                table if !is_live(table) => {
                    // A table whose only key is empty.
                    reading(method).and_then(|()| record(table, ""))
                }
                table if method == Method::POST => Ok(Target::Change(table, None, Change::Create)),
                _ => Err(Fault::method("POST")),
            },
        }
    }

    fn table(&self, name: &str) -> Result<&Arc<Table>, Fault> {
        self.tables.table(name).ok_or_else(|| {
            Fault::not_found(format!("there is no table `{name}`"), "`GET /v1/tables` lists them")
        })
    }
}

fn is_live(table: &Table) -> bool {
    matches!(table, Table::Live(_))
}

fn record<'a>(table: &'a Arc<Table>, key: &str) -> Result<Target<'a>, Fault> {
    Ok(Target::Record(table, checked(table, key)?))
}

fn checked(table: &Table, key: &str) -> Result<Key, Fault> {
    table.key_rule().check(&decoded(key)?).map_err(|error| Fault::of_key(&error))
}

/// Refuses what does not read.
fn reading(method: &Method) -> Result<(), Fault> {
    reading_or(method, "GET, HEAD")
}

/// Refuses what does not read, and says what the address takes.
fn reading_or(method: &Method, allowed: &'static str) -> Result<(), Fault> {
    if method == Method::GET || method == Method::HEAD {
        Ok(())
    } else {
        Err(Fault::method(allowed))
    }
}

/// A part of an address as text.
fn decoded(text: &str) -> Result<std::borrow::Cow<'_, str>, Fault> {
    percent_decode_str(text).decode_utf8().map_err(|_| {
        Fault::bad_request(
            "the key is not UTF-8",
            "encode the bytes of its UTF-8 with percent signs",
        )
    })
}

/// The description of this door in the form of OpenAPI 3.1.
pub(crate) fn description() -> Response<Body> {
    Body::json(Bytes::from_static(include_bytes!("../../../docs/reference/openapi.json")))
}
