//! The command `sakuin`.

fn main() {}
