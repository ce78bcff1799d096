//! Cached tables, as their users see them.

mod rfc9111; // headers as times, against the RFC's words and another implementation
