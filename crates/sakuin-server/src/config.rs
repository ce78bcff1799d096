//! The configuration: one TOML file, read once into values that cannot be wrong.
//!
//! This crate reads `[server]`, `[reader]`, `[contacts]` and `[grpc]`; `[origins.*]`, `[live]` and `[tables.*]` belong to
//! [`sakuin::Config`].
//! Every refusal names its line, its key and, for a misspelt key, the nearest known one.

mod contacts;
mod grpc;
mod print;

use std::{
    net::{SocketAddr, ToSocketAddrs},
    path::{Path, PathBuf},
    time::Duration,
};

use sakuin::{
    ConfigError,
    document::{self, Document, Section, Setting},
};

use crate::Error;

pub use contacts::ContactsConfig;
pub use grpc::{Db, GrpcConfig};

/// What a server is told: where to listen, which site and which tables to serve. Printed, it is TOML with every
/// default in its place, and no secret.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// `[server]`
    pub server: ServerConfig,
    /// `[reader]`
    pub reader: Option<ReaderConfig>,
    /// `[contacts]`
    pub contacts: Option<ContactsConfig>,
    /// `[grpc]`
    pub grpc: GrpcConfig,
    /// `[origins.*]`, `[live]` and `[tables.*]`
    pub tables: sakuin::Config,
    /// The file it was read from, to be read again at a reload.
    file: Option<PathBuf>,
    /// What was said outside the file, and holds after a reload too.
    listen_instead: Option<SocketAddr>,
}

/// Where and how a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerConfig {
    /// The addresses to listen on, one at least; port 0 takes any free one.
    pub listen: Vec<SocketAddr>,
    /// Where the server tells of itself and is told to reload; on loopback.
    pub admin: Option<SocketAddr>,
    /// Certificate and key; without them, connections are plain.
    pub tls: Option<Tls>,
    /// An address that answers 200 while the server is ready, for what balances load in front of it.
    pub health: Option<String>,
    /// Which requests are logged.
    pub log: AccessLog,
}

/// A certificate and its key, in PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tls {
    /// The certificate, and those between it and its authority.
    pub cert: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// Which requests are logged; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessLog {
    /// One of this many, chosen in turn.
    pub sample: Option<u64>,
    /// Every one that takes longer.
    pub slow: Option<Duration>,
}

/// The reading site.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReaderConfig {
    /// The packed dictionary.
    pub dictionary: PathBuf,
    /// The SQLite file that holds the stories; created when absent.
    pub stories: PathBuf,
    /// Where the pages are mounted; begins and ends with a slash.
    pub path: String,
}

const LISTEN: SocketAddr = SocketAddr::new(LOOPBACK, 8080);
const LOOPBACK: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
const LISTEN_HINT: &str = "write an address and a port, such as `127.0.0.1:8080`";
const ADMIN_HINT: &str =
    "the admin door has no password, so it stays on loopback: `127.0.0.1:8081`";
const DICTIONARY_HINT: &str =
    "name a file written by `sakuin japanese pack`: `dictionary = \"japanese.skn\"`";
const NOTHING_HINT: &str = "say what to serve: `[reader]` with a `dictionary`, `[contacts]` with a `store`, or `[tables.NAME]`";

impl Config {
    /// Reads a file; every path in it is relative to the file's folder.
    pub fn read(file: impl AsRef<Path>) -> Result<Config, ConfigError> {
        let file = file.as_ref();
        let text = document::read(file)?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let config = Config::parse(&text, &file.display().to_string(), folder)?;
        Ok(Config { file: Some(file.to_owned()), ..config })
    }

    /// Reads the same file again, for a reload. Without a file, nothing can have changed.
    pub(crate) fn read_again(&self) -> Result<Config, ConfigError> {
        let Some(file) = &self.file else { return Ok(self.clone()) };
        let mut config = Config::read(file)?;
        if let Some(address) = self.listen_instead {
            config.listen_at(address);
        }
        Ok(config)
    }

    /// The configuration of a folder without a file: `japanese.skn` and `stories.db` in it.
    pub fn of_folder(folder: impl AsRef<Path>) -> Config {
        Config {
            server: ServerConfig::default(),
            reader: Some(ReaderConfig::of_folder(folder.as_ref())),
            contacts: None,
            grpc: GrpcConfig::default(),
            tables: sakuin::Config::default(),
            file: None,
            listen_instead: None,
        }
    }

    /// Listens on another address, as `--listen` asks.
    pub fn listen_on(&mut self, address: &str) -> Result<(), Error> {
        let found = resolve(address).ok_or_else(|| Error::Address { value: address.to_owned() })?;
        self.listen_at(found);
        Ok(())
    }

    /// Refuses to take passwords over plain connections from other machines, unless it was said that this is wanted.
    pub(crate) fn check_passwords(&self) -> Result<(), Error> {
        let is_near = self.server.listen.iter().all(|address| address.ip().is_loopback());
        let is_open = self.server.tls.is_none() && !is_near;
        match &self.contacts {
            Some(contacts) if is_open && !contacts.insecure => Err(Error::PlainPasswords),
            _ => Ok(()),
        }
    }

    /// Where contacts are served: no route of a table leads there.
    pub(crate) fn taken(&self) -> Vec<&str> {
        let contacts = self.contacts.iter();
        contacts.flat_map(|contacts| [&*contacts.path, crate::contacts::PATH]).collect()
    }

    fn listen_at(&mut self, address: SocketAddr) {
        self.listen_instead = Some(address);
        self.server.listen = vec![address];
    }

    /// Reads a configuration from `text`; errors call it `file`, its paths are relative to `folder`.
    ///
    /// ```
    /// use sakuin_server::Config;
    /// let text = "[reader]\ndictionary = \"japanese.skn\"\n";
    /// let config = Config::parse(text, "sakuin.toml", "/srv".as_ref())?;
    /// let reader = config.reader.expect("there is one");
    /// assert_eq!(reader.dictionary, std::path::Path::new("/srv/japanese.skn"));
    /// # Ok::<(), sakuin_server::ConfigError>(())
    /// ```
    pub fn parse(text: &str, file: &str, folder: &Path) -> Result<Config, ConfigError> {
        let document = Document::parse(text, file, folder)?;
        let root = document.root();
        root.only_known(&[
            "server",
            "reader",
            "contacts",
            "grpc",
            "origins",
            "repositories",
            "live",
            "tables",
        ])?;
        let server = root.section("server")?.map(|section| ServerConfig::of_section(&section));
        let reader =
            root.section("reader")?.map(|section| ReaderConfig::of_section(&section, folder));
        let (server, reader) = (server.transpose()?, reader.transpose()?);
        let contacts =
            root.section("contacts")?.map(|section| ContactsConfig::of_section(&section));
        let contacts = contacts.transpose()?;
        if reader.is_none() && contacts.is_none() && root.setting("tables").is_none() {
            return Err(root.missing("reader", NOTHING_HINT));
        }
        let tables = sakuin::Config::of_document(&document)?;
        let grpc = root.section("grpc")?.map(|section| GrpcConfig::of_section(&section, &tables));
        Ok(Config {
            server: server.unwrap_or_default(),
            reader,
            contacts,
            grpc: grpc.transpose()?.unwrap_or_default(),
            tables,
            file: None,
            listen_instead: None,
        })
    }
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            listen: vec![LISTEN],
            admin: None,
            tls: None,
            health: None,
            log: AccessLog::default(),
        }
    }
}

impl ServerConfig {
    fn of_section(section: &Section<'_>) -> Result<ServerConfig, ConfigError> {
        section.only_known(&["listen", "admin", "tls", "health", "log"])?;
        let mut server = ServerConfig::default();
        if let Some(listen) = section.setting("listen") {
            server.listen = listen.list().iter().map(address).collect::<Result<_, _>>()?;
            if server.listen.is_empty() {
                return Err(listen.refused(LISTEN_HINT));
            }
        }
        if let Some(admin) = section.setting("admin") {
            let found = address(&admin)?;
            if !found.ip().is_loopback() {
                return Err(admin.refused(ADMIN_HINT));
            }
            server.admin = Some(found);
        }
        server.tls = section.section("tls")?.map(|tls| Tls::of_section(&tls)).transpose()?;
        server.health = section.setting("health").map(|path| health(&path)).transpose()?;
        if let Some(log) = section.section("log")? {
            server.log = AccessLog::of_section(&log)?;
        }
        Ok(server)
    }
}

impl Tls {
    fn of_section(section: &Section<'_>) -> Result<Tls, ConfigError> {
        section.only_known(&["cert", "key"])?;
        let file = |key, hint| section.required(key, hint)?.path();
        Ok(Tls {
            cert: file("cert", "name a PEM file: `cert = \"server.crt\"`")?,
            key: file("key", "name a PEM file: `key = \"server.key\"`")?,
        })
    }
}

impl AccessLog {
    fn of_section(section: &Section<'_>) -> Result<AccessLog, ConfigError> {
        section.only_known(&["sample", "slow"])?;
        let sample = section.setting("sample").map(|one_of| one_of.integer(1..=1_000_000_000));
        let slow = section.setting("slow").map(|time| time.duration());
        Ok(AccessLog { sample: sample.transpose()?, slow: slow.transpose()? })
    }
}

impl ReaderConfig {
    fn of_folder(folder: &Path) -> ReaderConfig {
        ReaderConfig {
            dictionary: folder.join("japanese.skn"),
            stories: folder.join("stories.db"),
            path: "/".to_owned(),
        }
    }

    fn of_section(section: &Section<'_>, folder: &Path) -> Result<ReaderConfig, ConfigError> {
        section.only_known(&["dictionary", "stories", "path"])?;
        let mut reader = ReaderConfig::of_folder(folder);
        reader.dictionary = section.required("dictionary", DICTIONARY_HINT)?.path()?;
        if let Some(stories) = section.setting("stories") {
            reader.stories = folder.join(stories_file(&stories)?);
        }
        if let Some(path) = section.setting("path") {
            reader.path = mount(&path)?;
        }
        Ok(reader)
    }
}

fn resolve(address: &str) -> Option<SocketAddr> {
    address.to_socket_addrs().ok()?.next()
}

fn address(setting: &Setting<'_>) -> Result<SocketAddr, ConfigError> {
    resolve(setting.string()?).ok_or_else(|| setting.refused(LISTEN_HINT))
}

fn stories_file<'a>(stories: &Setting<'a>) -> Result<&'a str, ConfigError> {
    let file = stories.string()?.strip_prefix("sqlite://").filter(|file| !file.is_empty());
    file.ok_or_else(|| stories.refused("stories are kept in SQLite: `sqlite://stories.db`"))
}

fn mount(path: &Setting<'_>) -> Result<String, ConfigError> {
    let text = path.string()?;
    let inner = text.trim_matches('/');
    if !is_plain_path(text) || inner.contains("//") {
        let hint =
            "it begins with a slash and holds letters, digits, `-`, `_`, `.`, `~`: `/reader/`";
        return Err(path.refused(hint));
    }
    Ok(if inner.is_empty() { "/".to_owned() } else { format!("/{inner}/") })
}

fn health(path: &Setting<'_>) -> Result<String, ConfigError> {
    let text = path.string()?;
    if !is_plain_path(text) {
        let hint =
            "it begins with a slash and holds letters, digits, `-`, `_`, `.`, `~`: `/health`";
        return Err(path.refused(hint));
    }
    Ok(text.to_owned())
}

fn is_plain_path(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    text.starts_with('/') && text.bytes().all(plain)
}
