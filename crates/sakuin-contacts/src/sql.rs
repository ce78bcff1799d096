//! Rows: what the store is told of a change, and everything read back from it. One text for SQLite and PostgreSQL.

use std::{collections::BTreeSet, sync::Arc};

use bytes::Bytes;
use futures_util::TryStreamExt;
use sqlx::{
    Any, AnyConnection, Row as _,
    any::{AnyArguments, AnyRow},
    query::Query,
};

use crate::{
    ETag, Version,
    change::{Data, Row},
    collection::{Body, Collection, CollectionId, Content, Entry, Kind, Lock, PropertyKey, Rights},
    root::{AppToken, Directory, Header, Principal, Root},
};

type Result<T> = std::result::Result<T, sqlx::Error>;

/// Rows of one statement.
const ROWS_MAX: usize = 64;

/// How far the store is: its commits, and the last that changed the directory.
pub(crate) struct Progress {
    pub(crate) commits: u64,
    pub(crate) directory: u64,
}

fn query(sql: &'static str) -> Query<'static, Any, AnyArguments> {
    sqlx::query(sql)
}

fn number(row: &AnyRow, column: &str) -> Result<u64> {
    Ok(row.try_get::<i64, _>(column)?.cast_unsigned())
}

fn text(row: &AnyRow, column: &str) -> Result<Arc<str>> {
    Ok(row.try_get::<String, _>(column)?.into())
}

fn damaged(what: &str) -> sqlx::Error {
    sqlx::Error::Decode(format!("the store's {what} cannot be read").into())
}

/// How far the store is.
pub(crate) async fn progress(store: &mut AnyConnection) -> Result<Progress> {
    Progress::of(&query("SELECT commits, directory FROM server").fetch_one(store).await?)
}

/// Makes this transaction the next commit: whoever else writes waits for its end.
pub(crate) async fn advance(store: &mut AnyConnection) -> Result<Progress> {
    let sql = "UPDATE server SET commits = commits + 1 RETURNING commits, directory";
    Progress::of(&query(sql).fetch_one(store).await?)
}

impl Progress {
    fn of(row: &AnyRow) -> Result<Progress> {
        let (commits, directory) = (number(row, "commits")?, number(row, "directory")?);
        Ok(Progress { commits, directory })
    }
}

/// Brings what is known up to the store's progress: what others committed since.
pub(crate) async fn refresh(
    store: &mut AnyConnection,
    root: &mut Root,
    to: &Progress,
) -> Result<()> {
    if to.directory > root.commit {
        root.directory = Arc::new(directory(store).await?);
        let known: BTreeSet<_> =
            root.directory.all_collections().map(|(_, _, header)| header.id).collect();
        root.collections.retain(|id, _| known.contains(id));
    }
    let changed = query("SELECT id, epoch, seq, floor FROM collection WHERE commits > $1")
        .bind(root.commit.cast_signed())
        .fetch_all(&mut *store)
        .await?;
    for row in changed {
        let id: CollectionId = row.try_get("id")?;
        let Some(known) = root.collections.get(&id) else { continue };
        let mut collection = Collection::clone(known);
        let (epoch, floor) = (number(&row, "epoch")?, number(&row, "floor")?);
        // Of what was removed and forgotten since, nothing is left to tell of it.
        if collection.epoch != epoch || collection.seq < floor {
            collection = Collection::new(id, collection.kind, epoch);
        }
        collection.prune(floor);
        fill(store, &mut collection, &row).await?;
        root.collections.insert(id, Arc::new(collection));
    }
    root.commit = to.commits;
    Ok(())
}

/// Everything of a collection.
pub(crate) async fn collection(store: &mut AnyConnection, header: Header) -> Result<Collection> {
    let row = query("SELECT epoch, seq, floor FROM collection WHERE id = $1")
        .bind(header.id)
        .fetch_one(&mut *store)
        .await?;
    let mut collection = Collection::new(header.id, header.kind, number(&row, "epoch")?);
    collection.floor = number(&row, "floor")?;
    fill(store, &mut collection, &row).await?;
    Ok(collection)
}

/// Brings a collection up to its row.
async fn fill(store: &mut AnyConnection, collection: &mut Collection, row: &AnyRow) -> Result<()> {
    changes(store, collection).await?;
    details(store, collection).await?;
    collection.seq = number(row, "seq")?;
    Ok(())
}

/// What changed in a collection since the last change that is known.
async fn changes(store: &mut AnyConnection, collection: &mut Collection) -> Result<()> {
    let after = collection.seq.cast_signed();
    let removed =
        query("SELECT name, seq FROM removed WHERE collection = $1 AND seq > $2 ORDER BY seq")
            .bind(collection.id)
            .bind(after)
            .fetch_all(&mut *store)
            .await?;
    // A UID that went from one card to another is given up before it is taken.
    for row in removed {
        collection.remove(&text(&row, "name")?, number(&row, "seq")?);
    }
    // One after another: all rows of a large book would take the room of another.
    let mut rows = query(
        "SELECT name, seq, modified, etag, size, kind, detail, data FROM resource
         WHERE collection = $1 AND seq > $2 ORDER BY seq",
    )
    .bind(collection.id)
    .bind(after)
    .fetch(&mut *store);
    while let Some(row) = rows.try_next().await? {
        collection.insert(Arc::new(entry(&row)?));
    }
    Ok(())
}

fn entry(row: &AnyRow) -> Result<Entry> {
    let detail = text(row, "detail")?;
    let content = match row.try_get::<i64, _>("kind")? {
        0 => Content::File { content_type: detail },
        1 => Content::Folder,
        3 => Content::Card { uid: detail, version: Version::V3 },
        4 => Content::Card { uid: detail, version: Version::V4 },
        _ => return Err(damaged("kind of a resource")),
    };
    let bytes = Bytes::from(row.try_get::<Vec<u8>, _>("data")?);
    let etag = ETag::from_bytes(&row.try_get::<Vec<u8>, _>("etag")?);
    Ok(Entry {
        name: text(row, "name")?,
        seq: number(row, "seq")?,
        modified: row.try_get("modified")?,
        etag: etag.ok_or_else(|| damaged("etag of a resource"))?,
        size: number(row, "size")?,
        body: Body::of(bytes, &content),
        content,
    })
}

/// What is said of a collection beside its resources.
async fn details(store: &mut AnyConnection, collection: &mut Collection) -> Result<()> {
    let properties =
        query("SELECT path, namespace, name, value FROM property WHERE collection = $1")
            .bind(collection.id)
            .fetch_all(&mut *store)
            .await?;
    let property = |row: &AnyRow| {
        let (path, namespace) = (text(row, "path")?, text(row, "namespace")?);
        Ok((PropertyKey { path, namespace, name: text(row, "name")? }, text(row, "value")?))
    };
    collection.properties = properties.iter().map(property).collect::<Result<_>>()?;
    let locks = query(
        "SELECT token, path, is_deep, is_shared, owner, principal, expires FROM lock
         WHERE collection = $1",
    )
    .bind(collection.id)
    .fetch_all(&mut *store)
    .await?;
    let lock = |row: &AnyRow| {
        let token = text(row, "token")?;
        let lock = Lock {
            token: token.clone(),
            path: text(row, "path")?,
            is_deep: number(row, "is_deep")? != 0,
            is_shared: number(row, "is_shared")? != 0,
            owner: text(row, "owner")?,
            principal: row.try_get("principal")?,
            expires: row.try_get("expires")?,
        };
        Ok((token, Arc::new(lock)))
    };
    collection.locks = locks.iter().map(lock).collect::<Result<_>>()?;
    Ok(())
}

async fn directory(store: &mut AnyConnection) -> Result<Directory> {
    let mut directory = Directory::default();
    let row = query("SELECT next_id FROM server").fetch_one(&mut *store).await?;
    directory.next_id = row.try_get("next_id")?;
    let principals =
        query("SELECT id, name, display_name, is_admin, password, version FROM principal");
    for row in principals.fetch_all(&mut *store).await? {
        let principal = Principal {
            id: row.try_get("id")?,
            name: text(&row, "name")?,
            display_name: text(&row, "display_name")?,
            is_admin: number(&row, "is_admin")? != 0,
            password: text(&row, "password")?,
            version: number(&row, "version")?,
        };
        directory.names.insert(principal.name.clone(), principal.id);
        directory.principals.insert(principal.id, Arc::new(principal));
    }
    let tokens = query("SELECT hash, principal, label, is_read_only, expires FROM token");
    for row in tokens.fetch_all(&mut *store).await? {
        let hash = row.try_get::<Vec<u8>, _>("hash")?;
        let hash = hash.try_into().map_err(|_| damaged("hash of a token"))?;
        let token = AppToken {
            principal: row.try_get("principal")?,
            label: text(&row, "label")?,
            is_read_only: number(&row, "is_read_only")? != 0,
            expires: Some(row.try_get::<i64, _>("expires")?).filter(|expires| *expires != 0),
        };
        directory.tokens.insert(hash, Arc::new(token));
    }
    let shares = query("SELECT collection, principal, rights FROM share");
    for row in shares.fetch_all(&mut *store).await? {
        let rights = match number(&row, "rights")? {
            1 => Rights::Read,
            2 => Rights::Write,
            _ => return Err(damaged("rights")),
        };
        directory.shares.insert((row.try_get("collection")?, row.try_get("principal")?), rights);
    }
    let collections = query("SELECT id, owner, name, kind FROM collection");
    for row in collections.fetch_all(&mut *store).await? {
        let kind = match row.try_get::<i64, _>("kind")? {
            0 => Kind::Book,
            1 => Kind::Files,
            _ => return Err(damaged("kind of a collection")),
        };
        let header = Header { id: row.try_get("id")?, kind };
        let own = directory.collections.entry(row.try_get("owner")?).or_default();
        own.insert(text(&row, "name")?, header);
    }
    Ok(directory)
}

/// For each collection, the change up to which removals are older than a moment, if there are any.
pub(crate) async fn old_removals(
    store: &mut AnyConnection,
    before: i64,
) -> Result<Vec<(CollectionId, u64)>> {
    let sql = "SELECT collection, max(seq) AS seq FROM removed WHERE time < $1 GROUP BY collection";
    let rows = query(sql).bind(before).fetch_all(store).await?;
    rows.iter().map(|row| Ok((row.try_get("collection")?, number(row, "seq")?))).collect()
}

/// The bytes of a resource as it was at a change; none if it is another by now.
pub(crate) async fn data(
    store: &mut AnyConnection,
    id: CollectionId,
    entry: &Entry,
) -> Result<Option<Bytes>> {
    let row = query("SELECT data FROM resource WHERE collection = $1 AND name = $2 AND etag = $3")
        .bind(id)
        .bind(entry.name.to_string())
        .bind(entry.etag.as_bytes().to_vec())
        .fetch_optional(store)
        .await?;
    row.map(|row| Ok(row.try_get::<Vec<u8>, _>("data")?.into())).transpose()
}

/// Writes rows in their order, as the commit that led to a root.
pub(crate) async fn write(
    store: &mut AnyConnection,
    rows: &[Row],
    root: &Root,
    now: i64,
) -> Result<()> {
    let commit = root.commit.cast_signed();
    let mut rest = rows;
    while let Some(row) = rest.first() {
        let run = run(rest).max(1);
        match run {
            1 => one(store, row, commit, now).await?,
            run => resources(store, &rest[..run]).await?,
        }
        rest = &rest[run..];
    }
    let touched: BTreeSet<_> = rows.iter().map(Row::collection).collect();
    for id in touched {
        match id.map(|id| root.collections.get(&id)) {
            None => {
                query("UPDATE server SET directory = $1").bind(commit).execute(&mut *store).await?;
            }
            Some(Some(collection)) => {
                query(
                    "UPDATE collection SET epoch = $1, seq = $2, floor = $3, commits = $4
                     WHERE id = $5",
                )
                .bind(collection.epoch.cast_signed())
                .bind(collection.seq.cast_signed())
                .bind(collection.floor.cast_signed())
                .bind(commit)
                .bind(collection.id)
                .execute(&mut *store)
                .await?;
            }
            // It was removed.
            Some(None) => {}
        }
    }
    Ok(())
}

impl Row {
    /// The collection it is a change of; none if it is one of the directory.
    fn collection(&self) -> Option<CollectionId> {
        match self {
            Row::Resource(id, ..)
            | Row::Returned(id, ..)
            | Row::Removed(id, ..)
            | Row::Pruned(id, ..)
            | Row::Emptied(id)
            | Row::Property(id, ..)
            | Row::Lock(id, _)
            | Row::NoLock(id, _) => Some(*id),
            _ => None,
        }
    }
}

/// How many of the first rows are resources that one statement can write.
fn run(rows: &[Row]) -> usize {
    let mut names = BTreeSet::new();
    let is_new = |row: &&Row| match row {
        Row::Resource(id, entry, Data::Bytes(_)) => names.insert((*id, entry.name.clone())),
        _ => false,
    };
    rows.iter().take(ROWS_MAX).take_while(is_new).count()
}

const INTO_RESOURCE: &str =
    "INSERT INTO resource (collection, name, seq, modified, etag, size, kind, detail, data)";
const OVER_RESOURCE: &str = "ON CONFLICT (collection, name) DO UPDATE SET
     seq = excluded.seq, modified = excluded.modified, etag = excluded.etag, size = excluded.size,
     kind = excluded.kind, detail = excluded.detail, data = excluded.data";

async fn resources(store: &mut AnyConnection, rows: &[Row]) -> Result<()> {
    let mut sql = format!("{INTO_RESOURCE} VALUES ");
    for row in 0..rows.len() {
        let places: Vec<_> = (1..=9).map(|place| format!("${}", row * 9 + place)).collect();
        sql.push_str(if row == 0 { "(" } else { ", (" });
        sql.push_str(&places.join(", "));
        sql.push(')');
    }
    sql.push_str(OVER_RESOURCE);
    let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
    for row in rows {
        let Row::Resource(id, entry, Data::Bytes(bytes)) = row else { continue };
        query = bind_entry(query, *id, entry).bind(bytes.to_vec());
    }
    query.execute(store).await.map(drop)
}

fn bind_entry<'q>(
    query: Query<'q, Any, AnyArguments>,
    id: CollectionId,
    entry: &Entry,
) -> Query<'q, Any, AnyArguments> {
    let (kind, detail) = match &entry.content {
        Content::File { content_type } => (0, content_type.to_string()),
        Content::Folder => (1, String::new()),
        Content::Card { uid, version: Version::V3 } => (3, uid.to_string()),
        Content::Card { uid, version: Version::V4 } => (4, uid.to_string()),
    };
    query
        .bind(id)
        .bind(entry.name.to_string())
        .bind(entry.seq.cast_signed())
        .bind(entry.modified)
        .bind(entry.etag.as_bytes().to_vec())
        .bind(entry.size.cast_signed())
        .bind(kind as i64)
        .bind(detail)
}

async fn one(store: &mut AnyConnection, row: &Row, commit: i64, now: i64) -> Result<()> {
    let query = match row {
        Row::Resource(id, entry, Data::Bytes(bytes)) => {
            let sql = format!("{INTO_RESOURCE} VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) {OVER_RESOURCE}");
            bind_entry(sqlx::query(sqlx::AssertSqlSafe(sql)), *id, entry).bind(bytes.to_vec())
        }
        Row::Resource(id, entry, Data::Of(from, name)) => {
            let sql = format!(
                "{INTO_RESOURCE} SELECT $1, $2, $3, $4, $5, $6, $7, $8, data FROM resource
                 WHERE collection = $9 AND name = $10 {OVER_RESOURCE}"
            );
            bind_entry(sqlx::query(sqlx::AssertSqlSafe(sql)), *id, entry).bind(*from).bind(name.to_string())
        }
        Row::Returned(id, name) => {
            query("DELETE FROM removed WHERE collection = $1 AND name = $2").bind(*id).bind(name.to_string())
        }
        Row::Removed(id, name, seq) => {
            query("DELETE FROM resource WHERE collection = $1 AND name = $2")
                .bind(*id)
                .bind(name.to_string())
                .execute(&mut *store)
                .await?;
            query(
                "INSERT INTO removed (collection, name, seq, time) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (collection, name) DO UPDATE SET seq = excluded.seq, time = excluded.time",
            )
            .bind(*id)
            .bind(name.to_string())
            .bind(seq.cast_signed())
            .bind(now)
        }
        Row::Pruned(id, floor) => query("DELETE FROM removed WHERE collection = $1 AND seq <= $2")
            .bind(*id)
            .bind(floor.cast_signed()),
        Row::Emptied(id) => {
            for sql in [
                "DELETE FROM removed WHERE collection = $1",
                "DELETE FROM property WHERE collection = $1",
                "DELETE FROM lock WHERE collection = $1",
            ] {
                query(sql).bind(*id).execute(&mut *store).await?;
            }
            query("DELETE FROM resource WHERE collection = $1").bind(*id)
        }
        Row::NewCollection { id, owner, name, kind, epoch } => query(
            "INSERT INTO collection (id, owner, name, kind, epoch, seq, floor, commits)
             VALUES ($1, $2, $3, $4, $5, 0, 0, $6)",
        )
        .bind(*id)
        .bind(*owner)
        .bind(name.to_string())
        .bind(match kind {
            Kind::Book => 0_i64,
            Kind::Files => 1,
        })
        .bind(epoch.cast_signed())
        .bind(commit),
        Row::NoCollection(id) => {
            query("DELETE FROM share WHERE collection = $1").bind(*id).execute(&mut *store).await?;
            query("DELETE FROM collection WHERE id = $1").bind(*id)
        }
        Row::Property(id, key, value) => {
            let (sql, value) = match value {
                Some(value) => (
                    "INSERT INTO property (collection, path, namespace, name, value)
                     VALUES ($1, $2, $3, $4, $5)
                     ON CONFLICT (collection, path, namespace, name) DO UPDATE SET value = excluded.value",
                    Some(value),
                ),
                None => (
                    "DELETE FROM property
                     WHERE collection = $1 AND path = $2 AND namespace = $3 AND name = $4",
                    None,
                ),
            };
            let query = query(sql)
                .bind(*id)
                .bind(key.path.to_string())
                .bind(key.namespace.to_string())
                .bind(key.name.to_string());
            match value {
                Some(value) => query.bind(value.to_string()),
                None => query,
            }
        }
        Row::Lock(id, lock) => query(
            "INSERT INTO lock (token, collection, path, is_deep, is_shared, owner, principal, expires)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
             ON CONFLICT (token) DO UPDATE SET expires = excluded.expires",
        )
        .bind(lock.token.to_string())
        .bind(*id)
        .bind(lock.path.to_string())
        .bind(i64::from(lock.is_deep))
        .bind(i64::from(lock.is_shared))
        .bind(lock.owner.to_string())
        .bind(lock.principal)
        .bind(lock.expires),
        Row::NoLock(_, token) => query("DELETE FROM lock WHERE token = $1").bind(token.to_string()),
        Row::Share(id, principal, rights) => match rights {
            Some(rights) => query(
                "INSERT INTO share (collection, principal, rights) VALUES ($1, $2, $3)
                 ON CONFLICT (collection, principal) DO UPDATE SET rights = excluded.rights",
            )
            .bind(*id)
            .bind(*principal)
            .bind(match rights {
                Rights::Read => 1_i64,
                Rights::Write => 2,
            }),
            None => query("DELETE FROM share WHERE collection = $1 AND principal = $2")
                .bind(*id)
                .bind(*principal),
        },
        Row::Principal(principal) => query(
            "INSERT INTO principal (id, name, display_name, is_admin, password, version)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (id) DO UPDATE SET display_name = excluded.display_name,
             is_admin = excluded.is_admin, password = excluded.password, version = excluded.version",
        )
        .bind(principal.id)
        .bind(principal.name.to_string())
        .bind(principal.display_name.to_string())
        .bind(i64::from(principal.is_admin))
        .bind(principal.password.to_string())
        .bind(principal.version.cast_signed()),
        Row::NoPrincipal(id) => {
            for sql in ["DELETE FROM token WHERE principal = $1", "DELETE FROM share WHERE principal = $1"] {
                query(sql).bind(*id).execute(&mut *store).await?;
            }
            query("DELETE FROM principal WHERE id = $1").bind(*id)
        }
        Row::Token(hash, token) => query(
            "INSERT INTO token (hash, principal, label, is_read_only, expires) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(hash.to_vec())
        .bind(token.principal)
        .bind(token.label.to_string())
        .bind(i64::from(token.is_read_only))
        .bind(token.expires.unwrap_or(0)),
        Row::NoToken(hash) => query("DELETE FROM token WHERE hash = $1").bind(hash.to_vec()),
        Row::NextId(next) => query("UPDATE server SET next_id = $1").bind(*next),
    };
    query.execute(store).await.map(drop)
}
