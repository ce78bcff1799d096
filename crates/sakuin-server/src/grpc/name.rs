//! Names of tables and records: `tables/{table}/records/{record}`.

use super::refusal::Refusal;

/// The name of a record.
pub(crate) fn record(table: &str, id: u64) -> String {
    let mut name = String::with_capacity(table.len() + 36);
    name.push_str("tables/");
    name.push_str(table);
    name.push_str("/records/");
    let mut digits = itoa::Buffer::new();
    name.push_str(digits.format(id));
    name
}

/// The table that `field` of a request names.
pub(crate) fn parent<'n>(field: &str, name: &'n str) -> Result<&'n str, Refusal> {
    let table = name.strip_prefix("tables/").filter(|table| is_part(table));
    table.ok_or_else(|| {
        Refusal::field(field, format!("`{name}` is no name of a table"), "write `tables/{table}`")
    })
}

/// The table and the id of the record that `field` of a request names.
pub(crate) fn parse<'n>(field: &str, name: &'n str) -> Result<(&'n str, u64), Refusal> {
    let parts = name.strip_prefix("tables/").and_then(|rest| rest.split_once("/records/"));
    let parts =
        parts.filter(|(table, id)| is_part(table) && id.bytes().all(|it| it.is_ascii_digit()));
    let parts = parts.and_then(|(table, id)| Some((table, id.parse().ok()?)));
    parts.ok_or_else(|| {
        let cause = format!("`{name}` is no name of a record");
        Refusal::field(field, cause, "write `tables/{table}/records/{id}`")
    })
}

fn is_part(text: &str) -> bool {
    !text.is_empty() && !text.contains('/')
}

/// The etag of a version.
pub(crate) fn etag(version: u64) -> String {
    format!("\"{version}\"")
}

/// The version of an etag; none of an empty one.
pub(crate) fn version(field: &str, etag: &str) -> Result<Option<u64>, Refusal> {
    if etag.is_empty() {
        return Ok(None);
    }
    let digits = etag.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let version = digits.and_then(|digits| digits.parse().ok());
    let version = version.ok_or_else(|| {
        let cause = format!("`{etag}` is no etag of a record");
        Refusal::field(field, cause, "send it as it was answered, quotes too")
    });
    version.map(Some)
}
