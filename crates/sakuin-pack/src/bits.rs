//! Numbers of any width up to 57 bits, one after the other, lowest bit first.

/// Packs numbers into bytes.
#[derive(Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    pending: u128,
    filled: u32,
}

impl Writer {
    /// Appends the low `width` bits of a number that has no others.
    pub(crate) fn push(&mut self, number: u64, width: u32) {
        self.pending |= u128::from(number) << self.filled;
        self.filled += width;
        while self.filled >= 8 {
            self.bytes.push(self.pending as u8);
            self.pending >>= 8;
            self.filled -= 8;
        }
    }

    /// The bytes, with room after the last number for a reader that loads eight at once.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(self.pending as u8);
        self.bytes.extend([0; 7]);
        self.bytes
    }
}
