//! The scan: every dictionary word of a text, inflected or not.

/// What a scan found, in the order of the text.
pub struct Matches {}
