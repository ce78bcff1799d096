//! Writing a file: sections one after the other behind an empty first page, sums as the bytes pass by, the page last.
//! It is a temporary file in the folder of the destination until it is complete and on disk; then it is renamed.
//! A reader, and whoever looks after a crash, finds the whole old file or the whole new one.

use std::{
    fs::File,
    io::{self, BufWriter, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::{
    BuildError,
    format::{BLOCK, Header, Name, PAGE, SECTIONS_MAX, SUMS, Section},
    hash,
};

/// A file being written.
pub(crate) struct FileWriter {
    path: PathBuf,
    out: BufWriter<NamedTempFile>,
    /// The bytes of the block that is not complete yet.
    block: Vec<u8>,
    position: u64,
    sums: Vec<u64>,
    sections: Vec<Section>,
}

impl FileWriter {
    pub(crate) fn create(path: &Path) -> Result<FileWriter, BuildError> {
        let folder = folder(path);
        let mut builder = tempfile::Builder::new();
        builder.prefix(".sakuin-").suffix(".tmp");
        #[cfg(unix)]
        {
            // As a new file would be: the umask applies.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder).map_err(|source| BuildError::Io {
            action: "create a file beside",
            file: path.to_owned(),
            source,
        })?;
        let mut writer = FileWriter {
            path: path.to_owned(),
            out: BufWriter::with_capacity(1 << 18, file),
            block: Vec::with_capacity(BLOCK as usize),
            position: 0,
            sums: Vec::new(),
            sections: Vec::new(),
        };
        writer.out.write_all(&[0; PAGE]).map_err(|source| writer.failed(source))?;
        writer.position = PAGE as u64;
        Ok(writer)
    }

    /// Begins a section at the next multiple of 64 bytes; what is written until the next one is its content.
    pub(crate) fn begin(&mut self, name: Name, required: bool) -> Result<u64, BuildError> {
        let padding = self.position.next_multiple_of(64) - self.position;
        self.bytes(&vec![0; padding as usize])?;
        self.sections.push(Section { name, required, codec: 0, offset: self.position, length: 0 });
        Ok(self.position)
    }

    /// Appends to the section begun last.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), BuildError> {
        self.bytes(bytes)?;
        if let Some(section) = self.sections.last_mut() {
            section.length += bytes.len() as u64;
        }
        Ok(())
    }

    /// How many more sections the first page has room for, besides the sums.
    pub(crate) fn sections_left(&self) -> usize {
        SECTIONS_MAX - 1 - self.sections.len()
    }

    pub(crate) fn section_length(&self) -> u64 {
        self.sections.last().map_or(0, |section| section.length)
    }

    fn bytes(&mut self, mut bytes: &[u8]) -> Result<(), BuildError> {
        self.out.write_all(bytes).map_err(|source| self.failed(source))?;
        while !bytes.is_empty() {
            let room = (BLOCK - self.position % BLOCK) as usize;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.position += now.len() as u64;
            self.block.extend_from_slice(now);
            if self.position.is_multiple_of(BLOCK) {
                self.end_block();
            }
            bytes = later;
        }
        Ok(())
    }

    fn end_block(&mut self) {
        self.sums.push(hash::sum(&self.block));
        self.block.clear();
    }

    /// Writes the sums and the page, and puts the file in its place.
    pub(crate) fn finish(mut self, mut header: Header) -> Result<Header, BuildError> {
        self.begin(Name::new(SUMS).expect("a proper name"), true)?;
        if !self.position.is_multiple_of(BLOCK) {
            self.end_block();
        }
        let sums: Vec<u8> = self.sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
        let tops: Vec<u8> =
            sums.chunks(BLOCK as usize).flat_map(|block| hash::sum(block).to_le_bytes()).collect();
        self.append(&sums)?;
        self.append(&tops)?;
        header.sum_of_sums = hash::sum(&tops);
        header.file_length = self.position;
        header.sections = std::mem::take(&mut self.sections);
        let page = header.write();
        let path = self.path.clone();
        let failed = |source| BuildError::Io { action: "write", file: path, source };
        self.publish(&page[..]).map_err(failed)?;
        Ok(header)
    }

    fn publish(mut self, page: &[u8]) -> io::Result<()> {
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(page)?;
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        // Without this the new name could be lost with the power, though not the file.
        #[cfg(unix)]
        File::open(folder(&self.path))?.sync_all()?;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> BuildError {
        BuildError::Io { action: "write", file: self.path.clone(), source }
    }
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
