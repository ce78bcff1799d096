//! Tables as versions in an object store: built in one place, read in a hundred.
//!
//! A [`Repository`] is a place in a bucket or on a disk whose tables belong together. A *version* is a numbered
//! [`Manifest`] that names one object for each table, by the hash of its bytes; a *channel* is a log of
//! [`Announcement`]s, of which the last says which version is to be read. Every name is written once, by
//! create-if-absent: so two publishers cannot both win, a reader never sees half a version, and an announcement leads to
//! a manifest and to objects by their hashes.
//!
//! [`Repository::publish`] checks tables against [`Rules`] and announces them; a [`Follower`] fetches what is announced,
//! checks it again, and switches all tables at once. This crate opens no table: callers say how, with a closure that
//! makes something [`Opened`] of a file.
//!
//! Without the feature `stores` there is [`Folder`] alone: what a follower has fetched, for programs that read it.
#![cfg_attr(not(feature = "stores"), allow(dead_code, reason = "less is done with it"))]

mod error;
mod folder;
mod layout;
mod manifest;
mod rules;

#[cfg(feature = "stores")]
mod collect;
#[cfg(feature = "stores")]
mod follow;
#[cfg(feature = "stores")]
mod publish;
#[cfg(feature = "stores")]
mod repository;
#[cfg(feature = "stores")]
mod store;
#[cfg(feature = "stores")]
mod transfer;
#[cfg(feature = "stores")]
mod upload;

pub use error::{Error, Refusal};
pub use folder::{Folder, State, Table};
pub use manifest::{Announcement, Kind, Manifest, Object};
pub use rules::{Facts, Opened, Query, Rules};

#[cfg(feature = "stores")]
pub use {
    collect::{Collection, Deletion},
    follow::{Follower, Looked, Status, Version},
    publish::{Publication, Published, Step},
    repository::{Repository, Versions},
    upload::{Uploaded, upload},
};
