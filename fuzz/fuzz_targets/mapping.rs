//! Any bytes as an origin's answer, through programs that reach into every corner of what jq may do with it.
//! What comes out is JSON, no deeper than allowed.
#![no_main]

use std::{sync::LazyLock, time::SystemTime};

use libfuzzer_sys::fuzz_target;
use sakuin::Mapping;

const PROGRAMS: [&str; 12] = [
    ".",
    "[.. | tostring] | join(\",\")",
    "[paths]",
    "map_values(. + 1)?",
    "[.[]? | tonumber?]",
    ".. |= .",
    "fromjson? // tojson",
    "{a: .a?, b: [.b[]?.c?], $key, $now}",
    "[splits(\"a+\")?] | sort | unique | group_by(.)",
    "[.[]? | todate?, (strptime(\"%Y\")? | mktime?)]",
    "def f: if type == \"array\" then map(f) else . end; f | flatten",
    "[range(.)?] | length, (def g: 1 + g; g)",
];

static MAPPINGS: LazyLock<Vec<Mapping>> = LazyLock::new(|| {
    PROGRAMS.iter().map(|program| Mapping::compile(program).expect(program)).collect()
});

fuzz_target!(|bytes: &[u8]| {
    for mapping in MAPPINGS.iter() {
        let Ok(mapped) = mapping.run(bytes, "key", SystemTime::UNIX_EPOCH) else { continue };
        let mut reader = serde_json::Deserializer::from_slice(&mapped);
        reader.disable_recursion_limit();
        // By its grammar: a number keeps the digits it came with, however many they are.
        let read = <serde::de::IgnoredAny as serde::Deserialize>::deserialize(&mut reader);
        read.and_then(|_| reader.end()).expect("JSON came out");
    }
});
