//! Streams of which it is not known before how many bytes they take: kept in temporary files until they are.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use container_core::{Error, Output, Result};

use crate::array::Array;
use crate::types::Endian;
use crate::write::bits::Packer;
use crate::write::emit;
use crate::write::put::{Buffered, Put, failed};

/// Pieces below this many bytes are gathered in the buffer, larger ones are handed from file to file by the system.
const SMALL: u64 = 128 << 10;

/// Masks, lengths of strings and values, each of all streams one behind the other, in files without names.
pub(crate) struct Spools {
    directory: PathBuf,
    /// Masks, lengths, values.
    sections: [Option<Buffered<File>>; 3],
}

/// What a stream has in each of the sections.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Part {
    bytes: [u64; 3],
    missing: u64,
}

impl Part {
    pub(crate) fn is_masked(&self) -> bool {
        self.missing > 0
    }

    /// Its bytes in the file: without the mask when nothing is missing.
    pub(crate) fn len(&self) -> u64 {
        let [mask, lengths, values] = self.bytes;
        if self.is_masked() { mask + lengths + values } else { lengths + values }
    }
}

/// Bits that go on from one append to the next.
#[derive(Default)]
pub(crate) struct Bits {
    pub(crate) mask: Packer,
    pub(crate) values: Packer,
}

impl Spools {
    /// Temporary files will be made beside this file.
    pub(crate) fn beside(path: &Path) -> Self {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Self { directory: parent.unwrap_or(Path::new(".")).to_owned(), sections: [None, None, None] }
    }

    fn lens(&self) -> [u64; 3] {
        self.sections.each_ref().map(|section| section.as_ref().map_or(0, Buffered::len))
    }

    /// Takes rows of a stream; of which elements may be missing when it is `masked`.
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
        self.grown(before, part);
        Ok(())
    }

    /// Ends a stream: bits that wait for others wait no longer.
    pub(crate) fn end(&mut self, bits: &mut Bits, part: &mut Part) -> Result<()> {
        let before = self.lens();
        let [masks, _, values] = &mut self.sections;
        bits.mask.end(opened(masks, &self.directory)?)?;
        bits.values.end(opened(values, &self.directory)?)?;
        self.grown(before, part);
        Ok(())
    }

    fn grown(&self, before: [u64; 3], part: &mut Part) {
        for ((sum, before), after) in part.bytes.iter_mut().zip(before).zip(self.lens()) {
            *sum += after - before;
        }
    }

    /// All has come: it is read from the beginning.
    pub(crate) fn rewind(&mut self) -> Result<()> {
        for section in self.sections.iter_mut().flatten() {
            section.flush()?;
            section.get_mut().rewind().map_err(failed)?;
        }
        Ok(())
    }

    /// Writes the next stream, in the order in which they came.
    pub(crate) fn join(&mut self, part: &Part, out: &mut Buffered<Output>) -> Result<()> {
        for (index, (section, bytes)) in self.sections.iter().zip(part.bytes).enumerate() {
            let Some(section) = section else { continue };
            if index == 0 && !part.is_masked() {
                let bytes = i64::try_from(bytes).map_err(|_| Error::usage("there are more than 2^63 bytes"))?;
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
    section.as_mut().ok_or_else(|| Error::usage("there is no temporary file")) // there is: it was just made
}

/// The next so many bytes of a file.
fn copy(from: &File, bytes: u64, out: &mut Buffered<Output>) -> Result<()> {
    let mut piece = from.take(bytes);
    let copied = if bytes < SMALL {
        let mut held = Vec::new();
        let read = piece.read_to_end(&mut held).map_err(failed)?;
        out.put(&held)?;
        read as u64
    } else {
        out.past(bytes, |output| io::copy(&mut piece, &mut output.file()))?
    };
    if copied == bytes { Ok(()) } else { Err(Error::truncated("a temporary file", bytes, copied)) }
}
