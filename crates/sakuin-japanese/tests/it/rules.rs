//! The tables: what they refuse, and the stems they give.
