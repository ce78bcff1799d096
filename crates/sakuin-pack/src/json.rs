//! JSON values: checked, and stripped of the white space that means nothing.
//! Every other byte is kept, so that 1.10 and integers of twenty digits stay what they were.

use std::borrow::Cow;

use serde::de::IgnoredAny;

/// Whether the text is one JSON value.
pub(crate) fn check(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<IgnoredAny>(text).map(drop)
}

/// Valid JSON without white space outside its strings.
pub(crate) fn compact(json: &[u8]) -> Cow<'_, [u8]> {
    let space = |byte: &u8| b" \t\r\n".contains(byte);
    if !json.iter().any(space) {
        return Cow::Borrowed(json);
    }
    let mut out = Vec::with_capacity(json.len());
    let mut bytes = json.iter();
    while let Some(&byte) = bytes.next() {
        if space(&byte) {
            continue;
        }
        out.push(byte);
        if byte != b'"' {
            continue;
        }
        while let Some(&byte) = bytes.next() {
            out.push(byte);
            match byte {
                b'\\' => out.extend(bytes.next()),
                b'"' => break,
                _ => {}
            }
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_white_space_outside_strings_only() {
        let json = r#" { "a b\" c" : [ 1.10 , 12345678901234567890 , "\\" ] } "#;
        check(json).expect("valid");
        let expected: &[u8] = br#"{"a b\" c":[1.10,12345678901234567890,"\\"]}"#;
        assert_eq!(&*compact(json.as_bytes()), expected);
    }

    #[test]
    fn refuses_what_is_not_json() {
        for text in ["", "{", "{\"a\":1}}", "01", "'a'", "nul", "[1,]", "\"\u{1}\""] {
            assert!(check(text).is_err(), "{text}");
        }
    }
}
