//! What ends at this hop (RFC 9110 7.6.1, RFC 9111 3.1).

use http::{HeaderMap, HeaderName, header};

const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Removes the fields that are for the next hop only: those of this list and those that `Connection` names.
pub fn strip_hop_by_hop(headers: &mut HeaderMap) {
    let lines = headers.get_all(header::CONNECTION).iter();
    let names = lines.flat_map(|line| line.as_bytes().split(|&byte| byte == b','));
    let named: Vec<HeaderName> =
        names.filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok()).collect();
    for name in named {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}
