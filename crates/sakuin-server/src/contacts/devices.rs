//! Telephones and programs: the address they are told, as text and to be photographed, and the tokens they sign in with.

use axum::{
    Form,
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse, Redirect, Response},
};
use qrcode::{EcLevel, QrCode, render::svg};
use serde::Deserialize;

use super::{
    PATH, Pages, Visit,
    templates::{DevicesPage, TokenView},
};
use crate::reply::Fault;

/// What the forms send.
#[derive(Deserialize)]
pub(super) struct Named {
    label: String,
}

pub(super) async fn page(
    State(pages): State<Pages>,
    mut visit: Visit,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    shown(&pages, &mut visit, &headers, None).await
}

/// Makes a token. It is in the answer and nowhere else, so that a page that is opened again does not show it.
pub(super) async fn add(
    State(pages): State<Pages>,
    mut visit: Visit,
    headers: HeaderMap,
    Form(Named { label }): Form<Named>,
) -> Result<Response, Fault> {
    let label = label.trim();
    if label.is_empty() {
        return Err(Fault::bad_request(
            "the device has no name",
            "call it what you would: `phone`",
        ));
    }
    let contacts = &pages.0.contacts;
    let token = contacts.add_token(&visit.who.principal.name, label, false, None).await?;
    visit.root = contacts.root().await?;
    shown(&pages, &mut visit, &headers, Some(token)).await
}

pub(super) async fn revoke(
    State(pages): State<Pages>,
    visit: Visit,
    Form(Named { label }): Form<Named>,
) -> Result<Response, Fault> {
    pages.0.contacts.revoke_token(&visit.who.principal.name, &label).await?;
    Ok(Redirect::to(&format!("{PATH}devices")).into_response())
}

async fn shown(
    pages: &Pages,
    visit: &mut Visit,
    headers: &HeaderMap,
    token: Option<String>,
) -> Result<Response, Fault> {
    let frame = visit.frame(pages).await?;
    let scheme = if pages.is_encrypted(headers) { "https" } else { "http" };
    let host = headers.get(header::HOST).and_then(|it| it.to_str().ok()).unwrap_or("localhost");
    let url = format!("{scheme}://{host}{}", pages.0.dav_path);
    let tokens = visit.root.directory().tokens(visit.who.principal.id);
    let mut tokens: Vec<_> = tokens
        .map(|token| TokenView { label: token.label.to_string(), is_read_only: token.is_read_only })
        .collect();
    tokens.sort_by(|a, b| a.label.cmp(&b.label));
    let page = DevicesPage { frame: &frame, code: code(&url), url, token, tokens };
    Ok(visit.page(&page))
}

/// A text as a picture that telephones read; none if it is too long.
fn code(text: &str) -> Option<String> {
    let code = QrCode::with_error_correction_level(text, EcLevel::M).ok()?;
    let picture = code.render::<svg::Color<'_>>().min_dimensions(220, 220).build();
    // Within a page, a picture begins with its element.
    picture.find("<svg").map(|at| picture[at..].to_owned())
}
