//! The oracle: authored forms that must, should and must not be read, and what callers are promised.

use sakuin_japanese::deinflect::{Inflection, deinflect};

use crate::cases::cases;

#[test]
fn reads_the_forms_it_must_and_never_the_others() {
    let must = judge("must");
    assert!(must.failures.is_empty(), "not read: {:#?}", must.failures);
    let never = judge("never");
    assert_eq!(never.failures.len(), never.count, "read: {never:#?}");
}

#[test]
fn reads_nearly_all_the_forms_it_should() {
    let should = judge("should");
    let share = 1.0 - should.failures.len() as f64 / should.count as f64;
    assert!(share >= 0.95, "{share}: {:#?}", should.failures);
}

#[test]
fn gives_the_word_itself_first() {
    let found = deinflect("ねこ");
    assert_eq!(found[0], Inflection { form: "ねこ".into(), classes: vec!["n"], reasons: vec![] });
    let found = deinflect("走る");
    assert_eq!(found[0].form, "走る");
    assert!(found[0].classes.contains(&"v5r") && found[0].classes.contains(&"v1"));
    assert!(!found[0].classes.contains(&"v5k"));
}

#[test]
fn merges_classes_and_puts_short_chains_first() {
    let found = deinflect("信じた");
    for (at, inflection) in found.iter().enumerate() {
        let same = |i: &Inflection| i.form == inflection.form && i.reasons == inflection.reasons;
        assert_eq!(found.iter().position(same), Some(at), "{inflection:?}");
    }
    assert!(found.iter().any(|i| i.form == "信じる" && i.classes == ["v1", "v1-s"]));
    assert!(found.is_sorted_by_key(|inflection| inflection.reasons.len()));
}

#[test]
fn keeps_what_was_not_inflected_as_it_was_written() {
    let forms: Vec<String> = deinflect("テストシマシタ").into_iter().map(|i| i.form).collect();
    assert!(forms.iter().any(|form| form == "テスト"));
    assert!(forms.iter().any(|form| form == "テストする"));
}

/// Only the end of a word is looked at, and few chains lead away from it.
#[test]
fn answers_hostile_words_in_bounded_size() {
    for piece in ["られ", "ー", "っ", "て", "させ", "ない", "食"] {
        let short = deinflect(&piece.repeat(300)).len();
        let long = deinflect(&piece.repeat(100_000 / piece.len()));
        assert_eq!(long.len(), short, "{piece}");
        assert!(long.len() < 2_000, "{piece}: {}", long.len());
    }
    assert_eq!(deinflect("").len(), 1);
}

#[derive(Debug)]
struct Judgement {
    count: usize,
    failures: Vec<String>,
}

/// The cases of one kind that are not read.
fn judge(want: &str) -> Judgement {
    let mut judgement = Judgement { count: 0, failures: Vec::new() };
    for case in cases(include_str!("../data/forms.tsv")).filter(|case| case[0] == want) {
        let &[_, surface, form, class, steps] = case.as_slice() else { panic!("{case:?}") };
        let is_case = |i: &Inflection| {
            let chain = i.reasons.join("; ");
            let as_asked = match steps.strip_suffix('*') {
                Some(first) => chain.starts_with(first),
                None => chain == steps,
            };
            i.form == form && i.classes.contains(&class) && !i.reasons.is_empty() && as_asked
        };
        judgement.count += 1;
        if !deinflect(surface).iter().any(is_case) {
            judgement.failures.push(format!("{surface} = {form} ({class}) + {steps}"));
        }
    }
    judgement
}
