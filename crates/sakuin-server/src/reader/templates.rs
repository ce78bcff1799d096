//! The data of the templates: one struct a page.
//!
//! Every page stands in a [`Frame`]: its template names the frame's fields as its own (`path`, `css`,
//! `js`, `sources`, `licence`).

use std::ops::Deref;

use askama::Template;
use sakuin_japanese::dictionary::Source;

/// What every page carries around its content.
pub(crate) struct Frame {
    /// Where the site is mounted; begins and ends with a slash: `/` or `/reader/`.
    pub(crate) path: String,
    /// The address of the style sheet.
    pub(crate) css: String,
    /// The address of the script.
    pub(crate) js: String,
    /// The dictionaries in use.
    pub(crate) sources: Vec<Source>,
    /// The credit that must stand on every page.
    pub(crate) licence: String,
}

/// A story as a template shows it.
pub(crate) struct StoryView {
    pub(crate) id: i64,
    /// Its day, `2026-11-20`.
    pub(crate) date: String,
    /// The title without markup and readings.
    pub(crate) title: String,
    /// Inline HTML with ruby, canonical as `html` says.
    pub(crate) title_html: String,
    /// `<p>` blocks with ruby, canonical as `html` says.
    pub(crate) body_html: String,
    pub(crate) image: Option<String>,
    pub(crate) audio: Option<String>,
    /// Where the story came from; a template links it only if it is a web address.
    pub(crate) source: Option<String>,
    /// The title's index in the texts of the sub-dictionary; the body's is one more.
    pub(crate) text_index: usize,
}

/// All stories of a day.
#[derive(Template)]
#[template(path = "day.html")]
pub(crate) struct DayPage<'a> {
    pub(crate) frame: &'a Frame,
    /// This day and the nearest days with stories, as `2026-11-20`.
    pub(crate) day: String,
    pub(crate) previous: Option<String>,
    pub(crate) next: Option<String>,
    pub(crate) stories: Vec<StoryView>,
    /// What stands for the JSON inside `<script type="application/json">`.
    pub(crate) sub_dictionary: &'static str,
}

/// One story.
#[derive(Template)]
#[template(path = "story.html")]
pub(crate) struct StoryPage<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) story: StoryView,
    pub(crate) sub_dictionary: &'static str,
}

/// A form for a text of one's own, and that text explained.
#[derive(Template)]
#[template(path = "read.html")]
pub(crate) struct ReadPage<'a> {
    pub(crate) frame: &'a Frame,
    /// What was pasted, for the form; may be empty.
    pub(crate) text: String,
    /// It as `<p>` blocks, text 0 of the sub-dictionary.
    pub(crate) body_html: String,
    pub(crate) sub_dictionary: &'static str,
}

/// Credits and licences.
#[derive(Template)]
#[template(path = "about.html")]
pub(crate) struct AboutPage<'a> {
    pub(crate) frame: &'a Frame,
}

/// A site without stories.
#[derive(Template)]
#[template(path = "empty.html")]
pub(crate) struct EmptyPage<'a> {
    pub(crate) frame: &'a Frame,
}

/// A request that was not answered: why, and what to do.
#[derive(Template)]
#[template(path = "error.html")]
pub(crate) struct ErrorPage<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) status: u16,
    pub(crate) cause: &'a str,
    pub(crate) cure: &'a str,
}

macro_rules! framed {
    ($($page:ident)*) => {$(
        impl Deref for $page<'_> {
            type Target = Frame;
            fn deref(&self) -> &Frame {
                self.frame
            }
        }
    )*};
}
framed!(DayPage StoryPage ReadPage AboutPage EmptyPage ErrorPage);
