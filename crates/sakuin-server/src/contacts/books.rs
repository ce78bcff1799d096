//! Books: the list of their contacts with its search, duplicates, import and export, and new books.

use std::{io, sync::Arc};

use axum::{
    Form,
    body::Body,
    extract::{Multipart, Path, Query, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Redirect, Response},
};
use futures_util::stream;
use sakuin_contacts::{
    Collation, Collection, Entry, Filter, Import, Kind, LineConditions, MatchKind, PropertyFilter,
    Rights, Test, TextMatch, Wanted, ended, lines,
};
use serde::Deserialize;

use super::{
    Book, Failed, Pages, Visit, book_href,
    form::Sent,
    person::Person,
    read_only, refused,
    templates::{BookPage, BookView, DuplicatesPage, ImportPage, ImportView, ListView, Row},
    title,
};
use crate::{dav, reply::Fault};

/// Contacts of a page.
const ROWS: usize = 200;

/// What a search looks at.
const SEARCHED: [&str; 9] =
    ["FN", "N", "NICKNAME", "EMAIL", "TEL", "ORG", "TITLE", "NOTE", "CATEGORIES"];
/// Digits that are looked for in telephone numbers, however these are written.
const DIGITS_MIN: usize = 4;

/// Which contacts of a book are shown.
#[derive(Default, Deserialize)]
pub(super) struct Asking {
    #[serde(default)]
    q: String,
    #[serde(default)]
    from: usize,
}

/// Leads to the visitor's own book.
pub(super) async fn first(visit: Visit) -> Response {
    let me = &visit.who.principal;
    let own = visit.root.directory().collections(me.id);
    let mut own = own.filter(|(_, header)| header.kind == Kind::Book).map(|(name, _)| &**name);
    let book = own.next().unwrap_or(sakuin_contacts::DEFAULT_BOOK);
    Redirect::to(&book_href(&me.name, book)).into_response()
}

pub(super) async fn page(
    State(pages): State<Pages>,
    mut visit: Visit,
    Path((owner, book)): Path<(String, String)>,
    Query(asking): Query<Asking>,
) -> Result<Response, Fault> {
    let frame = visit.frame(&pages).await?;
    let book = visit.book(&pages, owner, book).await?;
    let list = list(&pages, &book, asking, None).await?;
    Ok(visit.page(&BookPage { frame: &frame, book: book.view(), list, card: None }))
}

impl Book {
    pub(super) fn view(&self) -> BookView {
        let title = title(&self.collection, &self.name);
        BookView { title, href: self.href(), may_change: self.rights == Rights::Write }
    }
}

/// The contacts a page lists beside the one that is `current`.
pub(super) async fn list(
    pages: &Pages,
    book: &Book,
    asking: Asking,
    current: Option<&str>,
) -> Result<ListView, Fault> {
    let collection = book.collection.clone();
    let (query, from) = (asking.q.trim().to_owned(), asking.from);
    let sought = query.clone();
    let (total, found) = pages
        .0
        .pool
        .run(move || {
            let mut found = search(&collection, &sought);
            found.sort_by(|a, b| a.0.cmp(&b.0));
            let shown = found.iter().skip(from).take(ROWS).cloned();
            let shown: Vec<_> = shown
                .map(|(key, entry)| (key, Person::of(entry.lean()), entry.name.clone()))
                .collect();
            (found.len(), shown)
        })
        .await?;
    let mut last = None;
    let rows = found.into_iter().map(|(key, person, name)| {
        let letter = key.chars().next().filter(|it| it.is_alphabetic()).unwrap_or('#');
        let letter =
            Some(letter.to_uppercase().next().unwrap_or(letter)).filter(|it| last != Some(*it));
        last = letter.or(last);
        Row { href: book.card_href(&name), person, letter, is_current: current == Some(&*name) }
    });
    let rows: Vec<_> = rows.collect();
    let next = (from + rows.len() < total).then(|| {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("q", &query)
            .append_pair("from", &(from + ROWS).to_string())
            .finish();
        format!("{}?{query}", book.href())
    });
    Ok(ListView { rows, total, query, next })
}

type Found = (String, Arc<Entry>);

/// The cards that have every word of a search, with what they are ordered by.
fn search(book: &Collection, query: &str) -> Vec<Found> {
    let mut words: Vec<_> = query.split_whitespace().collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let first: Vec<Arc<Entry>> = match words.first().map(|word| Sought::of(word)) {
        None => book.entries().cloned().collect(),
        Some(Sought::Text(filter)) => book.query(&filter, usize::MAX),
        Some(number) => book.entries().filter(|entry| number.is_in(entry)).cloned().collect(),
    };
    let others: Vec<_> = words.iter().skip(1).map(|word| Sought::of(word)).collect();
    let all = first.into_iter().filter(|entry| others.iter().all(|word| word.is_in(entry)));
    all.map(|entry| (order(entry.lean()), entry)).collect()
}

fn order(card: &str) -> String {
    let name = lines(card).find(|line| line.is("FN"));
    name.map(|line| Collation::UnicodeCasemap.fold(line.text().trim()).into_owned())
        .unwrap_or_default()
}

/// A word of a search.
enum Sought {
    Text(Filter),
    /// Digits of a telephone number.
    Number(String),
}

impl Sought {
    fn of(word: &str) -> Sought {
        let digits: String = word.chars().filter(char::is_ascii_digit).collect();
        let is_number = word.chars().all(|one| one.is_ascii_digit() || "+-()/.".contains(one));
        if is_number && digits.len() >= DIGITS_MIN {
            return Sought::Number(digits.trim_start_matches('0').to_owned());
        }
        let text = TextMatch::new(word, Collation::UnicodeCasemap, MatchKind::Contains, false);
        let conditions = LineConditions { texts: vec![text], ..LineConditions::default() };
        let properties = SEARCHED.map(|name| PropertyFilter {
            name: name.to_owned(),
            wanted: Wanted::Present(conditions.clone()),
        });
        Sought::Text(Filter { test: Test::AnyOf, properties: properties.into() })
    }

    fn is_in(&self, entry: &Entry) -> bool {
        match self {
            Sought::Text(filter) => filter.matches(entry.lean()),
            Sought::Number(digits) => {
                lines(entry.lean()).filter(|line| line.is("TEL")).any(|line| {
                    let written: String =
                        line.value().chars().filter(char::is_ascii_digit).collect();
                    written.contains(&**digits)
                })
            }
        }
    }
}

pub(super) async fn duplicates(
    State(pages): State<Pages>,
    mut visit: Visit,
    Path((owner, book)): Path<(String, String)>,
) -> Result<Response, Fault> {
    let frame = visit.frame(&pages).await?;
    let book = visit.book(&pages, owner, book).await?;
    let collection = book.collection.clone();
    let groups = pages.0.pool.run(move || collection.duplicates()).await?;
    let row = |entry: &Arc<Entry>| Row {
        href: book.card_href(&entry.name),
        person: Person::of(entry.lean()),
        letter: None,
        is_current: false,
    };
    let groups = groups.iter().take(ROWS).map(|group| group.iter().take(ROWS).map(row).collect());
    let groups = groups.collect();
    Ok(visit.page(&DuplicatesPage { frame: &frame, book: book.view(), groups }))
}

pub(super) async fn import_page(
    State(pages): State<Pages>,
    mut visit: Visit,
    Path((owner, book)): Path<(String, String)>,
) -> Result<Response, Fault> {
    let frame = visit.frame(&pages).await?;
    let book = visit.book(&pages, owner, book).await?;
    Ok(visit.page(&ImportPage { frame: &frame, book: book.view(), done: None }))
}

pub(super) async fn import(
    State(pages): State<Pages>,
    mut visit: Visit,
    Path((owner, book)): Path<(String, String)>,
    parts: Multipart,
) -> Result<Response, Fault> {
    let book = visit.book(&pages, owner, book).await?;
    if book.rights != Rights::Write {
        return Err(read_only());
    }
    let file = Sent::read(parts).await?.file;
    let file =
        file.ok_or_else(|| Fault::bad_request("no file was chosen", "go back and choose one"))?;
    let most = pages.0.card_bytes_max;
    let mut import = pages.0.pool.run(move || Import::of(&file)).await?;
    let is_short = |card: &sakuin_contacts::Card| card.bytes().len() <= most;
    import.cards.retain(|card| {
        if !is_short(card) {
            let cause = format!("it is longer than {most} bytes");
            import.unread.push(sakuin_contacts::Unread { place: card.uid().to_owned(), cause });
        }
        is_short(card)
    });
    let done = pages.0.contacts.import(book.id, import.cards, |_| ()).await?;
    let done = ImportView {
        created: done.created,
        replaced: done.replaced,
        unchanged: done.unchanged,
        unread: import.unread,
    };
    let frame = visit.frame(&pages).await?;
    Ok(visit.page(&ImportPage { frame: &frame, book: book.view(), done: Some(done) }))
}

/// All cards of a book as they are stored, one after another.
pub(super) async fn export(
    State(pages): State<Pages>,
    mut visit: Visit,
    Path((owner, book)): Path<(String, String)>,
) -> Result<Response, Fault> {
    let book = visit.book(&pages, owner, book).await?;
    let entries: Vec<_> = book.collection.entries().cloned().collect();
    let (contacts, collection) = (pages.0.contacts.clone(), book.collection.clone());
    let cards = stream::unfold(entries.into_iter(), move |mut entries| {
        let (contacts, collection) = (contacts.clone(), collection.clone());
        async move {
            let entry = entries.next()?;
            let bytes = match contacts.bytes(&collection, &entry).await {
                Ok(Some(bytes)) => Ok(ended(bytes)),
                // What is left out would be missed by nobody: an answer that breaks off is.
                Ok(None) => Err(io::Error::other("a card was changed meanwhile")),
                Err(error) => Err(io::Error::other(error)),
            };
            Some((bytes, entries))
        }
    });
    let mut response = Response::new(Body::from_stream(cards));
    attach(&mut response, &format!("{}.vcf", book.name));
    Ok(response)
}

/// Makes an answer a file to keep.
pub(super) fn attach(response: &mut Response, name: &str) {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/vcard; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let disposition = format!("attachment; filename*=UTF-8''{}", super::encoded(name));
    let disposition = HeaderValue::try_from(disposition).expect("what is encoded is ASCII");
    headers.insert(header::CONTENT_DISPOSITION, disposition);
}

/// What the form sends.
#[derive(Deserialize)]
pub(super) struct Titled {
    title: String,
}

pub(super) async fn create(
    State(pages): State<Pages>,
    visit: Visit,
    Form(Titled { title }): Form<Titled>,
) -> Result<Response, Fault> {
    let title = title.trim().to_owned();
    let slug: String = title
        .to_lowercase()
        .chars()
        .map(|it| if it.is_alphanumeric() { it } else { '-' })
        .collect();
    let name = slug.trim_matches('-').to_owned();
    if name.is_empty() || title.len() > 200 {
        return Err(Fault::bad_request(
            "that is no name for a book",
            "use some letters, not too many",
        ));
    }
    let (me, to) = (visit.who.principal.id, book_href(&visit.who.principal.name, &name));
    let made = pages.0.contacts.change(&[], move |change| {
        let id = change.create_collection(me, &name, Kind::Book).map_err(refused)?;
        dav::set_display_name(change, id, &title).map_err(refused)?;
        Ok::<_, Failed>(())
    });
    made.await.map_err(|Failed(fault)| fault)?;
    Ok(Redirect::to(&to).into_response())
}
