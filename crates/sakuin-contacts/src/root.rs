//! Everything at one moment: who there is, which collections there are, and what is in those that were asked for.

use std::{collections::BTreeMap, sync::Arc};

use crate::collection::{Collection, CollectionId, Kind, PrincipalId, Rights};

/// Everything after one commit. A copy costs a few counters.
#[derive(Clone, Debug, Default)]
pub struct Root {
    /// How many commits there were.
    pub(crate) commit: u64,
    pub(crate) directory: Arc<Directory>,
    /// Those that were asked for.
    pub(crate) collections: imbl::HashMap<CollectionId, Arc<Collection>>,
}

/// Who there is, and which collections.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    pub(crate) principals: BTreeMap<PrincipalId, Arc<Principal>>,
    pub(crate) names: BTreeMap<Arc<str>, PrincipalId>,
    /// By owner and name.
    pub(crate) collections: BTreeMap<PrincipalId, BTreeMap<Arc<str>, Header>>,
    pub(crate) tokens: BTreeMap<[u8; 32], Arc<AppToken>>,
    /// What others than its owner may do with a collection.
    pub(crate) shares: BTreeMap<(CollectionId, PrincipalId), Rights>,
    /// The next number that nobody has.
    pub(crate) next_id: i64,
}

/// Somebody, or something, that has collections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Its number.
    pub id: PrincipalId,
    /// What it signs in as, and its place in addresses.
    pub name: Arc<str>,
    /// What people read.
    pub display_name: Arc<str>,
    /// Whether it may do everything.
    pub is_admin: bool,
    /// Of its password, in the form of PHC; empty if it has none.
    pub(crate) password: Arc<str>,
    /// Another with each change of what it signs in with.
    pub(crate) version: u64,
}

/// What a collection is called, and whether that is all that is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its number.
    pub id: CollectionId,
    /// What it holds.
    pub kind: Kind,
}

/// What a program signs in with instead of a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppToken {
    /// Whose it is.
    pub principal: PrincipalId,
    /// What its owner calls it.
    pub label: Arc<str>,
    /// Whether it may only look.
    pub is_read_only: bool,
    /// In seconds since 1970.
    pub expires: Option<i64>,
}

impl Root {
    /// Who there is.
    pub fn directory(&self) -> &Arc<Directory> {
        &self.directory
    }

    /// A collection that was asked for.
    pub fn collection(&self, id: CollectionId) -> Option<&Arc<Collection>> {
        self.collections.get(&id)
    }
}

impl Directory {
    /// Somebody by name.
    pub fn principal(&self, name: &str) -> Option<&Arc<Principal>> {
        self.principals.get(self.names.get(name)?)
    }

    /// Somebody by number.
    pub fn principal_of(&self, id: PrincipalId) -> Option<&Arc<Principal>> {
        self.principals.get(&id)
    }

    /// Everybody, by number.
    pub fn principals(&self) -> impl Iterator<Item = &Arc<Principal>> {
        self.principals.values()
    }

    /// The collection of an owner with a name.
    pub fn collection(&self, owner: PrincipalId, name: &str) -> Option<Header> {
        self.collections.get(&owner)?.get(name).copied()
    }

    /// The collections of an owner, in the order of names.
    pub fn collections(&self, owner: PrincipalId) -> impl Iterator<Item = (&Arc<str>, Header)> {
        let own = self.collections.get(&owner).into_iter().flatten();
        own.map(|(name, header)| (name, *header))
    }

    /// Every collection with its owner and name.
    pub fn all_collections(&self) -> impl Iterator<Item = (PrincipalId, &Arc<str>, Header)> {
        let homes = self.collections.iter();
        homes.flat_map(|(owner, own)| own.iter().map(|(name, header)| (*owner, name, *header)))
    }

    /// What others than its owner may do with a collection.
    pub fn shares(&self, id: CollectionId) -> impl Iterator<Item = (PrincipalId, Rights)> {
        self.shares.range((id, 0)..=(id, PrincipalId::MAX)).map(|((_, to), rights)| (*to, *rights))
    }

    /// What a principal may do with a collection of an owner; none if it may not know of it.
    pub fn rights(
        &self,
        principal: &Principal,
        owner: PrincipalId,
        id: CollectionId,
    ) -> Option<Rights> {
        match principal.id == owner || principal.is_admin {
            true => Some(Rights::Write),
            false => self.shares.get(&(id, principal.id)).copied(),
        }
    }

    /// The tokens of somebody.
    pub fn tokens(&self, principal: PrincipalId) -> impl Iterator<Item = &Arc<AppToken>> {
        self.tokens.values().filter(move |token| token.principal == principal)
    }
}
