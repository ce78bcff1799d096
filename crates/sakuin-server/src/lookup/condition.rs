//! What a request that writes says its record must be like: `If-Match` and `If-None-Match` (RFC 9110 13.1).
//!
//! A record's tag is its version in quotes, so a list of tags is a list of versions; a tag of any other form is of
//! no record.

use axum::http::{HeaderMap, HeaderName, header};

/// The conditions of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conditions {
    matches: Option<Tags>,
    matches_none: Option<Tags>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Tags {
    /// `*`
    Any,
    Versions(Vec<u64>),
}

impl Conditions {
    pub(super) fn of(headers: &HeaderMap) -> Conditions {
        Conditions {
            // Who writes wants the very same record, so a weak tag is none.
            matches: Tags::of(headers, &header::IF_MATCH, ""),
            matches_none: Tags::of(headers, &header::IF_NONE_MATCH, "W/"),
        }
    }

    /// Whether they hold for a record of this version, or for one that is not there.
    pub(super) fn hold(&self, version: Option<u64>) -> bool {
        let named = |tags: &Option<Tags>| tags.as_ref().map(|tags| tags.name(version));
        named(&self.matches) != Some(false) && named(&self.matches_none) != Some(true)
    }

    /// Whether the request is for a record that is not there: `If-None-Match: *`.
    pub(super) fn want_absence(&self) -> bool {
        self.matches_none == Some(Tags::Any)
    }
}

impl Tags {
    fn of(headers: &HeaderMap, name: &HeaderName, prefix: &str) -> Option<Tags> {
        let mut lines = headers.get_all(name).iter().peekable();
        lines.peek()?;
        let lines = lines.map(|line| line.to_str().unwrap_or_default());
        let tags: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
        if tags.contains(&"*") {
            return Some(Tags::Any);
        }
        let version = |tag: &&str| {
            let tag = tag.strip_prefix(prefix).unwrap_or(tag);
            tag.strip_prefix('"')?.strip_suffix('"')?.parse().ok()
        };
        Some(Tags::Versions(tags.iter().filter_map(version).collect()))
    }

    fn name(&self, version: Option<u64>) -> bool {
        version.is_some_and(|version| match self {
            Tags::Any => true,
            Tags::Versions(versions) => versions.contains(&version),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether headers hold for a record of version 5, and for none.
    #[track_caller]
    fn check(headers: &[(&'static str, &str)], there: bool, absent: bool) {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        let mut map = HeaderMap::new();
        headers.for_each(|(name, value)| {
            map.append(name, value);
        });
        let conditions = Conditions::of(&map);
        assert_eq!((conditions.hold(Some(5)), conditions.hold(None)), (there, absent), "{map:?}");
    }

    #[test]
    fn a_tag_is_a_version() {
        check(&[], true, true);
        check(&[("if-match", "\"5\"")], true, false);
        check(&[("if-match", "\"4\"")], false, false);
        check(&[("if-match", "\"4\", \"5\"")], true, false);
        check(&[("if-match", "\"4\""), ("if-match", "\"5\"")], true, false);
        check(&[("if-match", "*")], true, false);
        check(&[("if-match", "W/\"5\"")], false, false);
        check(&[("if-match", "5")], false, false);
        check(&[("if-match", "\"5-gz\"")], false, false);
        check(&[("if-match", "")], false, false);
        check(&[("if-none-match", "*")], false, true);
        check(&[("if-none-match", "\"5\"")], false, true);
        check(&[("if-none-match", "W/\"5\"")], false, true);
        check(&[("if-none-match", "\"4\"")], true, true);
        check(&[("if-match", "*"), ("if-none-match", "\"5\"")], false, false);
    }
}
