//! The first page of a file: what it says, and the checks that make it trustworthy.
//! `docs/design/packed-file.md` draws it. All lengths that follow from the scalars are derived here in checked
//! arithmetic and compared with the section table, so that the rest of the reader may rely on them.

use crate::{Content, Hash, Keys, OpenError, error::OpenReason, hash};

pub(crate) const MAGIC: [u8; 8] = *b"\x89SKN\r\n\x1a\n";
pub(crate) const MAJOR: u16 = 1;
pub(crate) const MINOR: u16 = 0;

/// The header and the section table.
pub(crate) const PAGE: usize = 4096;
/// What one sum covers, at multiples of its own size.
pub(crate) const BLOCK: u64 = 1 << 16;
/// A line of the directory.
pub(crate) const LINE: usize = 64;
/// An entry of `regions`.
pub(crate) const REGION: u64 = 32;

const SECTIONS: usize = 128;
const SECTION: usize = 48;
pub(crate) const SECTIONS_MAX: usize = (PAGE - SECTIONS) / SECTION;
const CONTENT_ID: usize = 64;
const PAGE_SUM: usize = 120;

pub(crate) const REQUIRED: u16 = 1;

/// Sections this crate writes, in their order in the file. Empty ones are left out.
pub(crate) const VALUES: &str = "values";
pub(crate) const RECORDS: &str = "records";
pub(crate) const LINES: &str = "lines";
pub(crate) const ESCAPES: &str = "escapes";
pub(crate) const REGIONS: &str = "regions";
pub(crate) const HASH_SEEDS: &str = "seeds";
pub(crate) const REMAP: &str = "remap";
pub(crate) const META: &str = "meta";
pub(crate) const SUMS: &str = "sums";
pub(crate) const OWN: [&str; 9] =
    [VALUES, RECORDS, LINES, ESCAPES, REGIONS, HASH_SEEDS, REMAP, META, SUMS];

/// The scalars of a file and its sections.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) minor: u16,
    pub(crate) content: Content,
    pub(crate) keys: Keys,
    pub(crate) hash: Hash,
    pub(crate) slots_per_line: u8,
    pub(crate) multi: bool,
    pub(crate) key_count: u64,
    pub(crate) value_count: u64,
    pub(crate) regions: u32,
    pub(crate) seed: u64,
    pub(crate) file_length: u64,
    pub(crate) content_id: u128,
    pub(crate) sum_of_sums: u64,
    pub(crate) sections: Vec<Section>,
}

/// A stretch of the file with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) name: Name,
    pub(crate) required: bool,
    pub(crate) codec: u16,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// A section's name: up to 24 bytes of ASCII letters, digits, `.`, `-` and `_`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name([u8; 24]);

impl Name {
    pub(crate) fn new(name: &str) -> Option<Name> {
        let mut bytes = [0; 24];
        bytes.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
        Name::parse(bytes)
    }

    fn parse(bytes: [u8; 24]) -> Option<Name> {
        let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(24);
        let (name, rest) = bytes.split_at(length);
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_".contains(byte);
        (!name.is_empty() && name.iter().all(plain) && rest.iter().all(|byte| *byte == 0))
            .then_some(Name(bytes))
    }

    pub(crate) fn as_str(&self) -> &str {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(24);
        std::str::from_utf8(&self.0[..length]).unwrap_or_default()
    }
}

impl Header {
    pub(crate) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name.as_str() == name)
    }

    /// The page, with the content id and its own sum filled in.
    pub(crate) fn write(&mut self) -> Box<[u8; PAGE]> {
        let mut page = Box::new([0; PAGE]);
        let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &MAGIC);
        put(8, &MAJOR.to_le_bytes());
        put(10, &MINOR.to_le_bytes());
        put(12, &[self.content.code(), self.keys.code(), self.hash.code(), 0]);
        put(16, &[self.keys.fingerprint_bits(), self.slots_per_line, u8::from(self.multi)]);
        put(24, &self.key_count.to_le_bytes());
        put(32, &self.value_count.to_le_bytes());
        put(40, &self.regions.to_le_bytes());
        put(44, &(self.sections.len() as u32).to_le_bytes());
        put(48, &self.seed.to_le_bytes());
        put(56, &self.file_length.to_le_bytes());
        put(80, &self.sum_of_sums.to_le_bytes());
        for (index, section) in self.sections.iter().enumerate() {
            let at = SECTIONS + index * SECTION;
            put(at, &section.name.0);
            put(at + 24, &1u16.to_le_bytes());
            put(at + 26, &(if section.required { REQUIRED } else { 0 }).to_le_bytes());
            put(at + 28, &section.codec.to_le_bytes());
            put(at + 32, &section.offset.to_le_bytes());
            put(at + 40, &section.length.to_le_bytes());
        }
        self.content_id = xxhash_rust::xxh3::xxh3_128(&page[..]);
        page[CONTENT_ID..CONTENT_ID + 16].copy_from_slice(&self.content_id.to_le_bytes());
        let sum = hash::sum(&page[..]);
        page[PAGE_SUM..PAGE_SUM + 8].copy_from_slice(&sum.to_le_bytes());
        page
    }

    /// Reads the page of a file of `length` bytes. `known` are required sections of other crates.
    pub(crate) fn parse(file: &[u8], known: &[String]) -> Result<Header, OpenReason> {
        let length = file.len() as u64;
        let magic = file.len().min(MAGIC.len());
        if file.len() < MAGIC.len() || file[..magic] != MAGIC {
            return Err(OpenReason::NotATable);
        }
        let Some(page) = file.first_chunk::<PAGE>() else {
            return Err(OpenReason::Truncated { expected: PAGE as u64, found: length });
        };
        let major = u16::from_le_bytes(array(page, 8));
        if major > MAJOR {
            return Err(OpenReason::Newer { found: major, known: MAJOR });
        }
        let page_sum = u64::from_le_bytes(array(page, PAGE_SUM));
        let mut unsummed = *page;
        unsummed[PAGE_SUM..PAGE_SUM + 8].fill(0);
        if hash::sum(&unsummed) != page_sum {
            return Err(OpenReason::CorruptHeader);
        }
        let header = Header::scalars(page)?;
        match header.file_length {
            expected if length < expected => {
                return Err(OpenReason::Truncated { expected, found: length });
            }
            expected if length > expected => {
                return Err(OpenReason::Trailing { expected, found: length });
            }
            _ => {}
        }
        header.check_sections(known)?;
        header.check_sums(file)?;
        Ok(header)
    }

    fn scalars(page: &[u8; PAGE]) -> Result<Header, OpenReason> {
        let bad = |what| OpenReason::BadHeader { what };
        let u32_at = |at| u32::from_le_bytes(array(page, at));
        let u64_at = |at| u64::from_le_bytes(array(page, at));
        let [content, keys, algorithm, layout]: [u8; 4] = array(page, 12);
        let [fingerprint_bits, slots_per_line, multi]: [u8; 3] = array(page, 16);
        if layout != 0 {
            return Err(bad("unknown layout"));
        }
        let count = u32_at(44) as usize;
        if count > SECTIONS_MAX {
            return Err(bad("too many sections"));
        }
        let mut sections = Vec::with_capacity(count);
        for index in 0..count {
            let at = SECTIONS + index * SECTION;
            let flags = u16::from_le_bytes(array(page, at + 26));
            sections.push(Section {
                name: Name::parse(array(page, at)).ok_or(bad("a section has no proper name"))?,
                required: flags & REQUIRED != 0,
                codec: u16::from_le_bytes(array(page, at + 28)),
                offset: u64_at(at + 32),
                length: u64_at(at + 40),
            });
        }
        let slots_fit = (1..=64).contains(&slots_per_line)
            && usize::from(slots_per_line) * usize::from(fingerprint_bits) <= LINE * 8 - 128;
        if !slots_fit {
            return Err(bad("slots do not fit their line"));
        }
        Ok(Header {
            minor: u16::from_le_bytes(array(page, 10)),
            content: Content::from_code(content).ok_or(bad("unknown content type"))?,
            keys: Keys::from_codes(keys, fingerprint_bits).ok_or(bad("unknown key mode"))?,
            hash: Hash::from_code(algorithm).ok_or(bad("unknown perfect hash"))?,
            slots_per_line,
            multi: multi != 0,
            key_count: u64_at(24),
            value_count: u64_at(32),
            regions: u32_at(40),
            seed: u64_at(48),
            file_length: u64_at(56),
            content_id: u128::from_le_bytes(array(page, CONTENT_ID)),
            sum_of_sums: u64_at(80),
            sections,
        })
    }

    /// Sections follow one another inside the file, have distinct names, and are known if required.
    fn check_sections(&self, known: &[String]) -> Result<(), OpenReason> {
        let bad = |section: &Section, what| {
            Err(OpenReason::BadSection { section: section.name.as_str().to_owned(), what })
        };
        let mut end = PAGE as u64;
        for (index, section) in self.sections.iter().enumerate() {
            let name = section.name.as_str();
            if self.sections[..index].iter().any(|other| other.name == section.name) {
                return bad(section, "appears twice");
            }
            if section.required && !OWN.contains(&name) && !known.iter().any(|known| known == name)
            {
                return Err(OpenReason::UnknownSection { name: name.to_owned() });
            }
            if OWN.contains(&name) && section.codec != 0 {
                return bad(section, "has an unknown codec");
            }
            if section.offset < end || section.offset % 64 != 0 {
                return bad(section, "overlaps another or is not aligned");
            }
            end = match section.offset.checked_add(section.length) {
                Some(end) if end <= self.file_length => end,
                _ => return bad(section, "runs over the end of the file"),
            };
        }
        let length = |name| self.section(name).map_or(0, |section| section.length);
        if length(REGIONS) != u64::from(self.regions) * REGION {
            return Err(OpenReason::BadSection {
                section: REGIONS.to_owned(),
                what: "has not the length of its regions",
            });
        }
        let last = self.sections.last().filter(|last| last.name.as_str() == SUMS);
        let Some(sums) = last else {
            return Err(OpenReason::BadHeader { what: "the last section is not the sums" });
        };
        let (blocks, tops) = self.sum_counts(sums.offset);
        if end != self.file_length || sums.length != (blocks + tops) * 8 {
            return bad(sums, "has not the length of its blocks");
        }
        Ok(())
    }

    /// Blocks of the file, and blocks of their sums.
    pub(crate) fn sum_counts(&self, sums_offset: u64) -> (u64, u64) {
        let blocks = sums_offset.div_ceil(BLOCK);
        (blocks, (blocks * 8).div_ceil(BLOCK))
    }

    fn check_sums(&self, file: &[u8]) -> Result<(), OpenReason> {
        let offset = self.section(SUMS).map_or(0, |section| section.offset);
        let (blocks, _) = self.sum_counts(offset);
        let tops = &file[(offset + blocks * 8) as usize..];
        if hash::sum(tops) != self.sum_of_sums {
            return Err(OpenReason::CorruptSums);
        }
        Ok(())
    }
}

/// The bytes at a fixed place of the page.
fn array<const LENGTH: usize>(page: &[u8; PAGE], at: usize) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes.copy_from_slice(&page[at..at + LENGTH]);
    bytes
}

impl Content {
    fn code(self) -> u8 {
        match self {
            Content::Bytes => 0,
            Content::Text => 1,
            Content::Json => 2,
        }
    }

    fn from_code(code: u8) -> Option<Content> {
        [Content::Bytes, Content::Text, Content::Json].into_iter().find(|it| it.code() == code)
    }
}

impl Hash {
    fn code(self) -> u8 {
        match self {
            Hash::Phast => 0,
            Hash::Chd => 1,
        }
    }

    fn from_code(code: u8) -> Option<Hash> {
        [Hash::Phast, Hash::Chd].into_iter().find(|it| it.code() == code)
    }
}

impl Keys {
    fn code(self) -> u8 {
        match self {
            Keys::Exact => 0,
            Keys::Approximate { .. } => 1,
        }
    }

    fn from_codes(code: u8, bits: u8) -> Option<Keys> {
        match code {
            0 if bits == 8 => Some(Keys::Exact),
            1 if (4..=32).contains(&bits) => Some(Keys::Approximate { bits }),
            _ => None,
        }
    }

    pub(crate) fn fingerprint_bits(self) -> u8 {
        match self {
            Keys::Exact => 8,
            Keys::Approximate { bits } => bits,
        }
    }
}

impl OpenReason {
    pub(crate) fn of(self, file: &std::path::Path) -> OpenError {
        OpenError { file: file.to_owned(), reason: self }
    }
}
