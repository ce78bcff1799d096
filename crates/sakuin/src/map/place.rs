//! Where in an answer a mapping failed.
//!
//! jq says which value it could not use, not where it found it. If exactly one place of the answer holds that
//! value, that is the place.

use std::fmt::Write;

use jaq_json::Val;

use super::MESSAGE_MAX;

/// What jq says before the value at fault.
const BEFORE: [&str; 4] = ["cannot use ", "cannot index ", "cannot calculate ", "cannot parse "];

/// jq's message, cut, with the path of the value at fault if it is the only one of its kind in `answer`.
pub(super) fn explain(message: &str, answer: &Val) -> String {
    let mut text: String = message.chars().take(MESSAGE_MAX).collect();
    if text.len() < message.len() {
        text.push('…');
    }
    let value = BEFORE.iter().find_map(|before| message.strip_prefix(before));
    match value.and_then(|value| only_place(value, answer)) {
        Some(path) => format!("{text}, at `{path}`"),
        None => text,
    }
}

/// The path of the one value whose text begins `message` and ends at a space or at its end.
fn only_place(message: &str, answer: &Val) -> Option<String> {
    let mut found = None;
    let mut twice = false;
    visit(answer, &mut String::new(), &mut |value, path| {
        let mut rest = Rest(message);
        if write!(rest, "{value}").is_ok() && (rest.0.is_empty() || rest.0.starts_with(' ')) {
            twice |= found.is_some();
            found = Some(if path.is_empty() { ".".to_owned() } else { path.to_owned() });
        }
    });
    found.filter(|_| !twice)
}

/// What is left of a message after the text of a value; writing fails as soon as the two differ.
struct Rest<'m>(&'m str);

impl Write for Rest<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0 = self.0.strip_prefix(text).ok_or(std::fmt::Error)?;
        Ok(())
    }
}

fn visit(value: &Val, path: &mut String, seen: &mut impl FnMut(&Val, &str)) {
    seen(value, path);
    let length = path.len();
    match value {
        Val::Arr(items) => {
            for (at, item) in items.iter().enumerate() {
                path.push_str(&format!("[{at}]"));
                visit(item, path, seen);
                path.truncate(length);
            }
        }
        Val::Obj(fields) => {
            for (name, item) in fields.iter() {
                path.push_str(&step(&name.to_string()));
                visit(item, path, seen);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

/// `.name`, or `["odd name"]`.
fn step(quoted: &str) -> String {
    let name = quoted.trim_matches('"');
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
    match name.chars().next() {
        Some(first) if !first.is_ascii_digit() && name.chars().all(plain) => format!(".{name}"),
        _ => format!("[{quoted}]"),
    }
}
