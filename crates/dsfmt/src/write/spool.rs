//! Spools streams of unknown length in temporary files.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use container_core::{Error, Output, Result};

use crate::array::Array;
use crate::types::Endian;
use crate::write::bits::Packer;
use crate::write::emit;
use crate::write::put::{Buffered, Put, failed};

/// Copies of at least this many bytes bypass the buffer, so that the system can copy from file to file.
const DIRECT_COPY: u64 = 128 << 10;

/// Masks, string lengths and values of all streams, each in an unnamed temporary file.
pub(crate) struct Spools {
    directory: PathBuf,
    /// Masks, lengths, values.
    sections: [Option<Buffered<File>>; 3],
}

/// A stream's share of each section.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Part {
    bytes: [u64; 3],
    missing: u64,
}

impl Part {
    pub(crate) fn is_masked(&self) -> bool {
        self.missing > 0
    }

    /// Length in the file, without the mask when nothing is missing.
    pub(crate) fn len(&self) -> u64 {
        let [mask, lengths, values] = self.bytes;
        if self.is_masked() { mask + lengths + values } else { lengths + values }
    }
}

/// Partial bytes carried from one append to the next.
#[derive(Default)]
pub(crate) struct Bits {
    pub(crate) mask: Packer,
    pub(crate) values: Packer,
}

impl Spools {
    /// Temporary files are created in the directory of `path`.
    pub(crate) fn beside(path: &Path) -> Self {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Self { directory: parent.unwrap_or(Path::new(".")).to_owned(), sections: [None, None, None] }
    }

    fn lens(&self) -> [u64; 3] {
        self.sections.each_ref().map(|section| section.as_ref().map_or(0, Buffered::len))
    }

    /// Appends rows of a stream. `masked` streams also get mask bits.
    pub(crate) fn append(
        &mut self,
        array: &Array<'_>,
        masked: bool,
        endian: Endian,
        bits: &mut Bits,
        part: &mut Part,
    ) -> Result<()> {
        let before = self.lens();
        let (directory, [masks, lengths, values]) = (&self.directory, &mut self.sections);
        let mask = emit::mask_of(array);
        if masked {
            let masks = opened(masks, directory)?;
            match mask {
                Some(mask) => bits.mask.mask(mask, masks)?,
                None => bits.mask.zeros(array.len(), masks)?,
            }
        }
        if let Some(strings) = array.values().as_strings() {
            emit::lengths(strings, mask, opened(lengths, directory)?)?;
        }
        emit::values(array.values(), mask, endian, &mut bits.values, opened(values, directory)?)?;
        part.missing += mask.map_or(0, |mask| mask.missing() as u64);
        self.record_growth(before, part);
        Ok(())
    }

    /// Ends a stream: flushes partial bytes.
    pub(crate) fn end(&mut self, bits: &mut Bits, part: &mut Part) -> Result<()> {
        let before = self.lens();
        let [masks, _, values] = &mut self.sections;
        bits.mask.end(opened(masks, &self.directory)?)?;
        bits.values.end(opened(values, &self.directory)?)?;
        self.record_growth(before, part);
        Ok(())
    }

    fn record_growth(&self, before: [u64; 3], part: &mut Part) {
        for ((sum, before), after) in part.bytes.iter_mut().zip(before).zip(self.lens()) {
            *sum += after - before;
        }
    }

    /// Ends writing and seeks to the start.
    pub(crate) fn rewind(&mut self) -> Result<()> {
        for section in self.sections.iter_mut().flatten() {
            section.flush()?;
            section.get_mut().rewind().map_err(failed)?;
        }
        Ok(())
    }

    /// Copies the next stream to `out`, in append order.
    pub(crate) fn join(&mut self, part: &Part, out: &mut Buffered<Output>) -> Result<()> {
        for (index, (section, bytes)) in self.sections.iter().zip(part.bytes).enumerate() {
            let Some(section) = section else { continue };
            if index == 0 && !part.is_masked() {
                let bytes = i64::try_from(bytes).map_err(|_| Error::usage("the mask exceeds 2^63 bytes"))?;
                section.get().seek_relative(bytes).map_err(failed)?;
            } else {
                copy(section.get(), bytes, out)?;
            }
        }
        Ok(())
    }
}

fn opened<'s>(section: &'s mut Option<Buffered<File>>, directory: &Path) -> Result<&'s mut Buffered<File>> {
    if section.is_none() {
        let file = tempfile::tempfile_in(directory);
        let file = file.map_err(|cause| Error::io("cannot create a temporary file", cause))?;
        *section = Some(Buffered::new(file, u64::MAX));
    }
    section.as_mut().ok_or_else(|| Error::usage("no temporary file")) // unreachable: just created
}

/// Copies the next `bytes` bytes of a file.
fn copy(from: &File, bytes: u64, out: &mut Buffered<Output>) -> Result<()> {
    let mut piece = from.take(bytes);
    let copied = if bytes < DIRECT_COPY {
        let mut content = Vec::new();
        let read = piece.read_to_end(&mut content).map_err(failed)?;
        out.put(&content)?;
        read as u64
    } else {
        out.write_through(bytes, |output| io::copy(&mut piece, &mut output.file()))?
    };
    if copied == bytes { Ok(()) } else { Err(Error::truncated("temporary file", bytes, copied)) }
}
