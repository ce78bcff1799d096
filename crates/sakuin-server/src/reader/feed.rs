//! The feed: the fifty newest stories as RSS, with or without furigana.

use axum::{
    extract::{Query, State},
    http::{HeaderMap, HeaderValue, Uri, header, uri::Authority},
    response::Response,
};
use rss::{ChannelBuilder, Guid, Item, ItemBuilder, extension::atom};

use super::{Furigana, Reader, Wishes, html, stories::Story};
use crate::reply::{Asked, Fault, Keep, Reply, http_date};

const STORIES_MAX: u32 = 50;

/// `feed/`, and `feed/?furigana=no`.
pub(super) async fn feed(
    State(reader): State<Reader>,
    asked: Asked,
    Query(wishes): Query<Wishes>,
    headers: HeaderMap,
    address: Uri,
) -> Result<Response, Fault> {
    let stories = reader.stories.recent(STORIES_MAX).await?;
    let site = format!("{}{}", origin(&headers, &address), reader.shared.frame.path);
    let changed = stories.iter().map(|story| story.changed).max().unwrap_or_default();
    let kind = if wishes.furigana == Furigana::Yes { "feed" } else { "feed without furigana" };
    let hashes = stories.iter().map(|story| &story.hash[..]);
    let tag = reader.shared.tag([kind, &site].into_iter().chain(hashes));
    if let Some(same) = asked.not_modified(&tag).or_else(|| asked.not_modified_since(changed)) {
        return Ok(same);
    }
    let work = move || {
        let reply = Reply {
            content_type: "application/rss+xml; charset=utf-8",
            keep: Keep::Revalidate,
            tag: Some(tag),
            body: rss(&stories, &site, wishes.furigana).into_bytes(),
        };
        let mut response = asked.reply(reply);
        let changed = HeaderValue::try_from(http_date(changed)).expect("a date is ASCII");
        response.headers_mut().insert(header::LAST_MODIFIED, changed);
        Ok(response)
    };
    reader.shared.pool.run(work).await?
}

fn rss(stories: &[Story], site: &str, furigana: Furigana) -> String {
    let myself = atom::Link {
        href: format!("{site}feed/{}", if furigana == Furigana::No { "?furigana=no" } else { "" }),
        rel: "self".to_owned(),
        mime_type: Some("application/rss+xml".to_owned()),
        ..atom::Link::default()
    };
    ChannelBuilder::default()
        .title("Sakuin")
        .link(site)
        .description("Japanese stories on whose pages every word explains itself")
        .language("ja".to_owned())
        .atom_ext(atom::AtomExtension { links: vec![myself] })
        .namespace(("atom".to_owned(), "http://www.w3.org/2005/Atom".to_owned()))
        .items(stories.iter().map(|story| item(story, site, furigana)).collect::<Vec<_>>())
        .build()
        .to_string()
}

fn item(story: &Story, site: &str, furigana: Furigana) -> Item {
    let address = format!("{site}story/{}/", story.id);
    let body = &story.content.body.html;
    ItemBuilder::default()
        .title(html::plain(&story.content.title.pieces))
        .link(address.clone())
        .guid(Guid { value: address, permalink: true })
        .pub_date(story.content.date.rfc2822())
        .description(match furigana {
            Furigana::Yes => body.clone(),
            Furigana::No => html::without_ruby(body),
        })
        .build()
}

/// Where the client sees this server: feeds need whole addresses. A proxy that speaks TLS says so.
fn origin(headers: &HeaderMap, address: &Uri) -> String {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let plain = |host: &&str| {
        host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte))
    };
    let authority = address.authority().map(Authority::as_str);
    let host = authority.or(header(header::HOST.as_str())).filter(plain).unwrap_or("localhost");
    let secure = header("x-forwarded-proto") == Some("https");
    format!("{}://{host}", if secure { "https" } else { "http" })
}
