//! What the page's script fetches after the page: all words of a story at the first hover, its names,
//! and single kanji.
//!
//! A story is named by its number; a pasted text, which is stored nowhere, is sent again.

use axum::{
    body::Body,
    extract::{Path, Query, State},
    response::Response,
};
use sakuin_japanese::{sub_dictionary::Tier, text::Text};
use serde::Deserialize;

use super::{
    Reader,
    html::{self, Passage},
    pages::{TEXT_BYTES_MAX, texts, too_long},
};
use crate::reply::{Asked, Fault, Keep, Reply, read_body, utf8};

/// Which story's words are asked for.
#[derive(Deserialize)]
pub(super) struct Of {
    story: String,
}

/// Tier 2 of a story: `GET dictionary/words?story=7`.
pub(super) async fn words_of_story(
    State(reader): State<Reader>,
    asked: Asked,
    Query(of): Query<Of>,
) -> Result<Response, Fault> {
    of_story(reader, asked, &of.story, Tier::Words).await
}

/// Tier 3 of a story: `GET dictionary/names?story=7`.
pub(super) async fn names_of_story(
    State(reader): State<Reader>,
    asked: Asked,
    Query(of): Query<Of>,
) -> Result<Response, Fault> {
    of_story(reader, asked, &of.story, Tier::Names).await
}

/// Tier 2 of a pasted text, sent as the body: `POST dictionary/words`.
pub(super) async fn words_of_text(
    State(reader): State<Reader>,
    asked: Asked,
    body: Body,
) -> Result<Response, Fault> {
    of_text(reader, asked, body, Tier::Words).await
}

/// Tier 3 of a pasted text, sent as the body: `POST dictionary/names`.
pub(super) async fn names_of_text(
    State(reader): State<Reader>,
    asked: Asked,
    body: Body,
) -> Result<Response, Fault> {
    of_text(reader, asked, body, Tier::Names).await
}

/// What the kanji dictionary says of one character: `GET kanji/食`.
pub(super) async fn kanji(
    State(reader): State<Reader>,
    asked: Asked,
    Path(character): Path<String>,
) -> Result<Response, Fault> {
    let mut characters = character.chars();
    let (Some(kanji), None) = (characters.next(), characters.next()) else {
        let cause = format!("`{character}` is not one character");
        return Err(Fault::bad_request(cause, "ask for one kanji: /kanji/食"));
    };
    let shared = &reader.shared;
    let tag = shared.tag(["kanji", &character]);
    if let Some(same) = asked.not_modified(&tag) {
        return Ok(same);
    }
    match shared.dictionary.kanji(kanji)? {
        Some(entry) => {
            Ok(asked.reply(json(entry.as_bytes().to_vec(), Keep::Revalidate, Some(tag))))
        }
        None => Err(Fault::not_found(
            format!("the dictionary has no kanji `{kanji}`"),
            "kanji come from the file that was packed with `--kanji`",
        )),
    }
}

async fn of_story(reader: Reader, asked: Asked, id: &str, tier: Tier) -> Result<Response, Fault> {
    let story = reader.story(id).await?;
    let shared = reader.shared.clone();
    let tag = shared.tag([tier_name(tier), id, &story.hash]);
    if let Some(same) = asked.not_modified(&tag) {
        return Ok(same);
    }
    let work = move || {
        let found = shared.dictionary.sub_dictionary(&texts([&story.content]), tier)?;
        Ok(asked.reply(json(found, Keep::Revalidate, Some(tag))))
    };
    reader.shared.pool.run(work).await?
}

async fn of_text(reader: Reader, asked: Asked, body: Body, tier: Tier) -> Result<Response, Fault> {
    let text =
        utf8(read_body(body, TEXT_BYTES_MAX).await.map_err(|fault| match fault.status {
            axum::http::StatusCode::PAYLOAD_TOO_LARGE => too_long(),
            _ => fault,
        })?)?;
    let shared = reader.shared.clone();
    let work = move || {
        // The same way as the page took, so that the positions are the page's.
        let passage = Passage::text(&text);
        let text = Text::segments(html::pieces(&passage.pieces));
        Ok(asked.reply(json(shared.dictionary.sub_dictionary(&[text], tier)?, Keep::Never, None)))
    };
    reader.shared.pool.run(work).await?
}

fn tier_name(tier: Tier) -> &'static str {
    match tier {
        Tier::Page => "page",
        Tier::Words => "words",
        Tier::Names => "names",
    }
}

fn json(body: Vec<u8>, keep: Keep, tag: Option<String>) -> Reply {
    Reply { content_type: "application/json", keep, tag, body }
}
