//! Any text as the headers of conditions.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| sakuin_server::dav::fuzzing::conditions(text));
