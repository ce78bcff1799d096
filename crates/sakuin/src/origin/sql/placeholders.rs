//! Which values a query wants: `$1`, `$2`, … outside of texts, names and comments.
//!
//! The databases are no help here: SQLite reads an unbound place as NULL, and PostgreSQL does not mind a value
//! that no place wants. Both would answer, and wrongly.

use std::collections::BTreeSet;

/// Checks that a query wants exactly the values `$1` to `$count`.
pub(super) fn check(query: &str, count: usize) -> Result<(), String> {
    let wanted = wanted(query);
    let given: BTreeSet<usize> = (1..=count).collect();
    if let Some(extra) = wanted.difference(&given).next() {
        return Err(format!("the query wants `${extra}`, but the key has {count} parts"));
    }
    match given.difference(&wanted).next() {
        Some(unused) => {
            Err(format!("the query has no `${unused}`: that part of the key says nothing"))
        }
        None => Ok(()),
    }
}

fn wanted(query: &str) -> BTreeSet<usize> {
    let mut wanted = BTreeSet::new();
    let mut rest = query;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' | '`' => after(&rest[1..], &rest[..1]) + 1,
            '-' if rest.starts_with("--") => after(rest, "\n"),
            '/' if rest.starts_with("/*") => after(&rest[2..], "*/") + 2,
            '$' => {
                let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
                match rest[1..=digits].parse() {
                    Ok(number) => drop(wanted.insert(number)),
                    // `$tag$ … $tag$` is a text of PostgreSQL.
                    Err(_) => {
                        let tag = &rest[..after(&rest[1..], "$") + 1];
                        let is_tag = tag.len() > 1
                            && tag.ends_with('$')
                            && tag[1..tag.len() - 1]
                                .chars()
                                .all(|it| it.is_alphanumeric() || it == '_');
                        if is_tag {
                            rest = &rest[tag.len()..];
                            rest = &rest[after(rest, tag)..];
                            continue;
                        }
                    }
                }
                digits + 1
            }
            other => other.len_utf8(),
        };
        rest = &rest[length..];
    }
    wanted
}

/// The length of `text` up to and with `end`, or all of it.
fn after(text: &str, end: &str) -> usize {
    text.find(end).map_or(text.len(), |at| at + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_wanted(query: &str, numbers: &[usize]) {
        assert_eq!(wanted(query), numbers.iter().copied().collect(), "{query}");
    }

    #[test]
    fn places_are_found_where_they_count() {
        check_wanted("select a from t where b = $1 and c = $2 or $1 is null", &[1, 2]);
        check_wanted("select $12::text||$3", &[3, 12]);
        check_wanted("select '$1', \"$2\", `$3`, 'it''s $4' -- $5\n, $6 /* $7 */", &[6]);
        check_wanted("select $$ $1 $$, $a$ $2 $$ $a$, $3", &[3]);
        check_wanted("select '$1", &[]);
        check_wanted("/* $1", &[]);
        check_wanted("select 'é' || $1 || 'é$2", &[1]);
        check_wanted("$", &[]);
        check_wanted("$ $1 $", &[1]);
    }

    #[test]
    fn each_part_has_its_place() {
        assert_eq!(check("$1 $2", 2), Ok(()));
        assert_eq!(check("1", 0), Ok(()));
        assert_eq!(check("$1 $3", 1).unwrap_err(), "the query wants `$3`, but the key has 1 parts");
        assert_eq!(
            check("$1", 2).unwrap_err(),
            "the query has no `$2`: that part of the key says nothing",
        );
    }
}
