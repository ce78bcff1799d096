//! `[contacts]`: where contacts are kept, and where they are served.

use sakuin::{
    ConfigError,
    config::{Text, database},
    document::Section,
};
use sakuin_contacts::Servers;

use super::mount;
use crate::contacts::PATH as PAGES;

/// Contacts, and the door to them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContactsConfig {
    /// The database: `sqlite://FILE`, or `postgres://…`.
    pub store: Text,
    /// Where programs find it; begins and ends with a slash.
    pub path: String,
    /// Whether other processes change the same store.
    pub servers: Servers,
    /// The longest card, in bytes.
    pub max_card: usize,
    /// Whether passwords may come over plain connections from other machines.
    pub insecure: bool,
}

const KEYS: [&str; 5] = ["store", "path", "servers", "max_card", "insecure"];
const PATH: &str = "/dav/";
const MAX_CARD: usize = 16 << 20;
const MAX_CARD_MOST: usize = 256 << 20;

impl ContactsConfig {
    pub(super) fn of_section(section: &Section<'_>) -> Result<ContactsConfig, ConfigError> {
        section.only_known(&KEYS)?;
        let store = database(section, "store", "write `store = \"sqlite://contacts.db\"`")?;
        let path = section.setting("path").map(|path| match mount(&path)? {
            taken if taken.starts_with(PAGES) => {
                Err(path.refused("the pages for people are there: write `/dav/`"))
            }
            free => Ok(free),
        });
        let path = path.transpose()?;
        let servers = section.setting("servers").map(|servers| match servers.string()? {
            "one" => Ok(Servers::One),
            "many" => Ok(Servers::Many),
            _ => Err(servers.refused("write `one`, or `many` if several share the database")),
        });
        let max_card = section.setting("max_card").map(|most| most.bytes(1024..=MAX_CARD_MOST));
        let insecure = section.setting("insecure").map(|insecure| insecure.boolean());
        Ok(ContactsConfig {
            store,
            path: path.unwrap_or_else(|| PATH.to_owned()),
            servers: servers.transpose()?.unwrap_or_default(),
            max_card: max_card.transpose()?.unwrap_or(MAX_CARD),
            insecure: insecure.transpose()?.unwrap_or(false),
        })
    }
}
