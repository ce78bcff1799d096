//! Reading the authored case files: tab-separated, `#` comments, a header line.

/// The cells of each line after the header.
pub(crate) fn cases(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.skip(1).map(|line| line.split('\t').collect())
}
