//! Prints the expanded rules as JSON, for engines in other languages: classes, reasons, paradigms, and
//! every suffix rule as `[ending, paradigm, reason, [paradigms that inflect the result]]`.

use sakuin_japanese::rules::{Place, rules};
use serde_json::{Value, json};

fn main() {
    let rules = rules();
    let classes: Vec<Value> = rules.classes().map(|class| json!(rules.tag(class))).collect();
    let reason = |reason| {
        let kind = format!("{:?}", rules.kind(reason)).to_lowercase();
        json!({"label": rules.label(reason), "label_ja": rules.label_ja(reason), "kind": kind})
    };
    let reasons: Vec<Value> = rules.reasons().map(reason).collect();
    let paradigms = rules.paradigms().iter().map(|paradigm| {
        let place = match paradigm.place {
            Place::After => "after",
            Place::Anywhere => "anywhere",
            Place::Whole => "whole",
        };
        json!({"class": paradigm.class.0, "cut": paradigm.cut, "place": place})
    });
    let paradigms: Vec<Value> = paradigms.collect();
    let suffixes = rules.suffixes().iter();
    let suffixes = suffixes.map(|s| json!([s.ending, s.paradigm, s.reason.0, s.then]));
    let suffixes: Vec<Value> = suffixes.collect();
    println!(
        "{}",
        json!({"classes": classes, "reasons": reasons, "paradigms": paradigms, "rules": suffixes})
    );
}
