//! Dates in headers.

use std::time::SystemTime;

use http::{HeaderMap, HeaderName};

/// A header that holds one date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dated {
    /// There is no such header.
    Absent,
    /// It is no date, or stands there several times with different ones.
    Invalid,
    /// The date.
    At(SystemTime),
}

impl Dated {
    /// Reads the header `name`, in any of the three forms of RFC 9110 5.6.7.
    pub(super) fn of(headers: &HeaderMap, name: &HeaderName) -> Dated {
        let mut lines = headers.get_all(name).iter();
        let Some(first) = lines.next() else { return Dated::Absent };
        if lines.any(|other| other != first) {
            return Dated::Invalid;
        }
        let date = first.to_str().ok().and_then(|text| httpdate::parse_http_date(text).ok());
        date.map_or(Dated::Invalid, Dated::At)
    }

    pub(super) fn at(self) -> Option<SystemTime> {
        match self {
            Dated::At(date) => Some(date),
            Dated::Absent | Dated::Invalid => None,
        }
    }
}
