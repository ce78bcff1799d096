//! The data of the templates: one struct a page, each in a [`Frame`].

use askama::Template;
use sakuin_contacts::Unread;

use super::{
    form::{NEW_LINES, NEW_PROPERTIES, SORTS, name_of},
    person::{ADDRESS, Person},
};

/// What every page carries around its content.
pub(super) struct Frame {
    /// Where the pages are.
    pub(super) path: &'static str,
    pub(super) css: String,
    pub(super) js: String,
    /// Who has signed in.
    pub(super) user: Option<String>,
    pub(super) books: Vec<BookLink>,
}

/// A book that the visitor can go to.
pub(super) struct BookLink {
    pub(super) title: String,
    pub(super) href: String,
    pub(super) count: usize,
}

/// The book a page is about.
pub(super) struct BookView {
    pub(super) title: String,
    pub(super) href: String,
    pub(super) may_change: bool,
}

/// Contacts of a book, in the order of their names.
pub(super) struct ListView {
    pub(super) rows: Vec<Row>,
    /// How many there are in all.
    pub(super) total: usize,
    pub(super) query: String,
    /// The address of those that come next.
    pub(super) next: Option<String>,
}

/// A contact in a list.
pub(super) struct Row {
    pub(super) href: String,
    pub(super) person: Person,
    /// The letter that begins here.
    pub(super) letter: Option<char>,
    pub(super) is_current: bool,
}

/// A token without its secret.
pub(super) struct TokenView {
    pub(super) label: String,
    pub(super) is_read_only: bool,
}

#[derive(Template)]
#[template(path = "contacts/sign_in.html")]
pub(super) struct SignInPage<'a> {
    pub(super) frame: &'a Frame,
    pub(super) name: &'a str,
    pub(super) wrong: Option<String>,
}

/// A book, and one of its contacts if one is chosen.
#[derive(Template)]
#[template(path = "contacts/book.html")]
pub(super) struct BookPage<'a> {
    pub(super) frame: &'a Frame,
    pub(super) book: BookView,
    pub(super) list: ListView,
    pub(super) card: Option<CardView>,
}

/// A contact.
pub(super) struct CardView {
    pub(super) person: Person,
    pub(super) href: String,
    pub(super) etag: String,
}

#[derive(Template)]
#[template(path = "contacts/edit.html")]
pub(super) struct EditPage<'a> {
    pub(super) frame: &'a Frame,
    pub(super) book: BookView,
    pub(super) card: CardView,
    pub(super) is_new: bool,
}

impl EditPage<'_> {
    fn name_of(&self, number: &usize, part: &usize) -> String {
        name_of(*number, *part)
    }

    fn new_lines(&self) -> std::ops::Range<usize> {
        0..NEW_LINES
    }

    fn properties(&self) -> &'static [(&'static str, &'static str)] {
        &NEW_PROPERTIES
    }

    fn sorts(&self) -> &'static [(&'static str, &'static str)] {
        &SORTS
    }

    fn address(&self) -> &'static [&'static str] {
        ADDRESS
    }
}

#[derive(Template)]
#[template(path = "contacts/duplicates.html")]
pub(super) struct DuplicatesPage<'a> {
    pub(super) frame: &'a Frame,
    pub(super) book: BookView,
    pub(super) groups: Vec<Vec<Row>>,
}

#[derive(Template)]
#[template(path = "contacts/import.html")]
pub(super) struct ImportPage<'a> {
    pub(super) frame: &'a Frame,
    pub(super) book: BookView,
    pub(super) done: Option<ImportView>,
}

/// What an import came to.
pub(super) struct ImportView {
    pub(super) created: usize,
    pub(super) replaced: usize,
    pub(super) unchanged: usize,
    pub(super) unread: Vec<Unread>,
}

#[derive(Template)]
#[template(path = "contacts/devices.html")]
pub(super) struct DevicesPage<'a> {
    pub(super) frame: &'a Frame,
    /// What a program is told.
    pub(super) url: String,
    /// The same as a picture.
    pub(super) code: Option<String>,
    /// A token that was made for this page.
    pub(super) token: Option<String>,
    pub(super) tokens: Vec<TokenView>,
}

#[derive(Template)]
#[template(path = "contacts/error.html")]
pub(super) struct ErrorPage<'a> {
    pub(super) frame: &'a Frame,
    pub(super) status: u16,
    pub(super) cause: &'a str,
    pub(super) cure: &'a str,
}
