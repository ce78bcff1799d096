//! Reads any text as a configuration. It is read or refused by line; what is read is the same when it is printed and
//! read again.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use sakuin::{Config, ConfigError, document::Document};

fn read(text: &str) -> Result<Config, ConfigError> {
    Config::of_document(&Document::parse(text, "fuzz.toml", Path::new("/none"))?)
}

fuzz_target!(|text: &str| {
    match read(text) {
        Ok(config) => {
            let printed = config.to_string();
            // A password in an address is not printed, so it cannot be read again.
            if !printed.contains("***") {
                assert_eq!(read(&printed).expect("what is printed is read"), config, "{printed}");
            }
        }
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("fuzz.toml:"), "{message}");
            let _ = error.hint();
        }
    }
});
