//! Compiles the original's `.proto`, without protoc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=../db.proto");
    let files = protox::compile(["db.proto"], [".."])?;
    tonic_prost_build::configure().compile_fds(files)?;
    Ok(())
}
