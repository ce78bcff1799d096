//! Numbers of seven bits a byte, lowest first, the top bit saying that more follow (LEB128).

pub(crate) fn write(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The number at the start of `bytes` and how many bytes it takes; `None` if it is cut or beyond 64 bits.
#[inline]
pub(crate) fn read(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u64::from(first), 1));
    }
    let mut number = u64::from(first & 0x7f);
    for (index, &byte) in bytes.iter().enumerate().take(10).skip(1) {
        let bits = u64::from(byte & 0x7f);
        let shifted = bits << (7 * index);
        if shifted >> (7 * index) != bits {
            return None;
        }
        number |= shifted;
        if byte < 0x80 {
            return Some((number, index + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn reads_what_it_wrote() {
        for number in [0, 1, 127, 128, 300, 1 << 20, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            super::write(&mut bytes, number);
            assert_eq!(super::read(&bytes), Some((number, bytes.len())));
            assert_eq!(super::read(&bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(super::read(&[0xff; 11]), None);
        assert_eq!(
            super::read(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]),
            None
        );
    }
}
