//! Contacts in a browser, for people: sign in, look, search, change, import, export, and connect a telephone.
//!
//! [`router`] is its table of contents. Pages need no script; where there is one, a search shows its results as it is
//! typed. A request that changes something must come from a page of this server: the session's cookie is sent with no
//! other, and what the browser says of a request's origin is checked besides.

mod books;
mod card;
mod devices;
mod form;
mod person;
mod photo;
mod sign_in;
mod templates;

use std::sync::Arc;

use askama::Template;
use axum::{
    Router,
    extract::{DefaultBodyLimit, FromRequestParts, Path, Request, State},
    http::{HeaderMap, Method, StatusCode, header, request::Parts},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sakuin_contacts::{
    Change, Collection, CollectionId, Contacts, DEFAULT_BOOK, Entry, ImportError, Kind, Refused,
    Rights, Root, SignInError, UserError, Who,
};

use crate::{
    assets::{self, Asset},
    dav,
    pool::Pool,
    reply::{Asked, Fault, HTML, Keep, Reply, protect, refusal},
};
use templates::{BookLink, ErrorPage, Frame};

/// Where the pages are.
pub(crate) const PATH: &str = "/contacts/";

/// The longest file that is imported.
const IMPORT_BYTES_MAX: usize = 64 << 20;

/// What the pages are of.
#[derive(Clone)]
pub(crate) struct Pages(Arc<Shared>);

struct Shared {
    contacts: Arc<Contacts>,
    /// Where programs find the same contacts.
    dav_path: String,
    card_bytes_max: usize,
    /// Whether this server's own connections are encrypted.
    has_tls: bool,
    pool: Pool,
    assets: [Asset; 2],
    css: String,
    js: String,
}

/// Every route of the pages.
pub(crate) fn router(dav: &dav::Dav, has_tls: bool) -> Router {
    let assets = assets::contacts();
    let [css, js] = assets.each_ref().map(|asset| format!("{PATH}assets/{}", asset.name));
    let pages = Pages(Arc::new(Shared {
        contacts: dav.contacts.clone(),
        dav_path: dav.path.clone(),
        card_bytes_max: dav.card_bytes_max,
        has_tls,
        pool: dav.pool.clone(),
        assets,
        css,
        js,
    }));
    let at = |route: &str| format!("{PATH}{route}");
    let upload = DefaultBodyLimit::max(IMPORT_BYTES_MAX);
    Router::new()
        .route(PATH, get(books::first))
        .route(PATH.trim_end_matches('/'), get(|| async { Redirect::permanent(PATH) }))
        .route(&at("sign-in"), get(sign_in::page).post(sign_in::begin))
        .route(&at("sign-out"), post(sign_in::end))
        .route(&at("devices"), get(devices::page).post(devices::add))
        .route(&at("devices/revoke"), post(devices::revoke))
        .route(&at("books"), post(books::create))
        .route(&at("books/{owner}/{book}"), get(books::page))
        .route(&at("books/{owner}/{book}/duplicates"), get(books::duplicates))
        .route(&at("books/{owner}/{book}/import"), get(books::import_page).post(books::import))
        .route(&at("books/{owner}/{book}/export.vcf"), get(books::export))
        .route(&at("books/{owner}/{book}/new"), get(card::new).post(card::create))
        .route(&at("books/{owner}/{book}/cards/{card}"), get(card::page).post(card::save))
        .route(&at("books/{owner}/{book}/cards/{card}/edit"), get(card::edit))
        .route(&at("books/{owner}/{book}/cards/{card}/delete"), post(card::delete))
        .route(&at("books/{owner}/{book}/cards/{card}/photo"), get(photo::photo))
        .route(&at("books/{owner}/{book}/cards/{card}/file.vcf"), get(card::download))
        .route(&at("assets/{file}"), get(asset))
        .fallback(|| async { Fault::of_status(StatusCode::NOT_FOUND) })
        .layer(upload)
        .layer(from_fn_with_state(pages.clone(), finish))
        .with_state(pages)
}

/// Whether an address is one of these pages'.
pub(crate) fn has(path: &str) -> bool {
    path.starts_with(PATH) || path == PATH.trim_end_matches('/')
}

async fn asset(
    State(pages): State<Pages>,
    asked: Asked,
    Path(name): Path<String>,
) -> Result<Response, Fault> {
    let reply = assets::find(&pages.0.assets, &name)?;
    Ok(pages.0.pool.run(move || asked.reply(reply)).await?)
}

/// Refuses what comes from pages of others, gives refusals their form, and every answer what protects its reader.
async fn finish(State(pages): State<Pages>, request: Request, next: Next) -> Response {
    let mut response = match is_foreign(request.method(), request.headers()) {
        true => foreign().into_response(),
        false => next.run(request).await,
    };
    if let Some(fault) = Fault::of(&mut response) {
        let page = ErrorPage {
            frame: &pages.frame(None, Vec::new()),
            status: fault.status.as_u16(),
            cause: &fault.cause,
            cure: &fault.cure,
        };
        let html = page.render().unwrap_or_else(|_| fault.cause.clone());
        response = refusal(response, html, HTML);
    }
    protect(response, POLICY)
}

/// Whether a request that may change something was sent by a page of another site. Browsers say so themselves; whatever
/// says nothing is none, and has no cookie of ours to misuse.
fn is_foreign(method: &Method, headers: &HeaderMap) -> bool {
    if matches!(*method, Method::GET | Method::HEAD) {
        return false;
    }
    if let Some(site) = headers.get("sec-fetch-site") {
        return !matches!(site.as_bytes(), b"same-origin" | b"none");
    }
    let origin = headers.get(header::ORIGIN).and_then(|it| it.to_str().ok());
    let host = headers.get(header::HOST).and_then(|it| it.to_str().ok());
    origin.is_some_and(|origin| origin.split_once("://").map(|(_, it)| it) != host)
}

fn foreign() -> Fault {
    let cause = "this was sent by a page of another site";
    Fault::new(StatusCode::FORBIDDEN, cause, "do it on a page of this one")
}

/// Neither inline scripts nor foreign ones, nor anything from elsewhere; photos are served from here.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Somebody who has signed in, and what there is at the moment of the request.
struct Visit {
    who: Who,
    root: Arc<Root>,
    asked: Asked,
}

impl FromRequestParts<Pages> for Visit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, pages: &Pages) -> Result<Visit, Response> {
        let root = pages.0.contacts.root().await;
        let root = root.map_err(|error| Fault::from(error).into_response())?;
        let who = sign_in::session_of(&parts.headers).and_then(|session| root.session(&session));
        let Some(who) = who else {
            return Err(Redirect::to(&format!("{PATH}sign-in")).into_response());
        };
        let Ok(asked) = Asked::from_request_parts(parts, pages).await;
        Ok(Visit { who, root, asked })
    }
}

/// A book that a visitor may look at.
struct Book {
    id: CollectionId,
    collection: Arc<Collection>,
    owner: String,
    name: String,
    rights: Rights,
}

impl Book {
    fn href(&self) -> String {
        book_href(&self.owner, &self.name)
    }

    fn card_href(&self, card: &str) -> String {
        format!("{}/cards/{}", self.href(), encoded(card))
    }
}

fn book_href(owner: &str, book: &str) -> String {
    format!("{PATH}books/{}/{}", encoded(owner), encoded(book))
}

/// What a book is called: as its owner says, else after its address.
fn title(book: &Collection, name: &str) -> String {
    dav::display_name(book).unwrap_or_else(|| match name {
        DEFAULT_BOOK => "Contacts".to_owned(),
        name => name.to_owned(),
    })
}

const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

fn encoded(segment: &str) -> String {
    utf8_percent_encode(segment, PLAIN).to_string()
}

impl Visit {
    /// What stands around the visitor's pages.
    async fn frame(&mut self, pages: &Pages) -> Result<Frame, Fault> {
        let books = self.books(pages).await?;
        Ok(pages.frame(Some(self.who.principal.name.to_string()), books))
    }

    /// Has the visitor's books in memory, and tells how they are called.
    async fn books(&mut self, pages: &Pages) -> Result<Vec<BookLink>, Fault> {
        let me = &self.who.principal;
        let may = |owner, header: &sakuin_contacts::Header| {
            owner == me.id || self.root.directory().shares(header.id).any(|(to, _)| to == me.id)
        };
        let all = self.root.directory().all_collections();
        let ids: Vec<_> = all
            .filter(|(owner, _, header)| header.kind == Kind::Book && may(*owner, header))
            .map(|(_, _, header)| header.id)
            .collect();
        self.root = pages.0.contacts.root_with(&ids).await?;
        let directory = self.root.directory();
        let mut books: Vec<_> = directory
            .all_collections()
            .filter(|(_, _, header)| ids.contains(&header.id))
            .filter_map(|(owner, name, header)| {
                let is_own = owner == me.id;
                let owner = directory.principal_of(owner)?;
                let collection = self.root.collection(header.id)?;
                let title = title(collection, name);
                let title = if is_own { title } else { format!("{title} ({})", owner.name) };
                let href = book_href(&owner.name, name);
                Some((!is_own, BookLink { title, href, count: collection.len() }))
            })
            .collect();
        books.sort_by_key(|(is_others, _)| *is_others);
        Ok(books.into_iter().map(|(_, book)| book).collect())
    }

    /// The book of an address.
    async fn book(&mut self, pages: &Pages, owner: String, name: String) -> Result<Book, Fault> {
        let find = |root: &Root| {
            let directory = root.directory();
            let of = directory.principal(&owner)?.id;
            let header = directory.collection(of, &name).filter(|it| it.kind == Kind::Book)?;
            Some((header.id, directory.rights(&self.who.principal, of, header.id)?))
        };
        let (id, rights) = find(&self.root).ok_or_else(no_book)?;
        self.root = pages.0.contacts.root_with(&[id]).await?;
        let collection = self.root.collection(id).ok_or_else(no_book)?.clone();
        Ok(Book { id, collection, owner, name, rights })
    }

    fn page(&self, page: &impl Template) -> Response {
        let body = page.render().unwrap_or_default().into_bytes();
        self.asked.reply(Reply { content_type: HTML, keep: Keep::Never, tag: None, body })
    }
}

impl Pages {
    fn frame(&self, user: Option<String>, books: Vec<BookLink>) -> Frame {
        let (css, js) = (self.0.css.clone(), self.0.js.clone());
        Frame { path: PATH, css, js, user, books }
    }

    /// Changes a card or a book that may be written, and that nobody holds a lock on.
    async fn change<T: Send + 'static>(
        &self,
        book: &Book,
        visit: &Visit,
        path: String,
        change: impl FnOnce(&mut Change<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (id, who) = (book.id, visit.who.principal.clone());
        let ids = [id];
        let made = self.0.contacts.change(&ids, move |changed: &mut Change<'_>| {
            let directory = changed.root().directory();
            let owner = directory.all_collections().find(|(_, _, header)| header.id == id);
            let (owner, ..) = owner.ok_or_else(no_book)?;
            if directory.rights(&who, owner, id) != Some(Rights::Write) {
                return Err(read_only().into());
            }
            let now = changed.now();
            if changed.collection(id).map_err(refused)?.locks_within(&path, now).next().is_some() {
                return Err(locked().into());
            }
            change(changed).map_err(Failed)
        });
        made.await.map_err(|Failed(fault)| fault)
    }
}

/// A fault, as changes want errors: one that the store's become.
struct Failed(Fault);

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Failed {
        Failed(fault)
    }
}

impl From<sakuin_contacts::Error> for Failed {
    fn from(error: sakuin_contacts::Error) -> Failed {
        Failed(error.into())
    }
}

/// The entry of a card's address.
fn entry<'b>(book: &'b Book, card: &str) -> Result<&'b Arc<Entry>, Fault> {
    book.collection.entry(card).ok_or_else(|| {
        Fault::not_found("there is no such contact", "it may have been deleted: look in the book")
    })
}

fn no_book() -> Fault {
    Fault::not_found("there is no such book", "go on from your own")
}

fn read_only() -> Fault {
    let cause = "this book may only be looked at";
    Fault::new(StatusCode::FORBIDDEN, cause, "ask its owner for the right to change it")
}

fn locked() -> Fault {
    let cause = "a program has locked this contact";
    Fault::new(StatusCode::LOCKED, cause, "try again when it is done")
}

impl From<sakuin_contacts::Error> for Fault {
    fn from(error: sakuin_contacts::Error) -> Fault {
        tracing::error!("{error}");
        let cause = "contacts cannot be read or written at the moment";
        let mut fault =
            Fault::new(StatusCode::SERVICE_UNAVAILABLE, cause, "try again in some seconds");
        fault.retry_after = Some(5);
        fault
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is a step of `map_err`")]
fn refused(refused: Refused) -> Fault {
    let cure = "go back, look at it as it is now, and do it again";
    Fault::new(StatusCode::CONFLICT, refused.to_string(), cure)
}

impl From<ImportError> for Fault {
    fn from(error: ImportError) -> Fault {
        match error {
            ImportError::Store(error) => error.into(),
            error => Fault::new(StatusCode::CONFLICT, error.to_string(), "import the file again"),
        }
    }
}

impl From<UserError> for Fault {
    fn from(error: UserError) -> Fault {
        match error {
            UserError::Store(error) => error.into(),
            other => {
                Fault::bad_request(other.to_string(), other.hint().unwrap_or("choose another"))
            }
        }
    }
}

impl From<SignInError> for Fault {
    fn from(error: SignInError) -> Fault {
        let cause = error.to_string();
        match error {
            SignInError::TooMany { wait } => {
                let seconds = wait.as_secs().max(1);
                let cure = format!("wait {seconds} seconds, then try again");
                let mut fault = Fault::new(StatusCode::TOO_MANY_REQUESTS, cause, cure);
                fault.retry_after = Some(seconds);
                fault
            }
            _ => Fault::new(StatusCode::FORBIDDEN, cause, "go back and try again"),
        }
    }
}
