//! Any text as the address of a DAV request.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| sakuin_server::dav::fuzzing::address(text));
