//! Adding stories from JSON Lines, all of a file or nothing of it.
//!
//! A line is an object with `date`, `title` and `content`, and perhaps `image`, `audio` and `source`.
//! Title and content are HTML, plain text, or plain text with `｜base《reading》`. The first bad line is
//! named with its cause, and nothing of its file is kept.

use std::{
    io::{self, BufRead, Read},
    ops::AddAssign,
    path::Path,
};

use serde::Deserialize;

use super::{
    day::Day,
    html::Passage,
    stories::{Added, Content, Stories, StoriesError},
};

/// What became of the stories of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// New stories.
    pub added: usize,
    /// Stories whose source was known, with other content.
    pub updated: usize,
    /// Stories that were there.
    pub unchanged: usize,
}

/// Why stories were not added.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// A line is not a story.
    #[error("{file}:{line}: {cause}")]
    Line {
        /// The file as named.
        file: String,
        /// Its line, from 1.
        line: usize,
        /// What is wrong with it.
        cause: String,
    },
    /// The file cannot be read.
    #[error("cannot read `{file}`")]
    Read {
        /// The file as named.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// The stories cannot be written.
    #[error(transparent)]
    Stories(#[from] StoriesError),
    /// No runtime for the database.
    #[error("cannot start")]
    Start(#[source] io::Error),
}

/// Longer lines are refused: a story is read whole.
const LINE_BYTES_MAX: u64 = 4 << 20;

/// Adds the stories of `input` to the SQLite file `stories`, which is created when absent; errors call
/// the input `name`. Blocks.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let line = r#"{"date": "2026-11-20", "title": "朝《あさ》", "content": "<p>おはよう。</p>"}"#;
/// let report = sakuin_server::import(&folder.path().join("stories.db"), "demo", line.as_bytes())?;
/// assert_eq!(report.added, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import(stories: &Path, name: &str, input: impl BufRead) -> Result<Report, ImportError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ImportError::Start)?;
    runtime.block_on(add_all(stories, name, input))
}

async fn add_all(
    stories: &Path,
    name: &str,
    mut input: impl BufRead,
) -> Result<Report, ImportError> {
    let stories = Stories::open(stories).await?;
    let mut writing = stories.begin().await?;
    let mut report = Report::default();
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let read = (&mut input).take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes);
        match read {
            Ok(0) => break,
            Ok(_) => {}
            Err(source) => return Err(ImportError::Read { file: name.to_owned(), source }),
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let refused = |cause| ImportError::Line { file: name.to_owned(), line, cause };
        let content = content(&bytes).map_err(refused)?;
        report += writing.add(&content).await?;
    }
    writing.commit().await?;
    Ok(report)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    date: String,
    title: String,
    content: String,
    image: Option<String>,
    audio: Option<String>,
    source: Option<String>,
}

fn content(bytes: &[u8]) -> Result<Content, String> {
    if bytes.len() as u64 == LINE_BYTES_MAX && !bytes.ends_with(b"\n") {
        return Err(format!("the line is longer than {} MiB", LINE_BYTES_MAX >> 20));
    }
    let line: Line =
        serde_json::from_slice(bytes.trim_ascii_end()).map_err(|error| cause_of(&error))?;
    let no_day = || format!("`date` is `{}`, not a day written YYYY-MM-DD", line.date);
    let content = Content {
        date: Day::parse(&line.date).ok_or_else(no_day)?,
        title: Passage::title(&line.title),
        body: Passage::body(&line.content),
        image: address("image", line.image)?,
        audio: address("audio", line.audio)?,
        source: line.source.filter(|source| !source.is_empty()),
    };
    if content.title.is_empty() {
        return Err("`title` holds no text".to_owned());
    }
    if content.body.is_empty() {
        return Err("`content` holds no text".to_owned());
    }
    Ok(content)
}

/// What serde says, with the column alone: it counts lines from the start of this one.
fn cause_of(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let cause = message.split(" at line ").next().unwrap_or_default();
    format!("{cause}, at column {}", error.column())
}

/// Only what a page may fetch: a web address, or a path of the same site.
fn address(field: &str, address: Option<String>) -> Result<Option<String>, String> {
    let Some(address) = address.filter(|address| !address.is_empty()) else { return Ok(None) };
    let web = ["https://", "http://"].iter().any(|scheme| address.starts_with(scheme));
    let local = address.starts_with('/') && !address.starts_with("//");
    if web || local {
        Ok(Some(address))
    } else {
        Err(format!(
            "`{field}` is `{address}`, neither a web address nor a path that begins with `/`"
        ))
    }
}

impl AddAssign<Added> for Report {
    fn add_assign(&mut self, added: Added) {
        match added {
            Added::New => self.added += 1,
            Added::Updated => self.updated += 1,
            Added::Unchanged => self.unchanged += 1,
        }
    }
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Report) {
        self.added += other.added;
        self.updated += other.updated;
        self.unchanged += other.unchanged;
    }
}
