//! Any text as the body of a DAV request.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| sakuin_server::dav::fuzzing::body(text));
