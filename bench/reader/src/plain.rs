//! The plain way: every substring, the recursive deinflector, a hash map. It finds what the scan finds.

use std::collections::HashMap;
use std::path::Path;

use sakuin_japanese::deinflect::Deinflector;
use sakuin_japanese::fold::fold;
use sakuin_japanese::read::{Item, read};
use sakuin_japanese::rules::{Class, rules};

/// No word of the dictionaries that matter is longer.
const SPAN_CHARACTERS_MAX: usize = 30;

/// Entries by folded head, and by folded head and class.
pub struct Plain {
    whole: HashMap<String, Vec<u32>>,
    by_class: HashMap<String, Vec<(Class, u32)>>,
    oracle: Deinflector<'static>,
}

impl Plain {
    pub fn new(words: &str, names: &str) -> Plain {
        let (whole, by_class) = (HashMap::new(), HashMap::new());
        let mut plain = Plain { whole, by_class, oracle: Deinflector::new(rules()) };
        let mut number = 0;
        for file in [words, names] {
            read(Path::new(file), &mut |item| {
                let Item::Entry(entry) = item else { return };
                number += 1;
                let tags = entry.senses.iter().flat_map(|sense| &sense.tags);
                let mut classes: Vec<Class> = tags.filter_map(|tag| rules().class(tag)).collect();
                classes.sort_unstable();
                classes.dedup();
                let heads = entry.headwords.iter().map(|head| &head.text);
                for head in heads.chain(entry.readings.iter().map(|reading| &reading.text)) {
                    let head = fold(head);
                    for &class in &classes {
                        self::push(&mut plain.by_class, &head, (class, number));
                    }
                    self::push(&mut plain.whole, &head, number);
                }
            })
            .expect("the dictionary can be read");
        }
        plain
    }

    /// How many entries stand at all spans of a text together.
    pub fn scan(&self, text: &str) -> usize {
        let folded = fold(text);
        let ends: Vec<usize> =
            folded.char_indices().map(|(at, _)| at).chain([folded.len()]).collect();
        let mut found = 0;
        for start in 0..ends.len() - 1 {
            for &end in ends[start + 1..].iter().take(SPAN_CHARACTERS_MAX) {
                let span = &folded[ends[start]..end];
                if span.ends_with(|c: char| c.is_ascii() || "。、「」".contains(c)) {
                    break;
                }
                found += self.whole.get(span).map_or(0, Vec::len);
                for reading in self.oracle.readings(span) {
                    let entries = self.by_class.get(&reading.form).into_iter().flatten();
                    found += entries.filter(|(class, _)| *class == reading.class).count();
                }
            }
        }
        found
    }
}

fn push<T>(map: &mut HashMap<String, Vec<T>>, head: &str, value: T) {
    match map.get_mut(head) {
        Some(values) => values.push(value),
        None => {
            map.insert(head.to_owned(), vec![value]);
        }
    }
}
