//! Any text as a filter: it is read or refused at a place within it, and what is read is written so that it is read
//! as the same again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sakuin_live::{Filter, Schema, Type};

fuzz_target!(|text: &str| {
    let schema = Type::ALL.into_iter().fold(Schema::new(), |schema, of| schema.with(of.name(), of, None));
    let schema = schema.with("odd name", Type::Int, None).with_vectors(2, sakuin_live::Metric::L2);
    match Filter::parse(text, &schema) {
        Ok(filter) => assert_eq!(Filter::parse(&filter.to_string(), &schema), Ok(filter)),
        Err(error) => assert!(error.position <= text.len()),
    }
});
