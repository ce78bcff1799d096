//! Which request a stored response answers: `Vary` (RFC 9111 4.1).

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// The fields of a request that chose its response, with their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selecting {
    fields: Vec<(HeaderName, Option<Box<[u8]>>)>,
}

impl Selecting {
    /// The fields that `response` names in `Vary`, with the values of `request`. None if no later request can
    /// match: `Vary: *`, or a name that is none.
    pub fn of(request: &HeaderMap, response: &HeaderMap) -> Option<Selecting> {
        let mut fields: Vec<(HeaderName, _)> = Vec::new();
        for line in response.get_all(header::VARY) {
            for name in line.as_bytes().split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                if name.is_empty() {
                    continue;
                }
                let name = (name != b"*").then(|| HeaderName::from_bytes(name).ok()).flatten()?;
                if fields.iter().all(|(known, _)| *known != name) {
                    let value = selecting_value(request, &name);
                    fields.push((name, value));
                }
            }
        }
        fields.sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
        Some(Selecting { fields })
    }

    /// Whether a response chosen by these fields is also the one for `request`.
    pub fn matches(&self, request: &HeaderMap) -> bool {
        self.fields.iter().all(|(name, chosen)| *chosen == selecting_value(request, name))
    }

    /// The fields and their values, each once, in the order of names.
    pub fn fields(&self) -> impl Iterator<Item = (&HeaderName, Option<&[u8]>)> {
        self.fields.iter().map(|(name, value)| (name, value.as_deref()))
    }
}

/// The value of a field as requests are told apart by it, however its lines and the spaces around them were
/// written; `Accept-Encoding` [reduced](accepted_codings).
pub fn selecting_value(request: &HeaderMap, name: &HeaderName) -> Option<Box<[u8]>> {
    if name == header::ACCEPT_ENCODING {
        return accepted_codings(request).map(|codings| codings.as_bytes().into());
    }
    let lines = request.get_all(name).iter().map(|line| line.as_bytes().trim_ascii());
    let lines: Vec<&[u8]> = lines.collect();
    (!lines.is_empty()).then(|| lines.join(&b", "[..]).into())
}

/// The codings worth telling apart, in the order they are written in.
const CODINGS: [&str; 3] = ["br", "gzip", "zstd"];

/// `Accept-Encoding` reduced to what is worth telling apart: which of br, gzip and zstd the client takes.
/// None if it takes none of them; preferences among them are left to the origin.
pub fn accepted_codings(request: &HeaderMap) -> Option<HeaderValue> {
    let mut taken: [Option<bool>; 3] = [None; 3];
    let mut others = false;
    for line in request.get_all(header::ACCEPT_ENCODING) {
        for member in line.as_bytes().split(|&byte| byte == b',') {
            let mut parts = member.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
            let name = parts.next().unwrap_or_default();
            let wanted = !parts.any(is_zero_weight);
            if name == b"*" {
                others = wanted;
            }
            let known = CODINGS.iter().position(|coding| is_coding(name, coding));
            if let Some(place) = known {
                taken[place] = Some(wanted);
            }
        }
    }
    let taken = CODINGS.iter().zip(taken).filter(|(_, taken)| taken.unwrap_or(others));
    let taken: Vec<&str> = taken.map(|(coding, _)| *coding).collect();
    (!taken.is_empty()).then(|| {
        HeaderValue::from_str(&taken.join(", ")).expect("names of codings are visible ASCII")
    })
}

fn is_coding(name: &[u8], coding: &str) -> bool {
    name.eq_ignore_ascii_case(coding.as_bytes())
        || (coding == "gzip" && name.eq_ignore_ascii_case(b"x-gzip"))
}

/// `q=0`, `Q=0.000`: not wanted.
fn is_zero_weight(parameter: &[u8]) -> bool {
    let mut halves = parameter.splitn(2, |&byte| byte == b'=').map(<[u8]>::trim_ascii);
    let (name, weight) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
    name.eq_ignore_ascii_case(b"q")
        && weight.first() == Some(&b'0')
        && weight.iter().all(|byte| matches!(byte, b'0' | b'.'))
}
