//! A configuration as TOML again: with every default, without any secret. Read anew, it is the same
//! configuration.

use std::{
    fmt::{Display, Formatter, Result},
    path::Path,
    time::Duration,
};

use sakuin_cache::{Options, Rate};
use sakuin_live::{IndexKind, Schema, Type};

use super::{
    Ask, CachedTable, Coherence, Config, Http, Limits, LiveStore, Origin, PackedSource, Repository,
    Sql, Table, Text,
};
use crate::{KeyRule, Pattern};

impl Display for Config {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let mut between = "";
        for (name, origin) in &self.origins {
            write!(out, "{between}[origins.{name}]\n{origin}")?;
            between = "\n";
        }
        for (name, repository) in &self.repositories {
            write!(out, "{between}[repositories.{name}]\n{repository}")?;
            between = "\n";
        }
        if let Some(live) = &self.live {
            write!(out, "{between}[live]\n{live}")?;
            between = "\n";
        }
        for (name, table) in &self.tables {
            write!(out, "{between}[tables.{name}]\n{table}")?;
            between = "\n";
        }
        Ok(())
    }
}

impl Display for Origin {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Origin::Http(http) => http.fmt(out),
            Origin::Sql(sql) => sql.fmt(out),
        }
    }
}

impl Display for Http {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        writeln!(out, "url = {}", quoted(&self.url))?;
        for (name, value) in &self.headers {
            writeln!(out, "headers.{} = {value}", quoted_key(name))?;
        }
        writeln!(out, "timeout = {}", time(self.timeout))?;
        if let Some(Rate { per_second, burst, per_day }) = &self.rate {
            write!(out, "rate = {{ per_second = {per_second}, burst = {burst}")?;
            if let Some(quota) = per_day {
                let state = path(&quota.state);
                write!(out, ", per_day = {}, state = {state}", quota.requests)?;
            }
            writeln!(out, " }}")?;
        }
        writeln!(out, "concurrency = {}", self.concurrency)?;
        writeln!(out, "max_answer = {}", size(self.max_answer))?;
        match &self.ca {
            Some(ca) => writeln!(out, "ca = {}", path(ca)),
            None => Ok(()),
        }
    }
}

impl Display for Sql {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        writeln!(out, "sql = {}", self.url)?;
        writeln!(out, "pool = {}", self.pool)?;
        writeln!(out, "timeout = {}", time(self.timeout))
    }
}

impl Display for Repository {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        writeln!(out, "url = {}", quoted(&without_password(&self.url)))?;
        writeln!(out, "channel = {}", quoted(&self.channel))?;
        writeln!(out, "directory = {}", path(&self.directory))?;
        writeln!(out, "poll = {}", time(self.poll))?;
        writeln!(out, "keep = {}", self.keep)?;
        self.limits.fmt(out)
    }
}

impl Display for Limits {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        if let Some(most) = self.max_bytes {
            writeln!(out, "max_bytes = {}", size(most))?;
        }
        writeln!(out, "min_keys = {}", self.min_keys)?;
        writeln!(out, "shrink = {}", self.shrink)?;
        writeln!(out, "growth = {}", self.growth)?;
        if !self.must_have.is_empty() {
            let queries: Vec<String> = self.must_have.iter().map(|query| quoted(query)).collect();
            writeln!(out, "must_have = [{}]", queries.join(", "))?;
        }
        self.rehearse.as_ref().map_or(Ok(()), |file| writeln!(out, "rehearse = {}", path(file)))
    }
}

/// Where a secret stands, never what it is; a password in an address is left out.
impl Display for Text {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Text::Plain(value) => out.write_str(&quoted(&without_password(value))),
            Text::Env { name, .. } => write!(out, "{{ env = {} }}", quoted(name)),
            Text::File { path: file, .. } => write!(out, "{{ file = {} }}", path(file)),
        }
    }
}

fn without_password(text: &str) -> String {
    let masked = || {
        let (scheme, rest) = text.split_once("://")?;
        let (user, rest) = rest.split_once(':')?;
        // A password may hold an `@`; the host after it cannot.
        let (_, host) = rest.rsplit_once('@')?;
        (!user.contains('/')).then(|| format!("{scheme}://{user}:***@{host}"))
    };
    masked().unwrap_or_else(|| text.to_owned())
}

impl Display for Table {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Table::Packed { source, route } => {
                writeln!(out, "kind = \"packed\"")?;
                match source {
                    PackedSource::File(file) => writeln!(out, "file = {}", path(file))?,
                    PackedSource::Repository(name) => {
                        writeln!(out, "repository = {}", quoted(name))?;
                    }
                }
                print_route(route.as_deref(), out)
            }
            Table::Live { schema, route } => {
                writeln!(out, "kind = \"live\"")?;
                print_schema(schema, out)?;
                print_route(route.as_deref(), out)
            }
            Table::Cached(table) => table.fmt(out),
        }
    }
}

fn print_route(route: Option<&str>, out: &mut Formatter<'_>) -> Result {
    route.map_or(Ok(()), |route| writeln!(out, "route = {}", quoted(route)))
}

fn print_schema(schema: &Schema, out: &mut Formatter<'_>) -> Result {
    for attribute in schema.attributes().iter().filter(|one| one.values != Type::Vector) {
        write!(out, "attributes.{} = {{ type = \"{}\"", attribute.name, attribute.values)?;
        let index = match attribute.index {
            None => "",
            Some(IndexKind::Equal) => ", index = \"equal\"",
            Some(_) => ", index = \"ordered\"",
        };
        writeln!(out, "{index} }}")?;
    }
    schema.vectors().map_or(Ok(()), |vectors| {
        let (dimensions, metric) = (vectors.dimensions, vectors.metric.name());
        writeln!(out, "vector = {{ dimensions = {dimensions}, metric = \"{metric}\" }}")
    })
}

impl Display for LiveStore {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        writeln!(out, "path = {}\ndurability = \"{}\"", path(&self.path), self.durability.name())
    }
}

impl Display for CachedTable {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        writeln!(out, "kind = \"cached\"\norigin = {}", quoted(&self.origin))?;
        print_route(self.route.as_deref(), out)?;
        if self.ask == Ask::Proxy {
            writeln!(out, "mode = \"rfc9111\"")?;
            return print_kept(&self.options, out);
        }
        print_key(&self.key, out)?;
        if let Some(map) = &self.map {
            writeln!(out, "map = {}", quoted(map))?;
        }
        if let Ask::Query { query, many, coherence } = &self.ask {
            writeln!(out, "query = {}", quoted(query))?;
            writeln!(out, "rows = \"{}\"", if *many { "many" } else { "one" })?;
            if let Some(Coherence { version, every, listen }) = coherence {
                let (version, every) = (quoted(version), time(*every));
                write!(out, "coherence = {{ version = {version}, every = {every}")?;
                let listen = listen.iter().map(|listen| quoted(listen));
                for listen in listen {
                    write!(out, ", listen = {listen}")?;
                }
                writeln!(out, " }}")?;
            }
        }
        let Options { lifetimes, missing, .. } = &self.options;
        writeln!(out, "ttl = {}", time(lifetimes.fresh))?;
        writeln!(out, "ttl_missing = {}", time(*missing))?;
        writeln!(out, "stale_while_revalidate = {}", time(lifetimes.stale_while_revalidate))?;
        writeln!(out, "stale_if_error = {}", time(lifetimes.stale_if_error))?;
        print_kept(&self.options, out)
    }
}

fn print_key(rule: &KeyRule, out: &mut Formatter<'_>) -> Result {
    for part in &rule.parts {
        let written = match &part.pattern {
            Pattern::Text(expression) => format!("pattern = {}", quoted(expression.as_str())),
            range => format!("range = \"{range}\""),
        };
        writeln!(out, "key.{} = {{ {written} }}", part.name)?;
    }
    Ok(())
}

fn print_kept(options: &Options, out: &mut Formatter<'_>) -> Result {
    let Options { strategy, max_bytes, max_waiters, wait, .. } = options;
    writeln!(out, "strategy = \"{strategy}\"\nmax_bytes = {}", size(*max_bytes))?;
    writeln!(out, "max_waiters = {max_waiters}\nwait = {}", time(*wait))
}

/// A TOML string; a long text keeps its lines.
pub fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn quoted_key(name: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if name.bytes().all(bare) { name.to_owned() } else { quoted(name) }
}

/// A path as a TOML string.
pub fn path(path: &Path) -> String {
    quoted(&path.display().to_string())
}

/// A time as a TOML string that [`Setting::duration`](crate::document::Setting::duration) reads.
pub fn time(time: Duration) -> String {
    match jiff::SignedDuration::try_from(time) {
        Ok(time) => format!("\"{time:#}\""),
        Err(_) => format!("\"{}s\"", time.as_secs()),
    }
}

/// The largest unit that loses nothing.
pub fn size(bytes: usize) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B")];
    let whole = |(shift, _): &&(u32, _)| bytes.trailing_zeros() >= *shift;
    let (shift, unit) = units.iter().find(whole).unwrap_or(&units[3]);
    format!("\"{}{unit}\"", bytes >> shift)
}
