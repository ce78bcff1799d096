//! Routes: where a table is served besides `/v1/tables`. This file checks their form; the HTTP door binds them.

/// The places of a route, in its order: those of its path, then those of its query.
pub(super) fn places(route: &str) -> Result<Vec<&str>, &'static str> {
    let (path, query) = route.split_once('?').map_or((route, None), |(p, q)| (p, Some(q)));
    let plain = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte))
    };
    let mut places = Vec::new();
    let segments = path.strip_prefix('/').ok_or("it begins with a slash")?;
    for (at, segment) in segments.split('/').enumerate() {
        match place(segment) {
            Some(name) => places.push(name),
            None if segment.is_empty() && at + 1 < segments.split('/').count() => {
                return Err("it has no two slashes together");
            }
            None if matches!(segment, "." | "..") || !plain(segment) => {
                return Err("a segment is a `{part}`, or letters, digits, `-`, `_`, `.`, `~`");
            }
            None => {}
        }
    }
    for pair in query.into_iter().flat_map(|query| query.split('&')) {
        let bound = pair.split_once('=').filter(|(name, _)| !name.is_empty() && plain(name));
        let name = bound.and_then(|(_, value)| place(value));
        places.push(name.ok_or("a query is written `name={part}`, with `&` between two")?);
    }
    Ok(places)
}

/// What a route matches by its path alone: two tables cannot share it.
pub(super) fn path(route: &str) -> String {
    let path = route.split('?').next().unwrap_or_default();
    let blank = |segment| if place(segment).is_some() { "{}" } else { segment };
    path.split('/').map(blank).collect::<Vec<_>>().join("/")
}

fn place(text: &str) -> Option<&str> {
    text.strip_prefix('{')?.strip_suffix('}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_whole_segments_and_values() {
        assert_eq!(places("/api/v1/timings/{stop}"), Ok(vec!["stop"]));
        assert_eq!(places("/{line}/{stop}/"), Ok(vec!["line", "stop"]));
        assert_eq!(places("/?id={stop}&line={line}"), Ok(vec!["stop", "line"]));
        assert_eq!(places("/"), Ok(vec![]));
        for bad in [
            "", "a", "//", "/a//b", "/{a", "/x{a}", "/a b", "/../a", "/?", "/?id=1", "/?={a}", "/ä",
        ] {
            assert!(places(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_and_queries_do_not_tell_paths_apart() {
        assert_eq!(path("/a/{b}?c={d}"), path("/a/{x}"));
        assert_ne!(path("/a/{b}"), path("/a/b"));
    }
}
