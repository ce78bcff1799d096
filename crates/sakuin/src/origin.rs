//! Where cached tables read from.

#[cfg(feature = "http-origin")]
mod http;
#[cfg(feature = "sql-origin")]
mod sql;
