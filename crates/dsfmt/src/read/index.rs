//! Prefix sums over a mask and over string lengths, which locate an element's value. Built once per variable, on first use.

use std::ops::Range;
use std::sync::OnceLock;

use container_core::{Error, Result, Source};

use crate::kernel;
use crate::types::Endian;

/// Lazily built indexes of one variable.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) mask: OnceLock<Box<MaskIndex>>,
    pub(crate) text: OnceLock<Box<TextIndex>>,
}

/// Bytes of a mask covered by one entry.
pub(crate) const MASK_BLOCK: usize = 512;

/// String lengths covered by one entry.
pub(crate) const TEXT_BLOCK: usize = 512;

/// Bytes read at once.
const STEP: u64 = 256 << 10;

/// Number of stored values before each block of a mask.
#[derive(Debug)]
pub(crate) struct MaskIndex {
    before: Vec<u64>,
    /// Total number of stored values.
    pub(crate) stored: u64,
}

impl MaskIndex {
    /// Scans the mask of `count` elements at `bytes` of the file.
    pub(crate) fn new(source: &Source, bytes: Range<u64>, count: u64) -> Result<Self> {
        let blocks = (bytes.end - bytes.start).div_ceil(MASK_BLOCK as u64);
        let mut before = Vec::with_capacity(usize::try_from(blocks).unwrap_or(0));
        let (mut stored, mut left, mut at, mut buffer) = (0, count, bytes.start, Vec::new());
        while at < bytes.end {
            let end = bytes.end.min(at + STEP);
            for block in source.view(at..end, &mut buffer)?.chunks(MASK_BLOCK) {
                before.push(stored);
                let bits = left.min(block.len() as u64 * 8);
                stored += bits - kernel::count_ones(block, bits);
                left -= bits;
            }
            at = end;
        }
        Ok(Self { before, stored })
    }

    /// Number of values stored before `block`.
    pub(crate) fn before(&self, block: u64) -> u64 {
        usize::try_from(block).ok().and_then(|block| self.before.get(block)).copied().unwrap_or(self.stored)
    }
}

/// Total string bytes before each block of lengths.
#[derive(Debug)]
pub(crate) struct TextIndex {
    before: Vec<u64>,
    /// Total bytes of all strings.
    pub(crate) bytes: u64,
}

impl TextIndex {
    /// Scans the lengths at `bytes` of the file.
    ///
    /// # Errors
    /// Strings that exceed `max` bytes in total.
    pub(crate) fn new(source: &Source, bytes: Range<u64>, endian: Endian, max: u64) -> Result<Self> {
        let blocks = (bytes.end - bytes.start).div_ceil(TEXT_BLOCK as u64 * 8);
        let mut before = Vec::with_capacity(usize::try_from(blocks).unwrap_or(0));
        let (mut sum, mut at, mut buffer) = (0u64, bytes.start, Vec::new());
        while at < bytes.end {
            let end = bytes.end.min(at + STEP);
            for (block, lengths) in source.view(at..end, &mut buffer)?.chunks(TEXT_BLOCK * 8).enumerate() {
                before.push(sum);
                for (n, len) in lengths.as_chunks().0.iter().enumerate() {
                    sum = add(sum, length(*len, endian), max)
                        .map_err(|error| error.at(at + ((block * TEXT_BLOCK + n) * 8) as u64))?;
                }
            }
            at = end;
        }
        Ok(Self { before, bytes: sum })
    }

    /// Bytes of all strings before `block`.
    pub(crate) fn before(&self, block: u64) -> u64 {
        usize::try_from(block).ok().and_then(|block| self.before.get(block)).copied().unwrap_or(self.bytes)
    }
}

/// Decodes a stored length. One at a time, while they are summed: `byteorder` would need a buffer.
pub(crate) fn length(raw: [u8; 8], endian: Endian) -> u64 {
    match endian {
        Endian::Big => u64::from_be_bytes(raw),
        Endian::Little => u64::from_le_bytes(raw),
    }
}

/// Adds the length of a string; an error when the sum exceeds `max`.
#[inline]
pub(crate) fn add(sum: u64, len: u64, max: u64) -> Result<u64> {
    match sum.checked_add(len) {
        Some(sum) if sum <= max => Ok(sum),
        _ => Err(Error::invalid(format!(
            "a string of {len} bytes at offset {sum} exceeds the {max} bytes of all strings"
        ))),
    }
}
