//! The handlers of the pages.

use askama::Template;
use axum::{
    body::Body,
    extract::{Path, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use sakuin_japanese::{sub_dictionary::Tier, text::Text};
use xxhash_rust::xxh3::xxh3_128;

use super::{
    Reader, Shared,
    day::Day,
    html::{self, Passage},
    stories::{Content, DayOfStories, Story},
    templates::{AboutPage, DayPage, EmptyPage, ReadPage, StoryPage, StoryView},
};
use crate::reply::{Asked, Fault, Keep, Reply, read_body};

/// The latest day, or how to add a first story.
pub(super) async fn latest(State(reader): State<Reader>, asked: Asked) -> Result<Response, Fault> {
    match reader.stories.latest_day().await? {
        Some(day) => reader.day(asked, day).await,
        None => reader.fixed(asked, |shared| EmptyPage { frame: &shared.frame }.render()).await,
    }
}

/// The stories of one day.
pub(super) async fn day(
    State(reader): State<Reader>,
    asked: Asked,
    Path((year, month, day)): Path<(String, String, String)>,
) -> Result<Response, Fault> {
    let Some(day) = Day::from_parts(&year, &month, &day) else {
        return Err(Fault::bad_request(
            format!("{year}/{month}/{day} is no day"),
            "write year, month and day: /2026/11/20/",
        ));
    };
    match reader.stories.day(day).await? {
        Some(day) => reader.day(asked, day).await,
        None => Err(Fault::not_found(
            format!("there is no story of {day}"),
            "go on from the latest stories",
        )),
    }
}

/// One story.
pub(super) async fn story(
    State(reader): State<Reader>,
    asked: Asked,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let story = reader.story(&id).await?;
    let shared = reader.shared.clone();
    let tag = shared.tag(["story", &id, &story.hash]);
    if let Some(same) = asked.not_modified(&tag) {
        return Ok(same);
    }
    let work = move || {
        let found = shared.dictionary.sub_dictionary(&texts([&story.content]), Tier::Page)?;
        let story = view(story, 0);
        let page = StoryPage { frame: &shared.frame, story, sub_dictionary: PLACE };
        Ok(asked.reply(html_page(&page.render()?, &found, Keep::Revalidate, Some(tag))))
    };
    reader.shared.pool.run(work).await?
}

/// Another story.
pub(super) async fn random(State(reader): State<Reader>) -> Result<Response, Fault> {
    let to = match reader.stories.random().await? {
        Some(id) => format!("{}story/{id}/", reader.shared.frame.path),
        None => reader.shared.frame.path.clone(),
    };
    let to = HeaderValue::try_from(to).expect("a mount path is ASCII");
    let never = HeaderValue::from_static("no-store");
    Ok((StatusCode::FOUND, [(header::LOCATION, to), (header::CACHE_CONTROL, never)])
        .into_response())
}

/// The form for a text of one's own.
pub(super) async fn read(State(reader): State<Reader>, asked: Asked) -> Result<Response, Fault> {
    let form = |shared: &Shared| {
        let (text, body_html) = Default::default();
        ReadPage { frame: &shared.frame, text, body_html, sub_dictionary: PLACE }.render()
    };
    reader.fixed(asked, form).await
}

/// How much text may be pasted, in bytes.
pub(super) const TEXT_BYTES_MAX: usize = 64 << 10;

/// A text of one's own, explained. It is not stored.
pub(super) async fn explain(
    State(reader): State<Reader>,
    asked: Asked,
    body: Body,
) -> Result<Response, Fault> {
    // A form writes each byte of Japanese as three.
    let form = read_body(body, 3 * TEXT_BYTES_MAX + 1024).await?;
    let field = form_urlencoded::parse(&form).find(|(name, _)| name == "text");
    let text = field.map(|(_, text)| text.into_owned()).unwrap_or_default();
    if text.len() > TEXT_BYTES_MAX {
        return Err(too_long());
    }
    let shared = reader.shared.clone();
    let work = move || {
        let passage = Passage::text(&text);
        let pieces = Text::segments(html::pieces(&passage.pieces));
        let found = shared.dictionary.sub_dictionary(&[pieces], Tier::Page)?;
        let (frame, body_html) = (&shared.frame, passage.html);
        let page = ReadPage { frame, text, body_html, sub_dictionary: PLACE };
        Ok(asked.reply(html_page(&page.render()?, &found, Keep::Never, None)))
    };
    reader.shared.pool.run(work).await?
}

/// Credits and licences.
pub(super) async fn about(State(reader): State<Reader>, asked: Asked) -> Result<Response, Fault> {
    reader.fixed(asked, |shared| AboutPage { frame: &shared.frame }.render()).await
}

pub(super) fn too_long() -> Fault {
    Fault::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("the text is longer than {} KiB", TEXT_BYTES_MAX >> 10),
        "paste it in parts",
    )
}

impl Reader {
    /// The story that an address names.
    pub(super) async fn story(&self, id: &str) -> Result<Story, Fault> {
        let no_story =
            || Fault::not_found(format!("there is no story {id}"), "go on from the latest stories");
        let number = id.parse().map_err(|_| no_story())?;
        self.stories.story(number).await?.ok_or_else(no_story)
    }

    async fn day(&self, asked: Asked, day: DayOfStories) -> Result<Response, Fault> {
        let shared = self.shared.clone();
        let written = [Some(day.day), day.previous, day.next]
            .map(|day| day.map_or(String::new(), |day| day.to_string()));
        let hashes = day.stories.iter().map(|story| &story.hash[..]);
        let tag = shared.tag(written.iter().map(|day| &day[..]).chain(hashes));
        if let Some(same) = asked.not_modified(&tag) {
            return Ok(same);
        }
        let work = move || {
            let texts = texts(day.stories.iter().map(|story| &story.content));
            let found = shared.dictionary.sub_dictionary(&texts, Tier::Page)?;
            let page = DayPage {
                frame: &shared.frame,
                day: day.day.to_string(),
                previous: day.previous.map(|day| day.to_string()),
                next: day.next.map(|day| day.to_string()),
                sub_dictionary: PLACE,
                stories: (0..).zip(day.stories).map(|(n, story)| view(story, 2 * n)).collect(),
            };
            Ok(asked.reply(html_page(&page.render()?, &found, Keep::Revalidate, Some(tag))))
        };
        self.shared.pool.run(work).await?
    }

    /// A page that only another release or dictionary changes.
    async fn fixed(
        &self,
        asked: Asked,
        render: impl FnOnce(&Shared) -> askama::Result<String> + Send + 'static,
    ) -> Result<Response, Fault> {
        let shared = self.shared.clone();
        let tag = shared.tag([]);
        if let Some(same) = asked.not_modified(&tag) {
            return Ok(same);
        }
        let work =
            move || Ok(asked.reply(html_page(&render(&shared)?, b"", Keep::Revalidate, Some(tag))));
        self.shared.pool.run(work).await?
    }
}

impl Shared {
    /// The tag of what is made of `parts`, of the dictionary and of this release.
    pub(super) fn tag<'a>(&self, parts: impl IntoIterator<Item = &'a str>) -> String {
        let mut whole = self.stamp.clone();
        for part in parts {
            whole.push('\n');
            whole.push_str(part);
        }
        format!("{:032x}", xxh3_128(whole.as_bytes()))
    }
}

/// Title and body of each story, in this order.
pub(super) fn texts<'a>(stories: impl IntoIterator<Item = &'a Content>) -> Vec<Text> {
    let passages = stories.into_iter().flat_map(|story| [&story.title, &story.body]);
    passages.map(|passage| Text::segments(html::pieces(&passage.pieces))).collect()
}

fn view(story: Story, text_index: usize) -> StoryView {
    let content = story.content;
    StoryView {
        id: story.id,
        date: content.date.to_string(),
        title: html::plain(&content.title.pieces),
        title_html: content.title.html,
        body_html: content.body.html,
        image: content.image,
        audio: content.audio,
        source: content.source,
        text_index,
    }
}

/// What templates write where the sub-dictionary goes. Ten times as long as the rest of the page, it is
/// put in its place as bytes, without being checked for UTF-8 or copied through the template; the engine
/// writes it so that it may stand in a script element.
const PLACE: &str = "\u{1a}";

fn html_page(page: &str, sub_dictionary: &[u8], keep: Keep, tag: Option<String>) -> Reply {
    // The last one: a text that holds this character comes before the data of its page.
    let (before, after) = page.rsplit_once(PLACE).unwrap_or((page, ""));
    let body = [before.as_bytes(), sub_dictionary, after.as_bytes()].concat();
    Reply { content_type: "text/html; charset=utf-8", keep, tag, body }
}

impl From<askama::Error> for Fault {
    fn from(error: askama::Error) -> Fault {
        Fault::internal("the page cannot be written", &error)
    }
}
