//! A folder of recorded answers: `replay.toml` and the bodies it names.
//!
//! ```toml
//! [[answer]]
//! target = "/v3/BusArrival?BusStopCode=83139"
//! files = ["83139.json", "83139-later.json"]      # served in turn; the default is no body
//! status = 200                                    # the default
//! headers.content-type = "application/json"
//! ```

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use bytes::Bytes;
use hyper::{
    HeaderMap, StatusCode,
    header::{ETAG, HeaderName, HeaderValue},
};
use sakuin::{
    ConfigError,
    document::{self, Document, Section},
};

/// The name of the list in its folder.
const LIST: &str = "replay.toml";

/// Recorded answers by path and query, exactly as they are asked.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Recording(pub(crate) BTreeMap<String, Target>);

/// What is answered to one path and query: its answers in turn.
#[derive(Debug, PartialEq)]
pub(crate) struct Target {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) answers: Vec<Answer>,
}

/// A body with the tag it is asked for by.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) file: String,
    pub(crate) body: Bytes,
    pub(crate) tag: HeaderValue,
}

impl Answer {
    pub(crate) fn new(file: String, body: Bytes) -> Answer {
        let tag = format!("\"{:016x}\"", xxhash_rust::xxh3::xxh3_64(&body));
        let tag = HeaderValue::try_from(tag).expect("hexadecimal digits are a header");
        Answer { file, body, tag }
    }
}

impl Recording {
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Recording> {
        let list = folder.join(LIST);
        let text = document::read(&list)?;
        let name = list.display().to_string();
        let document = Document::parse(&text, &name, folder)?;
        let root = document.root();
        root.only_known(&["answer"])?;
        let mut recording = Recording::default();
        let answers =
            root.setting("answer").iter().flat_map(document::Setting::list).collect::<Vec<_>>();
        for answer in answers {
            let section = answer.section()?;
            section.only_known(&["target", "files", "status", "headers"])?;
            let target =
                section.required("target", "name a path: `target = \"/v1/bus?stop=1\"`")?;
            if !target.string()?.starts_with('/') {
                return Err(target.refused("a target is a path and perhaps a query").into());
            }
            let name = target.string()?.to_owned();
            if recording.0.insert(name, Target::of_section(&section, folder)?).is_some() {
                return Err(target.refused("name each target once; its `files` are a list").into());
            }
        }
        Ok(recording)
    }

    /// Writes the list and every body.
    pub(crate) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make `{}`", folder.display()))?;
        let mut list = String::from("# Recorded answers, served by `sakuin replay`.\n");
        let quoted = |text: &str| toml::Value::from(text).to_string();
        for (name, Target { status, headers, answers }) in &self.0 {
            let mut files = Vec::new();
            for Answer { file, body, .. } in answers {
                write_file(&folder.join(file), body)?;
                files.push(quoted(file));
            }
            writeln!(list, "\n[[answer]]\ntarget = {}", quoted(name))?;
            writeln!(list, "files = [{}]", files.join(", "))?;
            if *status != StatusCode::OK {
                writeln!(list, "status = {}", status.as_u16())?;
            }
            for (name, value) in headers {
                writeln!(list, "headers.{name} = {}", quoted(value.to_str()?))?;
            }
        }
        write_file(&folder.join(LIST), list.as_bytes())
    }
}

fn write_file(file: &PathBuf, bytes: &[u8]) -> anyhow::Result<()> {
    fs::write(file, bytes).with_context(|| format!("cannot write `{}`", file.display()))
}

impl Target {
    fn of_section(section: &Section<'_>, folder: &Path) -> anyhow::Result<Target> {
        let mut headers = HeaderMap::new();
        for (name, value) in section.section("headers")?.iter().flat_map(Section::settings) {
            let text = value.string()?;
            let bad = |_| value.refused("it is no header");
            headers.insert(
                HeaderName::try_from(name).map_err(|_| value.refused("it is no header"))?,
                HeaderValue::try_from(text).map_err(bad)?,
            );
        }
        let status = section.setting("status").map(|status| -> Result<_, ConfigError> {
            let number = status.integer(200..=599)?;
            StatusCode::from_u16(number as u16).map_err(|_| status.refused("it is no status"))
        });
        let mut answers = Vec::new();
        for file in section.setting("files").iter().flat_map(document::Setting::list) {
            let name = file.string()?;
            let body = fs::read(folder.join(name))
                .map_err(|error| file.refused(&format!("the file cannot be read: {error}")))?;
            answers.push(Answer::new(name.to_owned(), body.into()));
        }
        if answers.is_empty() {
            answers.push(Answer::new(String::new(), Bytes::new()));
        }
        if answers.len() > 1 && headers.contains_key(ETAG) {
            bail!("a target with several files has no `etag` of its own");
        }
        Ok(Target { status: status.transpose()?.unwrap_or_default(), headers, answers })
    }
}
