//! The bytes of a dictionary file: unpacked if they are gzip, bounded, without a byte
//! order mark, with a head to guess from.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::read::MultiGzDecoder;

/// How much of a file the guesses see: enough for many lines.
const HEAD_BYTES: u64 = 1 << 16;

const BUFFER_BYTES: usize = 1 << 17;

/// Opens a source of bytes; gives its first bytes to look at, and all of it to read. Reading fails with
/// [`io::ErrorKind::FileTooLarge`] beyond `bytes_max` unpacked bytes.
pub(super) fn open<'a>(
    bytes: impl Read + 'a,
    bytes_max: u64,
) -> io::Result<(Vec<u8>, impl BufRead + 'a)> {
    let (magic, bytes) = peek(bytes, 2)?;
    let bytes: Box<dyn Read + 'a> = match magic[..] {
        [0x1F, 0x8B] => {
            Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, bytes)))
        }
        _ => Box::new(bytes),
    };
    let (mark, mut bytes) = peek(Bounded { bytes, left: bytes_max }, 3)?;
    if mark == "\u{FEFF}".as_bytes() {
        bytes.read_exact(&mut [0; 3])?;
    }
    let (head, bytes) = peek(bytes, HEAD_BYTES)?;
    Ok((head, BufReader::with_capacity(BUFFER_BYTES, bytes)))
}

/// A source of which the first bytes have been looked at.
type Peeked<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// The first bytes of a source, and the source as if they had not been read.
fn peek<R: Read>(mut bytes: R, length: u64) -> io::Result<(Vec<u8>, Peeked<R>)> {
    let mut head = Vec::new();
    bytes.by_ref().take(length).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(bytes)))
}

/// A source that refuses to give more than it should: a small gzip file may hold terabytes.
struct Bounded<R> {
    bytes: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(read)
    }
}
