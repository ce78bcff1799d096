//! Signing in and out: a session in a cookie that scripts cannot read and that no other site's page sends.

use axum::{
    Form,
    extract::State,
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Redirect, Response},
};
use cookie::{Cookie, SameSite};
use sakuin_contacts::{SESSION_SECONDS, SignInError};
use serde::Deserialize;

use super::{PATH, Pages, templates::SignInPage};
use crate::reply::{Asked, Fault, HTML, Keep, Reply};

const NAME: &str = "sakuin-contacts";

/// What the form sends.
#[derive(Deserialize)]
pub(super) struct Asking {
    name: String,
    password: String,
}

pub(super) async fn page(State(pages): State<Pages>, asked: Asked) -> Response {
    form(&pages, &asked, "", None)
}

fn form(pages: &Pages, asked: &Asked, name: &str, wrong: Option<String>) -> Response {
    let page = SignInPage { frame: &pages.frame(None, Vec::new()), name, wrong };
    let body = askama::Template::render(&page).unwrap_or_default().into_bytes();
    asked.reply(Reply { content_type: HTML, keep: Keep::Never, tag: None, body })
}

pub(super) async fn begin(
    State(pages): State<Pages>,
    headers: HeaderMap,
    asked: Asked,
    Form(asking): Form<Asking>,
) -> Result<Response, Fault> {
    let root = pages.0.contacts.root().await?;
    let session = pages.0.contacts.begin_session(&root, &asking.name, &asking.password).await;
    let session = match session {
        Ok(session) => session,
        Err(error @ SignInError::Wrong) => {
            let wrong = format!("{error}.");
            return Ok(form(&pages, &asked, &asking.name, Some(wrong)));
        }
        Err(error) => return Err(error.into()),
    };
    let cookie = cookie(session, pages.is_encrypted(&headers), SESSION_SECONDS);
    Ok(with_cookie(Redirect::to(PATH).into_response(), &cookie))
}

pub(super) async fn end(State(pages): State<Pages>, headers: HeaderMap) -> Response {
    let cookie = cookie(String::new(), pages.is_encrypted(&headers), 0);
    with_cookie(Redirect::to(&format!("{PATH}sign-in")).into_response(), &cookie)
}

fn cookie(session: String, is_encrypted: bool, seconds: i64) -> Cookie<'static> {
    Cookie::build((NAME, session))
        .path(PATH)
        .http_only(true)
        .secure(is_encrypted)
        .same_site(SameSite::Strict)
        .max_age(cookie::time::Duration::seconds(seconds))
        .build()
}

fn with_cookie(mut response: Response, cookie: &Cookie<'_>) -> Response {
    let value = HeaderValue::try_from(cookie.to_string()).expect("a cookie of ours is ASCII");
    response.headers_mut().insert(header::SET_COOKIE, value);
    response
}

/// The session that a request shows.
pub(super) fn session_of(headers: &HeaderMap) -> Option<String> {
    let sent = headers.get_all(header::COOKIE).iter().filter_map(|it| it.to_str().ok());
    let mut cookies = sent.flat_map(Cookie::split_parse).flatten();
    cookies.find(|cookie| cookie.name() == NAME).map(|cookie| cookie.value().to_owned())
}

impl Pages {
    /// Whether the visitor's connection is encrypted, here or at a proxy that says so.
    pub(super) fn is_encrypted(&self, headers: &HeaderMap) -> bool {
        self.0.has_tls || headers.get("x-forwarded-proto").is_some_and(|it| it == "https")
    }
}
