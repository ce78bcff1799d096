//! The alphabet of a dictionary: a small number for each character of its keys, the frequent ones first.

use zerocopy::little_endian::U32;

/// The code of each character. Takes 128 KiB: a table of the basic plane and a map for the rest.
pub(crate) struct Alphabet {
    basic: Box<[u16; 1 << 16]>,
    others: Vec<(char, u16)>,
}

impl Alphabet {
    /// The alphabet of a section: the first character has code 1.
    pub(crate) fn new(characters: &[U32]) -> Alphabet {
        let mut basic = Box::new([0; 1 << 16]);
        let mut others = Vec::new();
        for (code, c) in (1..=u16::MAX).zip(characters) {
            match basic.get_mut(c.get() as usize) {
                Some(place) => *place = code,
                None => others.extend(char::from_u32(c.get()).map(|c| (c, code))),
            }
        }
        others.sort_unstable();
        Alphabet { basic, others }
    }

    /// The code of a character; 0, which no key has, for one that is in no key.
    #[inline]
    pub(crate) fn code(&self, c: char) -> u16 {
        match self.basic.get(c as usize) {
            Some(&code) => code,
            None => match self.others.binary_search_by_key(&c, |&(c, _)| c) {
                Ok(at) => self.others[at].1,
                Err(_) => 0,
            },
        }
    }
}
