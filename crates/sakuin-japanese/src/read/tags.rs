//! The closed list of tags that decides whether a parenthesis in EDICT is a mark or part of the gloss.
//!
//! `(uk) to do` and `(pine) resin` look alike; only a list tells them apart. The list is data, in
//! `tags.txt`. XML needs none of it: there a tag is an entity and says so itself.

use std::{collections::HashMap, sync::LazyLock};

/// What a tag speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// A part of speech, which later senses inherit.
    Class,
    /// Usage, field or dialect.
    Sense,
    /// A field whose name is a common word, a mark only in braces.
    Braces,
    /// The headword.
    Headword,
    /// The reading.
    Reading,
}

/// The sort of a tag as EDICT writes it, and its JMdict name: `ksb:` is `ksb`.
pub(super) fn tag(written: &str) -> Option<(Sort, &'static str)> {
    TAGS.words.get(written.strip_suffix(':').unwrap_or(written)).copied()
}

/// JMnedict's name for a letter of ENAMDICT.
pub(super) fn name_type(letter: &str) -> Option<&'static str> {
    TAGS.names.get(letter).copied()
}

struct Tags {
    words: HashMap<&'static str, (Sort, &'static str)>,
    names: HashMap<&'static str, &'static str>,
}

static TAGS: LazyLock<Tags> = LazyLock::new(|| {
    let mut tags = Tags { words: HashMap::new(), names: HashMap::new() };
    for line in include_str!("tags.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let sort = match words.next() {
            Some("class") => Sort::Class,
            Some("usage" | "field" | "dialect") => Sort::Sense,
            Some("braces") => Sort::Braces,
            Some("headword") => Sort::Headword,
            Some("reading") => Sort::Reading,
            Some("name") => {
                tags.names.extend(words.filter_map(|word| word.split_once('=')));
                continue;
            }
            _ => continue,
        };
        tags.words.extend(words.map(|word| (word, (sort, word))));
    }
    tags
});
