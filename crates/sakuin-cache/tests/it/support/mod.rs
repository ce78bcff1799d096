//! What the tests share.

mod clock;

pub(crate) use clock::Simulated;
