//! An answer made ready once, when it is fetched, so that nothing is computed when it is handed out: the body
//! in every coding worth having, with its tag.
//!
//! Headers are put together when a representation is first handed out, and copied after that. Most answers are
//! only ever asked for in one coding: a map of headers for each, made with the body, took more memory than the
//! answers of a small table.

use std::{io::Write, sync::OnceLock};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, VARY},
};

/// A body with everything a door may need of it.
#[derive(Clone, Debug)]
pub struct Prepared {
    status: StatusCode,
    version: Box<str>,
    identity: Representation,
    /// Those worth sending, the best first.
    coded: Box<[Representation]>,
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
    coding: Coding,
    content_type: &'static str,
    tag: HeaderValue,
    /// Whether there are other codings of the same answer.
    varies: bool,
    hit: OnceLock<Box<HeaderMap>>,
}

/// Clients may keep an answer and ask whether it is still true: what is served here is quickly asked again,
/// and a copy kept elsewhere could not be purged.
const KEEP: HeaderValue = HeaderValue::from_static("no-cache");

/// What the headers of a hit take in memory, in the one coding that most answers are asked for in.
const HIT_BYTES: usize = 1100;

/// Bodies shorter than this are not coded.
const CODED_BYTES_MIN: usize = 256;

impl Prepared {
    /// A body that was found. Takes the time of three compressions: some 0.5 ms for 10 KB of JSON.
    #[expect(clippy::needless_pass_by_value, reason = "whoever prepares a body is done with it")]
    pub fn found(body: Bytes, content_type: &'static str) -> Prepared {
        // What came over a network may be a slice of a far larger buffer, which it would keep alive.
        let body = Bytes::copy_from_slice(&body);
        let version = content_version(&body);
        let coded = if is_compressible(content_type) { coded(&body) } else { Vec::new() };
        Prepared::new(StatusCode::OK, body, content_type, version, coded)
    }

    /// A known absence: 404 with a problem (RFC 9457) as its body.
    pub fn missing(detail: &str) -> Prepared {
        let problem = serde_json::json!({ "status": 404, "title": "Not Found", "detail": detail });
        let body = Bytes::from(problem.to_string());
        let version = content_version(&body);
        let status = StatusCode::NOT_FOUND;
        Prepared::new(status, body, "application/problem+json", version, Vec::new())
    }

    /// A value of a packed table, uncoded. The version is the file's: hexadecimal digits.
    pub(crate) fn packed(body: Bytes, content_type: &'static str, version: &str) -> Prepared {
        Prepared::new(StatusCode::OK, body, content_type, version.into(), Vec::new())
    }

    fn new(
        status: StatusCode,
        body: Bytes,
        content_type: &'static str,
        version: Box<str>,
        coded: Vec<(Coding, Vec<u8>)>,
    ) -> Prepared {
        let varies = !coded.is_empty();
        let represent =
            |body, coding| Representation::new(body, coding, content_type, &version, varies);
        let identity = represent(body, Coding::Identity);
        let coded =
            coded.into_iter().map(|(coding, body)| represent(body.into(), coding)).collect();
        Prepared { status, identity, coded, version }
    }

    /// 200, or 404 for a known absence.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The body in the best coding of those the door's client takes; `accepts` is asked best first. Identity
    /// is what remains.
    pub fn representation(&self, accepts: impl Fn(Coding) -> bool) -> &Representation {
        self.coded.iter().find(|coded| accepts(coded.coding)).unwrap_or(&self.identity)
    }

    /// The body, uncoded.
    pub fn body(&self) -> &Bytes {
        &self.identity.body
    }

    /// A hash of the body, or what the table says its version is.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether it says that there is no such record.
    pub fn is_missing(&self) -> bool {
        self.status != StatusCode::OK
    }

    /// The bytes it takes in memory, for the limit of a table.
    pub fn weight(&self) -> usize {
        let representations = self.coded.iter().chain([&self.identity]);
        size_of::<Prepared>()
            + HIT_BYTES
            + self.version.len()
            + representations.map(Representation::weight).sum::<usize>()
    }
}

impl Coding {
    /// Its name in `Content-Encoding`.
    pub const fn name(self) -> &'static str {
        match self {
            Coding::Identity => "identity",
            Coding::Gzip => "gzip",
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
        }
    }

    /// What a tag ends with, so that no two representations share one (RFC 9110 8.8.3).
    const fn tag_suffix(self) -> &'static str {
        match self {
            Coding::Identity => "",
            Coding::Gzip => "-gz",
            Coding::Brotli => "-br",
            Coding::Zstd => "-zs",
        }
    }
}

impl Representation {
    fn new(
        body: Bytes,
        coding: Coding,
        content_type: &'static str,
        version: &str,
        varies: bool,
    ) -> Representation {
        let tag = HeaderValue::try_from(format!("\"{version}{}\"", coding.tag_suffix()));
        let tag = tag.expect("versions are hexadecimal digits");
        Representation { coding, content_type, tag, varies, hit: OnceLock::new(), body }
    }

    /// How the body is coded.
    pub fn coding(&self) -> Coding {
        self.coding
    }

    /// What the body is, as in `content-type`.
    pub fn content_type(&self) -> &'static str {
        self.content_type
    }

    /// The strong tag, its own for each coding.
    pub fn tag(&self) -> &HeaderValue {
        &self.tag
    }

    /// With a 200: `content-type`, `content-encoding`, `etag`, `vary`, `cache-control`, and room for
    /// as many of the door's own.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(12);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        if self.coding != Coding::Identity {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(self.coding.name()));
        }
        self.validate(headers)
    }

    /// A copy of what `make` once made of [`Representation::headers`]: what a door says with every hit.
    pub fn hit_headers(&self, make: impl FnOnce(HeaderMap) -> HeaderMap) -> HeaderMap {
        // A copy has no room to spare, so it is a copy that is kept.
        HeaderMap::clone(self.hit.get_or_init(|| Box::new(make(self.headers()).clone())))
    }

    /// With a 304: `etag`, `vary`, `cache-control`.
    pub fn not_modified(&self) -> HeaderMap {
        self.validate(HeaderMap::with_capacity(6))
    }

    fn validate(&self, mut headers: HeaderMap) -> HeaderMap {
        headers.insert(ETAG, self.tag.clone());
        headers.insert(CACHE_CONTROL, KEEP);
        if self.varies {
            headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        }
        headers
    }

    fn weight(&self) -> usize {
        size_of::<Representation>() + self.body.len() + self.tag.len()
    }
}

/// 128 bits of BLAKE3, in hexadecimal digits.
fn content_version(body: &[u8]) -> Box<str> {
    blake3::hash(body).to_hex()[..32].into()
}

fn is_compressible(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.starts_with("text/") || kind.ends_with("json") || kind.ends_with("xml")
}

/// The body in each coding that saves a tenth of it.
fn coded(body: &[u8]) -> Vec<(Coding, Vec<u8>)> {
    if body.len() < CODED_BYTES_MIN {
        return Vec::new();
    }
    [(Coding::Brotli, brotli(body)), (Coding::Zstd, zstd(body)), (Coding::Gzip, gzip(body))]
        .into_iter()
        .filter(|(_, coded)| coded.len() <= body.len() / 10 * 9)
        .map(|(coding, mut coded)| {
            coded.shrink_to_fit();
            (coding, coded)
        })
        .collect()
}

/// The window is no larger than the body: it is memory that the coder clears and takes.
fn brotli(body: &[u8]) -> Vec<u8> {
    let parameters = brotli::enc::BrotliEncoderParams {
        quality: 5,
        lgwin: body.len().next_power_of_two().ilog2().clamp(10, 18) as i32,
        size_hint: body.len(),
        ..Default::default()
    };
    let mut coded = Vec::with_capacity(body.len() / 2);
    brotli::BrotliCompress(&mut &body[..], &mut coded, &parameters).expect("memory takes it");
    coded
}

fn zstd(body: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(body, 3).expect("memory takes it")
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let coded = Vec::with_capacity(body.len() / 2);
    let mut coder = flate2::write::GzEncoder::new(coded, flate2::Compression::new(6));
    coder.write_all(body).and_then(|()| coder.finish()).expect("memory takes it")
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    const JSON: &str = "application/json";

    fn stops() -> Bytes {
        let stops: Vec<_> =
            (0..200).map(|n| serde_json::json!({ "stop": n, "bus": "15" })).collect();
        serde_json::to_vec(&stops).unwrap().into()
    }

    fn decode(coding: Coding, body: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        match coding {
            Coding::Identity => plain.extend(body),
            Coding::Gzip => drop(flate2::read::GzDecoder::new(body).read_to_end(&mut plain)),
            Coding::Brotli => drop(brotli::Decompressor::new(body, 4096).read_to_end(&mut plain)),
            Coding::Zstd => plain = zstd::stream::decode_all(body).unwrap(),
        }
        plain
    }

    #[test]
    fn every_coding_says_the_same_under_its_own_tag() {
        let prepared = Prepared::found(stops(), JSON);
        let mut tags = Vec::new();
        for coding in [Coding::Identity, Coding::Gzip, Coding::Brotli, Coding::Zstd] {
            let representation = prepared.representation(|asked| asked == coding);
            let (headers, body) = (representation.headers(), &representation.body);
            assert_eq!(decode(coding, body), stops(), "{coding:?}");
            let coded = headers.get(CONTENT_ENCODING).map_or("identity", |it| it.to_str().unwrap());
            assert_eq!(coded, coding.name());
            assert_eq!(
                (&headers[CONTENT_TYPE], &headers[VARY]),
                (&HeaderValue::from_static(JSON), &HeaderValue::from_static("accept-encoding"))
            );
            let not_modified = representation.not_modified();
            let names: Vec<_> = not_modified.keys().map(http::HeaderName::as_str).collect();
            assert_eq!(names, ["etag", "cache-control", "vary"]);
            assert_eq!(not_modified[ETAG], headers[ETAG]);
            tags.push(headers[ETAG].clone());
        }
        let version = prepared.version();
        let expected = ["", "-gz", "-br", "-zs"].map(|end| format!("\"{version}{end}\""));
        assert_eq!(tags, expected);
    }

    #[test]
    fn the_best_coding_that_is_taken_is_sent() {
        let prepared = Prepared::found(stops(), JSON);
        let best = |accepts: fn(Coding) -> bool| prepared.representation(accepts).coding();
        assert_eq!(best(|_| true), Coding::Brotli);
        assert_eq!(best(|coding| coding != Coding::Brotli), Coding::Zstd);
        assert_eq!(best(|_| false), Coding::Identity);
    }

    #[test]
    fn what_gains_nothing_is_not_coded() {
        let short = Bytes::from(vec![b'1'; CODED_BYTES_MIN - 1]);
        let noise = Bytes::from(
            blake3::hash(b"").as_bytes().iter().map(|b| b % 64 + 48).collect::<Vec<_>>(),
        );
        for prepared in [
            Prepared::found(short, JSON),
            Prepared::found(noise, JSON),
            Prepared::found(stops(), "application/octet-stream"),
            Prepared::packed(stops(), JSON, "v1"),
        ] {
            assert!(prepared.coded.is_empty());
            assert!(!prepared.identity.headers().contains_key(VARY));
        }
    }

    #[test]
    fn a_version_is_the_content() {
        let version = |body: &'static str| Prepared::found(body.into(), JSON).version().to_owned();
        assert_eq!(version("[]"), version("[]"));
        assert_ne!(version("[]"), version("{}"));
        assert_eq!(version("[]").len(), 32);
        assert_eq!(Prepared::packed("[]".into(), JSON, "v1").version(), "v1");
    }

    #[test]
    fn an_absence_is_a_problem() {
        let missing = Prepared::missing("no stop `00000`");
        assert!(missing.is_missing() && !Prepared::found("null".into(), JSON).is_missing());
        assert_eq!(missing.status(), StatusCode::NOT_FOUND);
        assert_eq!(missing.identity.content_type(), "application/problem+json");
        let problem: serde_json::Value = serde_json::from_slice(missing.body()).unwrap();
        assert_eq!(problem["detail"], "no stop `00000`");
    }

    #[test]
    fn its_weight_counts_every_coding() {
        let bodies = |prepared: &Prepared| {
            let coded = prepared.coded.iter().map(|it| it.body.len()).sum::<usize>();
            coded + prepared.body().len()
        };
        let prepared = Prepared::found(stops(), JSON);
        assert!(prepared.weight() > bodies(&prepared) + 500);
        assert!(prepared.weight() < bodies(&prepared) + HIT_BYTES + 2000);
    }
}
