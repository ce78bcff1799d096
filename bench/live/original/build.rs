//! Compiles the original's `.proto`, without protoc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const PROTO: &str = "../../../crates/sakuin-grpc/proto";
    println!("cargo::rerun-if-changed={PROTO}");
    let files = protox::compile(["db.proto"], [PROTO])?;
    tonic_prost_build::configure().compile_fds(files)?;
    Ok(())
}
