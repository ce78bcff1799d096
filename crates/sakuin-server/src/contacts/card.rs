//! One contact: looked at, changed, made, deleted, taken along.

use axum::{
    body::Body,
    extract::{Multipart, Path, Query, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use sakuin_contacts::{Card, Edit, Entry, edit as edited, ended};
use serde::Deserialize;
use uuid::Uuid;

use super::{
    Book, Pages, Visit,
    books::{Asking, attach, list},
    entry,
    form::{Sent, blank, edits},
    person::Person,
    refused,
    templates::{BookPage, CardView, EditPage},
};
use crate::reply::Fault;

type Address = Path<(String, String, String)>;

pub(super) async fn page(
    State(pages): State<Pages>,
    mut visit: Visit,
    Path((owner, book, card)): Address,
    Query(asking): Query<Asking>,
) -> Result<Response, Fault> {
    let frame = visit.frame(&pages).await?;
    let book = visit.book(&pages, owner, book).await?;
    let view = view(&book, entry(&book, &card)?);
    let list = list(&pages, &book, asking, Some(&card)).await?;
    Ok(visit.page(&BookPage { frame: &frame, book: book.view(), list, card: Some(view) }))
}

fn view(book: &Book, entry: &Entry) -> CardView {
    let mut person = Person::of(entry.lean());
    // A photo that is too long for memory is not among the lines that memory has.
    person.has_photo |= entry.bytes().is_none();
    CardView { person, href: book.card_href(&entry.name), etag: entry.etag.to_string() }
}

pub(super) async fn edit(
    State(pages): State<Pages>,
    mut visit: Visit,
    Path((owner, book, card)): Address,
) -> Result<Response, Fault> {
    let frame = visit.frame(&pages).await?;
    let book = visit.book(&pages, owner, book).await?;
    let entry = entry(&book, &card)?;
    let mut view = view(&book, entry);
    // Lines are counted in all of the card.
    let text = text_of(&pages, &book, entry).await?;
    view.person = pages.0.pool.run(move || Person::of(&text)).await?;
    Ok(visit.page(&EditPage { frame: &frame, book: book.view(), card: view, is_new: false }))
}

pub(super) async fn new(
    State(pages): State<Pages>,
    mut visit: Visit,
    Path((owner, book)): Path<(String, String)>,
) -> Result<Response, Fault> {
    let frame = visit.frame(&pages).await?;
    let book = visit.book(&pages, owner, book).await?;
    let person = Person::of(&blank());
    let card = CardView { person, href: format!("{}/new", book.href()), etag: String::new() };
    Ok(visit.page(&EditPage { frame: &frame, book: book.view(), card, is_new: true }))
}

async fn text_of(pages: &Pages, book: &Book, entry: &Entry) -> Result<String, Fault> {
    let bytes = pages.0.contacts.bytes(&book.collection, entry).await?;
    let bytes = bytes.ok_or_else(changed_meanwhile)?;
    String::from_utf8(bytes.into()).map_err(|_| changed_meanwhile())
}

fn changed_meanwhile() -> Fault {
    let cause = "this contact was changed meanwhile, by another page or a telephone";
    Fault::new(StatusCode::CONFLICT, cause, "go back, open it again, and change what is there now")
}

/// Saves what was changed, if the card is still the one that was opened.
pub(super) async fn save(
    State(pages): State<Pages>,
    mut visit: Visit,
    Path((owner, book, name)): Address,
    parts: Multipart,
) -> Result<Response, Fault> {
    let book = visit.book(&pages, owner, book).await?;
    let sent = Sent::read(parts).await?;
    let entry = entry(&book, &name)?.clone();
    let href = book.card_href(&name);
    if entry.etag.to_string() != sent.value("etag") {
        return Err(changed_meanwhile());
    }
    let text = text_of(&pages, &book, &entry).await?;
    let card = pages.made(move || Ok(edited(&text, &edits(&text, &sent, false)?))).await?;
    let id = book.id;
    pages
        .change(&book, &visit, name.clone(), move |change| {
            let now = change.collection(id).map_err(refused)?.entry(&name);
            if now.is_none_or(|now| now.etag != entry.etag) {
                return Err(changed_meanwhile());
            }
            change.put_card(id, &name, &card).map_err(refused)
        })
        .await?;
    Ok(Redirect::to(&href).into_response())
}

pub(super) async fn create(
    State(pages): State<Pages>,
    mut visit: Visit,
    Path((owner, book)): Path<(String, String)>,
    parts: Multipart,
) -> Result<Response, Fault> {
    let book = visit.book(&pages, owner, book).await?;
    let sent = Sent::read(parts).await?;
    let card = pages
        .made(move || {
            let text = blank();
            let mut edits = edits(&text, &sent, true)?;
            edits.push(Edit::Add(format!("UID:{}", Uuid::new_v4().urn())));
            Ok(edited(&text, &edits))
        })
        .await?;
    let (id, name) = (book.id, card.name());
    let href = book.card_href(&name);
    pages
        .change(&book, &visit, name.clone(), move |change| {
            change.put_card(id, &name, &card).map_err(refused)
        })
        .await?;
    Ok(Redirect::to(&href).into_response())
}

impl Pages {
    /// A card that a form made.
    async fn made(
        &self,
        make: impl FnOnce() -> Result<String, Fault> + Send + 'static,
    ) -> Result<Card, Fault> {
        let most = self.0.card_bytes_max;
        let made = self.0.pool.run(move || {
            let text = make()?;
            if text.len() > most {
                let cause = format!("the contact would be longer than {most} bytes");
                return Err(Fault::new(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    cause,
                    "choose a smaller photo",
                ));
            }
            Card::parse(text.into())
                .map_err(|error| Fault::bad_request(error.to_string(), error.hint()))
        });
        made.await?
    }
}

/// What the form sends.
#[derive(Deserialize)]
pub(super) struct Deleting {
    etag: String,
}

pub(super) async fn delete(
    State(pages): State<Pages>,
    mut visit: Visit,
    Path((owner, book, name)): Address,
    axum::Form(Deleting { etag }): axum::Form<Deleting>,
) -> Result<Response, Fault> {
    let book = visit.book(&pages, owner, book).await?;
    let (id, href) = (book.id, book.href());
    pages
        .change(&book, &visit, name.clone(), move |change| {
            let now = change.collection(id).map_err(refused)?.entry(&name);
            if now.is_none_or(|now| now.etag.to_string() != etag) {
                return Err(changed_meanwhile());
            }
            change.remove(id, &name).map_err(refused)
        })
        .await?;
    Ok(Redirect::to(&href).into_response())
}

/// The card as a file.
pub(super) async fn download(
    State(pages): State<Pages>,
    mut visit: Visit,
    Path((owner, book, card)): Address,
) -> Result<Response, Fault> {
    let book = visit.book(&pages, owner, book).await?;
    let entry = entry(&book, &card)?;
    let bytes = pages.0.contacts.bytes(&book.collection, entry).await?;
    let mut response = Response::new(Body::from(ended(bytes.ok_or_else(changed_meanwhile)?)));
    let name = Person::of(entry.lean()).name.replace(['/', '\\'], " ");
    attach(&mut response, &format!("{name}.vcf"));
    Ok(response)
}
