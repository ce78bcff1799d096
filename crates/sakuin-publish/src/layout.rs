//! Where things are in a repository, and the names that things may have.
//!
//! ```text
//! objects/ab/<64 hex>                   a table's bytes, named by their BLAKE3
//! versions/<20 digits>.json             a manifest
//! channels/stable/<20 digits>.json      an announcement
//! pins/<20 digits>.json                 a version that is to stay, and why
//! collect/<20 digits>.json              a plan of what is to be deleted
//! ```

/// The version of all of this.
pub(crate) const FORMAT: u32 = 1;

pub(crate) const OBJECTS: &str = "objects";
pub(crate) const VERSIONS: &str = "versions";
pub(crate) const CHANNELS: &str = "channels";
pub(crate) const PINS: &str = "pins";
pub(crate) const PLANS: &str = "collect";

pub(crate) fn object(hash: &str) -> String {
    format!("{OBJECTS}/{}/{hash}", hash.get(..2).unwrap_or_default())
}

pub(crate) fn version(number: u64) -> String {
    format!("{VERSIONS}/{number:020}.json")
}

pub(crate) fn channel(name: &str) -> String {
    format!("{CHANNELS}/{name}")
}

pub(crate) fn announcement(channel: &str, number: u64) -> String {
    format!("{CHANNELS}/{channel}/{number:020}.json")
}

pub(crate) fn pin(version: u64) -> String {
    format!("{PINS}/{version:020}.json")
}

pub(crate) fn plan(number: u64) -> String {
    format!("{PLANS}/{number:020}.json")
}

/// The number that a file is called by.
pub(crate) fn number(name: &str) -> Option<u64> {
    let digits = name.rsplit('/').next()?.strip_suffix(".json")?;
    (digits.len() == 20).then(|| digits.parse().ok()).flatten()
}

/// Whether a table or a channel may be called so.
pub(crate) fn is_name(name: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(good) && !name.starts_with('.')
}

pub(crate) fn is_hash(hash: &str) -> bool {
    hash.len() == 64 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
