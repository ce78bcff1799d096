//! One range of bytes, cut from a whole stored response (RFC 9110 14, RFC 9111 3.4).

use std::ops::Range;

use http::{HeaderMap, Method, StatusCode, header};

use super::{Request, Response, date::Dated};

/// What a request wants of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// All of it: no range, one that is none, several, or one of another version of the body.
    Whole,
    /// These bytes, at least one: 206.
    Part(Range<usize>),
    /// Bytes it has not: 416.
    Unsatisfiable,
}

/// What `request` wants of `response`, whose body has `length` bytes.
pub fn byte_range(request: Request<'_>, response: Response<'_>, length: usize) -> ByteRange {
    let applies = request.method == Method::GET
        && response.status == StatusCode::OK
        && if_range(request.headers, response.headers);
    let mut lines = request.headers.get_all(header::RANGE).iter();
    match (lines.next(), lines.next()) {
        (Some(line), None) if applies => parse(line.as_bytes(), length),
        _ => ByteRange::Whole,
    }
}

/// Whether `If-Range`, if there is one, names exactly this response: by a strong tag, or by a date of change
/// that lies far enough back to name one version only (RFC 9110 8.8.2.2).
fn if_range(request: &HeaderMap, response: &HeaderMap) -> bool {
    let Some(wanted) = request.get(header::IF_RANGE) else { return true };
    if wanted.as_bytes().starts_with(b"\"") {
        return response.get(header::ETAG) == Some(wanted);
    }
    let wanted = Dated::of(request, &header::IF_RANGE).at();
    let changed = Dated::of(response, &header::LAST_MODIFIED).at();
    let sent = Dated::of(response, &header::DATE).at();
    wanted.is_some() && wanted == changed && sent > changed
}

fn parse(line: &[u8], length: usize) -> ByteRange {
    let Some((unit, set)) = split(line, b'=') else { return ByteRange::Whole };
    let Some((first, last)) = split(set, b'-') else { return ByteRange::Whole };
    if !unit.eq_ignore_ascii_case(b"bytes") {
        return ByteRange::Whole;
    }
    let (first, last) = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => (first, last.saturating_add(1)),
        (Some(first), None) if last.is_empty() => (first, length),
        (None, Some(count)) if first.is_empty() => (length.saturating_sub(count), length),
        _ => return ByteRange::Whole,
    };
    let last = last.min(length);
    if first < last { ByteRange::Part(first..last) } else { ByteRange::Unsatisfiable }
}

fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = text.iter().position(|&byte| byte == at)?;
    Some((text[..place].trim_ascii(), text[place + 1..].trim_ascii()))
}

/// A number; one too great for us is greater than any body.
fn number(text: &[u8]) -> Option<usize> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |number: usize, digit: &u8| {
        number.saturating_mul(10).saturating_add(usize::from(digit - b'0'))
    };
    Some(text.iter().fold(0, add))
}
