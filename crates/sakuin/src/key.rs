//! Keys: what a table may be asked for. A key is checked against the table's rule before anything else sees
//! it, so neither a URL nor a query ever meets a byte the rule does not allow.

/// A checked key in its one canonical form. Parts are joined by `/`, which no part of several may hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key(Box<str>);

impl Key {
    /// The canonical form, as a cached table knows it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What the keys of a table look like: its named parts in the order of the route.
#[derive(Clone, Debug)]
pub struct KeyRule {
    /// The parts; none if any text is a key, as in a packed table.
    pub parts: Vec<Part>,
}

/// One named part of a key.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name, as in `{stop}`.
    pub name: String,
    /// What it may be.
    pub pattern: Pattern,
}

/// What a part of a key may be.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Pattern {
    /// A whole text that a regular expression matches, kept as it is: leading zeros count.
    Text(Box<regex_automata::meta::Regex>, String),
    /// A whole number in a range, without leading zeros or sign of plus.
    Range {
        /// The smallest.
        first: i64,
        /// The greatest.
        last: i64,
    },
}

/// A key that its table does not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is no `{part}`: {wanted}")]
pub struct KeyError {
    /// The part's name.
    pub part: String,
    /// What was given, cut to 64 characters.
    pub found: String,
    /// What would do: `[0-9]{5}`, or `1..2147483647`.
    pub wanted: String,
}

impl KeyRule {
    /// Checks a key in canonical form, as at `/v1/tables/{table}/{key}`.
    pub fn check(&self, key: &str) -> Result<Key, KeyError> {
        let _ = key;
        unimplemented!()
    }

    /// Checks parts by name, as a route binds them. `part` gives the percent-decoded text of a name.
    pub fn bind<'a>(&self, part: impl Fn(&str) -> Option<&'a str>) -> Result<Key, KeyError> {
        let _ = part;
        unimplemented!()
    }
}
