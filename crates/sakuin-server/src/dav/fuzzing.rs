//! What fuzzers reach into.

use axum::http::{HeaderMap, HeaderValue, header::HeaderName};

use super::{condition::Conditions, path::Place, property::Asked, report::filter_of, xml::Element};

/// A body: what is read is written so that it is read as the same again, and its parts are understood or refused.
pub fn body(text: &str) {
    let Ok(element) = Element::parse(text) else { return };
    let _ = (Asked::of(Some(&element)), filter_of(&element));
    assert_eq!(Element::parse(&element.to_xml()), Ok(element));
}

/// An address: what is understood is written so that it is understood as the same again.
pub fn address(text: &str) {
    let Ok(place) = Place::parse("/dav/", text) else { return };
    assert_eq!(Place::parse("/dav/", &place.href("/dav/")), Ok(place));
}

/// The headers of conditions.
pub fn conditions(text: &str) {
    let Ok(value) = HeaderValue::try_from(text) else { return };
    let names = ["if", "if-match", "if-none-match", "if-modified-since"];
    let headers: HeaderMap =
        names.map(|name| (HeaderName::from_static(name), value.clone())).into_iter().collect();
    let _ = Conditions::of(&headers);
}
