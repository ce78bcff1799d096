//! A TOML document that is walked by hand, so that every refusal names its line, its key and, for a misspelt
//! key, the nearest known one.
//!
//! ```
//! use sakuin::document::Document;
//! let document = Document::parse("[cache]\nttl = \"15s\"\n", "sakuin.toml", "".as_ref())?;
//! let cache = document.root().section("cache")?.expect("it is there");
//! cache.only_known(&["ttl"])?;
//! assert_eq!(cache.setting("ttl").expect("it is there").duration()?.as_secs(), 15);
//! # Ok::<(), sakuin::ConfigError>(())
//! ```

use std::{
    fs,
    ops::{Range, RangeInclusive},
    path::{Path, PathBuf},
    time::Duration,
};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::config::Text;

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
        nearest: String,
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
    #[error("{file}:{line}: `{key}` is missing")]
    Missing {
        /// The file as named.
        file: String,
        /// The line of its table, from 1.
        line: usize,
        /// The key with its table.
        key: String,
        /// What would do.
        hint: String,
    },
}

impl ConfigError {
    /// What would cure it.
    pub fn hint(&self) -> Option<String> {
        match self {
            ConfigError::Read { .. } | ConfigError::Syntax { .. } => None,
            ConfigError::UnknownKey { nearest, .. } => Some(format!("did you mean `{nearest}`?")),
            ConfigError::Value { hint, .. } | ConfigError::Missing { hint, .. } => {
                Some(hint.clone())
            }
        }
    }
}

/// A parsed configuration, with its text for naming lines.
pub struct Document<'a> {
    text: &'a str,
    file: &'a str,
    folder: &'a Path,
    root: DeTable<'a>,
}

/// A table of the document with its full name: `tables.timings`, empty for the root.
#[derive(Clone)]
pub struct Section<'a> {
    document: &'a Document<'a>,
    table: &'a DeTable<'a>,
    name: String,
    span: Range<usize>,
}

/// A value of the document with what is needed to refuse it.
#[derive(Clone)]
pub struct Setting<'a> {
    document: &'a Document<'a>,
    value: &'a DeValue<'a>,
    key: String,
    span: Range<usize>,
}

/// The text of a configuration file.
pub fn read(file: &Path) -> Result<String, ConfigError> {
    fs::read_to_string(file)
        .map_err(|source| ConfigError::Read { file: file.display().to_string(), source })
}

impl<'a> Document<'a> {
    /// Parses `text`; errors call it `file`, its paths are relative to `folder`.
    pub fn parse(
        text: &'a str,
        file: &'a str,
        folder: &'a Path,
    ) -> Result<Document<'a>, ConfigError> {
        let root = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
            file: file.to_owned(),
            line: line(text, error.span().unwrap_or_default()),
            message: error.message().to_owned(),
        })?;
        Ok(Document { text, file, folder, root: root.into_inner() })
    }

    /// The whole document as a section.
    pub fn root(&'a self) -> Section<'a> {
        Section { document: self, table: &self.root, name: String::new(), span: 0..0 }
    }
}

impl<'a> Section<'a> {
    /// Its full name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Refuses the first key that is not among `known`.
    pub fn only_known(&self, known: &[&str]) -> Result<(), ConfigError> {
        let unknown = |key: &&Spanned<_>| !known.contains(&AsRef::<str>::as_ref(key.get_ref()));
        let Some(key) = self.table.keys().filter(unknown).min_by_key(|key| key.span().start) else {
            return Ok(());
        };
        Err(ConfigError::UnknownKey {
            file: self.document.file.to_owned(),
            line: line(self.document.text, key.span()),
            key: self.full(key.get_ref()),
            nearest: nearest(key.get_ref(), known.iter().copied()).unwrap_or_default().to_owned(),
        })
    }

    /// The value of a key.
    pub fn setting(&self, key: &str) -> Option<Setting<'a>> {
        let value = self.table.get(key)?;
        Some(self.of_value(key, value))
    }

    /// The value of a key that has no default.
    pub fn required(&self, key: &str, hint: &str) -> Result<Setting<'a>, ConfigError> {
        self.setting(key).ok_or_else(|| self.missing(key, hint))
    }

    /// The refusal of a section for want of a key.
    pub fn missing(&self, key: &str, hint: &str) -> ConfigError {
        ConfigError::Missing {
            file: self.document.file.to_owned(),
            line: line(self.document.text, self.span.clone()),
            key: self.full(key),
            hint: hint.to_owned(),
        }
    }

    /// The section of a name below this one.
    pub fn section(&self, name: &str) -> Result<Option<Section<'a>>, ConfigError> {
        self.setting(name).map(|setting| setting.section()).transpose()
    }

    /// A path that is not written, relative to the file's folder.
    pub fn path(&self, path: &str) -> PathBuf {
        self.document.folder.join(path)
    }

    /// Every value, in the order of the text.
    pub fn settings(&self) -> Vec<(&'a str, Setting<'a>)> {
        let mut settings: Vec<_> = self
            .table
            .iter()
            .map(|(key, value)| (key.get_ref().as_ref(), self.of_value(key.get_ref(), value)))
            .collect();
        settings.sort_by_key(|(_, setting): &(&str, Setting<'_>)| setting.span.start);
        settings
    }

    fn of_value(&self, key: &str, value: &'a Spanned<DeValue<'a>>) -> Setting<'a> {
        Setting {
            document: self.document,
            value: value.get_ref(),
            key: self.full(key),
            span: value.span(),
        }
    }

    fn full(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }
}

impl<'a> Setting<'a> {
    /// Its full name.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// A string.
    pub fn string(&self) -> Result<&'a str, ConfigError> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.of_wrong_type("write a string, in quotes")),
        }
    }

    /// A path, relative to the file's folder.
    pub fn path(&self) -> Result<PathBuf, ConfigError> {
        Ok(self.document.folder.join(self.string()?))
    }

    /// A whole number in a range.
    pub fn integer(&self, range: RangeInclusive<u64>) -> Result<u64, ConfigError> {
        let hint = format!("write a whole number from {} to {}", range.start(), range.end());
        let DeValue::Integer(number) = self.value else { return Err(self.of_wrong_type(&hint)) };
        let value = u64::from_str_radix(number.as_str(), number.radix()).ok();
        value.filter(|value| range.contains(value)).ok_or_else(|| self.refused(&hint))
    }

    /// `true` or `false`.
    pub fn boolean(&self) -> Result<bool, ConfigError> {
        match self.value {
            DeValue::Boolean(value) => Ok(*value),
            _ => Err(self.of_wrong_type("write `true` or `false`")),
        }
    }

    /// A time, such as `"15s"`, `"500ms"`, `"10m"`.
    pub fn duration(&self) -> Result<Duration, ConfigError> {
        let hint = "write a number and a unit: `500ms`, `15s`, `10m`, `1h`";
        duration(self.string()?).ok_or_else(|| self.refused(hint))
    }

    /// A time in a range.
    pub fn duration_in(&self, range: RangeInclusive<Duration>) -> Result<Duration, ConfigError> {
        let time = self.duration()?;
        let hint = || format!("write a time from {:?} to {:?}", range.start(), range.end());
        if range.contains(&time) { Ok(time) } else { Err(self.refused(&hint())) }
    }

    /// A size in a range, such as `"64MiB"`.
    pub fn bytes(&self, range: RangeInclusive<usize>) -> Result<usize, ConfigError> {
        let shown = |bytes: &usize| bytesize::ByteSize(*bytes as u64);
        let (least, most) = (shown(range.start()), shown(range.end()));
        let hint = format!("write a number and a unit, `512KiB` or `64MiB`: {least} to {most}");
        let size: Option<bytesize::ByteSize> = self.string()?.parse().ok();
        let size = size.and_then(|size| usize::try_from(size.as_u64()).ok());
        size.filter(|size| range.contains(size)).ok_or_else(|| self.refused(&hint))
    }

    /// A text that may be a secret kept elsewhere: a string, `{ env = "NAME" }` or `{ file = "PATH" }`.
    pub fn text(&self) -> Result<Text, ConfigError> {
        let DeValue::Table(_) = self.value else {
            return Ok(Text::Plain(self.string()?.to_owned()));
        };
        let section = self.section()?;
        section.only_known(&["env", "file"])?;
        if let Some(name) = section.setting("env") {
            let text = name.string()?;
            return match std::env::var(text) {
                Ok(value) => Ok(Text::Env { name: text.to_owned(), value }),
                Err(_) => Err(name.refused(&format!("set the variable: `export {text}=…`"))),
            };
        }
        let file =
            section.required("file", "write `{ env = \"NAME\" }` or `{ file = \"PATH\" }`")?;
        let path = file.path()?;
        match fs::read_to_string(&path) {
            Ok(value) => {
                Ok(Text::File { path, value: value.trim_end_matches(['\r', '\n']).to_owned() })
            }
            Err(error) => Err(file.refused(&format!("the file cannot be read: {error}"))),
        }
    }

    /// A table, written inline or with a header.
    pub fn section(&self) -> Result<Section<'a>, ConfigError> {
        match self.value {
            DeValue::Table(table) => Ok(Section {
                document: self.document,
                table,
                name: self.key.clone(),
                span: self.span.clone(),
            }),
            _ => Err(self.of_wrong_type(&format!("write a table: `[{}]`", self.key))),
        }
    }

    /// Whether it is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.value, DeValue::Table(_))
    }

    /// The values of an array; a value that is no array is the only one.
    pub fn list(&self) -> Vec<Setting<'a>> {
        let DeValue::Array(values) = self.value else { return vec![self.clone()] };
        let of_value = |value: &'a Spanned<DeValue<'a>>| Setting {
            document: self.document,
            value: value.get_ref(),
            key: self.key.clone(),
            span: value.span(),
        };
        values.iter().map(of_value).collect()
    }

    /// The refusal of this value, quoted; `hint` says what would do.
    pub fn refused(&self, hint: &str) -> ConfigError {
        let written = self.document.text.get(self.span.clone()).unwrap_or_default();
        self.refused_as(format!("`{}`", written.trim_matches('"')), hint)
    }

    /// The refusal of this value, quoted with the reason: "`x`, which …".
    pub fn refused_because(&self, reason: &str, hint: &str) -> ConfigError {
        let written = self.document.text.get(self.span.clone()).unwrap_or_default();
        self.refused_as(format!("`{}`, {reason}", written.trim_matches('"')), hint)
    }

    /// The refusal of what it is called, or that it is there at all.
    pub fn refused_name(&self, hint: &str) -> ConfigError {
        self.refused_as("not possible here".to_owned(), hint)
    }

    fn of_wrong_type(&self, hint: &str) -> ConfigError {
        self.refused_as(format!("of type {}", self.value.type_str()), hint)
    }

    /// The refusal of this value in words that do not quote it.
    pub fn refused_as(&self, found: String, hint: &str) -> ConfigError {
        ConfigError::Value {
            file: self.document.file.to_owned(),
            line: line(self.document.text, self.span.clone()),
            key: self.key.clone(),
            found,
            hint: hint.to_owned(),
        }
    }
}

/// A time as it is written in a configuration: `15s`, `500ms`, `10m`.
pub fn duration(text: &str) -> Option<Duration> {
    let time: jiff::SignedDuration = text.parse().ok()?;
    Duration::try_from(time).ok()
}

/// The name most like one that is unknown.
pub fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    known.max_by_key(|known| (strsim::jaro_winkler(known, name) * 1e6) as u64)
}

fn line(text: &str, span: Range<usize>) -> usize {
    let before = &text.as_bytes()[..span.start.min(text.len())];
    1 + before.iter().filter(|&&byte| byte == b'\n').count()
}
