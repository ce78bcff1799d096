//! What can be said of a table without reading its keys.

use crate::{Content, Hash, Keys, ReadError, Table, format};

/// The facts of a table, as `sakuin inspect` shows them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Distinct keys.
    pub keys: u64,
    /// Values, counted once for each key that has them.
    pub values: u64,
    /// Whether a key may have several values.
    pub multi: bool,
    /// The length of the file.
    pub file_bytes: u64,
    /// What the values are.
    pub content: Content,
    /// What is kept of the keys.
    pub key_mode: Keys,
    /// The perfect hash.
    pub hash: Hash,
    /// Bits of the perfect hash for each key: its seeds, remapped slots and regions.
    pub hash_bits_per_key: f64,
    /// Slots served by a line of the directory.
    pub slots_per_line: u8,
    /// Bytes of the directory and the perfect hash for each key: what a key costs besides its record.
    pub index_bytes_per_key: f64,
    /// Major and minor version of the file's format.
    pub format_version: (u16, u16),
    /// The sections in the order of the file: name, offset and length in bytes.
    pub sections: Vec<(String, u64, u64)>,
}

impl Table {
    /// The facts of this table. Costs nothing: they stand in the header.
    pub fn stats(&self) -> Stats {
        let header = &self.inner().header;
        let length = |name| header.section(name).map_or(0, |section| section.length);
        let each = |bytes: u64| bytes as f64 / header.key_count.max(1) as f64;
        let hash = length(format::REGIONS) + length(format::HASH_SEEDS) + length(format::REMAP);
        Stats {
            keys: header.key_count,
            values: header.value_count,
            multi: header.multi,
            file_bytes: header.file_length,
            content: header.content,
            key_mode: header.keys,
            hash: header.hash,
            hash_bits_per_key: each(hash) * 8.0,
            slots_per_line: header.slots_per_line,
            index_bytes_per_key: each(hash + length(format::LINES) + length(format::ESCAPES)),
            format_version: (format::MAJOR, header.minor),
            sections: header
                .sections
                .iter()
                .map(|section| (section.name.as_str().to_owned(), section.offset, section.length))
                .collect(),
        }
    }

    /// Bytes of the file beyond those of keys and values, for each key. Reads every record.
    pub fn overhead_bytes_per_key(&self) -> Result<f64, ReadError> {
        let mut raw = 0;
        let mut shared = std::collections::HashSet::new();
        for entry in self.iter()? {
            let (key, values) = entry?;
            raw += key.len() as u64;
            for value in values {
                if shared.insert(value.id()) {
                    raw += value.bytes().len() as u64;
                }
            }
        }
        let header = &self.inner().header;
        let others = header.sections.iter().filter(|it| !format::OWN.contains(&it.name.as_str()));
        let others: u64 = others.map(|section| section.length).sum();
        let own = header.file_length - others;
        Ok((own as f64 - raw as f64) / header.key_count.max(1) as f64)
    }
}

/// The name of a perfect hash, as the command line writes it.
impl std::fmt::Display for Hash {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Hash::Phast => "phast",
            Hash::Chd => "chd",
        })
    }
}
