//! A change of what there is: looked at, done to a copy of everything, and told to the store as rows. Nothing of it is
//! seen before the store has it.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    Card, ETag,
    collection::{
        Collection, CollectionId, Content, Entry, Kind, Lock, PrincipalId, PropertyKey, Rights,
        is_below,
    },
    root::{AppToken, Directory, Header, Principal, Root},
};

/// A change that is being made.
pub struct Change<'k> {
    pub(crate) root: &'k mut Root,
    pub(crate) rows: &'k mut Vec<Row>,
    /// In seconds since 1970.
    pub(crate) now: i64,
}

/// A row that the store is to write or to delete.
#[derive(Clone, Debug)]
pub(crate) enum Row {
    Resource(CollectionId, Arc<Entry>, Data),
    /// A name that was removed is there again.
    Returned(CollectionId, Arc<str>),
    /// A name that is there no more, and since which change.
    Removed(CollectionId, Arc<str>, u64),
    /// The removals up to a change are forgotten.
    Pruned(CollectionId, u64),
    /// Everything of a collection, but for itself.
    Emptied(CollectionId),
    NewCollection {
        id: CollectionId,
        owner: PrincipalId,
        name: Arc<str>,
        kind: Kind,
        epoch: u64,
    },
    NoCollection(CollectionId),
    Property(CollectionId, PropertyKey, Option<Arc<str>>),
    Lock(CollectionId, Arc<Lock>),
    NoLock(CollectionId, Arc<str>),
    Share(CollectionId, PrincipalId, Option<Rights>),
    Principal(Arc<Principal>),
    NoPrincipal(PrincipalId),
    Token([u8; 32], Arc<AppToken>),
    NoToken([u8; 32]),
    NextId(i64),
}

impl Row {
    /// About how much it writes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Row::Resource(.., Data::Bytes(bytes)) => 128 + bytes.len(),
            Row::Property(.., Some(value)) => 128 + value.len(),
            _ => 128,
        }
    }
}

/// Where the bytes of a row come from.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    Bytes(Bytes),
    /// Those of another resource, as it was before this change.
    Of(CollectionId, Arc<str>),
}

/// What became of a put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// There was none of that name.
    Created(ETag),
    /// There was another of that name.
    Replaced(ETag),
    /// The same bytes were there, and nothing changed.
    Unchanged(ETag),
}

/// Why a change cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// There is no such collection, or no longer.
    #[error("there is no such collection")]
    NoCollection,
    /// There is no such resource.
    #[error("there is no `{name}`")]
    NoEntry {
        /// What was asked for.
        name: String,
    },
    /// There is one already.
    #[error("`{name}` is there already")]
    Exists {
        /// Its name.
        name: String,
    },
    /// The folder it is to be put in is not there.
    #[error("the folder of `{name}` is not there")]
    NoFolder {
        /// What was to be put.
        name: String,
    },
    /// Another card of the book has this UID.
    #[error("the UID is that of `{name}`")]
    UidTaken {
        /// The other card.
        name: String,
    },
    /// The card of this name has another UID.
    #[error("the card `{name}` has another UID")]
    UidChanged {
        /// Its name.
        name: String,
    },
    /// A book takes cards, and a folder files.
    #[error("this collection does not take that")]
    Kind,
    /// There is no such principal.
    #[error("there is nobody called `{name}`")]
    NoPrincipal {
        /// What was asked for.
        name: String,
    },
}

impl Change<'_> {
    /// Everything as this change has made it so far.
    pub fn root(&self) -> &Root {
        self.root
    }

    /// The moment of the change, in seconds since 1970.
    pub fn now(&self) -> i64 {
        self.now
    }

    /// A collection as this change has made it so far.
    pub fn collection(&self, id: CollectionId) -> Result<&Arc<Collection>, Refused> {
        self.root.collection(id).ok_or(Refused::NoCollection)
    }

    fn collection_mut(&mut self, id: CollectionId) -> Result<&mut Collection, Refused> {
        self.root.collections.get_mut(&id).map(Arc::make_mut).ok_or(Refused::NoCollection)
    }

    /// Puts a card under a name of a book. The same bytes again change nothing.
    pub fn put_card(
        &mut self,
        book: CollectionId,
        name: &str,
        card: &Card,
    ) -> Result<Put, Refused> {
        let content = Content::of_card(card);
        self.check_uid(book, name, card.uid())?;
        self.put(book, name, card.bytes(), content)
    }

    /// Puts a plain file under a path. Its folder must be there.
    pub fn put_file(
        &mut self,
        files: CollectionId,
        path: &str,
        bytes: &Bytes,
        content_type: &str,
    ) -> Result<Put, Refused> {
        self.check_folder(files, path)?;
        if self.collection(files)?.entry(path).is_some_and(|entry| entry.is_folder()) {
            return Err(Refused::Exists { name: path.to_owned() });
        }
        self.put(files, path, bytes, Content::File { content_type: content_type.into() })
    }

    /// Makes a folder among plain files.
    pub fn make_folder(&mut self, files: CollectionId, path: &str) -> Result<(), Refused> {
        self.check_folder(files, path)?;
        if self.collection(files)?.entry(path).is_some() {
            return Err(Refused::Exists { name: path.to_owned() });
        }
        self.put(files, path, &Bytes::new(), Content::Folder).map(drop)
    }

    fn check_uid(&self, book: CollectionId, name: &str, uid: &str) -> Result<(), Refused> {
        let collection = self.collection(book)?;
        if collection.kind != Kind::Book {
            return Err(Refused::Kind);
        }
        match collection.of_uid(uid) {
            Some(other) if *other.name != *name => {
                Err(Refused::UidTaken { name: other.name.to_string() })
            }
            None if collection.entry(name).is_some() => {
                Err(Refused::UidChanged { name: name.to_owned() })
            }
            _ => Ok(()),
        }
    }

    fn check_folder(&self, files: CollectionId, path: &str) -> Result<(), Refused> {
        let collection = self.collection(files)?;
        if collection.kind != Kind::Files {
            return Err(Refused::Kind);
        }
        let Some((folder, _)) = path.rsplit_once('/') else { return Ok(()) };
        match collection.entry(folder) {
            Some(entry) if entry.is_folder() => Ok(()),
            _ => Err(Refused::NoFolder { name: path.to_owned() }),
        }
    }

    fn put(
        &mut self,
        id: CollectionId,
        name: &str,
        bytes: &Bytes,
        content: Content,
    ) -> Result<Put, Refused> {
        let now = self.now;
        let collection = self.collection_mut(id)?;
        let before = collection.entry(name).cloned();
        let entry = Entry::of(name.into(), collection.seq + 1, now, bytes, content);
        let etag = entry.etag;
        match &before {
            Some(before) if (before.etag, &before.content) == (etag, &entry.content) => {
                return Ok(Put::Unchanged(etag));
            }
            _ => self.insert(id, entry, Data::Bytes(bytes.clone()))?,
        }
        Ok(if before.is_some() { Put::Replaced(etag) } else { Put::Created(etag) })
    }

    fn insert(&mut self, id: CollectionId, entry: Entry, data: Data) -> Result<(), Refused> {
        let entry = Arc::new(entry);
        let collection = self.collection_mut(id)?;
        let was_removed = collection.removed.contains_key(&entry.name);
        collection.insert(entry.clone());
        if was_removed {
            self.rows.push(Row::Returned(id, entry.name.clone()));
        }
        self.rows.push(Row::Resource(id, entry, data));
        Ok(())
    }

    /// Takes a resource out, with all below it, and with what clients said of them.
    pub fn remove(&mut self, id: CollectionId, name: &str) -> Result<(), Refused> {
        let collection = self.collection(id)?;
        let missing = || Refused::NoEntry { name: name.to_owned() };
        let first = collection.entry(name).ok_or_else(missing)?.name.clone();
        let below = collection.below(name).map(|entry| entry.name.clone());
        let names: Vec<_> = below.chain([first]).collect();
        for name in names {
            let collection = self.collection_mut(id)?;
            let seq = collection.seq + 1;
            collection.remove(&name, seq);
            self.rows.push(Row::Removed(id, name, seq));
        }
        self.forget_properties(id, name)?;
        self.unlock_within(id, name)
    }

    fn forget_properties(&mut self, id: CollectionId, path: &str) -> Result<(), Refused> {
        let collection = self.collection(id)?;
        let of = |key: &&PropertyKey| *key.path == *path || is_below(&key.path, path);
        let keys: Vec<_> = collection.properties.keys().filter(of).cloned().collect();
        keys.into_iter().try_for_each(|key| self.set_property(id, key, None))
    }

    fn unlock_within(&mut self, id: CollectionId, path: &str) -> Result<(), Refused> {
        let within = |lock: &&Arc<Lock>| *lock.path == *path || is_below(&lock.path, path);
        let locks = self.collection(id)?.locks.values().filter(within);
        let tokens: Vec<_> = locks.map(|lock| lock.token.clone()).collect();
        tokens.into_iter().try_for_each(|token| self.unlock(id, &token))
    }

    /// Copies a resource, with all below it unless it is to be alone, to a name where nothing is. Locks stay where they
    /// are.
    pub fn copy(
        &mut self,
        from: (CollectionId, &str),
        to: (CollectionId, &str),
        is_alone: bool,
    ) -> Result<(), Refused> {
        let source = self.collection(from.0)?;
        if let Some(Content::Card { uid, .. }) = source.entry(from.1).map(|entry| &entry.content) {
            let uid = uid.clone();
            self.check_uid(to.0, to.1, &uid)?;
        }
        self.transfer(from, to, is_alone)
    }

    /// Moves a resource with all below it to a name where nothing is.
    pub fn rename(
        &mut self,
        from: (CollectionId, &str),
        to: (CollectionId, &str),
    ) -> Result<(), Refused> {
        // Within a book, a card that moves takes its UID along.
        match from.0 == to.0 {
            true => self.transfer(from, to, false)?,
            false => self.copy(from, to, false)?,
        }
        self.remove(from.0, from.1)
    }

    fn transfer(
        &mut self,
        from: (CollectionId, &str),
        to: (CollectionId, &str),
        is_alone: bool,
    ) -> Result<(), Refused> {
        let source = self.collection(from.0)?.clone();
        let missing = || Refused::NoEntry { name: from.1.to_owned() };
        let first = source.entry(from.1).ok_or_else(missing)?;
        if self.collection(to.0)?.entry(to.1).is_some() {
            return Err(Refused::Exists { name: to.1.to_owned() });
        }
        if !matches!(first.content, Content::Card { .. }) {
            self.check_folder(to.0, to.1)?;
        }
        let below = source.below(from.1).filter(|_| !is_alone);
        for entry in std::iter::once(first).chain(below) {
            let name = format!("{}{}", to.1, &entry.name[from.1.len()..]);
            let seq = self.collection(to.0)?.seq + 1;
            let name: Arc<str> = name.into();
            let copy = Entry { name: name.clone(), seq, modified: self.now, ..(**entry).clone() };
            self.insert(to.0, copy, Data::Of(from.0, entry.name.clone()))?;
            for (key, value) in source.properties(&entry.name) {
                let key = PropertyKey { path: name.clone(), ..key.clone() };
                self.set_property(to.0, key, Some(value.into()))?;
            }
        }
        Ok(())
    }

    /// Sets a property that is kept for its client, or takes it away.
    pub fn set_property(
        &mut self,
        id: CollectionId,
        key: PropertyKey,
        value: Option<Arc<str>>,
    ) -> Result<(), Refused> {
        let properties = &mut self.collection_mut(id)?.properties;
        match &value {
            Some(value) => drop(properties.insert(key.clone(), value.clone())),
            None => drop(properties.remove(&key)),
        }
        self.rows.push(Row::Property(id, key, value));
        Ok(())
    }

    /// Adds a lock, or puts one in place of that with its token. Those that have run out go.
    pub fn lock(&mut self, id: CollectionId, lock: Lock) -> Result<(), Refused> {
        let now = self.now;
        let old = self.collection(id)?.locks.values().filter(|lock| lock.expires <= now);
        let old: Vec<_> = old.map(|lock| lock.token.clone()).collect();
        old.into_iter().try_for_each(|token| self.unlock(id, &token))?;
        let lock = Arc::new(lock);
        self.collection_mut(id)?.locks.insert(lock.token.clone(), lock.clone());
        self.rows.push(Row::Lock(id, lock));
        Ok(())
    }

    /// Takes a lock away.
    pub fn unlock(&mut self, id: CollectionId, token: &str) -> Result<(), Refused> {
        let Some(lock) = self.collection_mut(id)?.locks.remove(token) else { return Ok(()) };
        self.rows.push(Row::NoLock(id, lock.token.clone()));
        Ok(())
    }

    /// Lets another look at a collection, or change it, or neither.
    pub fn set_share(
        &mut self,
        id: CollectionId,
        principal: PrincipalId,
        rights: Option<Rights>,
    ) -> Result<(), Refused> {
        self.collection(id)?;
        let shares = &mut self.directory_mut().shares;
        match rights {
            Some(rights) => drop(shares.insert((id, principal), rights)),
            None => drop(shares.remove(&(id, principal))),
        }
        self.rows.push(Row::Share(id, principal, rights));
        Ok(())
    }

    /// Makes a collection.
    pub fn create_collection(
        &mut self,
        owner: PrincipalId,
        name: &str,
        kind: Kind,
    ) -> Result<CollectionId, Refused> {
        if self.root.directory.collection(owner, name).is_some() {
            return Err(Refused::Exists { name: name.to_owned() });
        }
        let (id, epoch) = (self.new_id(), self.root.commit);
        let name: Arc<str> = name.into();
        let header = Header { id, kind };
        let homes = &mut self.directory_mut().collections;
        homes.entry(owner).or_default().insert(name.clone(), header);
        self.root.collections.insert(id, Arc::new(Collection::new(id, kind, epoch)));
        self.rows.push(Row::NewCollection { id, owner, name, kind, epoch });
        Ok(id)
    }

    /// Removes a collection with everything in it.
    pub fn remove_collection(&mut self, id: CollectionId) -> Result<(), Refused> {
        self.collection(id)?;
        self.forget_collection(id);
        Ok(())
    }

    fn forget_collection(&mut self, id: CollectionId) {
        let directory = self.directory_mut();
        for own in directory.collections.values_mut() {
            own.retain(|_, header| header.id != id);
        }
        directory.shares.retain(|(of, _), _| *of != id);
        self.root.collections.remove(&id);
        self.rows.extend([Row::Emptied(id), Row::NoCollection(id)]);
    }

    /// Empties a collection: who synchronises with it begins anew.
    pub fn empty_collection(&mut self, id: CollectionId) -> Result<(), Refused> {
        let epoch = self.root.commit;
        let kind = self.collection(id)?.kind;
        self.rows.push(Row::Emptied(id));
        self.root.collections.insert(id, Arc::new(Collection::new(id, kind, epoch)));
        Ok(())
    }

    /// Forgets the removals up to a change: who knows less must read all anew.
    pub fn prune(&mut self, id: CollectionId, floor: u64) -> Result<(), Refused> {
        self.collection_mut(id)?.prune(floor);
        self.rows.push(Row::Pruned(id, floor));
        Ok(())
    }

    fn new_id(&mut self) -> i64 {
        let directory = self.directory_mut();
        directory.next_id = directory.next_id.max(1) + 1;
        let id = directory.next_id - 1;
        self.rows.push(Row::NextId(id + 1));
        id
    }

    fn directory_mut(&mut self) -> &mut Directory {
        Arc::make_mut(&mut self.root.directory)
    }

    /// Adds somebody, with nothing yet.
    pub fn add_principal(&mut self, name: &str, password: &str) -> Result<PrincipalId, Refused> {
        if self.root.directory.principal(name).is_some() {
            return Err(Refused::Exists { name: name.to_owned() });
        }
        let id = self.new_id();
        let principal = Principal {
            id,
            name: name.into(),
            display_name: name.into(),
            is_admin: false,
            password: password.into(),
            version: self.root.commit,
        };
        self.set_principal(principal);
        Ok(id)
    }

    /// Changes what is known of somebody.
    pub(crate) fn set_principal(&mut self, principal: Principal) {
        let principal = Arc::new(principal);
        let directory = self.directory_mut();
        directory.names.insert(principal.name.clone(), principal.id);
        directory.principals.insert(principal.id, principal.clone());
        self.rows.push(Row::Principal(principal));
    }

    /// Removes somebody, with all they have.
    pub fn remove_principal(&mut self, id: PrincipalId) -> Result<(), Refused> {
        let owned = self.root.directory.collections(id).map(|(_, header)| header.id);
        let owned: Vec<_> = owned.collect();
        owned.into_iter().for_each(|id| self.forget_collection(id));
        let directory = self.directory_mut();
        let gone = directory.principals.remove(&id);
        directory.names.retain(|_, of| *of != id);
        directory.tokens.retain(|_, token| token.principal != id);
        directory.shares.retain(|(_, to), _| *to != id);
        self.rows.push(Row::NoPrincipal(id));
        gone.map(drop).ok_or_else(|| Refused::NoPrincipal { name: id.to_string() })
    }

    pub(crate) fn add_token(&mut self, hash: [u8; 32], token: AppToken) {
        let token = Arc::new(token);
        self.directory_mut().tokens.insert(hash, token.clone());
        self.rows.push(Row::Token(hash, token));
    }

    pub(crate) fn remove_token(&mut self, hash: [u8; 32]) {
        self.directory_mut().tokens.remove(&hash);
        self.rows.push(Row::NoToken(hash));
    }
}
