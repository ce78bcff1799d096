//! From a document to a configuration: every key is known, every name leads somewhere, every default is in
//! its place.

use std::{collections::BTreeMap, time::Duration};

use http::{HeaderName, HeaderValue, header};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use sakuin_cache::{Lifetimes, Options, Quota, Rate, Strategy};

use super::{
    Ask, CachedTable, Coherence, Config, Http, Limits, Origin, PackedSource, Repository, Sql,
    Table, Text, live, route,
};
use crate::{
    ConfigError, KeyRule, Part, Pattern, Template,
    document::{Document, Section, Setting, nearest},
};

const HTTP_KEYS: [&str; 7] =
    ["url", "headers", "timeout", "rate", "concurrency", "max_answer", "ca"];
const SQL_KEYS: [&str; 3] = ["sql", "pool", "timeout"];
const RATE_KEYS: [&str; 4] = ["per_second", "burst", "per_day", "state"];
const PACKED_KEYS: [&str; 4] = ["kind", "file", "repository", "route"];
const REPOSITORY_KEYS: [&str; 11] = [
    "url",
    "channel",
    "directory",
    "poll",
    "keep",
    "max_bytes",
    "min_keys",
    "shrink",
    "growth",
    "must_have",
    "rehearse",
];
const CACHED_KEYS: [&str; 17] = [
    "kind",
    "origin",
    "route",
    "key",
    "map",
    "query",
    "rows",
    "coherence",
    "mode",
    "ttl",
    "ttl_missing",
    "stale_while_revalidate",
    "stale_if_error",
    "strategy",
    "max_bytes",
    "max_waiters",
    "wait",
];

/// What has no meaning in `mode = "rfc9111"`.
const NOT_OF_A_PROXY: [&str; 9] = [
    "key",
    "map",
    "query",
    "rows",
    "coherence",
    "ttl",
    "ttl_missing",
    "stale_while_revalidate",
    "stale_if_error",
];

const TIMEOUT: Duration = Duration::from_secs(5);
const STALE_IF_ERROR: Duration = Duration::from_secs(600);
const TTL_MISSING_MAX: Duration = Duration::from_secs(60);
const COHERENCE_EVERY: Duration = Duration::from_secs(1);
const CONCURRENCY: usize = 16;
const POOL: u32 = 4;
const MAX_ANSWER: usize = 1 << 20;
const MAX_BYTES: usize = 64 << 20;
const MAX_WAITERS: usize = 16_384;

const POLL: Duration = Duration::from_secs(5);
const VERSIONS_KEPT: u64 = 2;
const MIN_KEYS: u64 = 1;
const SHRINK: u64 = 20;
const GROWTH: u64 = 50;
const TEN_MILLISECONDS: Duration = Duration::from_millis(10);
const DAY: Duration = Duration::from_secs(86_400);

const MILLISECOND: Duration = Duration::from_millis(1);
const TEN_MINUTES: Duration = Duration::from_secs(600);
const YEAR: Duration = Duration::from_secs(366 * 86_400);

const KEY_HINT: &str = "write `{ pattern = \"[0-9]{5}\" }` or `{ range = \"1..2147483647\" }`";

impl Config {
    /// Reads the sections of this crate; those of others are not looked at.
    pub fn of_document(document: &Document<'_>) -> Result<Config, ConfigError> {
        let root = document.root();
        let mut config = Config::default();
        for (name, section) in named(&root, "origins")? {
            config.origins.insert(name, Origin::of_section(&section)?);
        }
        for (name, section) in named(&root, "repositories")? {
            config.repositories.insert(name, Repository::of_section(&section)?);
        }
        let mut routes = BTreeMap::new();
        for (name, section) in named(&root, "tables")? {
            let table = Table::of_section(&section, &config)?;
            if let Some(route) = table.route()
                && let Some(other) = routes.insert(route::path(route), name.clone())
            {
                let route = section.required("route", "")?;
                let reason = format!("which is the route of table `{other}` too");
                return Err(route.refused_because(&reason, "give each table a route of its own"));
            }
            config.tables.insert(name, table);
        }
        config.live = live::store(&root, &config.tables)?;
        Ok(config)
    }
}

/// The sections below `kind`, whose names are the user's.
fn named<'a>(root: &Section<'a>, kind: &str) -> Result<Vec<(String, Section<'a>)>, ConfigError> {
    let Some(all) = root.section(kind)? else { return Ok(Vec::new()) };
    let named = all.settings().into_iter().map(|(name, setting)| {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(good) {
            return Err(setting.refused_name(
                "a name has 1 to 64 letters, digits, `-` and `_`, because it stands in addresses",
            ));
        }
        Ok((name.to_owned(), setting.section()?))
    });
    named.collect()
}

impl Origin {
    fn of_section(section: &Section<'_>) -> Result<Origin, ConfigError> {
        if section.setting("sql").is_some() {
            section.only_known(&SQL_KEYS)?;
            return Sql::of_section(section).map(Origin::Sql);
        }
        section.only_known(&[&HTTP_KEYS[..], &["sql"]].concat())?;
        Http::of_section(section).map(Origin::Http)
    }

    fn timeout(&self) -> Duration {
        match self {
            Origin::Http(http) => http.timeout,
            Origin::Sql(sql) => sql.timeout,
        }
    }
}

impl Repository {
    fn of_section(section: &Section<'_>) -> Result<Repository, ConfigError> {
        section.only_known(&REPOSITORY_KEYS)?;
        let url = section.required("url", "write `url = \"s3://bucket/shop\"`")?;
        if !["s3://", "gs://", "az://", "file:///"]
            .iter()
            .any(|it| url.string().is_ok_and(|url| url.starts_with(it)))
        {
            return Err(url.refused("it begins with `s3://`, `gs://`, `az://` or `file:///`"));
        }
        let directory = section.required("directory", "name a folder for its versions")?.path()?;
        let channel = section.setting("channel").map(|channel| match channel.string()? {
            "" => Err(channel.refused("name a channel, as `stable`")),
            name => Ok(name.to_owned()),
        });
        let poll = section.setting("poll").map(|poll| poll.duration_in(TEN_MILLISECONDS..=DAY));
        let keep = section.setting("keep").map(|keep| keep.integer(1..=100));
        Ok(Repository {
            url: url.string()?.to_owned(),
            channel: channel.transpose()?.unwrap_or_else(|| "stable".to_owned()),
            directory,
            poll: poll.transpose()?.unwrap_or(POLL),
            keep: keep.transpose()?.unwrap_or(VERSIONS_KEPT) as usize,
            limits: Limits::of_section(section)?,
        })
    }
}

impl Limits {
    fn of_section(section: &Section<'_>) -> Result<Limits, ConfigError> {
        let max_bytes = section.setting("max_bytes").map(|most| most.bytes(1..=usize::MAX));
        let mut must_have = Vec::new();
        for query in section.setting("must_have").iter().flat_map(Setting::list) {
            match query.string()?.contains('=') {
                true => must_have.push(query.string()?.to_owned()),
                false => return Err(query.refused("write a table and a key: `words=tokyo`")),
            }
        }
        Ok(Limits {
            max_bytes: max_bytes.transpose()?,
            min_keys: number(section, "min_keys", 0..=u64::MAX, MIN_KEYS)?,
            shrink: number(section, "shrink", 0..=100, SHRINK)?,
            growth: number(section, "growth", 0..=1_000_000, GROWTH)?,
            must_have,
            rehearse: section.setting("rehearse").map(|file| file.path()).transpose()?,
        })
    }
}

impl Http {
    fn of_section(section: &Section<'_>) -> Result<Http, ConfigError> {
        let url =
            section.required("url", "write `url = \"https://…\"` or `sql = \"postgres://…\"`")?;
        check_url(&url)?;
        let mut headers = BTreeMap::new();
        for (name, value) in section.section("headers")?.iter().flat_map(Section::settings) {
            headers.insert(header_name(name, &value)?, header_value(&value)?);
        }
        let rate = section.section("rate")?;
        Ok(Http {
            url: url.string()?.to_owned(),
            headers,
            timeout: timeout(section)?,
            rate: rate.map(|rate| of_rate(&rate, section.name())).transpose()?,
            concurrency: number(section, "concurrency", 1..=10_000, CONCURRENCY as u64)? as usize,
            max_answer: size(section, "max_answer", MAX_ANSWER)?,
            ca: section.setting("ca").map(|ca| ca.path()).transpose()?,
        })
    }
}

fn check_url(url: &Setting<'_>) -> Result<(), ConfigError> {
    let text = url.string()?;
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let rest = rest.ok_or_else(|| url.refused("it begins with `http://` or `https://`"))?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.is_empty() || host.contains(['{', '}']) {
        return Err(url.refused("it names one host; parts of the key stand after it"));
    }
    if host.contains('@') {
        let hint = "send a password as `headers.Authorization = { env = \"…\" }`";
        return Err(url.refused_as("an address with a password".to_owned(), hint));
    }
    Ok(())
}

fn header_name(name: &str, value: &Setting<'_>) -> Result<String, ConfigError> {
    /// What the client of the origin writes itself.
    const OURS: [HeaderName; 10] = [
        header::HOST,
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::TE,
        header::UPGRADE,
        header::EXPECT,
        header::ACCEPT_ENCODING,
        header::IF_NONE_MATCH,
        header::IF_MODIFIED_SINCE,
    ];
    let parsed = HeaderName::try_from(name);
    let parsed = parsed.map_err(|_| value.refused_name("no header can have this name"))?;
    if OURS.contains(&parsed) {
        return Err(value.refused_name("Sakuin writes this header itself"));
    }
    Ok(parsed.as_str().to_owned())
}

fn header_value(value: &Setting<'_>) -> Result<Text, ConfigError> {
    let text = value.text()?;
    match HeaderValue::try_from(text.value()) {
        Ok(_) => Ok(text),
        Err(_) => Err(value.refused_because("which no header can hold", "write it on one line")),
    }
}

fn of_rate(rate: &Section<'_>, origin: &str) -> Result<Rate, ConfigError> {
    rate.only_known(&RATE_KEYS)?;
    let per_second = rate.required("per_second", "write `per_second = 10`")?;
    let per_second = per_second.integer(1..=1_000_000)? as u32;
    let burst = number(rate, "burst", 1..=1_000_000, u64::from(per_second))? as u32;
    let state = rate.setting("state");
    let requests = match rate.setting("per_day") {
        Some(requests) => requests.integer(1..=1_000_000_000_000)?,
        None if state.is_some() => return Err(rate.missing("per_day", "`state` is for `per_day`")),
        None => return Ok(Rate { per_second, burst, per_day: None }),
    };
    let name = origin.rsplit('.').next().unwrap_or_default();
    let default = || Ok(rate.path(&format!("{name}.quota")));
    let state = state.map_or_else(default, |state| state.path())?;
    Ok(Rate { per_second, burst, per_day: Some(Quota { requests, state }) })
}

impl Sql {
    fn of_section(section: &Section<'_>) -> Result<Sql, ConfigError> {
        Ok(Sql {
            url: database(section, "sql", "write `sql = \"sqlite://FILE\"`")?,
            pool: number(section, "pool", 1..=1_000, u64::from(POOL))? as u32,
            timeout: timeout(section)?,
        })
    }

    fn is_postgres(&self) -> bool {
        self.url.value().starts_with("postgres")
    }
}

/// The address of a database; that of a SQLite file is taken from the folder of the configuration.
pub fn database(section: &Section<'_>, key: &str, hint: &str) -> Result<Text, ConfigError> {
    let setting = section.required(key, hint)?;
    let url = match setting.text()? {
        Text::Plain(value) => Text::Plain(located(section, &value)),
        Text::Env { name, value } => Text::Env { name, value: located(section, &value) },
        Text::File { path, value } => Text::File { path, value: located(section, &value) },
    };
    if !["sqlite:", "postgres:", "postgresql:"].iter().any(|it| url.value().starts_with(it)) {
        let hint = "it begins with `sqlite://` or `postgres://`";
        return Err(setting.refused_as("no database's address".to_owned(), hint));
    }
    Ok(url)
}

/// The address of a SQLite file, from the folder of the configuration.
fn located(section: &Section<'_>, url: &str) -> String {
    const IN_PATHS: &AsciiSet = &CONTROLS.add(b'%').add(b'?').add(b'#');
    let Some(file) = url.strip_prefix("sqlite://") else { return url.to_owned() };
    if file.is_empty() || file.starts_with([':', '/']) {
        return url.to_owned();
    }
    let folder = section.path("").display().to_string();
    format!("sqlite://{}{file}", utf8_percent_encode(&folder, IN_PATHS))
}

impl Table {
    fn of_section(section: &Section<'_>, config: &Config) -> Result<Table, ConfigError> {
        let hint = "write `kind = \"packed\"`, `kind = \"live\"` or `kind = \"cached\"`";
        let kind = section.required("kind", hint)?;
        match kind.string()? {
            "packed" => packed(section, &config.repositories),
            "live" => live::table(section),
            "cached" => {
                Ok(Table::Cached(Box::new(CachedTable::of_section(section, &config.origins)?)))
            }
            _ => Err(kind.refused("write `packed`, `live` or `cached`")),
        }
    }
}

fn packed(
    section: &Section<'_>,
    repositories: &BTreeMap<String, Repository>,
) -> Result<Table, ConfigError> {
    section.only_known(&PACKED_KEYS)?;
    let source = match (section.setting("file"), section.setting("repository")) {
        (Some(_), Some(repository)) => {
            return Err(repository.refused("a table is of a file or of a repository, not of both"));
        }
        (None, Some(repository)) => {
            let name = repository.string()?;
            if !repositories.contains_key(name) {
                let nearest = nearest(name, repositories.keys().map(String::as_str));
                let hint = nearest
                    .map_or("describe it: `[repositories.NAME]`".to_owned(), |nearest| {
                        format!("did you mean `{nearest}`?")
                    });
                return Err(repository.refused_because("which is no repository", &hint));
            }
            PackedSource::Repository(name.to_owned())
        }
        _ => {
            let hint = "name a file written by `sakuin pack`, or a `repository`";
            PackedSource::File(section.required("file", hint)?.path()?)
        }
    };
    let route = route(section, "key", "a packed table's keys have one part: `/words/{key}`")?;
    Ok(Table::Packed { source, route })
}

/// The route of a table whose keys have one part, which the route must call `place`.
pub(super) fn route(
    section: &Section<'_>,
    place: &str,
    hint: &str,
) -> Result<Option<String>, ConfigError> {
    let Some(route) = section.setting("route") else { return Ok(None) };
    match places(&route)?[..] {
        [name] if name == place => Ok(Some(route.string()?.to_owned())),
        _ => Err(route.refused(hint)),
    }
}

impl CachedTable {
    fn of_section(
        section: &Section<'_>,
        origins: &BTreeMap<String, Origin>,
    ) -> Result<CachedTable, ConfigError> {
        section.only_known(&CACHED_KEYS)?;
        let name = section.required("origin", "name one of `[origins.NAME]`")?;
        let Some(origin) = origins.get(name.string()?) else {
            let nearest = nearest(name.string()?, origins.keys().map(String::as_str));
            let hint = nearest.map_or("describe it: `[origins.NAME]`".to_owned(), |nearest| {
                format!("did you mean `{nearest}`?")
            });
            return Err(name.refused_because("which is no origin", &hint));
        };
        let mode = section.setting("mode");
        if let Some(mode) = &mode {
            return match (mode.string()?, origin) {
                ("rfc9111", Origin::Http(http)) => proxy(section, &name, http),
                ("rfc9111", Origin::Sql(_)) => {
                    Err(mode.refused("a database sends no headers; leave `mode` away"))
                }
                _ => Err(mode.refused("write `rfc9111`, or leave it away")),
            };
        }
        let key = key(section)?;
        let ask = match origin {
            Origin::Http(http) => url(section, &name, http, &key)?,
            Origin::Sql(sql) => query(section, sql)?,
        };
        let route = section.setting("route").map(|route| Ok(route.string()?.to_owned()));
        Ok(CachedTable {
            origin: name.string()?.to_owned(),
            route: route.transpose()?,
            key,
            map: section.setting("map").map(|map| program(&map)).transpose()?,
            options: options(section, origin, &ask)?,
            ask,
        })
    }
}

/// A table that is a caching proxy: its answers live as their headers say.
fn proxy(
    section: &Section<'_>,
    name: &Setting<'_>,
    http: &Http,
) -> Result<CachedTable, ConfigError> {
    for key in NOT_OF_A_PROXY {
        if let Some(setting) = section.setting(key) {
            return Err(
                setting.refused_name("leave it away: in `mode = \"rfc9111\"` headers decide")
            );
        }
    }
    let template = Template::new(&http.url, &KeyRule::default());
    if template.is_err() {
        let hint = "in `mode = \"rfc9111\"` the path of a request is put after the origin's `url`";
        return Err(name.refused_because("whose `url` has a place", hint));
    }
    let hint = "write where the proxy begins: `route = \"/\"`";
    let route = section.required("route", hint)?;
    if !places(&route)?.is_empty() || !route.string()?.ends_with('/') {
        return Err(route.refused("a proxy answers all that is below its route: `/wiki/`"));
    }
    let (zero, ask) = (Duration::ZERO, Ask::Proxy);
    let lifetimes = Lifetimes { fresh: zero, stale_while_revalidate: zero, stale_if_error: zero };
    Ok(CachedTable {
        origin: name.string()?.to_owned(),
        route: Some(route.string()?.to_owned()),
        key: KeyRule::any(),
        ask,
        map: None,
        options: kept(section, lifetimes, zero, http.timeout)?,
    })
}

/// The rule of `key.NAME`, in the order of the route if there is one.
fn key(section: &Section<'_>) -> Result<KeyRule, ConfigError> {
    let mut parts = Vec::new();
    for (name, setting) in section.section("key")?.iter().flat_map(Section::settings) {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || !name.bytes().all(good) {
            return Err(setting.refused_name("a part's name has letters, digits and `_`"));
        }
        parts.push(Part { name: name.to_owned(), pattern: pattern(&setting)? });
    }
    let Some(route) = section.setting("route") else { return Ok(KeyRule { parts }) };
    let places = places(&route)?;
    for (at, name) in places.iter().enumerate() {
        let part = parts.iter().position(|part| part.name == *name);
        let part = part.ok_or_else(|| {
            let reason = format!("where `{{{name}}}` is no part of the key");
            route.refused_because(&reason, &format!("add `key.{name}`: {KEY_HINT}"))
        })?;
        if part < at {
            return Err(route.refused_because(&format!("with `{{{name}}}` twice"), "name it once"));
        }
        parts.swap(at, part);
    }
    if let Some(part) = parts.get(places.len()) {
        let name = &part.name;
        let hint = format!("put `{{{name}}}` into it, or `?{name}={{{name}}}` after it");
        return Err(route.refused_because(&format!("without the key's part `{name}`"), &hint));
    }
    Ok(KeyRule { parts })
}

fn pattern(setting: &Setting<'_>) -> Result<Pattern, ConfigError> {
    if !setting.is_table() {
        return Err(setting.refused(KEY_HINT));
    }
    let section = setting.section()?;
    section.only_known(&["pattern", "range"])?;
    match (section.setting("pattern"), section.setting("range")) {
        (Some(pattern), None) => Pattern::text(pattern.string()?)
            .map_err(|error| pattern.refused_because(&error.to_string(), KEY_HINT)),
        (None, Some(range)) => {
            let bounds = range.string()?.split_once("..").and_then(|(first, last)| {
                Some((first.parse().ok()?, last.parse().ok()?)).filter(|(a, b)| a <= b)
            });
            let (first, last) = bounds
                .ok_or_else(|| range.refused("write the smallest and the greatest: `1..100`"))?;
            Ok(Pattern::Range { first, last })
        }
        _ => Err(setting.refused(KEY_HINT)),
    }
}

pub(super) fn places<'a>(route: &Setting<'a>) -> Result<Vec<&'a str>, ConfigError> {
    let places = route::places(route.string()?).map_err(|hint| route.refused(hint))?;
    if route.string()?.starts_with("/v1/") {
        return Err(route.refused("`/v1/` is Sakuin's own; begin with another word"));
    }
    Ok(places)
}

/// What is asked of an HTTP origin; every part of the key has to be in it.
fn url(
    section: &Section<'_>,
    name: &Setting<'_>,
    http: &Http,
    key: &KeyRule,
) -> Result<Ask, ConfigError> {
    for setting in ["query", "rows", "coherence"] {
        if let Some(setting) = section.setting(setting) {
            return Err(setting.refused_name("it is for an origin with `sql`"));
        }
    }
    let plain = http.headers.values().filter_map(|value| match value {
        Text::Plain(text) => Some(text),
        Text::Env { .. } | Text::File { .. } => None,
    });
    let mut used = Vec::new();
    for text in std::iter::once(&http.url).chain(plain) {
        let template = Template::new(text, key).map_err(|error| {
            let reason = format!("in which {error}");
            name.refused_because(
                &reason,
                "give the table a `key.NAME` for each place of its origin",
            )
        })?;
        used.extend(template.parts());
    }
    match key.parts.iter().enumerate().find(|(at, _)| !used.contains(at)) {
        None => Ok(Ask::Url),
        Some((_, part)) => {
            let reason = format!("which is never told the key's part `{}`", part.name);
            let hint = format!("write `{{{}}}` into the origin's `url`", part.name);
            Err(name.refused_because(&reason, &hint))
        }
    }
}

fn query(section: &Section<'_>, sql: &Sql) -> Result<Ask, ConfigError> {
    let query = section.required("query", "write `query = \"select … where id = $1\"`")?;
    let many = match section.setting("rows") {
        None => false,
        Some(rows) => match rows.string()? {
            "one" => false,
            "many" => true,
            _ => return Err(rows.refused("write `one`, or `many` for an array of all rows")),
        },
    };
    let coherence = section.section("coherence")?;
    let coherence = coherence.map(|coherence| {
        coherence.only_known(&["version", "every", "listen"])?;
        let hint =
            "a query whose answer changes with every change: `select n from contact_version`";
        let listen = coherence.setting("listen");
        if let Some(listen) = &listen
            && !sql.is_postgres()
        {
            return Err(listen.refused_name("only PostgreSQL notifies; `every` is enough here"));
        }
        Ok(Coherence {
            version: coherence.required("version", hint)?.string()?.to_owned(),
            every: time(&coherence, "every", Duration::ZERO..=TEN_MINUTES, COHERENCE_EVERY)?,
            listen: listen.map(|listen| Ok(listen.string()?.to_owned())).transpose()?,
        })
    });
    Ok(Ask::Query { query: query.string()?.to_owned(), many, coherence: coherence.transpose()? })
}

/// A jq program, inline or in a file.
fn program(map: &Setting<'_>) -> Result<String, ConfigError> {
    if !map.is_table() {
        return Ok(map.string()?.to_owned());
    }
    let section = map.section()?;
    section.only_known(&["file"])?;
    Ok(map.text()?.value().to_owned())
}

fn options(section: &Section<'_>, origin: &Origin, ask: &Ask) -> Result<Options, ConfigError> {
    let ttl = section.required("ttl", "say how long an answer is fresh: `ttl = \"15s\"`")?;
    let fresh = ttl.duration_in(MILLISECOND..=YEAR)?;
    let some_time = Duration::ZERO..=YEAR;
    // A table that is kept in step with its database has nothing to serve while it knows of a change.
    let is_coherent = matches!(ask, Ask::Query { coherence: Some(_), .. });
    let refreshing = if is_coherent { Duration::ZERO } else { fresh };
    let lifetimes = Lifetimes {
        fresh,
        stale_while_revalidate: time(
            section,
            "stale_while_revalidate",
            some_time.clone(),
            refreshing,
        )?,
        stale_if_error: time(section, "stale_if_error", some_time.clone(), STALE_IF_ERROR)?,
    };
    let missing = time(section, "ttl_missing", some_time, fresh.min(TTL_MISSING_MAX))?;
    kept(section, lifetimes, missing, origin.timeout())
}

fn kept(
    section: &Section<'_>,
    lifetimes: Lifetimes,
    missing: Duration,
    timeout: Duration,
) -> Result<Options, ConfigError> {
    let strategy = section.setting("strategy").map(|setting| {
        let name = setting.string()?;
        name.parse::<Strategy>().map_err(|()| {
            let names = Strategy::ALL.map(Strategy::name).join("`, `");
            setting.refused(&format!("write one of `{names}`"))
        })
    });
    let wait = timeout + Duration::from_secs(1);
    Ok(Options {
        lifetimes,
        missing,
        strategy: strategy.transpose()?.unwrap_or_default(),
        max_bytes: size(section, "max_bytes", MAX_BYTES)?,
        max_waiters: number(section, "max_waiters", 1..=1_000_000, MAX_WAITERS as u64)? as usize,
        wait: time(section, "wait", MILLISECOND..=TEN_MINUTES + wait, wait)?,
    })
}

fn timeout(section: &Section<'_>) -> Result<Duration, ConfigError> {
    time(section, "timeout", MILLISECOND..=TEN_MINUTES, TIMEOUT)
}

fn time(
    section: &Section<'_>,
    key: &str,
    range: std::ops::RangeInclusive<Duration>,
    default: Duration,
) -> Result<Duration, ConfigError> {
    section.setting(key).map_or(Ok(default), |setting| setting.duration_in(range))
}

fn number(
    section: &Section<'_>,
    key: &str,
    range: std::ops::RangeInclusive<u64>,
    default: u64,
) -> Result<u64, ConfigError> {
    section.setting(key).map_or(Ok(default), |setting| setting.integer(range))
}

fn size(section: &Section<'_>, key: &str, default: usize) -> Result<usize, ConfigError> {
    section.setting(key).map_or(Ok(default), |setting| setting.bytes(1 << 10..=1 << 40))
}
