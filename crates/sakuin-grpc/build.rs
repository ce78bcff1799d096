//! Turns the protocol files into Rust, without a `protoc` installed.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message;

const FILES: [&str; 3] = ["sakuin/live/v1/live.proto", "sakuin/v1/lookup.proto", "db.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let files = protox::compile(FILES, ["proto"])?;
    let folder = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(folder.join("descriptors.bin"), files.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_transport(false)
        .btree_map(".")
        .bytes(".")
        .compile_fds(files)?;
    Ok(())
}
