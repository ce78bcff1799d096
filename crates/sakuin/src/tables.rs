//! All tables of a configuration, by name.

use std::{collections::BTreeMap, path::Path, sync::Arc, thread};

use sakuin_live::{Schema, Store};
use sakuin_publish::{Query, Rules, Version};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::{
    Cached, Config, Live, OpenError, Packed, Repository, Table,
    config::{self, CachedTable, Limits, LiveStore, PackedSource},
    origin::Origins,
    repository::PackedFile,
};
#[cfg(feature = "http-origin")]
use crate::{origin::Kind, proxy::Proxy};

/// Tables that were opened together.
///
/// ```
/// use sakuin::{Config, Tables, document::Document};
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// # let mut builder = sakuin_pack::Builder::new(sakuin_pack::Content::Text, Default::default());
/// # builder.add(b"tokyo", b"13960000")?;
/// # builder.write(folder.join("cities.skn"))?;
/// let text = r#"
/// [tables.cities]
/// kind = "packed"
/// file = "cities.skn"
/// "#;
/// let config = Config::of_document(&Document::parse(text, "sakuin.toml", folder)?)?;
/// let tables = Tables::open(&config)?;
/// let cities = tables.table("cities").expect("it is in the configuration");
/// let answer = cities.get("tokyo")?.expect("it is in the file");
/// assert_eq!(&answer.body()[..], b"13960000");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tables {
    tables: BTreeMap<String, Arc<Table>>,
    #[cfg(feature = "http-origin")]
    proxies: BTreeMap<String, Arc<Proxy>>,
    store: Option<Arc<Store>>,
    shared: Option<Shared>,
    followers: Followers,
    config: Config,
}

/// What keeps a repository's folder at what its channel announces.
pub type Follower = sakuin_publish::Follower<PackedFile>;

/// What is followed, by the names of repositories.
type Followers = BTreeMap<String, Arc<Follower>>;

/// How the store of live tables comes to be.
type OpenStore = fn(&LiveStore, Vec<(&str, Schema)>) -> Result<Store, OpenError>;

/// What is done with the folders of repositories.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Following {
    /// They are followed into.
    Begun,
    /// What is there is looked at.
    Rehearsed,
}

/// What cached tables share.
#[derive(Clone)]
struct Shared {
    origins: Origins,
    background: Arc<Background>,
}

/// The threads of the origins.
struct Background {
    origins: Threads,
    /// For mapping and compressing what they answer: few, as each keeps the memory that took.
    work: Threads,
}

/// Threads that end when nobody needs them, without being waited for.
struct Threads(Option<Runtime>);

const ORIGIN_THREADS: usize = 2;
const WORK_THREADS: usize = 2;

impl Tables {
    /// Opens every table of `config`. Cached tables share a few background threads for their origins, which need
    /// not answer yet; live tables share one store, whose file is begun if there is none.
    pub fn open(config: &Config) -> Result<Tables, OpenError> {
        Tables::none().reopen(config)
    }

    /// As [`Tables::open`], for whoever only looks at a configuration: live tables are empty and in memory, so that
    /// their file is neither begun nor taken from a server that has it open; of repositories there is what a server has
    /// fetched, and no store is asked.
    pub fn rehearse(config: &Config) -> Result<Tables, OpenError> {
        let in_memory: OpenStore = |_, tables| Ok(Store::in_memory(tables));
        Tables::none().reopen_with(config, in_memory, Following::Rehearsed)
    }

    fn none() -> Tables {
        Tables {
            tables: BTreeMap::new(),
            #[cfg(feature = "http-origin")]
            proxies: BTreeMap::new(),
            store: None,
            shared: None,
            followers: BTreeMap::new(),
            config: Config::default(),
        }
    }

    /// Opens the tables of a changed configuration. Those whose description and origin are the same go on as
    /// they are; a cached one that only stores or ages differently keeps its entries; those of repositories are of the
    /// versions that are there now. Nothing of `self` is changed, so a failure leaves everything as it was.
    ///
    /// # Errors
    ///
    /// [`OpenError::Fixed`] if live tables are described otherwise than when they were opened: their file is in use.
    pub fn reopen(&self, config: &Config) -> Result<Tables, OpenError> {
        let open: OpenStore = |live, tables| Ok(Store::open(&live.path, live.durability, tables)?);
        self.reopen_with(config, open, Following::Begun)
    }

    fn reopen_with(
        &self,
        config: &Config,
        open: OpenStore,
        following: Following,
    ) -> Result<Tables, OpenError> {
        let followers = match following {
            Following::Begun => self.followers(config)?,
            Following::Rehearsed => BTreeMap::new(),
        };
        // One look at each, so that all its tables are of one version.
        let versions: BTreeMap<&str, _> =
            followers.iter().map(|(name, follower)| (name.as_str(), follower.current())).collect();
        let store = self.live_store(config, open)?;
        let is_cached = |table: &config::Table| matches!(table, config::Table::Cached(_));
        let shared = match config.tables.values().any(is_cached) {
            true => Some(self.shared(config)?),
            false => None,
        };
        let mut tables = BTreeMap::new();
        #[cfg(feature = "http-origin")]
        let mut proxies = BTreeMap::new();
        for (name, description) in &config.tables {
            let table = match (description, &shared) {
                (config::Table::Packed { source: PackedSource::File(file), .. }, _) => {
                    self.packed(name, file)?
                }
                (config::Table::Packed { source: PackedSource::Repository(of), .. }, _) => {
                    let version = versions.get(of.as_str()).cloned().flatten();
                    match (following, version) {
                        (Following::Begun, version) => published(name, of, version.as_deref())?,
                        (Following::Rehearsed, _) => {
                            match rehearsed(name, &config.repositories[of].directory) {
                                Some(table) => table,
                                // Nothing was fetched yet.
                                None => continue,
                            }
                        }
                    }
                }
                (config::Table::Live { schema, .. }, _) => match &store {
                    Some(store) => self.live(name, schema, store),
                    None => continue,
                },
                #[cfg(feature = "http-origin")]
                (config::Table::Cached(table), Some(shared)) if table.ask == config::Ask::Proxy => {
                    proxies.insert(name.clone(), self.proxy(name, table, shared)?);
                    continue;
                }
                (config::Table::Cached(table), Some(shared)) => self.cached(name, table, shared)?,
                (config::Table::Cached(_), None) => continue,
            };
            tables.insert(name.clone(), table);
        }
        Ok(Tables {
            tables,
            #[cfg(feature = "http-origin")]
            proxies,
            store,
            shared,
            followers,
            config: config.clone(),
        })
    }

    /// What is followed; what is described alike goes on as it is.
    fn followers(&self, config: &Config) -> Result<Followers, OpenError> {
        let mut followers = BTreeMap::new();
        for (name, described) in &config.repositories {
            let before = self.followers.values().find(|one| one.folder() == described.directory);
            let is_same = self.config.repositories.get(name) == Some(described);
            let follower = match before.filter(|_| is_same) {
                Some(unchanged) => unchanged.clone(),
                None => Arc::new(follower(name, described, before)?),
            };
            followers.insert(name.clone(), follower);
        }
        Ok(followers)
    }

    /// The configuration they were opened from.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The table of a name.
    pub fn table(&self, name: &str) -> Option<&Arc<Table>> {
        self.tables.get(name)
    }

    /// Every caching proxy (`mode = "rfc9111"`) with its name, in the order of names. They answer requests rather than
    /// keys, so they are not among the tables.
    #[cfg(feature = "http-origin")]
    pub fn proxies(&self) -> impl Iterator<Item = (&str, &Arc<Proxy>)> {
        self.proxies.iter().map(|(name, proxy)| (name.as_str(), proxy))
    }

    /// Every table with its name, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<Table>)> {
        self.tables.iter().map(|(name, table)| (name.as_str(), table))
    }

    /// The store of all live tables; none without live tables.
    pub fn store(&self) -> Option<&Arc<Store>> {
        self.store.as_ref()
    }

    /// Every repository that is followed, with its name.
    pub fn repositories(&self) -> impl Iterator<Item = (&str, &Arc<Follower>)> {
        self.followers.iter().map(|(name, follower)| (name.as_str(), follower))
    }

    /// Where cached tables read from; none without cached tables.
    pub fn origins(&self) -> Option<&Origins> {
        self.shared.as_ref().map(|shared| &shared.origins)
    }

    fn shared(&self, config: &Config) -> Result<Shared, OpenError> {
        if let Some(Shared { origins, background }) = &self.shared {
            let origins = origins.reopen(&config.origins)?;
            return Ok(Shared { origins, background: background.clone() });
        }
        let background = Background::start()?;
        let Background { origins, work } = &background;
        let origins = Origins::open(&config.origins, origins.handle(), work.handle())?;
        Ok(Shared { origins, background: Arc::new(background) })
    }

    /// The store of all live tables: the one that is open, if there is one.
    fn live_store(
        &self,
        config: &Config,
        open: OpenStore,
    ) -> Result<Option<Arc<Store>>, OpenError> {
        let tables = schemas(config);
        let Some(live) = config.live.as_ref().filter(|_| !tables.is_empty()) else {
            return Ok(None);
        };
        let Some(store) = &self.store else {
            let tables = tables.into_iter().map(|(name, schema)| (name, schema.clone()));
            return Ok(Some(Arc::new(open(live, tables.collect())?)));
        };
        if self.config.live.as_ref() != Some(live) {
            return Err(OpenError::Fixed { what: "`[live]`".to_owned() });
        }
        let before = schemas(&self.config);
        let names = before.keys().chain(tables.keys());
        match names.into_iter().find(|name| before.get(*name) != tables.get(*name)) {
            Some(name) => Err(OpenError::Fixed { what: format!("table `{name}`") }),
            None => Ok(Some(store.clone())),
        }
    }

    /// A live table; the one before if its store is.
    fn live(&self, name: &str, schema: &Schema, store: &Arc<Store>) -> Arc<Table> {
        if let Some(before) = self.tables.get(name)
            && let Table::Live(live) = &**before
            && Arc::ptr_eq(live.store(), store)
        {
            return before.clone();
        }
        Arc::new(Table::Live(Live::new(store.clone(), name, schema.clone())))
    }

    /// A packed file; the table before if that has the same content.
    fn packed(&self, name: &str, file: &Path) -> Result<Arc<Table>, OpenError> {
        let refused = |source| OpenError::Packed { table: name.to_owned(), source };
        let opened = sakuin_pack::Table::open(file).map_err(refused)?;
        if let Some(before) = self.tables.get(name)
            && let Table::Packed(packed) = &**before
            && packed.file().content_id() == opened.content_id()
        {
            return Ok(before.clone());
        }
        Ok(Arc::new(Table::Packed(Packed::new(opened))))
    }

    /// A cached table; the one before, or one with its entries, if both say the same for every key.
    fn cached(
        &self,
        name: &str,
        description: &CachedTable,
        shared: &Shared,
    ) -> Result<Arc<Table>, OpenError> {
        let before = self.cached_before(name, description, shared);
        if let Some((table, _, before)) = before
            && before.options == description.options
        {
            return Ok(table.clone());
        }
        let opened = Cached::open(name, description, &shared.origins)?;
        if let Some((_, before, _)) = before {
            opened.adopt(before);
        }
        Ok(Arc::new(Table::Cached(opened)))
    }

    /// A caching proxy; the one before if it is described alike.
    #[cfg(feature = "http-origin")]
    fn proxy(
        &self,
        name: &str,
        description: &CachedTable,
        shared: &Shared,
    ) -> Result<Arc<Proxy>, OpenError> {
        let refused = |cause: String| OpenError::Table { table: name.to_owned(), cause };
        let origin = &description.origin;
        if let (Some(before), Some(config::Table::Cached(described)), Some(old)) =
            (self.proxies.get(name), self.config.tables.get(name), &self.shared)
            && **described == *description
            && shared.origins.is_same(origin, &old.origins)
        {
            return Ok(before.clone());
        }
        let found = shared.origins.origin(origin);
        let found = found.map(|found| (found.config(), &found.kind));
        let Some((config::Origin::Http(config), Kind::Http(http))) = found else {
            return Err(refused(format!("there is no HTTP origin `{origin}`")));
        };
        let proxy = Proxy::new(
            description.route.as_deref().unwrap_or("/"),
            config,
            http.client().clone(),
            http.guard().clone(),
            description.options.clone(),
            shared.background.origins.handle().clone(),
        );
        proxy.map(Arc::new).map_err(|error| refused(error.to_string()))
    }

    fn cached_before(
        &self,
        name: &str,
        description: &CachedTable,
        shared: &Shared,
    ) -> Option<(&Arc<Table>, &Cached, &CachedTable)> {
        let table = self.tables.get(name)?;
        let Table::Cached(cached) = &**table else { return None };
        let config::Table::Cached(before) = self.config.tables.get(name)? else { return None };
        let CachedTable { origin, key, ask, map, .. } = description;
        let is_same = (&before.origin, &before.key, &before.ask, &before.map)
            == (origin, key, ask, map)
            && shared.origins.is_same(origin, &self.shared.as_ref()?.origins);
        is_same.then_some((table, cached, before))
    }
}

/// Follows a repository. If nothing of it is here yet, its newest version is fetched first.
fn follower(
    name: &str,
    described: &config::Repository,
    before: Option<&Arc<Follower>>,
) -> Result<Follower, OpenError> {
    let refused = |error: sakuin_publish::Error| OpenError::Repository {
        repository: name.to_owned(),
        cause: error.to_string(),
        hint: error.hint(),
    };
    let store = sakuin_publish::Repository::open(&described.url).map_err(refused)?;
    let rules = rules(&described.limits).map_err(refused)?;
    let (channel, directory) = (&described.channel, &described.directory);
    let follower = match before {
        Some(before) => before.reopen(store, channel, rules, described.keep),
        None => Follower::open(store, channel, directory, rules, described.keep, PackedFile::open),
    };
    let follower = follower.map_err(refused)?;
    if follower.current().is_none() {
        // On a thread of its own, since whoever opens tables may be in async code, which must not wait.
        let looked = thread::scope(|scope| {
            let look = scope.spawn(|| {
                let runtime = Builder::new_current_thread().enable_all().build();
                runtime.map_err(OpenError::Start)?.block_on(follower.look()).map_err(refused)
            });
            look.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        looked?;
    }
    Ok(follower)
}

fn rules(limits: &Limits) -> Result<Rules, sakuin_publish::Error> {
    let mut rules = Rules::default();
    rules.max_bytes = limits.max_bytes.map(|most| most as u64);
    rules.min_keys = limits.min_keys;
    (rules.shrink, rules.growth) = (limits.shrink as f64 / 100.0, limits.growth as f64 / 100.0);
    rules.must_have =
        limits.must_have.iter().map(|query| query.parse()).collect::<Result<_, _>>()?;
    rules.rehearse = limits.rehearse.as_deref().map_or(Ok(Vec::new()), Query::read)?;
    Ok(rules)
}

/// A table of the version that is followed.
fn published(
    name: &str,
    repository: &str,
    version: Option<&Version<PackedFile>>,
) -> Result<Arc<Table>, OpenError> {
    let table = version.and_then(|version| Some((version, version.tables.get(name)?)));
    let Some((version, file)) = table else {
        let has = version.map_or(String::new(), |version| {
            version.tables.keys().map(|name| format!(" `{name}`")).collect()
        });
        return Err(OpenError::Repository {
            repository: repository.to_owned(),
            cause: format!("it has no table `{name}`"),
            hint: Some(format!("call the table as it was published:{has}")),
        });
    };
    let packed = Packed::of_version(file.table().clone(), version.number, version.made);
    Ok(Arc::new(Table::Packed(packed)))
}

/// A table out of a folder that somebody may follow into; none if there is none.
fn rehearsed(name: &str, directory: &Path) -> Option<Arc<Table>> {
    let repository = Repository::open(directory).ok()?;
    Some(Arc::new(Table::Packed(Packed::new(repository.table(name)?.clone()))))
}

/// What the records of each live table look like.
fn schemas(config: &Config) -> BTreeMap<&str, &Schema> {
    let schemas = config.tables.iter();
    schemas.filter_map(|(name, table)| Some((name.as_str(), table.schema()?))).collect()
}

impl Background {
    fn start() -> Result<Background, OpenError> {
        Ok(Background {
            origins: Threads::start("sakuin-origin", ORIGIN_THREADS)?,
            work: Threads::start("sakuin-work", WORK_THREADS)?,
        })
    }
}

impl Threads {
    fn start(name: &str, count: usize) -> Result<Threads, OpenError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(count)
            .thread_name(name)
            .enable_all()
            .build();
        runtime.map(|runtime| Threads(Some(runtime))).map_err(OpenError::Start)
    }

    fn handle(&self) -> &Handle {
        self.0.as_ref().expect("it is taken when dropped").handle()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Waiting would block an event loop, should the last one who knew the tables run on one.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
