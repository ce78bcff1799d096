//! The reading site: stories by day, on whose pages every word explains itself.
//!
//! [`router`] is its table of contents. A handler asks the stories (one query), then does everything
//! that takes time (scan, template, compression) in one piece of work on the pool. A refusal travels
//! as a [`Fault`] to the outermost layer, which gives it the form that the address promises.

pub(crate) mod day;
mod epub;
mod feed;
pub(crate) mod html;
pub(crate) mod import;
mod markup;
mod pages;
pub(crate) mod ruby;
mod scan;
pub(crate) mod stories;
mod templates;
mod words;

use std::sync::Arc;

use askama::Template;
use axum::{
    Router,
    extract::{OriginalUri, Path, Request, State},
    http::StatusCode,
    middleware::{Next, from_fn_with_state},
    response::{Redirect, Response},
    routing::{get, post},
};
use sakuin_japanese::dictionary::{self, Dictionary, Source};
use serde::Deserialize;

use crate::{
    assets::{self, Asset},
    pool::Pool,
    reply::{Asked, Fault, HTML, PROBLEM, problem, protect, refusal},
};
use stories::{Stories, StoriesError};
use templates::{ErrorPage, Frame};

/// The site as one runtime serves it: its own connections to the stories, the rest shared.
#[derive(Clone)]
pub(crate) struct Reader {
    pub(crate) stories: Stories,
    pub(crate) shared: Arc<Shared>,
}

/// What all runtimes share.
pub(crate) struct Shared {
    frame: Frame,
    dictionary: Dictionary,
    pool: Pool,
    assets: [Asset; 2],
    /// Begins the tag of every page: another dictionary, another page.
    stamp: String,
}

impl Shared {
    pub(crate) fn new(dictionary: Dictionary, path: &str, pool: Pool) -> Shared {
        let assets = assets::reader();
        let [css, js] = assets.each_ref().map(|asset| format!("{path}assets/{}", asset.name));
        Shared {
            stamp: format!("{}{:016x}{css}{js}", dictionary.version(), assets::build_tag()),
            frame: Frame {
                path: path.to_owned(),
                css,
                js,
                sources: dictionary.sources().to_vec(),
                licence: dictionary.licence().to_owned(),
            },
            dictionary,
            pool,
            assets,
        }
    }

    /// The dictionaries in use.
    pub(crate) fn sources(&self) -> &[Source] {
        self.dictionary.sources()
    }
}

/// Every route of the site.
pub(crate) fn router(reader: Reader) -> Router {
    let prefix = reader.shared.frame.path.clone();
    let at = |route: &str| format!("{prefix}{route}");
    let words = get(words::words_of_story).post(words::words_of_text);
    let names = get(words::names_of_story).post(words::names_of_text);
    let mut router = Router::new()
        .route(&prefix, get(pages::latest))
        .route(&at("dictionary/words"), words)
        .route(&at("dictionary/names"), names)
        .route(&at("kanji/{character}"), get(words::kanji))
        .route(&at("assets/{file}"), get(asset))
        .route("/v1/scan", post(scan::scan));
    for (route, method) in [
        ("{year}/{month}/{day}", get(pages::day)),
        ("story/{id}", get(pages::story)),
        ("random", get(pages::random)),
        ("read", get(pages::read).post(pages::explain)),
        ("about", get(pages::about)),
        ("feed", get(feed::feed)),
        ("epub/{year}", get(epub::year)),
        ("epub/{year}/{month}", get(epub::month)),
        ("epub/{year}/{month}/{day}", get(epub::day)),
    ] {
        router = router.route(&at(route), get(with_slash)).route(&at(&format!("{route}/")), method);
    }
    router
        .fallback(|| async { Fault::of_status(StatusCode::NOT_FOUND) })
        .layer(from_fn_with_state(reader.clone(), finish))
        .with_state(reader)
}

/// Pages end with a slash; an address without it leads there.
async fn with_slash(OriginalUri(address): OriginalUri) -> Redirect {
    let query = address.query().map(|query| format!("?{query}")).unwrap_or_default();
    Redirect::permanent(&format!("{}/{query}", address.path()))
}

async fn asset(
    State(reader): State<Reader>,
    asked: Asked,
    Path(name): Path<String>,
) -> Result<Response, Fault> {
    let reply = assets::find(&reader.shared.assets, &name)?;
    Ok(reader.shared.pool.run(move || asked.reply(reply)).await?)
}

/// Gives refusals their form, and every answer the headers that protect its reader.
async fn finish(State(reader): State<Reader>, request: Request, next: Next) -> Response {
    let json = answers_json(request.uri().path(), &reader.shared.frame.path);
    let mut response = next.run(request).await;
    if let Some(fault) = Fault::of(&mut response) {
        response = match json {
            true => refusal(response, problem(&fault).to_string(), PROBLEM),
            false => refusal(response, reader.shared.error_page(&fault), HTML),
        };
    }
    protect(response, POLICY)
}

fn answers_json(address: &str, prefix: &str) -> bool {
    let below = address.strip_prefix(prefix).unwrap_or_default();
    address.starts_with("/v1/") || below.starts_with("dictionary/") || below.starts_with("kanji/")
}

impl Shared {
    fn error_page(&self, fault: &Fault) -> String {
        let page = ErrorPage {
            frame: &self.frame,
            status: fault.status.as_u16(),
            cause: &fault.cause,
            cure: &fault.cure,
        };
        page.render().unwrap_or_else(|_| fault.cause.clone())
    }
}

/// No inline script, no foreign one, no frame around the page; pictures and sound may come from
/// elsewhere, as stories do.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data: https: http:; media-src 'self' https: http:; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

impl From<StoriesError> for Fault {
    fn from(error: StoriesError) -> Fault {
        Fault::internal("the stories cannot be read", &error)
    }
}

impl From<dictionary::Error> for Fault {
    fn from(error: dictionary::Error) -> Fault {
        Fault::internal("the dictionary cannot be read", &error)
    }
}

/// `?furigana=no`, which the feed and the books understand.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Wishes {
    #[serde(default)]
    furigana: Furigana,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Furigana {
    #[default]
    Yes,
    No,
}
