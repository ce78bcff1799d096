//! The photo in a card, if it is in the card: one that lies elsewhere is not fetched, for whoever keeps it would learn
//! who is looked at.

use axum::{
    body::Body,
    extract::{Path, State},
    http::{HeaderValue, header},
    response::Response,
};
use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use sakuin_contacts::{Line, lines};

use super::{Pages, Visit, entry};
use crate::reply::Fault;

/// Programs leave padding out, or write too much of it.
const TOLERANT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

pub(super) async fn photo(
    State(pages): State<Pages>,
    mut visit: Visit,
    Path((owner, book, card)): Path<(String, String, String)>,
) -> Result<Response, Fault> {
    let book = visit.book(&pages, owner, book).await?;
    let entry = entry(&book, &card)?;
    let tag = entry.etag.to_string();
    if let Some(response) = visit.asked.not_modified(tag.trim_matches('"')) {
        return Ok(response);
    }
    let bytes = pages.0.contacts.bytes(&book.collection, entry).await?;
    let bytes = bytes.unwrap_or_default();
    let photo = pages.0.pool.run(move || photo_of(std::str::from_utf8(&bytes).ok()?)).await?;
    let (content_type, photo) =
        photo.ok_or_else(|| Fault::not_found("this contact has no photo", "look at its card"))?;
    let mut response = Response::new(Body::from(photo));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    let tag = format!("W/{tag}");
    headers.insert(header::ETAG, HeaderValue::try_from(tag).expect("a tag is hexadecimal"));
    Ok(response)
}

/// Whether a line may hold a photo of its own.
pub(super) fn is_photo(line: &Line<'_>) -> bool {
    line.is("PHOTO") && !line.value().starts_with("http") && line.value().len() > 64
}

/// The photo of a card and its type.
fn photo_of(card: &str) -> Option<(&'static str, Vec<u8>)> {
    let line = lines(card).find(is_photo)?;
    let value = line.value();
    let written = value.rsplit_once("base64").map_or(value, |(_, written)| written);
    let plain: Vec<u8> = written
        .bytes()
        .filter(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
        .collect();
    let photo = TOLERANT.decode(plain).ok()?;
    Some((type_of(&photo)?, photo))
}

/// What a picture is, by its first bytes; none for what is no picture that can do no harm.
pub(super) fn type_of(photo: &[u8]) -> Option<&'static str> {
    match photo {
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    #[test]
    fn photos_of_every_spelling_are_read() {
        let png = [&[0x89][..], b"PNG\r\n\x1a\n", &[7; 60]].concat();
        let written = STANDARD.encode(&png);
        for line in [
            format!("PHOTO;ENCODING=b;TYPE=PNG:{written}"),
            format!("PHOTO:data:image/png;base64,{written}"),
            format!(
                "item1.PHOTO;VALUE=uri:data:image/svg+xml;base64\\,{}",
                written.trim_end_matches('=')
            ),
        ] {
            let card = sakuin_contacts::card_of(&[line]);
            assert_eq!(photo_of(&card), Some(("image/png", png.clone())), "{card}");
        }
        let elsewhere = format!("PHOTO;VALUE=uri:https://example.org/{}", "a".repeat(80));
        let script =
            format!("PHOTO:data:image/svg+xml;base64,{}", STANDARD.encode("<svg>".repeat(20)));
        for line in [elsewhere, script, "PHOTO:".to_owned()] {
            assert_eq!(photo_of(&sakuin_contacts::card_of(&[line])), None);
        }
    }
}
