//! Style sheets and scripts, built into the binary and addressed by their content.
//!
//! Their addresses hold a hash of their bytes, so a client keeps them for ever and a new release is
//! seen at once.

use axum::http::StatusCode;
use xxhash_rust::xxh3::xxh3_64;

use crate::reply::{Fault, Keep, Reply};

/// One file for the page.
pub(crate) struct Asset {
    /// Its name in an address: `reader-0123456789abcdef.css`.
    pub(crate) name: String,
    content_type: &'static str,
    content: &'static str,
}

/// The sources of the reading site's templates: together with the assets they decide what a page looks like.
const TEMPLATES: [&str; 9] = [
    include_str!("../templates/icon.html"),
    include_str!("../templates/base.html"),
    include_str!("../templates/article.html"),
    include_str!("../templates/day.html"),
    include_str!("../templates/story.html"),
    include_str!("../templates/read.html"),
    include_str!("../templates/about.html"),
    include_str!("../templates/empty.html"),
    include_str!("../templates/error.html"),
];

/// The style sheet and the script of the reading site.
pub(crate) fn reader() -> [Asset; 2] {
    let style = concat!(include_str!("../assets/base.css"), include_str!("../assets/reader.css"));
    pair("reader", style, include_str!("../assets/reader.js"))
}

/// The style sheet and the script of contacts.
pub(crate) fn contacts() -> [Asset; 2] {
    let style = concat!(include_str!("../assets/base.css"), include_str!("../assets/contacts.css"));
    pair("contacts", style, include_str!("../assets/contacts.js"))
}

fn pair(stem: &str, style: &'static str, script: &'static str) -> [Asset; 2] {
    [
        Asset::new(stem, "css", "text/css; charset=utf-8", style),
        Asset::new(stem, "js", "text/javascript; charset=utf-8", script),
    ]
}

/// The one that an address names, as an answer.
pub(crate) fn find(assets: &[Asset], name: &str) -> Result<Reply, Fault> {
    let found = assets.iter().find(|asset| asset.name == name);
    Ok(found.ok_or_else(|| Fault::of_status(StatusCode::NOT_FOUND))?.reply())
}

/// What must be part of every page's tag, so that a new release is not taken for the old one.
pub(crate) fn build_tag() -> u64 {
    xxh3_64(TEMPLATES.concat().as_bytes())
}

impl Asset {
    fn new(
        stem: &str,
        extension: &str,
        content_type: &'static str,
        content: &'static str,
    ) -> Asset {
        let name = format!("{stem}-{:016x}.{extension}", xxh3_64(content.as_bytes()));
        Asset { name, content_type, content }
    }

    fn reply(&self) -> Reply {
        Reply {
            content_type: self.content_type,
            keep: Keep::Forever,
            tag: None,
            body: self.content.as_bytes().to_vec(),
        }
    }
}
