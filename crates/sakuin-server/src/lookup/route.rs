//! Routes that the configuration gives to tables: `/api/v1/timings/{stop}`, or `/?id={stop}`, which binds a
//! parameter of the query.

use std::{borrow::Cow, sync::Arc};

use axum::http::Uri;
use matchit::Router;
use sakuin::{Key, Table, Tables};

use super::decoded;
use crate::{Error, reply::Fault};

/// Every route of every table.
pub(super) struct Routes {
    routes: Router<Route>,
    /// The first page of the site, which a route with a query may share.
    site: Option<String>,
}

struct Route {
    table: Arc<Table>,
    /// Parameters of the query, with the parts of the key they stand for.
    query: Vec<(String, String)>,
}

impl Routes {
    /// Refuses a route that hides the site, or leads below an address that is `taken`.
    pub(super) fn new(
        tables: &Tables,
        site: Option<&str>,
        taken: &[&str],
    ) -> Result<Routes, Error> {
        let mut routes = Router::new();
        for (name, table) in tables.iter() {
            let Some(route) = tables.config().tables.get(name).and_then(|table| table.route())
            else {
                continue;
            };
            let refused = |cause: String| Error::Route {
                table: name.to_owned(),
                route: route.to_owned(),
                cause,
            };
            let (path, query) = route.split_once('?').unwrap_or((route, ""));
            if query.is_empty() && site == Some(path) {
                return Err(refused("the address is the first page of `[reader]`".to_owned()));
            }
            if let Some(other) = taken.iter().find(|other| path.starts_with(**other)) {
                return Err(refused(format!("`[contacts]` serves what lies below `{other}`")));
            }
            let route = Route { table: table.clone(), query: pairs(query) };
            routes.insert(path, route).map_err(|error| refused(error.to_string()))?;
        }
        Ok(Routes { routes, site: site.map(str::to_owned) })
    }

    /// The table and the key that an address names; none if it is no route.
    pub(super) fn find(&self, uri: &Uri) -> Option<Result<(&Arc<Table>, Key), Fault>> {
        let path = uri.path();
        let found = self.routes.at(path).ok()?;
        let (route, rule) = (found.value, found.value.table.key_rule());
        let key = if route.query.is_empty() && !path.contains('%') {
            rule.bind(|name| found.params.get(name)).map_err(|error| Fault::of_key(&error))
        } else {
            let query = route.parameters(uri.query().unwrap_or_default());
            if query.is_empty() && !route.query.is_empty() && self.site.as_deref() == Some(path) {
                return None;
            }
            bind(rule, found.params.iter(), &query)
        };
        Some(key.map(|key| (&route.table, key)))
    }
}

impl Route {
    /// The parts that a query binds: the first parameter of each name.
    fn parameters<'a>(&'a self, query: &'a str) -> Vec<(&'a str, Cow<'a, str>)> {
        let mut bound: Vec<(&str, Cow<'_, str>)> = Vec::with_capacity(self.query.len());
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let wanted = self.query.iter().find(|(wanted, _)| *wanted == name);
            if let Some((_, part)) = wanted
                && bound.iter().all(|(other, _)| other != part)
            {
                bound.push((part, value));
            }
        }
        bound
    }
}

fn bind<'a>(
    rule: &sakuin::KeyRule,
    path: impl Iterator<Item = (&'a str, &'a str)>,
    query: &[(&str, Cow<'_, str>)],
) -> Result<Key, Fault> {
    let path = path.map(|(name, text)| Ok((name, decoded(text)?)));
    let path: Vec<(&str, Cow<'_, str>)> = path.collect::<Result<_, Fault>>()?;
    let named = |wanted: &str| {
        path.iter().chain(query).find(|(name, _)| *name == wanted).map(|(_, text)| &**text)
    };
    rule.bind(named).map_err(|error| Fault::of_key(&error))
}

/// `id={stop}&line={line}` as names with parts.
fn pairs(query: &str) -> Vec<(String, String)> {
    let pair = |pair: &str| {
        let (name, part) = pair.split_once('=')?;
        Some((name.to_owned(), part.trim_matches(['{', '}']).to_owned()))
    };
    query.split('&').filter_map(pair).collect()
}
