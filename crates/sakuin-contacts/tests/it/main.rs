//! Contacts over real stores: every test runs on SQLite and on PostgreSQL.
//!
//! - `cards`: what is put, found, moved, removed, and there again after a restart
//! - `crowd`: many who change the same, in one process and in several
//! - `sync`: clients that follow
//! - `people`: who signs in

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cards;
mod crowd;
mod people;
#[path = "../../../sakuin/tests/it/support/postgres.rs"]
mod postgres;
mod sync;

use std::sync::{
    LazyLock,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use sakuin_contacts::{
    Card, CollectionId, Contacts, DEFAULT_BOOK, Error, FILES, Put, Refused, Servers,
};
use tempfile::TempDir;

/// A store of a test's own.
pub(crate) struct Store {
    url: String,
    _folder: Option<TempDir>,
}

static POSTGRES: LazyLock<postgres::Postgres> = LazyLock::new(postgres::Postgres::start);
static DATABASES: AtomicU32 = AtomicU32::new(0);

impl Store {
    pub(crate) fn sqlite() -> Store {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("contacts.db").display());
        Store { url, _folder: Some(folder) }
    }

    pub(crate) fn postgres() -> Store {
        let name = format!("contacts{}", DATABASES.fetch_add(1, Relaxed));
        let made = std::process::Command::new("psql")
            .args(["-q", "-U", "postgres", "-h"])
            .arg(POSTGRES.folder())
            .args(["-c", &format!("CREATE DATABASE {name}")])
            .status();
        assert!(made.unwrap().success());
        Store { url: POSTGRES.url(&name), _folder: None }
    }

    pub(crate) fn open(&self, servers: Servers) -> Contacts {
        Contacts::open(&self.url, servers).unwrap()
    }

    /// Contacts of somebody called `ada`, with the numbers of the book and of the files.
    pub(crate) fn ada(&self) -> (Contacts, CollectionId, CollectionId) {
        let contacts = self.open(Servers::One);
        let id = contacts.block_on(contacts.add_user("ada", "secret")).unwrap();
        let root = contacts.block_on(contacts.root()).unwrap();
        let of = |name| root.directory().collection(id, name).unwrap().id;
        let (book, files) = (of(DEFAULT_BOOK), of(FILES));
        (contacts, book, files)
    }
}

/// Every test of a file on both stores.
macro_rules! on_both {
    ($($test:ident),* $(,)?) => {
        mod sqlite { $(#[test] fn $test() { super::$test(&crate::Store::sqlite()); })* }
        mod postgres { $(#[test] fn $test() { super::$test(&crate::Store::postgres()); })* }
    };
}
pub(crate) use on_both;

/// What goes wrong in a test's change.
#[derive(Debug, PartialEq)]
pub(crate) enum Failed {
    Refused(Refused),
    Store(String),
    Stale,
}

impl From<Refused> for Failed {
    fn from(refused: Refused) -> Failed {
        Failed::Refused(refused)
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Store(error.to_string())
    }
}

pub(crate) fn card(uid: &str, note: &str) -> Card {
    let text = format!(
        "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{uid}\r\nFN:{uid}\r\nNOTE:{note}\r\nEND:VCARD\r\n"
    );
    Card::parse(text.into()).unwrap()
}

pub(crate) fn put(
    contacts: &Contacts,
    book: CollectionId,
    name: &str,
    card: &Card,
) -> Result<Put, Failed> {
    let (name, card) = (name.to_owned(), card.clone());
    contacts
        .block_on(contacts.change(&[book], move |change| Ok(change.put_card(book, &name, &card)?)))
}

pub(crate) fn remove(
    contacts: &Contacts,
    collection: CollectionId,
    name: &str,
) -> Result<(), Failed> {
    let name = name.to_owned();
    contacts.block_on(
        contacts.change(&[collection], move |change| Ok(change.remove(collection, &name)?)),
    )
}

/// The names and bytes of a collection.
pub(crate) fn all(contacts: &Contacts, id: CollectionId) -> Vec<(String, String)> {
    let root = contacts.block_on(contacts.root_with(&[id])).unwrap();
    let collection = root.collection(id).unwrap();
    let bytes = |entry| contacts.block_on(contacts.bytes(collection, entry)).unwrap().unwrap();
    let text = |entry| String::from_utf8(bytes(entry).to_vec()).unwrap();
    collection.entries().map(|entry| (entry.name.to_string(), text(entry))).collect()
}
