//! What a request wants to be so before it is done: `If-Match` and its like (RFC 9110, section 13), and `If` with etags
//! and the tokens of locks (RFC 4918, section 10.4).

use axum::http::{HeaderMap, StatusCode, header};
use sakuin_contacts::{Collection, ETag, Lock, PrincipalId};

use super::{
    path::{Place, Within},
    refusal::Refusal,
};

/// The conditions of one request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    if_match: Option<Tags>,
    if_none_match: Option<Tags>,
    if_modified_since: Option<i64>,
    if_unmodified_since: Option<i64>,
    lists: Vec<List>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Tags {
    Any,
    Some(Vec<String>),
}

/// Conditions of `If` that must hold together, of the request's own resource or of another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct List {
    of: Option<String>,
    all: Vec<(bool, Wanted)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    Token(String),
    Tag(String),
}

/// What `If` may hold.
const LISTS_MAX: usize = 64;

impl Conditions {
    pub(crate) fn of(headers: &HeaderMap) -> Result<Conditions, Refusal> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let tags = |name| text(name).map(Tags::parse);
        let time = |name| {
            let time = httpdate::parse_http_date(text(name)?).ok()?;
            let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
            Some(since.as_secs().cast_signed())
        };
        let lists = match headers.get(header::HeaderName::from_static("if")) {
            None => Vec::new(),
            Some(lists) => {
                let parsed = lists.to_str().ok().and_then(parse);
                let cure = "write it as RFC 4918, section 10.4 shows: `(<token> [\"etag\"])`";
                parsed
                    .ok_or_else(|| Refusal::bad_request("the header `If` cannot be read", cure))?
            }
        };
        Ok(Conditions {
            if_match: tags(header::IF_MATCH),
            if_none_match: tags(header::IF_NONE_MATCH),
            if_modified_since: time(header::IF_MODIFIED_SINCE),
            if_unmodified_since: time(header::IF_UNMODIFIED_SINCE),
            lists,
        })
    }

    /// Whether a client that looks has this already.
    pub(crate) fn is_known(&self, etag: ETag, modified: i64) -> bool {
        match &self.if_none_match {
            Some(tags) => tags.has(Some(etag)),
            None => self.if_modified_since.is_some_and(|since| modified <= since),
        }
    }

    /// Refuses a request whose conditions do not hold of what is there.
    pub(crate) fn check(
        &self,
        prefix: &str,
        within: &Within,
        collection: &Collection,
        now: i64,
    ) -> Result<(), Refusal> {
        let entry = collection.entry(&within.path);
        let etag = entry.map(|entry| entry.etag);
        if self.if_match.as_ref().is_some_and(|tags| !tags.has(etag)) {
            return Err(Refusal::precondition(match etag {
                Some(etag) => format!("its ETag is {etag} by now"),
                None => "it is not there".to_owned(),
            }));
        }
        if self.if_none_match.as_ref().is_some_and(|tags| tags.has(etag)) {
            return Err(Refusal::precondition("it is there already"));
        }
        let is_newer = |entry: &sakuin_contacts::Entry| {
            self.if_unmodified_since.is_some_and(|since| entry.modified > since)
        };
        if entry.is_some_and(|entry| is_newer(entry)) {
            return Err(Refusal::precondition("it was modified since"));
        }
        let holds = |list: &List| {
            let of = match &list.of {
                None => Some(within.clone()),
                Some(address) => match Place::parse(prefix, &path_of(address)) {
                    Ok(Place::In(of)) => Some(of),
                    _ => None,
                },
            };
            list.all.iter().all(|(is_wanted, wanted)| {
                let is_so = of.as_ref().is_some_and(|of| {
                    let is_here = (of.area, &of.owner, &of.collection)
                        == (within.area, &within.owner, &within.collection);
                    match wanted {
                        Wanted::Token(token) => {
                            is_here
                                && collection
                                    .locks(&of.path, now)
                                    .any(|lock| *lock.token == **token)
                        }
                        Wanted::Tag(tag) => {
                            let entry = collection.entry(&of.path).filter(|_| is_here);
                            entry.is_some_and(|entry| entry.etag.to_string() == *tag)
                        }
                    }
                });
                is_so == *is_wanted
            })
        };
        match self.lists.is_empty() || self.lists.iter().any(holds) {
            true => Ok(()),
            false => Err(Refusal::precondition("nothing that `If` wants is so")),
        }
    }

    /// Whether the request shows the token of a lock.
    pub(crate) fn shows(&self, lock: &Lock) -> bool {
        let shown = self.lists.iter().flat_map(|list| &list.all);
        shown
            .into_iter()
            .any(|(_, wanted)| matches!(wanted, Wanted::Token(token) if **token == *lock.token))
    }

    /// The first token that the request shows: of the lock that it means.
    pub(crate) fn token(&self) -> Option<&str> {
        self.lists.iter().flat_map(|list| &list.all).find_map(|(_, wanted)| match wanted {
            Wanted::Token(token) => Some(&**token),
            Wanted::Tag(_) => None,
        })
    }

    /// Refuses a request that changes what somebody has locked, or anything below it if `is_deep`.
    pub(crate) fn check_locks(
        &self,
        prefix: &str,
        within: &Within,
        collection: &Collection,
        now: i64,
        is_deep: bool,
        who: PrincipalId,
    ) -> Result<(), Refusal> {
        // What is made or removed is a change of the folder too.
        let parent = within.path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let is_new = collection.entry(&within.path).is_none() || is_deep;
        let of_parent = collection
            .locks(parent, now)
            .filter(|lock| is_new && *lock.path == *parent && !within.path.is_empty());
        let own: Vec<_> = match is_deep {
            true => collection.locks_within(&within.path, now).collect(),
            false => collection.locks(&within.path, now).collect(),
        };
        let locks = own.into_iter().chain(of_parent);
        // Of locks that are shared on one resource, one is enough.
        let mut open: Vec<&Lock> = Vec::new();
        let mut shown: Vec<&str> = Vec::new();
        for lock in locks {
            match self.shows(lock) && lock.principal == who {
                true => shown.push(&lock.path),
                false => open.push(lock),
            }
        }
        let open = open.iter().find(|lock| !(lock.is_shared && shown.contains(&&*lock.path)));
        match open {
            None => Ok(()),
            Some(lock) => Err(Refusal::locked(&within.at(&lock.path).href(prefix, false))),
        }
    }
}

/// The path of an address, which may be whole.
pub(crate) fn path_of(address: &str) -> String {
    match address.split_once("://") {
        None => address.to_owned(),
        Some((_, rest)) => rest.find('/').map_or("/", |slash| &rest[slash..]).to_owned(),
    }
}

impl Tags {
    fn parse(text: &str) -> Tags {
        match text.trim() {
            "*" => Tags::Any,
            text => Tags::Some(
                text.split(',').map(|tag| tag.trim().trim_start_matches("W/").to_owned()).collect(),
            ),
        }
    }

    fn has(&self, etag: Option<ETag>) -> bool {
        match (self, etag) {
            (_, None) => false,
            (Tags::Any, Some(_)) => true,
            (Tags::Some(tags), Some(etag)) => {
                let etag = etag.to_string();
                tags.contains(&etag)
            }
        }
    }
}

/// The lists of `If`.
fn parse(text: &str) -> Option<Vec<List>> {
    let mut rest = text.trim_start();
    let (mut lists, mut of) = (Vec::new(), None);
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('<') {
            let (address, after) = after.split_once('>')?;
            of = Some(address.to_owned());
            rest = after.trim_start();
        }
        let mut inside = rest.strip_prefix('(')?.trim_start();
        let mut all = Vec::new();
        loop {
            if let Some(after) = inside.strip_prefix(')') {
                rest = after.trim_start();
                break;
            }
            let is_wanted = match inside.strip_prefix("Not") {
                Some(after) => {
                    inside = after.trim_start();
                    false
                }
                None => true,
            };
            let (wanted, after) = match inside.strip_prefix('<') {
                Some(after) => {
                    let (token, after) = after.split_once('>')?;
                    (Wanted::Token(token.to_owned()), after)
                }
                None => {
                    let (tag, after) = inside.strip_prefix('[')?.split_once(']')?;
                    (Wanted::Tag(tag.trim().trim_start_matches("W/").to_owned()), after)
                }
            };
            all.push((is_wanted, wanted));
            inside = after.trim_start();
        }
        if all.is_empty() || lists.len() == LISTS_MAX {
            return None;
        }
        lists.push(List { of: of.clone(), all });
    }
    (!lists.is_empty()).then_some(lists)
}

/// How deep a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    Zero,
    One,
    Infinity,
}

impl Depth {
    pub(crate) fn of(headers: &HeaderMap, default: Depth) -> Result<Depth, Refusal> {
        match headers.get("depth").map(|depth| depth.as_bytes().to_ascii_lowercase()).as_deref() {
            None => Ok(default),
            Some(b"0") => Ok(Depth::Zero),
            Some(b"1") => Ok(Depth::One),
            Some(b"infinity") => Ok(Depth::Infinity),
            Some(_) => Err(Refusal::new(
                StatusCode::BAD_REQUEST,
                "the header `Depth` cannot be read",
                "write 0, 1 or infinity",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let one = |is_wanted, wanted: &str| {
            let wanted = match wanted.starts_with('"') {
                true => Wanted::Tag(wanted.to_owned()),
                false => Wanted::Token(wanted.to_owned()),
            };
            (is_wanted, wanted)
        };
        let lists = parse("(<urn:a> [\"x\"]) (Not <urn:b>[W/\"y\"])").unwrap();
        assert_eq!(
            lists,
            [
                List { of: None, all: vec![one(true, "urn:a"), one(true, "\"x\"")] },
                List { of: None, all: vec![one(false, "urn:b"), one(true, "\"y\"")] },
            ]
        );
        let tagged = parse("<http://h/a> (<urn:a>) (<urn:b>) </b> (<urn:c>)").unwrap();
        let of: Vec<_> = tagged.iter().map(|list| list.of.as_deref().unwrap()).collect();
        assert_eq!(of, ["http://h/a", "http://h/a", "/b"]);
        for text in ["", "()", "(", "(<a>", "<a>", "<a> b", "(x)", "([\"a\")", "(<a>) x"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
