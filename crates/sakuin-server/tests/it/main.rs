//! Tests of the doors as a client sees them.
fn main(){}
