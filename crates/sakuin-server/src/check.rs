//! Checking a configuration without serving: everything a server would open is opened.

use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, SystemTime},
};

use sakuin::{Table, Tables};
use sakuin_japanese::dictionary::Source;

use crate::{
    Config, Db, Error, ReaderConfig,
    lookup::Lookup,
    reader::{day::Day, stories::Stories},
    server::{open_dictionary, runtime},
    tls::Identity,
};

/// What a configuration leads to.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The configuration as read.
    pub config: Config,
    /// How many keys each packed table has.
    pub keys: BTreeMap<String, u64>,
    /// The dictionaries in the site's packed file.
    pub sources: Vec<Source>,
    /// How many stories there are; none if their file does not exist yet.
    pub stories: Option<u64>,
    /// What works and should be better, a sentence each.
    pub warnings: Vec<String>,
}

/// The licence of the dictionaries asks servers to take the current files at least monthly.
const DICTIONARY_DAYS_MAX: i32 = 31;

/// A certificate that ends sooner should have been renewed.
const CERTIFICATE_TIME_MIN: Duration = Duration::from_secs(14 * 86_400);

/// Reads a configuration and opens what it names, without listening and without creating anything.
pub fn check(file: &Path) -> Result<Checked, Error> {
    let config = Config::read(file)?;
    let mut checked = Checked {
        config,
        keys: BTreeMap::new(),
        sources: Vec::new(),
        stories: None,
        warnings: Vec::new(),
    };
    checked.open_tables()?;
    checked.open_certificate()?;
    checked.config.check_passwords()?;
    if let Some(reader) = checked.config.reader.clone() {
        checked.open_reader(&reader)?;
    }
    Ok(checked)
}

impl Checked {
    fn open_tables(&mut self) -> Result<(), Error> {
        let lookup = Lookup::new(Tables::rehearse(&self.config.tables)?, &self.config)?;
        let packed = lookup.tables().iter().filter_map(|(name, table)| match &**table {
            Table::Packed(packed) => Some((name.to_owned(), packed.file().len())),
            Table::Live(_) | Table::Cached(_) => None,
        });
        self.keys = packed.collect();
        if let (Some(live), Some(_)) = (self.config.tables.live.clone(), lookup.tables().store()) {
            self.look_at_store(&live.path)?;
        }
        if let Some(db) = self.config.grpc.db.as_ref().filter(|db| !db.is_indexed) {
            let Db { table, attribute, .. } = db;
            self.warnings.push(format!(
                "`{attribute}` of `{table}` has no index, so each search of `db.DB` looks at every record"
            ));
        }
        Ok(())
    }

    /// Says whether the file of the live tables can be there. It is not opened: a server may have it.
    fn look_at_store(&mut self, path: &Path) -> Result<(), Error> {
        if path.exists() {
            return Ok(());
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        match folder.map(std::fs::metadata) {
            Some(Err(cause)) => Err(Error::Store { file: path.display().to_string(), cause }),
            _ => {
                let path = path.display();
                self.warnings.push(format!("`{path}` does not exist yet; `serve` creates it"));
                Ok(())
            }
        }
    }

    fn open_certificate(&mut self) -> Result<(), Error> {
        let Some(tls) = &self.config.server.tls else { return Ok(()) };
        let left = Identity::read(tls)?
            .expires
            .map(|expires| expires.duration_since(SystemTime::now()).unwrap_or_default());
        if let Some(left) = left.filter(|left| *left < CERTIFICATE_TIME_MIN) {
            let days = left.as_secs() / 86_400;
            self.warnings.push(format!("`{}` ends in {days} days", tls.cert.display()));
        }
        Ok(())
    }

    fn open_reader(&mut self, reader: &ReaderConfig) -> Result<(), Error> {
        self.sources = open_dictionary(reader)?.sources().to_vec();
        self.warnings.extend(old(&self.sources, Day::today()));
        if reader.stories.exists() {
            let count = async { Stories::open(&reader.stories).await?.count().await };
            self.stories = Some(runtime()?.block_on(count)?);
        } else {
            let stories = reader.stories.display();
            self.warnings.push(format!("`{stories}` does not exist yet; `serve` creates it"));
        }
        Ok(())
    }
}

/// A warning for each dictionary that should be replaced by a newer one.
pub(crate) fn old(sources: &[Source], today: Day) -> Vec<String> {
    let old = |source: &Source| {
        let date = source.date.as_deref()?;
        let days = Day::parse(date)?.days_until(today);
        let name = &source.name;
        (days > DICTIONARY_DAYS_MAX).then(|| {
            format!(
                "{name} is of {date}, {days} days ago; its licence asks for an update every month"
            )
        })
    };
    sources.iter().filter_map(old).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_is_not_old_and_a_day_more_is() {
        let source = |date: &str| Source { name: "EDICT".to_owned(), date: Some(date.to_owned()) };
        let today = Day::parse("2026-11-20").unwrap();
        assert!(old(&[source("2026-10-20")], today).is_empty());
        assert_eq!(
            old(&[source("2026-10-19")], today),
            ["EDICT is of 2026-10-19, 32 days ago; its licence asks for an update every month"]
        );
    }
}
