//! The stories, in SQLite: by day, by id, by chance, and the newest.
//!
//! Readers and one writer share the file (WAL), so stories may be added while the site serves. A page
//! costs one query: a day comes with its neighbours.

use std::{fmt, path::Path, time::Duration};

use sqlx::{
    AssertSqlSafe, Row, SqliteConnection, SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow},
};
use xxhash_rust::xxh3::Xxh3;

use super::{
    day::{Day, Period},
    html::Passage,
};

/// The stories of a site. Cheap to clone; belongs to the runtime that first uses it.
#[derive(Clone)]
pub struct Stories {
    pool: SqlitePool,
}

/// A story as it is kept.
#[derive(Clone, Debug)]
pub struct Story {
    /// Its number: the address of its page.
    pub id: i64,
    /// What it holds.
    pub content: Content,
    /// Of the content, as 32 hexadecimal digits.
    pub hash: String,
    /// When it was added or last updated, in seconds since 1970.
    pub changed: i64,
}

/// What a story holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The day it belongs to.
    pub date: Day,
    /// One line.
    pub title: Passage,
    /// Paragraphs.
    pub body: Passage,
    /// The address of a picture.
    pub image: Option<String>,
    /// The address of a recording.
    pub audio: Option<String>,
    /// Where it came from; two stories never have the same source.
    pub source: Option<String>,
}

/// A day that has stories, and the nearest days before and after it that have some.
#[derive(Clone, Debug)]
pub struct DayOfStories {
    /// The day.
    pub day: Day,
    /// The nearest earlier day with stories.
    pub previous: Option<Day>,
    /// The nearest later day with stories.
    pub next: Option<Day>,
    /// Its stories in the order they were added; at least one.
    pub stories: Vec<Story>,
}

/// What became of a story that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is new.
    New,
    /// Its source was known with other content, which it replaces.
    Updated,
    /// It was there.
    Unchanged,
}

/// Why the stories cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoriesError {
    /// The file cannot be opened, created or brought up to date.
    #[error("cannot open the stories in `{file}`")]
    Open {
        /// The file as named.
        file: String,
        /// What SQLite said.
        source: sqlx::Error,
    },
    /// A query failed.
    #[error("the stories cannot be read or written")]
    Query(#[from] sqlx::Error),
}

const COLUMNS: &str =
    "id, date, title, title_pieces, body, body_pieces, image, audio, source, hash, changed";

impl Stories {
    /// Opens the file, creating and migrating it as needed.
    pub async fn open(file: &Path) -> Result<Stories, StoriesError> {
        let stories = Stories::reader(file);
        let failed = |source| StoriesError::Open { file: file.display().to_string(), source };
        let migrated = sqlx::migrate!().run(&stories.pool).await;
        migrated.map_err(|error| failed(error.into()))?;
        Ok(stories)
    }

    /// The stories of a file that [`Stories::open`] has prepared; connects at the first query.
    pub(crate) fn reader(file: &Path) -> Stories {
        let connect = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .busy_timeout(Duration::from_secs(5));
        let pool = SqlitePoolOptions::new()
            .max_connections(2)
            .test_before_acquire(false)
            .acquire_timeout(Duration::from_secs(5))
            .connect_lazy_with(connect);
        Stories { pool }
    }

    /// The newest day that has stories.
    pub async fn latest_day(&self) -> Result<Option<DayOfStories>, StoriesError> {
        let newest = sqlx::query_scalar("SELECT max(date) FROM story");
        let newest: Option<String> = newest.fetch_one(&self.pool).await?;
        match newest.as_deref().and_then(Day::parse) {
            Some(day) => self.day(day).await,
            None => Ok(None),
        }
    }

    /// A day, if it has stories.
    pub async fn day(&self, day: Day) -> Result<Option<DayOfStories>, StoriesError> {
        let rows = sqlx::query(AssertSqlSafe(format!(
            "SELECT {COLUMNS}, (SELECT max(date) FROM story WHERE date < ?1) AS previous,
             (SELECT min(date) FROM story WHERE date > ?1) AS next
             FROM story WHERE date = ?1 ORDER BY id"
        )))
        .bind(day.to_string())
        .fetch_all(&self.pool)
        .await?;
        let Some(first) = rows.first() else { return Ok(None) };
        let neighbour = |column| -> Result<Option<Day>, sqlx::Error> {
            Ok(first.try_get::<Option<&str>, _>(column)?.and_then(Day::parse))
        };
        Ok(Some(DayOfStories {
            day,
            previous: neighbour("previous")?,
            next: neighbour("next")?,
            stories: stories(&rows)?,
        }))
    }

    /// One story.
    pub async fn story(&self, id: i64) -> Result<Option<Story>, StoriesError> {
        let query = AssertSqlSafe(format!("SELECT {COLUMNS} FROM story WHERE id = ?1"));
        let row = sqlx::query(query).bind(id).fetch_optional(&self.pool).await?;
        Ok(row.as_ref().map(story).transpose()?)
    }

    /// The number of a story picked by chance; costs one step in the table, however long it is.
    pub async fn random(&self) -> Result<Option<i64>, StoriesError> {
        let id = sqlx::query_scalar(
            "SELECT id FROM story WHERE id >= (SELECT 1 + abs(random() % max(id)) FROM story)
             ORDER BY id LIMIT 1",
        );
        Ok(id.fetch_optional(&self.pool).await?)
    }

    /// The newest stories, newest first.
    pub async fn recent(&self, count: u32) -> Result<Vec<Story>, StoriesError> {
        let rows = sqlx::query(AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM story ORDER BY date DESC, id DESC LIMIT ?1"
        )));
        Ok(stories(&rows.bind(count).fetch_all(&self.pool).await?)?)
    }

    /// The stories of a period, oldest first.
    pub async fn period(&self, period: Period) -> Result<Vec<Story>, StoriesError> {
        let rows = sqlx::query(AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM story WHERE date >= ?1 AND date <= ?1 || '~' ORDER BY date, id"
        )));
        Ok(stories(&rows.bind(period.prefix()).fetch_all(&self.pool).await?)?)
    }

    /// How many stories there are.
    pub async fn count(&self) -> Result<u64, StoriesError> {
        let count: i64 =
            sqlx::query_scalar("SELECT count(*) FROM story").fetch_one(&self.pool).await?;
        Ok(count.unsigned_abs())
    }

    /// Adds a story; a known source is updated, and what is already there is left alone.
    pub async fn add(&self, content: &Content) -> Result<Added, StoriesError> {
        let mut writing = self.begin().await?;
        let added = writing.add(content).await?;
        writing.commit().await?;
        Ok(added)
    }

    /// Begins to add stories that appear all at once, or not at all if the handle is dropped.
    pub async fn begin(&self) -> Result<Writing, StoriesError> {
        // Taking the write lock at the start means waiting for another writer, never failing late.
        Ok(Writing { transaction: self.pool.begin_with("BEGIN IMMEDIATE").await? })
    }
}

/// Stories being added, unseen until [`Writing::commit`].
pub struct Writing {
    transaction: sqlx::Transaction<'static, sqlx::Sqlite>,
}

impl Writing {
    /// Adds a story, as [`Stories::add`] does.
    pub async fn add(&mut self, content: &Content) -> Result<Added, StoriesError> {
        let connection: &mut SqliteConnection = &mut self.transaction;
        let hash = content.hash();
        let known = match &content.source {
            Some(source) => {
                let query = sqlx::query("SELECT id, hash FROM story WHERE source = ?1");
                query.bind(source).fetch_optional(&mut *connection).await?
            }
            None => {
                let query = sqlx::query("SELECT id, hash FROM story WHERE hash = ?1 LIMIT 1");
                query.bind(&hash).fetch_optional(&mut *connection).await?
            }
        };
        let id: Option<i64> = match known {
            Some(row) if row.try_get::<&str, _>("hash")? == hash => return Ok(Added::Unchanged),
            Some(row) => Some(row.try_get("id")?),
            None => None,
        };
        sqlx::query(AssertSqlSafe(format!(
            "INSERT OR REPLACE INTO story ({COLUMNS})
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, unixepoch())"
        )))
        .bind(id)
        .bind(content.date.to_string())
        .bind(&content.title.html)
        .bind(&content.title.pieces)
        .bind(&content.body.html)
        .bind(&content.body.pieces)
        .bind(&content.image)
        .bind(&content.audio)
        .bind(&content.source)
        .bind(hash)
        .execute(&mut *connection)
        .await?;
        Ok(if id.is_some() { Added::Updated } else { Added::New })
    }

    /// Makes everything added so far visible and durable.
    pub async fn commit(self) -> Result<(), StoriesError> {
        Ok(self.transaction.commit().await?)
    }
}

impl Content {
    fn hash(&self) -> String {
        let mut hash = Xxh3::new();
        let optional = |field: &Option<String>| field.clone().unwrap_or_default();
        for part in [
            &self.date.to_string(),
            &self.title.html,
            &self.body.html,
            &optional(&self.image),
            &optional(&self.audio),
        ] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        format!("{:032x}", hash.digest128())
    }
}

impl fmt::Debug for Stories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stories")
    }
}

fn stories(rows: &[SqliteRow]) -> Result<Vec<Story>, sqlx::Error> {
    rows.iter().map(story).collect()
}

fn story(row: &SqliteRow) -> Result<Story, sqlx::Error> {
    let date = row.try_get::<&str, _>("date")?;
    let no_day = || sqlx::Error::Decode(format!("`{date}` is no day").into());
    Ok(Story {
        id: row.try_get("id")?,
        content: Content {
            date: Day::parse(date).ok_or_else(no_day)?,
            title: Passage { html: row.try_get("title")?, pieces: row.try_get("title_pieces")? },
            body: Passage { html: row.try_get("body")?, pieces: row.try_get("body_pieces")? },
            image: row.try_get("image")?,
            audio: row.try_get("audio")?,
            source: row.try_get("source")?,
        },
        hash: row.try_get("hash")?,
        changed: row.try_get("changed")?,
    })
}
