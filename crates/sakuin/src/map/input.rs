//! Reading an answer: strict JSON only, its nesting counted first.

use jaq_json::{Val, read};

use super::{DEPTH_MAX, MapError};

/// Digits a number may have. Reading a number takes time quadratic in its digits; no other number is ever
/// written this long.
const DIGITS_MAX: usize = 1024;

/// The value of a text. An empty one is `null`: some origins say "nothing" so.
pub(super) fn read(json: &[u8]) -> Result<Val, MapError> {
    if json.trim_ascii().is_empty() {
        return Ok(Val::Null);
    }
    if depth(json) > DEPTH_MAX {
        return Err(MapError::Deep { limit: DEPTH_MAX });
    }
    let refused = |message: String| MapError::Input { message };
    let text = std::str::from_utf8(json).map_err(|error| refused(error.to_string()))?;
    // jaq reads more than JSON (comments, NaN, bytes), which an origin has no business to send.
    serde_json::from_str::<serde::de::IgnoredAny>(text)
        .map_err(|error| refused(error.to_string()))?;
    if longest_number(json) > DIGITS_MAX {
        return Err(refused(format!("a number of more than {DIGITS_MAX} digits")));
    }
    read::parse_single(json).map_err(|error| refused(error.to_string()))
}

/// Levels of brackets outside of strings. Of what is no JSON, an upper bound for any reader.
pub(super) fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut quoted = false;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => quoted = !quoted,
            b'\\' if quoted => drop(bytes.next()),
            b'[' | b'{' | b'(' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' | b')' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn longest_number(json: &[u8]) -> usize {
    json.split(|byte| !byte.is_ascii_digit()).map(<[u8]>::len).max().unwrap_or(0)
}
