//! The configuration: a TOML file of two small tables, read once into values that cannot be wrong.
//!
//! The document is walked by hand rather than derived, because every refusal names its line, its key
//! and, for a misspelt key, the nearest known one.

use std::{
    fs,
    net::{SocketAddr, ToSocketAddrs},
    ops::Range,
    path::{Path, PathBuf},
};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// What a server is told: where to listen, what to read, where to mount the pages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// The address to listen on; port 0 takes any free one.
    pub listen: SocketAddr,
    /// The packed dictionary.
    pub dictionary: PathBuf,
    /// The SQLite file that holds the stories; created when absent.
    pub stories: PathBuf,
    /// Where the pages are mounted; begins and ends with a slash.
    pub path: String,
}

/// Why a configuration was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read `{file}`")]
    Read {
        /// The file as named.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{file}:{line}: {message}")]
    Syntax {
        /// The file as named.
        file: String,
        /// Its line, from 1.
        line: usize,
        /// What the parser said.
        message: String,
    },
    /// A key or table that nothing reads.
    #[error("{file}:{line}: unknown key `{key}`")]
    UnknownKey {
        /// The file as named.
        file: String,
        /// Its line, from 1.
        line: usize,
        /// The key with its table: `reader.dictionnary`.
        key: String,
        /// The known key most like it.
        nearest: &'static str,
    },
    /// A value of the wrong sort or form.
    #[error("{file}:{line}: `{key}` is {found}")]
    Value {
        /// The file as named.
        file: String,
        /// Its line, from 1.
        line: usize,
        /// The key with its table.
        key: String,
        /// What was found instead.
        found: String,
        /// What would do.
        hint: String,
    },
    /// A key that has no default.
    #[error("{file}: `reader.dictionary` is missing")]
    NoDictionary {
        /// The file as named.
        file: String,
    },
    /// An address given outside the file, as by `--listen`.
    #[error("`{value}` is no address to listen on")]
    Listen {
        /// The address as given.
        value: String,
    },
}

const LISTEN: &str = "127.0.0.1:8080";
const LISTEN_HINT: &str = "write an address and a port, such as `127.0.0.1:8080`";
const TABLES: [&str; 2] = ["server", "reader"];
const SERVER_KEYS: [&str; 1] = ["listen"];
const READER_KEYS: [&str; 3] = ["dictionary", "stories", "path"];

impl Config {
    /// Reads a file; every path in it is relative to the file's folder.
    pub fn read(file: impl AsRef<Path>) -> Result<Config, ConfigError> {
        let file = file.as_ref();
        let name = file.display().to_string();
        match fs::read_to_string(file) {
            Ok(text) => Config::parse(&text, &name, file.parent().unwrap_or(Path::new(""))),
            Err(source) => Err(ConfigError::Read { file: name, source }),
        }
    }

    /// The configuration of a folder without a file: `japanese.skn` and `stories.db` in it.
    pub fn of_folder(folder: impl AsRef<Path>) -> Config {
        let folder = folder.as_ref();
        Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            dictionary: folder.join("japanese.skn"),
            stories: folder.join("stories.db"),
            path: "/".to_owned(),
        }
    }

    /// Listens on another address, as `--listen` asks.
    pub fn listen_on(&mut self, address: &str) -> Result<(), ConfigError> {
        let refused = || ConfigError::Listen { value: address.to_owned() };
        self.listen = resolve(address).ok_or_else(refused)?;
        Ok(())
    }

    /// Reads a configuration from `text`; errors call it `file`, its paths are relative to `folder`.
    ///
    /// ```
    /// use sakuin_server::Config;
    /// let text = "[reader]\ndictionary = \"japanese.skn\"\n";
    /// let config = Config::parse(text, "sakuin.toml", "/srv".as_ref())?;
    /// assert_eq!(config.dictionary, std::path::Path::new("/srv/japanese.skn"));
    /// # Ok::<(), sakuin_server::ConfigError>(())
    /// ```
    pub fn parse(text: &str, file: &str, folder: &Path) -> Result<Config, ConfigError> {
        let document = Document { text, file };
        let root = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
            file: file.to_owned(),
            line: document.line(error.span().unwrap_or_default()),
            message: error.message().to_owned(),
        })?;
        let root = root.get_ref();
        document.only_known("", root, &TABLES)?;

        let mut config = Config::of_folder(folder);
        if let Some(server) = document.table(root, "server")? {
            document.only_known("server.", server, &SERVER_KEYS)?;
            if let Some(listen) = document.string(server, "server", "listen")? {
                config.listen = resolve(listen.value).ok_or_else(|| listen.refused(LISTEN_HINT))?;
            }
        }
        let mut dictionary = None;
        if let Some(reader) = document.table(root, "reader")? {
            document.only_known("reader.", reader, &READER_KEYS)?;
            dictionary = document.string(reader, "reader", "dictionary")?;
            if let Some(stories) = document.string(reader, "reader", "stories")? {
                config.stories = folder.join(stories_file(&stories)?);
            }
            if let Some(path) = document.string(reader, "reader", "path")? {
                config.path = mount(&path)?;
            }
        }
        let dictionary =
            dictionary.ok_or_else(|| ConfigError::NoDictionary { file: file.to_owned() })?;
        config.dictionary = folder.join(dictionary.value);
        Ok(config)
    }
}

impl ConfigError {
    /// What would cure it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            ConfigError::Read { .. } => {
                "without a file name, the current folder's `japanese.skn` and `stories.db` are served"
                    .to_owned()
            }
            ConfigError::Syntax { .. } => return None,
            ConfigError::UnknownKey { nearest, .. } => format!("did you mean `{nearest}`?"),
            ConfigError::Value { hint, .. } => hint.clone(),
            ConfigError::NoDictionary { .. } => {
                "name a file written by `sakuin japanese pack`: `dictionary = \"japanese.skn\"`"
                    .to_owned()
            }
            ConfigError::Listen { .. } => format!("{LISTEN_HINT} (the default is `{LISTEN}`)"),
        })
    }
}

fn resolve(address: &str) -> Option<SocketAddr> {
    address.to_socket_addrs().ok()?.next()
}

fn stories_file<'a>(stories: &Setting<'a>) -> Result<&'a str, ConfigError> {
    let file = stories.value.strip_prefix("sqlite://").filter(|file| !file.is_empty());
    file.ok_or_else(|| stories.refused("stories are kept in SQLite: `sqlite://stories.db`"))
}

fn mount(path: &Setting<'_>) -> Result<String, ConfigError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let inner = path.value.trim_matches('/');
    let whole = path.value.starts_with('/') && path.value.bytes().all(plain);
    if !whole || inner.contains("//") {
        let hint =
            "it begins with a slash and holds letters, digits, `-`, `_`, `.`, `~`: `/reader/`";
        return Err(path.refused(hint));
    }
    Ok(if inner.is_empty() { "/".to_owned() } else { format!("/{inner}/") })
}

/// The text of a configuration, for naming the lines of what is refused.
struct Document<'a> {
    text: &'a str,
    file: &'a str,
}

/// A string of the document, with what is needed to refuse it.
struct Setting<'a> {
    document: &'a Document<'a>,
    value: &'a str,
    key: String,
    span: Range<usize>,
}

impl Setting<'_> {
    fn refused(&self, hint: &str) -> ConfigError {
        let found = format!("`{}`", self.value);
        self.document.refused(&self.key, self.span.clone(), found, hint)
    }
}

impl Document<'_> {
    fn line(&self, span: Range<usize>) -> usize {
        1 + self.text.as_bytes()[..span.start.min(self.text.len())]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count()
    }

    fn only_known(
        &self,
        table: &str,
        found: &DeTable<'_>,
        known: &[&'static str],
    ) -> Result<(), ConfigError> {
        let unknown =
            |key: &&Spanned<_>| !known.contains(&AsRef::<str>::as_ref(Spanned::get_ref(key)));
        let Some(key) = found.keys().filter(unknown).min_by_key(|key| key.span().start) else {
            return Ok(());
        };
        let likeness =
            |name: &&&'static str| (strsim::jaro_winkler(name, key.get_ref()) * 1e6) as u64;
        Err(ConfigError::UnknownKey {
            file: self.file.to_owned(),
            line: self.line(key.span()),
            key: format!("{table}{}", key.get_ref()),
            nearest: known.iter().max_by_key(likeness).expect("every table has keys"),
        })
    }

    fn table<'t, 'i>(
        &self,
        root: &'t DeTable<'i>,
        name: &str,
    ) -> Result<Option<&'t DeTable<'i>>, ConfigError> {
        let Some(value) = root.get(name) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Table(table) => Ok(Some(table)),
            other => {
                let hint = format!("write a table: `[{name}]`");
                Err(self.refused(
                    name,
                    value.span(),
                    format!("of type {}", other.type_str()),
                    &hint,
                ))
            }
        }
    }

    fn string<'t>(
        &'t self,
        table: &'t DeTable<'_>,
        name: &str,
        key: &str,
    ) -> Result<Option<Setting<'t>>, ConfigError> {
        let Some(value) = table.get(key) else { return Ok(None) };
        let (key, span) = (format!("{name}.{key}"), value.span());
        match value.get_ref() {
            DeValue::String(text) => Ok(Some(Setting { document: self, value: text, key, span })),
            other => {
                let found = format!("of type {}", other.type_str());
                Err(self.refused(&key, span, found, "write a string, in quotes"))
            }
        }
    }

    fn refused(&self, key: &str, span: Range<usize>, found: String, hint: &str) -> ConfigError {
        ConfigError::Value {
            file: self.file.to_owned(),
            line: self.line(span),
            key: key.to_owned(),
            found,
            hint: hint.to_owned(),
        }
    }
}
