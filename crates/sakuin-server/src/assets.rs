//! Style sheets and scripts, built into the binary and addressed by their content.
//!
//! Their addresses hold a hash of their bytes, so a client keeps them for ever and a new release is
//! seen at once.

use xxhash_rust::xxh3::xxh3_64;

use crate::reply::{Keep, Reply};

/// One file for the page.
pub(crate) struct Asset {
    /// Its name in an address: `reader-0123456789abcdef.css`.
    pub(crate) name: String,
    content_type: &'static str,
    content: &'static str,
}

const STYLE: &str =
    concat!(include_str!("../assets/base.css"), include_str!("../assets/reader.css"));
const SCRIPT: &str = include_str!("../assets/reader.js");

/// The templates' sources: together with the assets they decide what a page looks like.
const TEMPLATES: [&str; 8] = [
    include_str!("../templates/base.html"),
    include_str!("../templates/article.html"),
    include_str!("../templates/day.html"),
    include_str!("../templates/story.html"),
    include_str!("../templates/read.html"),
    include_str!("../templates/about.html"),
    include_str!("../templates/empty.html"),
    include_str!("../templates/error.html"),
];

/// The style sheet.
pub(crate) fn style() -> Asset {
    Asset::new("reader", "css", "text/css; charset=utf-8", STYLE)
}

/// The script.
pub(crate) fn script() -> Asset {
    Asset::new("reader", "js", "text/javascript; charset=utf-8", SCRIPT)
}

/// What must be part of every page's tag, so that a new release is not taken for the old one.
pub(crate) fn build_tag() -> u64 {
    xxh3_64(TEMPLATES.concat().as_bytes())
}

impl Asset {
    pub(crate) fn new(
        stem: &str,
        extension: &str,
        content_type: &'static str,
        content: &'static str,
    ) -> Asset {
        let name = format!("{stem}-{:016x}.{extension}", xxh3_64(content.as_bytes()));
        Asset { name, content_type, content }
    }

    /// The file as an answer.
    pub(crate) fn reply(&self) -> Reply {
        Reply {
            content_type: self.content_type,
            keep: Keep::Forever,
            tag: None,
            body: self.content.as_bytes().to_vec(),
        }
    }
}
