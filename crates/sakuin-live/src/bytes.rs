//! Numbers and bytes as they lie in the file, and the sum that guards them.
//!
//! A sealed value begins with the xxh3-64 of all that follows, seeded with the key it lies under: a flipped bit shows,
//! and so does a value that came to lie under another key. Reading never takes more than is there, whatever the bytes
//! say, and never panics.

use std::fmt;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What is wrong with bytes that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage(pub(crate) &'static str);

/// Bytes of which some are read already.
pub(crate) struct Reader<'b> {
    bytes: &'b [u8],
}

const SEAL: usize = 8;

/// A value to be sealed, with room for the sum.
pub(crate) fn sealable() -> Vec<u8> {
    vec![0; SEAL]
}

/// Puts the sum where [`sealable`] left room.
pub(crate) fn seal(value: &mut [u8], key: u64) {
    let sum = xxh3_64_with_seed(&value[SEAL..], key);
    value[..SEAL].copy_from_slice(&sum.to_le_bytes());
}

/// What was sealed under a key.
pub(crate) fn unseal(value: &[u8], key: u64) -> Result<Reader<'_>, Damage> {
    let (sum, bytes) = value.split_first_chunk::<SEAL>().ok_or(Damage("it is cut off"))?;
    if u64::from_le_bytes(*sum) != xxh3_64_with_seed(bytes, key) {
        return Err(Damage("its checksum is another"));
    }
    Ok(Reader { bytes })
}

/// Seven bits a byte, the lowest first; the last byte has its highest bit clear.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Their length, and the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

impl<'b> Reader<'b> {
    #[cfg(any(test, fuzzing))]
    pub(crate) fn new(bytes: &'b [u8]) -> Reader<'b> {
        Reader { bytes }
    }

    pub(crate) fn number(&mut self) -> Result<u64, Damage> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Damage("a number in it is too long"))
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let (array, rest) = self.bytes.split_first_chunk().ok_or(Damage("it is cut off"))?;
        self.bytes = rest;
        Ok(*array)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'b [u8], Damage> {
        let length = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        let (bytes, rest) = self.bytes.split_at_checked(length).ok_or(Damage("it is cut off"))?;
        self.bytes = rest;
        Ok(bytes)
    }

    pub(crate) fn text(&mut self) -> Result<&'b str, Damage> {
        str::from_utf8(self.bytes()?).map_err(|_| Damage("a text in it is none"))
    }

    /// As many of something as a number that comes first says.
    pub(crate) fn many<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T, Damage>,
    ) -> Result<Vec<T>, Damage> {
        let count = self.number()?;
        // Each takes a byte at least, so that no count is believed beyond what is there.
        if count > self.bytes.len() as u64 {
            return Err(Damage("it is cut off"));
        }
        (0..count).map(|_| one(self)).collect()
    }

    /// That nothing is left.
    pub(crate) fn end(&self) -> Result<(), Damage> {
        if self.bytes.is_empty() { Ok(()) } else { Err(Damage("there is more than it says")) }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_take_as_little_as_they_may() {
        for (number, length) in [(0, 1), (127, 1), (128, 2), (1 << 35, 6), (u64::MAX, 10)] {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            assert_eq!(bytes.len(), length);
            let mut reader = Reader::new(&bytes);
            assert_eq!((reader.number(), reader.end()), (Ok(number), Ok(())));
            assert!(Reader::new(&bytes[..length - 1]).number().is_err());
        }
        assert!(Reader::new(&[0xff; 11]).number().is_err());
        assert!(
            Reader::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2])
                .number()
                .is_err()
        );
    }

    #[test]
    fn a_count_beyond_what_is_there_takes_no_memory() {
        let mut bytes = Vec::new();
        put_number(&mut bytes, u64::MAX);
        assert!(Reader::new(&bytes).bytes().is_err());
        assert!(Reader::new(&bytes).many(Reader::number).is_err());
    }

    #[test]
    fn every_flipped_bit_and_every_other_key_shows() {
        let mut value = sealable();
        put_bytes(&mut value, b"some bytes");
        seal(&mut value, 7);
        assert_eq!(unseal(&value, 7).and_then(|mut it| it.bytes()), Ok(&b"some bytes"[..]));
        assert!(unseal(&value, 8).is_err());
        for bit in 0..value.len() * 8 {
            let mut flipped = value.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(unseal(&flipped, 7).is_err(), "bit {bit}");
        }
        assert!((0..value.len()).all(|length| unseal(&value[..length], 7).is_err()));
    }
}
