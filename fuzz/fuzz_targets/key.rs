//! Any bytes as a key of every sort of rule, as they come percent-encoded in a path or a query. What is allowed is
//! kept as it is, and stands in a URL without a byte that means anything there.

#![no_main]

use libfuzzer_sys::fuzz_target;
use percent_encoding::percent_decode;
use sakuin::{KEY_BYTES_MAX, KeyRule, Part, Pattern, Template};

fn part(name: &str, pattern: Pattern) -> Part {
    Part { name: name.to_owned(), pattern }
}

fn text(expression: &str) -> Pattern {
    Pattern::text(expression).expect("an expression")
}

fuzz_target!(|bytes: &[u8]| {
    thread_local! {
        static RULES: [KeyRule; 6] = [
            KeyRule::default(),
            KeyRule::any(),
            KeyRule { parts: vec![part("a", text("[0-9]{5}"))] },
            KeyRule { parts: vec![part("a", Pattern::Range { first: -5, last: 2_147_483_647 })] },
            KeyRule { parts: vec![part("a", text(".*")), part("b", text("[\\w-]+|\\.+"))] },
            KeyRule {
                parts: vec![
                    part("a", Pattern::Range { first: 1, last: 9 }),
                    part("b", Pattern::Any),
                    part("c", text("(?s:.)*|(x+x+)+y")),
                ],
            },
        ];
    }
    let Ok(key) = percent_decode(bytes).decode_utf8() else { return };
    RULES.with(|rules| {
        for rule in rules {
            let several = rule.parts.len() > 1;
            let given: Vec<&str> =
                if several { key.split('/').collect() } else { vec![&key; rule.parts.len()] };
            let bound = rule.bind(|name| {
                let at = rule.parts.iter().position(|part| part.name == name)?;
                given.get(at).copied()
            });
            match rule.check(&key) {
                Ok(checked) => {
                    assert_eq!(checked.as_str(), key);
                    assert!(key.len() <= KEY_BYTES_MAX && !key.chars().any(char::is_control));
                    assert_eq!(bound.as_ref(), Ok(&checked));
                    assert!(rule.split(&key).eq(given.iter().copied()));
                    in_url(rule, &key);
                }
                Err(error) => {
                    assert!(error.found.chars().all(|character| !character.is_control()));
                    assert!(several || rule.parts.is_empty() || bound.is_err());
                }
            }
        }
    });
});

/// Every part stands between its slashes, and decodes to what it was.
fn in_url(rule: &KeyRule, key: &str) {
    let places: String = rule.parts.iter().map(|part| format!("/{{{}}}", part.name)).collect();
    let url = Template::new(&places, rule).expect("its own names").url(key);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%/".contains(&byte);
    assert!(url.bytes().all(plain), "{url}");
    let parts: Vec<_> =
        url.split('/').skip(1).map(|part| percent_decode(part.as_bytes())).collect();
    assert_eq!(parts.len(), rule.parts.len(), "{url}");
    for (decoded, part) in parts.into_iter().zip(rule.split(key)) {
        assert_eq!(decoded.decode_utf8().expect("UTF-8"), part);
    }
}
