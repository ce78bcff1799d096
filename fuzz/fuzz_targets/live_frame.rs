//! Any bytes as a group of commits, a row, answers or the tables of a live table's file. Nothing panics or takes more
//! memory than the bytes are long times a little, and what is read is read again the same once it was written.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| sakuin_live::fuzzing::frame(bytes));
