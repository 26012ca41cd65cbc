//! Reads the content of a file in a folder or an archive, buffer by buffer.

use std::fs::File;
use std::io::Read;

use container_core::{Error, Limits, Result};

use super::archive::{self, read_buffer};

pub(super) enum Content<'a> {
    Entry(archive::Content<'a>),
    File(FileContent),
}

/// The content of a file in a folder.
pub(super) struct FileContent {
    file: File,
    name: String,
    /// The file's length when it was opened.
    len: u64,
    left: u64,
    buffer: Vec<u8>,
}

impl Content<'_> {
    /// Opens a file.
    pub(super) fn open_file(name: String, limits: &Limits) -> Result<Self> {
        let named = |error: Error| error.in_file(name.clone());
        let cannot = |cause| named(Error::io("cannot read the file", cause));
        let file = File::open(&name).map_err(cannot)?;
        let metadata = file.metadata().map_err(cannot)?;
        if !metadata.is_file() {
            return Err(named(Error::unsupported("not a file")));
        }
        let len = metadata.len();
        limits.check_block("the length of the file", len).map_err(named)?;
        let left = limits.block_bytes.saturating_add(1);
        Ok(Self::File(FileContent { file, name, len, left, buffer: read_buffer(len) }))
    }

    /// The expected length.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Entry(content) => content.len(),
            Self::File(file) => file.len,
        }
    }

    /// The next bytes; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>> {
        match self {
            Self::Entry(content) => content.next(),
            Self::File(file) => file.next(),
        }
    }
}

impl FileContent {
    fn next(&mut self) -> Result<Option<&[u8]>> {
        let read = (&self.file).take(self.left).read(&mut self.buffer);
        let len = read.map_err(|cause| Error::io("cannot read the file", cause).in_file(self.name.clone()))?;
        self.left -= len as u64;
        Ok(self.buffer.get(..len).filter(|buffer| !buffer.is_empty()))
    }
}
