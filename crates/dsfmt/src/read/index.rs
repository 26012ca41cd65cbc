//! Sums over a mask and over the lengths of strings, which say where an element's value stands. They are made once for a variable, when
//! the first one asks.

use std::ops::Range;
use std::sync::OnceLock;

use container_core::{Error, Result, Source};

use crate::kernel;
use crate::types::Endian;

/// What was found out about a variable of a reader.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) mask: OnceLock<Box<MaskIndex>>,
    pub(crate) text: OnceLock<Box<TextIndex>>,
}

/// Bytes of a mask that are summed up by one entry.
pub(crate) const MASK_BLOCK: usize = 512;

/// Lengths of strings that are summed up by one entry.
pub(crate) const TEXT_BLOCK: usize = 512;

/// Bytes that are looked at at once.
const STEP: u64 = 256 << 10;

/// For each block of a mask: the values that are stored before it.
#[derive(Debug)]
pub(crate) struct MaskIndex {
    before: Vec<u64>,
    /// Values that are stored in all.
    pub(crate) stored: u64,
}

impl MaskIndex {
    /// Reads the mask of `count` elements, which lies at `bytes` of the file.
    pub(crate) fn new(source: &Source, bytes: Range<u64>, count: u64) -> Result<Self> {
        let blocks = (bytes.end - bytes.start).div_ceil(MASK_BLOCK as u64);
        let mut before = Vec::with_capacity(usize::try_from(blocks).unwrap_or(0));
        let (mut stored, mut left, mut at, mut buffer) = (0, count, bytes.start, Vec::new());
        while at < bytes.end {
            let end = bytes.end.min(at + STEP);
            for block in source.view(at..end, &mut buffer)?.chunks(MASK_BLOCK) {
                before.push(stored);
                let bits = left.min(block.len() as u64 * 8);
                stored += bits - kernel::missing(block, bits);
                left -= bits;
            }
            at = end;
        }
        Ok(Self { before, stored })
    }

    /// The values that are stored before this block.
    pub(crate) fn before(&self, block: u64) -> u64 {
        usize::try_from(block).ok().and_then(|block| self.before.get(block)).copied().unwrap_or(self.stored)
    }
}

/// For each block of strings: their bytes before it.
#[derive(Debug)]
pub(crate) struct TextIndex {
    before: Vec<u64>,
    /// The bytes of all.
    pub(crate) bytes: u64,
}

impl TextIndex {
    /// Reads the lengths, which lie at `bytes` of the file.
    ///
    /// # Errors
    /// A sum beyond `most`, which the strings have room for.
    pub(crate) fn new(source: &Source, bytes: Range<u64>, endian: Endian, most: u64) -> Result<Self> {
        let blocks = (bytes.end - bytes.start).div_ceil(TEXT_BLOCK as u64 * 8);
        let mut before = Vec::with_capacity(usize::try_from(blocks).unwrap_or(0));
        let (mut sum, mut at, mut buffer) = (0u64, bytes.start, Vec::new());
        while at < bytes.end {
            let end = bytes.end.min(at + STEP);
            for (block, lengths) in source.view(at..end, &mut buffer)?.chunks(TEXT_BLOCK * 8).enumerate() {
                before.push(sum);
                for (n, len) in lengths.as_chunks().0.iter().enumerate() {
                    sum = add(sum, length(*len, endian), most)
                        .map_err(|error| error.at(at + ((block * TEXT_BLOCK + n) * 8) as u64))?;
                }
            }
            at = end;
        }
        Ok(Self { before, bytes: sum })
    }

    /// The bytes of all strings before this block.
    pub(crate) fn before(&self, block: u64) -> u64 {
        usize::try_from(block).ok().and_then(|block| self.before.get(block)).copied().unwrap_or(self.bytes)
    }
}

/// A length as it is stored.
pub(crate) fn length(raw: [u8; 8], endian: Endian) -> u64 {
    match endian {
        Endian::Big => u64::from_be_bytes(raw),
        Endian::Little => u64::from_le_bytes(raw),
    }
}

/// One more string, which must not leave the room that there is.
#[inline]
pub(crate) fn add(sum: u64, len: u64, most: u64) -> Result<u64> {
    match sum.checked_add(len) {
        Some(sum) if sum <= most => Ok(sum),
        _ => Err(Error::invalid(format!(
            "a string of {len} bytes begins {sum} bytes into the strings, which have {most} bytes"
        ))),
    }
}
