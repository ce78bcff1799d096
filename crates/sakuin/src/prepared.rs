//! An answer made ready once, when it is fetched, so that nothing is computed when it is handed out: the body
//! in every coding worth having, with its headers and its tag.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

/// A body with everything a door may need of it.
#[derive(Clone, Debug)]
pub struct Prepared {
    status: StatusCode,
    version: Box<str>,
    /// By [`Coding`]; the first is always there.
    representations: [Option<Representation>; 4],
}

/// A content coding we write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coding {
    /// None.
    Identity,
    /// `gzip`
    Gzip,
    /// `br`
    Brotli,
    /// `zstd`
    Zstd,
}

/// The body in one coding.
#[derive(Clone, Debug)]
pub struct Representation {
    /// What is sent.
    pub body: Bytes,
    /// With a 200: `content-type`, `content-length`, `content-encoding`, `etag` (strong, its own for each
    /// coding), `vary`, `cache-control`.
    pub headers: HeaderMap,
    /// With a 304.
    pub not_modified: HeaderMap,
}

impl Prepared {
    /// 200, or 404 and the like for a known absence.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The body in the best coding of those the door's client takes; `accepts` is asked best first.
    pub fn representation(&self, accepts: impl Fn(Coding) -> bool) -> &Representation {
        let _ = accepts;
        unimplemented!()
    }

    /// The body, uncoded.
    pub fn body(&self) -> &Bytes {
        &self.representations[0].as_ref().expect("identity is always made").body
    }

    /// A hash of the body, or what the table says its version is.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether it says that there is no such record.
    pub fn is_missing(&self) -> bool {
        self.status != StatusCode::OK
    }
}
