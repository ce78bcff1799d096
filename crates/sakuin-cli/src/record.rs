//! `sakuin record`: asks an origin once for each URL and keeps what it answered, for `sakuin replay`.
//!
//! What was sent is never written, so no secret header ends up in the folder.

use std::{fs, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context, anyhow, bail};
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, ETAG, EXPIRES, HeaderMap,
    HeaderName, HeaderValue, LAST_MODIFIED, RETRY_AFTER, VARY,
};
use reqwest::{Client, Url, redirect::Policy};

use crate::replay::{Answer, Recording, Target};

/// The headers of an answer that are kept: those that say what it is and how long it lives.
const KEPT: [HeaderName; 8] = [
    CONTENT_TYPE,
    CONTENT_LANGUAGE,
    CACHE_CONTROL,
    ETAG,
    EXPIRES,
    LAST_MODIFIED,
    RETRY_AFTER,
    VARY,
];

/// Longer answers are refused.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Record what an origin answers, for `sakuin replay`.
///
/// Adds to what DIR holds already; a URL that is recorded again replaces what it was. A secret goes into a header
/// from the environment or a file: `--header AccountKey=env:LTA_ACCOUNT_KEY`. It is not written.
#[derive(clap::Args)]
pub(crate) struct Command {
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[arg(value_name = "URL", required = true)]
    urls: Vec<Url>,
    /// Send a header, its value read from a variable or a file
    #[arg(long = "header", value_name = "NAME=env:VAR", value_parser = header)]
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let is_new = !self.folder.join("replay.toml").exists();
        let mut recording =
            if is_new { Recording::default() } else { Recording::read(&self.folder)? };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let headers: HeaderMap = self.headers.into_iter().collect();
            let client = Client::builder()
                .default_headers(headers)
                .redirect(Policy::none())
                .timeout(Duration::from_secs(60))
                .build()?;
            for url in &self.urls {
                let (name, mut target) = record(&client, url).await?;
                let taken = |file: &str| {
                    let others = recording.0.iter().filter(|(other, _)| **other != name);
                    others.flat_map(|(_, target)| &target.answers).any(|it| it.file == file)
                };
                let answer = &mut target.answers[0];
                answer.file = file(&name, target.headers.get(CONTENT_TYPE), taken);
                eprintln!("{} {name}: {} bytes", target.status, answer.body.len());
                recording.0.insert(name, target);
            }
            anyhow::Ok(())
        })?;
        recording.write(&self.folder)?;
        Ok(ExitCode::SUCCESS)
    }
}

async fn record(client: &Client, url: &Url) -> anyhow::Result<(String, Target)> {
    // The query may hold a secret, which a message must not repeat.
    let failed = || format!("`{}` did not answer", url.path());
    let plain = reqwest::Error::without_url;
    let sent = client.get(url.clone()).send().await;
    let mut response = sent.map_err(plain).with_context(failed)?;
    if response.headers().contains_key(CONTENT_ENCODING) {
        bail!("`{}` is answered in a coding that was not asked for", url.path());
    }
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(plain).with_context(failed)? {
        body.extend_from_slice(&piece);
        if body.len() > ANSWER_BYTES_MAX {
            bail!("`{}` answers more than {ANSWER_BYTES_MAX} bytes", url.path());
        }
    }
    let kept = |name: &HeaderName| Some((name.clone(), response.headers().get(name)?.clone()));
    let headers = KEPT.iter().filter_map(kept).collect();
    let name = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let answer = Answer::new(String::new(), body.into());
    Ok((name, Target { status: response.status(), headers, answers: vec![answer] }))
}

/// A name for a body that tells where it is from and ends as its type wants it.
fn file(target: &str, kind: Option<&HeaderValue>, taken: impl Fn(&str) -> bool) -> String {
    const STEM_BYTES_MAX: usize = 100;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    let letter = |byte| if plain(byte) { byte as char } else { '_' };
    let stem: String = target.bytes().map(letter).take(STEM_BYTES_MAX).collect();
    let stem = stem.trim_matches(['_', '.']);
    let stem = if stem.is_empty() { "root" } else { stem };
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kinds = [("json", "json"), ("html", "html"), ("xml", "xml"), ("text/", "txt")];
    let ending = kinds.iter().find(|(part, _)| kind.contains(part)).map_or("bin", |(_, it)| it);
    let file = format!("{stem}.{ending}");
    if !taken(&file) {
        return file;
    }
    let hash = xxhash_rust::xxh3::xxh3_64(target.as_bytes());
    format!("{stem}-{hash:016x}.{ending}")
}

/// `Name=env:VARIABLE` or `Name=file:PATH`.
fn header(text: &str) -> anyhow::Result<(HeaderName, HeaderValue)> {
    let (name, place) = text.split_once('=').ok_or(anyhow!("write `Name=env:VARIABLE`"))?;
    let value =
        match place.split_once(':') {
            Some(("env", variable)) => std::env::var(variable)
                .map_err(|_| anyhow!("the variable `{variable}` is not set"))?,
            Some(("file", path)) => fs::read_to_string(path)
                .map_err(|error| anyhow!("`{path}` cannot be read: {error}"))?,
            // Arguments can be read by everyone on the machine.
            _ => bail!("a value is not written here: write `env:VARIABLE` or `file:PATH`"),
        };
    let value = HeaderValue::try_from(value.trim_end_matches(['\r', '\n']));
    Ok((name.parse()?, value.map_err(|_| anyhow!("what `{place}` holds is no header"))?))
}
