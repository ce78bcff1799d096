//! The DAV door: address books for the programs of telephones and desks (CardDAV, RFC 6352), and plain files beside
//! them (WebDAV, RFC 4918).
//!
//! This file finds out who asks and what for; each method, or a group of them, is a file below. A change is looked at
//! and made by the engine at one moment: whatever a request wants to be so is checked there.

mod acl;
mod condition;
#[cfg(fuzzing)]
pub mod fuzzing;
mod lock;
mod multistatus;
mod path;
mod property;
mod propfind;
mod refusal;
mod report;
mod resource;
mod xml;

use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header, request};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use sakuin_contacts::{
    Change, Collection, CollectionId, Contacts, Principal, PropertyKey, Refused, Rights, Root,
    SignIn, Who,
};

use crate::{
    body::Body,
    contacts,
    pool::Pool,
    reply::{read_body, utf8},
};
use condition::Conditions;
use path::{Area, Place, Within, plain_card};
use property::{Resource, View, kind_of};
use refusal::Refusal;
use xml::Element;

/// The door of one configuration.
pub(crate) struct Dav {
    pub(crate) contacts: Arc<Contacts>,
    /// Where it is: begins and ends with a slash.
    pub(crate) path: String,
    pub(crate) card_bytes_max: usize,
    pub(crate) pool: Pool,
}

/// A request, by whom, and what there is at its moment.
pub(crate) struct Request {
    dav: Arc<Dav>,
    root: Arc<Root>,
    who: Who,
    place: Place,
    headers: HeaderMap,
}

/// The longest body of XML, and the longest that is read without a thread of the pool.
const XML_BYTES_MAX: usize = 8 << 20;
const INLINE_BYTES_MAX: usize = 16 << 10;

const CLASSES: &str = "1, 2, 3, access-control, addressbook, extended-mkcol";
const METHODS: &str = "OPTIONS, GET, HEAD, PUT, DELETE, POST, MKCOL, COPY, MOVE, PROPFIND, PROPPATCH, LOCK, UNLOCK, ACL, REPORT";

/// Where programs ask first (RFC 6764).
pub(crate) const WELL_KNOWN: &str = "/.well-known/carddav";

impl Dav {
    /// Whether an address is this door's.
    pub(crate) fn has(&self, path: &str) -> bool {
        path.starts_with(&self.path)
            || path == self.path.trim_end_matches('/')
            || path == WELL_KNOWN
    }

    /// An answer that needs no waiting: a card that memory has, for somebody it remembers. `signed` is of the
    /// connection: most say the same with each of their requests.
    pub(crate) fn peek(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        signed: &Signed,
    ) -> Option<Response<Body>> {
        if *method != Method::GET && *method != Method::HEAD {
            return None;
        }
        let root = self.contacts.peek()?;
        let (owner, book, card) = plain_card(&self.path, path)?;
        let sign_in = signed.recall(&self.contacts, headers)?;
        let who = sign_in.holder(&root)?;
        let directory = root.directory();
        let owner = directory.principal(owner)?.id;
        let header = directory.collection(owner, book)?;
        let collection = root.collection(header.id)?;
        directory.rights(who, owner, header.id)?;
        let entry = collection.entry(card)?;
        let bytes = entry.bytes().filter(|_| !entry.is_folder())?;
        resource::sent(entry, bytes.clone(), headers).ok()
    }

    /// Answers a request of this door.
    pub(crate) async fn answer(
        self: Arc<Self>,
        request: axum::http::Request<axum::body::Body>,
    ) -> Response<Body> {
        let (parts, body) = request.into_parts();
        if parts.uri.path() == WELL_KNOWN {
            return Body::redirect(StatusCode::MOVED_PERMANENTLY, &self.path);
        }
        if parts.method == Method::GET
            && is_browser(&parts.headers)
            && parts.uri.path() == self.path
        {
            return Body::redirect(StatusCode::SEE_OTHER, contacts::PATH);
        }
        let mut response = match self.try_answer(parts, body).await {
            Ok(response) => response,
            Err(refusal) => {
                tracing::debug!(status = refusal.status.as_u16(), "{}", refusal.cause());
                refusal.into_response()
            }
        };
        response.headers_mut().insert("dav", HeaderValue::from_static(CLASSES));
        response
    }

    async fn try_answer(
        self: Arc<Self>,
        parts: request::Parts,
        body: axum::body::Body,
    ) -> Result<Response<Body>, Refusal> {
        if parts.method == Method::OPTIONS {
            let mut response = Response::new(Body::empty());
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(METHODS));
            return Ok(response);
        }
        let (name, secret) = credentials(&parts.headers).ok_or_else(Refusal::sign_in)?;
        let root = self.contacts.root().await?;
        let who = self.contacts.sign_in(&root, &name, &secret).await?;
        let place = Place::parse(&self.path, parts.uri.path()).map_err(|cause| {
            Refusal::bad_request(
                format!("the address cannot be: {cause}"),
                "follow the addresses that PROPFIND tells",
            )
        })?;
        let mut request = Request { dav: self, root, who, place, headers: parts.headers };
        request.load().await?;
        let is_read = matches!(parts.method.as_str(), "GET" | "HEAD" | "PROPFIND" | "REPORT");
        if request.who.is_read_only && !is_read {
            return Err(Refusal::forbidden("this token may only look", "sign in with another"));
        }
        match parts.method.as_str() {
            "GET" | "HEAD" => request.get().await,
            "PUT" => request.put(request.bytes(body).await?).await,
            "POST" => request.add_member(request.bytes(body).await?).await,
            "DELETE" => request.delete().await,
            "MKCOL" => request.make_collection(request.xml(body).await).await,
            "COPY" => request.copy(false).await,
            "MOVE" => request.copy(true).await,
            "PROPFIND" => request.propfind(request.xml(body).await?).await,
            "PROPPATCH" => request.proppatch(request.xml(body).await?).await,
            "REPORT" => request.report(request.xml(body).await?).await,
            "LOCK" => request.lock(request.xml(body).await?).await,
            "UNLOCK" => request.unlock().await,
            "ACL" => request.acl(request.xml(body).await?).await,
            _ => Err(Refusal::method(METHODS)),
        }
    }
}

/// Whether a person looks, who wants the pages.
fn is_browser(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// What was last shown on a connection, and who that was.
#[derive(Default)]
pub(crate) struct Signed(Mutex<Option<(HeaderValue, Weak<Contacts>, SignIn)>>);

impl Signed {
    fn recall(&self, contacts: &Arc<Contacts>, headers: &HeaderMap) -> Option<SignIn> {
        let shown = headers.get(header::AUTHORIZATION)?;
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A reload may have opened another store.
        let of_it = |of: &Weak<Contacts>| of.as_ptr() == Arc::as_ptr(contacts);
        if let Some((before, of, sign_in)) = &*last
            && of_it(of)
            && before == shown
        {
            return Some(sign_in.clone());
        }
        let (name, secret) = credentials(headers)?;
        let sign_in = contacts.recall(&name, &secret)?;
        *last = Some((shown.clone(), Arc::downgrade(contacts), sign_in.clone()));
        Some(sign_in)
    }
}

/// Name and secret of `Authorization: Basic`.
fn credentials(headers: &HeaderMap) -> Option<(String, String)> {
    let (scheme, encoded) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    decoded.split_once(':').map(|(name, secret)| (name.to_owned(), secret.to_owned()))
}

impl Request {
    /// Has what the request is about in memory.
    async fn load(&mut self) -> Result<(), Refusal> {
        let directory = self.root.directory();
        let owner = |name: &str| directory.principal(name).map(|owner| owner.id);
        let ids: Vec<CollectionId> = match &self.place {
            Place::In(within) => {
                let found = owner(&within.owner)
                    .and_then(|owner| directory.collection(owner, &within.collection));
                found.map(|header| header.id).into_iter().collect()
            }
            Place::Home(name) => {
                let own = owner(name).into_iter().flat_map(|owner| directory.collections(owner));
                own.map(|(_, header)| header.id).collect()
            }
            Place::Homes(Area::Files) => {
                let own = directory.collection(self.who.principal.id, sakuin_contacts::FILES);
                own.map(|header| header.id).into_iter().collect()
            }
            _ => return Ok(()),
        };
        self.root = self.dav.contacts.root_with(&ids).await?;
        Ok(())
    }

    /// What is at the request's address, for who asks.
    fn resource(&self) -> Result<Resource, Refusal> {
        self.find(&self.place)
    }

    fn find(&self, place: &Place) -> Result<Resource, Refusal> {
        let directory = self.root.directory();
        let somebody =
            |name: &str| directory.principal(name).cloned().ok_or_else(Refusal::not_found);
        match place {
            Place::Root | Place::Principals | Place::Homes(_) => Ok(Resource::Plain(place.clone())),
            Place::Principal(name) => Ok(Resource::Principal(somebody(name)?)),
            Place::Home(name) => {
                let owner = somebody(name)?;
                let mut own = directory.collections(owner.id);
                let is_mine = owner.id == self.who.principal.id || self.who.principal.is_admin;
                match is_mine
                    || own.any(|(_, header)| {
                        directory.rights(&self.who.principal, owner.id, header.id).is_some()
                    }) {
                    true => Ok(Resource::Home(owner)),
                    false => Err(Refusal::not_found()),
                }
            }
            Place::In(within) => {
                let (id, rights) = self.known(within)?;
                let collection = self.root.collection(id).ok_or_else(Refusal::not_found)?.clone();
                match &*within.path {
                    "" => Ok(Resource::Collection(within.clone(), collection, rights)),
                    path => {
                        let entry = collection.entry(path).ok_or_else(Refusal::not_found)?.clone();
                        Ok(Resource::Entry(within.clone(), collection, entry, rights))
                    }
                }
            }
        }
    }

    /// The collection of an address and what may be done with it, if it may be known.
    fn known(&self, within: &Within) -> Result<(CollectionId, Rights), Refusal> {
        let directory = self.root.directory();
        let owner = directory.principal(&within.owner).ok_or_else(Refusal::not_found)?.id;
        let header =
            directory.collection(owner, &within.collection).ok_or_else(Refusal::not_found)?;
        let rights = directory.rights(&self.who.principal, owner, header.id);
        match rights.filter(|_| header.kind == kind_of(within.area)) {
            Some(rights) => Ok((header.id, rights)),
            None => Err(Refusal::not_found()),
        }
    }

    /// The place of a resource that is to be changed, and its collection.
    fn within(&self) -> Result<(Within, CollectionId), Refusal> {
        let Place::In(within) = &self.place else {
            return Err(Refusal::forbidden(
                "this is not changed here",
                "change books, cards and files",
            ));
        };
        let id = self.writable(within)?;
        Ok((within.clone(), id))
    }

    fn writable(&self, within: &Within) -> Result<CollectionId, Refusal> {
        let (id, rights) = self.known(within)?;
        match rights {
            Rights::Write => Ok(id),
            Rights::Read => {
                Err(Refusal::need(&within.href(&self.dav.path, within.path.is_empty()), "write"))
            }
        }
    }

    fn is_owner(&self, within: &Within) -> bool {
        *within.owner == *self.who.principal.name || self.who.principal.is_admin
    }

    /// Makes a change, if all that the request wants is so at that moment, and no lock of another forbids it.
    async fn change<T: Send + 'static>(
        &self,
        collections: Vec<CollectionId>,
        change: impl FnOnce(&mut Change<'_>, &Guard) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let guard = Guard {
            conditions: Conditions::of(&self.headers)?,
            prefix: self.dav.path.clone(),
            who: self.who.principal.clone(),
        };
        let made = self.dav.contacts.change(&collections, move |changed| change(changed, &guard));
        made.await
    }

    fn view(&self) -> View {
        let (dav, root) = (self.dav.clone(), self.root.clone());
        View { dav, root, principal: self.who.principal.clone(), now: now() }
    }

    async fn bytes(&self, body: axum::body::Body) -> Result<Bytes, Refusal> {
        let most = self.dav.card_bytes_max;
        match read_body(body, most).await {
            Ok(bytes) => Ok(bytes.into()),
            Err(fault) if fault.status == StatusCode::PAYLOAD_TOO_LARGE => {
                let cause = format!("it is longer than {most} bytes");
                Err(Refusal::forbidden(cause, "send a smaller photo").of(
                    xml::CARD,
                    "max-resource-size",
                    "",
                ))
            }
            Err(fault) => Err(fault.into()),
        }
    }

    /// The element that a body is, and none if there is no body.
    async fn xml(&self, body: axum::body::Body) -> Result<Option<Element>, Refusal> {
        let text = utf8(read_body(body, XML_BYTES_MAX).await?)?;
        let parsed = match text.len() {
            _ if text.trim().is_empty() => return Ok(None),
            ..=INLINE_BYTES_MAX => Element::parse(&text),
            _ => self.dav.pool.run(move || Element::parse(&text)).await?,
        };
        parsed.map(Some).map_err(Refusal::body)
    }
}

/// What must be so for a change.
struct Guard {
    conditions: Conditions,
    prefix: String,
    who: Arc<Principal>,
}

impl Guard {
    /// Refuses a change of a resource, with all below it if it is deep.
    fn check(
        &self,
        change: &Change<'_>,
        id: CollectionId,
        within: &Within,
        is_deep: bool,
    ) -> Result<(), Refusal> {
        let collection = change.collection(id)?;
        self.conditions.check(&self.prefix, within, collection, change.now())?;
        self.check_locks(change, id, within, is_deep)
    }

    fn check_locks(
        &self,
        change: &Change<'_>,
        id: CollectionId,
        within: &Within,
        is_deep: bool,
    ) -> Result<(), Refusal> {
        let directory = change.root().directory();
        let owner = directory.principal(&within.owner).ok_or_else(Refusal::not_found)?.id;
        // The right to change it may have been taken away since the request was begun.
        if directory.rights(&self.who, owner, id) != Some(Rights::Write) {
            return Err(Refusal::need(&within.href(&self.prefix, within.path.is_empty()), "write"));
        }
        let collection = change.collection(id)?;
        let (now, who) = (change.now(), self.who.id);
        self.conditions.check_locks(&self.prefix, within, collection, now, is_deep, who)
    }

    /// What a change refuses, with the address of a card that is in its way.
    fn refusal(&self, refused: Refused, within: &Within) -> Refusal {
        let name = match &refused {
            Refused::UidTaken { name } | Refused::UidChanged { name } => name.clone(),
            _ => return refused.into(),
        };
        let href = xml::element(
            xml::DAV,
            "href",
            &xml::escaped(&within.at(&name).href(&self.prefix, false)),
        );
        Refusal::from(refused).of(xml::CARD, "no-uid-conflict", &href)
    }
}

/// What a book is called, if a program or a page has said so.
pub(crate) fn display_name(collection: &Collection) -> Option<String> {
    let written = collection.property("", xml::DAV, "displayname")?;
    let name = Element::parse(written).ok()?.text();
    Some(name).filter(|name| !name.trim().is_empty())
}

/// Says what a book is called.
pub(crate) fn set_display_name(
    change: &mut Change<'_>,
    id: CollectionId,
    name: &str,
) -> Result<(), Refused> {
    let (namespace, local) = (xml::DAV.into(), "displayname".into());
    let key = PropertyKey { path: "".into(), namespace, name: local };
    let written = format!("<displayname xmlns=\"DAV:\">{}</displayname>", xml::escaped(name));
    change.set_property(id, key, Some(written.into()))
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs().cast_signed())
}

fn xml_response(status: StatusCode, text: String) -> Response<Body> {
    xml_response_of(status, Body::from(Bytes::from(text)))
}

fn xml_response_of(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/xml; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// An answer of parts that are there already.
fn multistatus_of(parts: &str) -> Response<Body> {
    xml_response(
        StatusCode::MULTI_STATUS,
        format!("{}{parts}</D:multistatus>\n", xml::begin("multistatus")),
    )
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
