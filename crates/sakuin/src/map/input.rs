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
    let refused = |message: String| MapError::Input { message };
    let text = std::str::from_utf8(json).map_err(|error| refused(error.to_string()))?;
    // jaq reads more than JSON (comments, NaN, bytes), which an origin has no business to send. This looks at the
    // text without recursion.
    let strict = serde_json::from_str::<serde::de::IgnoredAny>(text);
    match (parse(json), strict) {
        (Err(error @ MapError::Deep { .. }), _) => Err(error),
        (_, Err(error)) => Err(refused(error.to_string())),
        (parsed, Ok(_)) => parsed,
    }
}

/// What a text is like, told without recursion.
pub(super) struct Shape {
    /// Levels of brackets outside of texts. Of what is no JSON, an upper bound for any reader.
    pub(super) depth: usize,
    /// The most digits in a row outside of texts.
    digits: usize,
}

pub(super) fn shape(text: &[u8]) -> Shape {
    let mut shape = Shape { depth: 0, digits: 0 };
    let (mut depth, mut digits) = (0_usize, 0);
    let mut quoted = false;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        digits = if byte.is_ascii_digit() && !quoted { digits + 1 } else { 0 };
        shape.digits = shape.digits.max(digits);
        match byte {
            b'"' => quoted = !quoted,
            b'\\' if quoted => drop(bytes.next()),
            b'[' | b'{' | b'(' if !quoted => {
                depth += 1;
                shape.depth = shape.depth.max(depth);
            }
            b']' | b'}' | b')' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    shape
}

/// Reads JSON as jaq knows it, or says why not.
pub(super) fn parse(json: &[u8]) -> Result<Val, MapError> {
    let refused = |message: String| MapError::Input { message };
    let shape = shape(json);
    if shape.depth > DEPTH_MAX {
        return Err(MapError::Deep { limit: DEPTH_MAX });
    }
    if shape.digits > DIGITS_MAX {
        return Err(refused(format!("a number of more than {DIGITS_MAX} digits")));
    }
    read::parse_single(json).map_err(|error| refused(error.to_string()))
}
