//! GET, PUT, POST, DELETE, MKCOL, COPY and MOVE: resources come, go and are given out.

use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use sakuin_contacts::{
    Card, Change, CollectionId, Content, DEFAULT_BOOK, ETag, Entry, PropertyKey, Put, Version,
    converted,
};

use super::{
    Request,
    condition::{Conditions, Depth, path_of},
    empty,
    path::{Area, Place},
    property::{CARD_TYPE, Resource, content_type},
    refusal::Refusal,
    xml::{CARD, DAV, Element},
};
use crate::{body::Body, reply::http_date};

/// A resource as it is sent; 304 if the client has it.
pub(super) fn sent(
    entry: &Entry,
    bytes: Bytes,
    headers: &HeaderMap,
) -> Result<Response<Body>, Refusal> {
    let (bytes, etag, is_other) = match version_of(headers, entry) {
        Some(version) => {
            let bytes = Card::parse(bytes.clone()).map_or(bytes, |card| converted(&card, version));
            let etag = ETag::of(&bytes);
            (bytes, etag, true)
        }
        None => (bytes, entry.etag, false),
    };
    let is_known = Conditions::of(headers)?.is_known(etag, entry.modified);
    let mut response = match is_known {
        true => empty(StatusCode::NOT_MODIFIED),
        false => Response::new(Body::from(bytes)),
    };
    let own = response.headers_mut();
    own.reserve(HEADERS);
    own.insert(header::ETAG, HeaderValue::from_bytes(&etag.header()).expect("it is ASCII"));
    own.insert(header::LAST_MODIFIED, header_of(&http_date(entry.modified))?);
    own.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if is_other || matches!(entry.content, Content::Card { .. }) {
        own.insert(header::VARY, HeaderValue::from_static("accept"));
    }
    if !is_known {
        own.insert(header::CONTENT_TYPE, type_of(entry)?);
        // Whatever was put here, no browser takes it for a page of this site.
        own.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        own.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    }
    Ok(response)
}

/// The version that a client asks for, if it is not the card's own.
fn version_of(headers: &HeaderMap, entry: &Entry) -> Option<Version> {
    let Content::Card { version: own, .. } = entry.content else { return None };
    let accept = headers.get(header::ACCEPT)?.to_str().ok()?;
    let wanted = accept.split(',').filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_card = parts.next()?.eq_ignore_ascii_case("text/vcard");
        let version = parts.find_map(|part| part.strip_prefix("version="))?;
        is_card.then(|| version.trim_matches('"').parse().ok())?
    });
    let wanted: Vec<Version> = wanted.collect();
    (!wanted.contains(&own)).then(|| wanted.first().copied())?
}

/// How many headers an answer has, with those of the connection.
const HEADERS: usize = 12;

fn type_of(entry: &Entry) -> Result<HeaderValue, Refusal> {
    match &entry.content {
        Content::Card { .. } => Ok(HeaderValue::from_static(CARD_TYPE)),
        _ => header_of(content_type(entry)),
    }
}

fn header_of(text: &str) -> Result<HeaderValue, Refusal> {
    HeaderValue::try_from(text).map_err(|_| {
        Refusal::bad_request("a header cannot be written", "leave control characters out")
    })
}

impl Request {
    pub(crate) async fn get(&self) -> Result<Response<Body>, Refusal> {
        match self.resource()? {
            Resource::Entry(_, collection, entry, _) if !entry.is_folder() => {
                let bytes = self.dav.contacts.bytes(&collection, &entry).await?;
                sent(&entry, bytes.ok_or_else(Refusal::not_found)?, &self.headers)
            }
            _ => Err(Refusal::method("PROPFIND, REPORT, OPTIONS")),
        }
    }

    pub(crate) async fn put(&self, bytes: Bytes) -> Result<Response<Body>, Refusal> {
        let (within, id) = match self.within() {
            // What is to be put has no collection.
            Err(refusal)
                if refusal.status == StatusCode::NOT_FOUND
                    && matches!(self.place, Place::In(_)) =>
            {
                return Err(Refusal::new(
                    StatusCode::CONFLICT,
                    "there is no such collection",
                    "make it first, with MKCOL",
                ));
            }
            within => within?,
        };
        if within.path.is_empty() {
            return Err(Refusal::method("PROPFIND, PROPPATCH, REPORT, DELETE, POST, ACL, OPTIONS"));
        }
        let content_type = self.headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let card = match within.area {
            Area::Books => Some(Card::parse(bytes.clone())?),
            Area::Files => None,
        };
        let put = self.change(vec![id], move |change, guard| {
            guard.check(change, id, &within, false)?;
            let put = match &card {
                Some(card) => change.put_card(id, &within.path, card),
                None => change.put_file(id, &within.path, &bytes, &content_type),
            };
            put.map_err(|refused| guard.refusal(refused, &within))
        });
        put_response(&put.await?)
    }

    /// Puts a card under a name of its own (RFC 5995).
    pub(crate) async fn add_member(&self, bytes: Bytes) -> Result<Response<Body>, Refusal> {
        let (within, id) = self.within()?;
        if within.area != Area::Books || !within.path.is_empty() {
            return Err(Refusal::method("GET, PUT, DELETE, PROPFIND, PROPPATCH, OPTIONS"));
        }
        let card = Card::parse(bytes)?;
        let name = card.name();
        let prefix = self.dav.path.clone();
        let added = self.change(vec![id], move |change, guard| {
            let within = within.at(&name);
            guard.check_locks(change, id, &within, false)?;
            if change.collection(id)?.entry(&name).is_some() {
                let taken = sakuin_contacts::Refused::UidTaken { name };
                return Err(guard.refusal(taken, &within));
            }
            let put = change
                .put_card(id, &name, &card)
                .map_err(|refused| guard.refusal(refused, &within))?;
            Ok((put, within.href(&prefix, false)))
        });
        let (put, href) = added.await?;
        let mut response = put_response(&put)?;
        response.headers_mut().insert(header::LOCATION, header_of(&href)?);
        Ok(response)
    }

    pub(crate) async fn delete(&self) -> Result<Response<Body>, Refusal> {
        let (within, id) = self.within()?;
        if Depth::of(&self.headers, Depth::Infinity)? != Depth::Infinity && within.path.is_empty() {
            return Err(Refusal::bad_request(
                "a collection goes with all in it",
                "leave `Depth` away, or send `infinity`",
            ));
        }
        let is_owner = self.is_owner(&within);
        self.change(vec![id], move |change, guard| {
            guard.check(change, id, &within, true)?;
            match (&*within.path, &*within.collection) {
                ("", "") => {
                    Err(Refusal::forbidden("the place for files stays", "delete what is in it"))
                }
                ("", _) if !is_owner => {
                    Err(Refusal::need(&within.href(&guard.prefix, true), "unbind"))
                }
                // Some programs know this one book by its address only.
                ("", DEFAULT_BOOK) => Ok(change.empty_collection(id)?),
                ("", _) => Ok(change.remove_collection(id)?),
                (path, _) => Ok(change.remove(id, path)?),
            }
        })
        .await?;
        Ok(empty(StatusCode::NO_CONTENT))
    }

    pub(crate) async fn make_collection(
        &self,
        body: Result<Option<Element>, Refusal>,
    ) -> Result<Response<Body>, Refusal> {
        let Place::In(within) = self.place.clone() else {
            return Err(Refusal::method("PROPFIND, REPORT, OPTIONS"));
        };
        let unsupported = || {
            let cure = "send nothing, or `mkcol` as RFC 5689 shows";
            Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body is not `mkcol`", cure)
        };
        let body = body.map_err(|_| unsupported())?;
        if body.as_ref().is_some_and(|body| !body.is(DAV, "mkcol")) {
            return Err(unsupported());
        }
        if within.area == Area::Files {
            let id = self.writable(&within)?;
            if within.path.is_empty() {
                return Err(Refusal::method("PROPFIND, OPTIONS"));
            }
            self.change(vec![id], move |change, guard| {
                guard.check(change, id, &within, false)?;
                change.make_folder(id, &within.path)?;
                set_properties(change, id, &within.path, body.as_ref())
            })
            .await?;
            return Ok(empty(StatusCode::CREATED));
        }
        if !within.path.is_empty() {
            return Err(Refusal::forbidden("a book has no folders", "make another book beside it")
                .of(CARD, "addressbook-collection-location-ok", ""));
        }
        if !self.is_owner(&within) {
            return Err(Refusal::need(&Place::Home(within.owner).href(&self.dav.path), "bind"));
        }
        let owner =
            self.root.directory().principal(&within.owner).ok_or_else(Refusal::not_found)?.id;
        self.change(Vec::new(), move |change, _| {
            let id =
                change.create_collection(owner, &within.collection, sakuin_contacts::Kind::Book)?;
            set_properties(change, id, "", body.as_ref())
        })
        .await?;
        Ok(empty(StatusCode::CREATED))
    }

    pub(crate) async fn copy(&self, is_move: bool) -> Result<Response<Body>, Refusal> {
        let Place::In(from) = self.place.clone() else {
            return Err(Refusal::forbidden(
                "this is neither copied nor moved",
                "copy cards and files",
            ));
        };
        let (from_id, _) = self.known(&from)?;
        if is_move {
            self.writable(&from)?;
        }
        let cure = "send the address of where it is to be in `Destination`";
        let destination = self.headers.get("destination").and_then(|it| it.to_str().ok());
        let destination =
            destination.ok_or_else(|| Refusal::bad_request("there is no `Destination`", cure))?;
        let to = match Place::parse(&self.dav.path, &path_of(destination)) {
            Ok(Place::In(to)) => to,
            _ => return Err(Refusal::forbidden("nothing is put there", cure)),
        };
        let to_id = match self.writable(&to) {
            Err(refusal) if refusal.status == StatusCode::NOT_FOUND => {
                return Err(Refusal::new(
                    StatusCode::CONFLICT,
                    "its destination has no collection",
                    "make it first, with MKCOL",
                ));
            }
            id => id?,
        };
        if from.path.is_empty() || to.path.is_empty() {
            return Err(Refusal::forbidden(
                "a whole collection is neither copied nor moved",
                "make another and copy what is in it",
            ));
        }
        let is_overwrite = self
            .headers
            .get("overwrite")
            .is_none_or(|it| !it.as_bytes().eq_ignore_ascii_case(b"f"));
        let is_alone = !is_move && Depth::of(&self.headers, Depth::Infinity)? == Depth::Zero;
        let is_inside = from_id == to_id
            && (from.path == to.path
                || sakuin_contacts::is_below(&to.path, &from.path)
                || sakuin_contacts::is_below(&from.path, &to.path));
        if is_inside {
            return Err(Refusal::forbidden(
                "its destination is itself, or lies in it or around it",
                "choose another place",
            ));
        }
        let made = self.change(vec![from_id, to_id], move |change, guard| {
            guard.conditions.check(
                &guard.prefix,
                &from,
                change.collection(from_id)?,
                change.now(),
            )?;
            if is_move {
                guard.check_locks(change, from_id, &from, true)?;
            }
            guard.check_locks(change, to_id, &to, true)?;
            if change.collection(from_id)?.entry(&from.path).is_none() {
                return Err(Refusal::not_found());
            }
            let is_there = change.collection(to_id)?.entry(&to.path).is_some();
            if is_there && !is_overwrite {
                return Err(Refusal::precondition("something is at its destination"));
            }
            if is_there {
                change.remove(to_id, &to.path)?;
            }
            let (source, target) = ((from_id, &*from.path), (to_id, &*to.path));
            let done = match is_move {
                true => change.rename(source, target),
                false => change.copy(source, target, is_alone),
            };
            done.map_err(|refused| guard.refusal(refused, &to))?;
            Ok(is_there)
        });
        Ok(empty(if made.await? { StatusCode::NO_CONTENT } else { StatusCode::CREATED }))
    }
}

fn put_response(put: &Put) -> Result<Response<Body>, Refusal> {
    let (status, etag) = match put {
        Put::Created(etag) => (StatusCode::CREATED, etag),
        Put::Replaced(etag) | Put::Unchanged(etag) => (StatusCode::NO_CONTENT, etag),
    };
    let mut response = empty(status);
    response.headers_mut().insert(header::ETAG, header_of(&etag.to_string())?);
    Ok(response)
}

/// Sets the properties that a body names for what is made.
fn set_properties(
    change: &mut Change<'_>,
    id: CollectionId,
    path: &str,
    body: Option<&Element>,
) -> Result<(), Refusal> {
    let set = body.iter().flat_map(|body| body.children()).filter(|child| child.is(DAV, "set"));
    let properties = set.filter_map(|set| set.child(DAV, "prop")).flat_map(Element::children);
    for property in properties.filter(|property| !property.is(DAV, "resourcetype")) {
        let name = super::property::Name::of(property);
        if name.is_protected() {
            return Err(Refusal::forbidden(
                format!("`{}` follows from what it is", name.name),
                "leave it out",
            )
            .of(DAV, "cannot-modify-protected-property", ""));
        }
        let key = PropertyKey {
            path: path.into(),
            namespace: (*name.namespace).into(),
            name: (*name.name).into(),
        };
        change.set_property(id, key, Some(property.to_xml().into()))?;
    }
    Ok(())
}
