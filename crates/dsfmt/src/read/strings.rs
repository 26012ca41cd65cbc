//! Reads strings, stored as all lengths followed by all bytes.

use std::borrow::Cow;
use std::ops::Range;

use container_core::{Error, Result};

use crate::array::{Mask, Strings};
use crate::read::fill::try_zeroed;
use crate::read::index::{TEXT_BLOCK, TextIndex, add, length};
use crate::read::layout::{Layout, slice};
use crate::read::variable::Variable;
use crate::types::DataType;

/// Lengths read at once.
const CHUNK: usize = 32 << 10;

impl<'r> Variable<'r> {
    /// Number of stored values.
    pub(crate) fn stored(&self, layout: &Layout) -> Result<u64> {
        match &layout.mask {
            Some(_) => Ok(self.mask_index(layout)?.stored),
            None => Ok(layout.count),
        }
    }

    /// The index of its string lengths, checked against its declared length.
    pub(crate) fn text_index(&self, layout: &Layout) -> Result<&'r TextIndex> {
        let known = &self.index.text;
        if let Some(index) = known.get() {
            return Ok(index);
        }
        let stored = self.stored(layout)?;
        let start = layout.data.start;
        // 8 bytes each are available: checked when the header was parsed, or when the mask was counted.
        let max = (layout.data.end - start).saturating_sub(stored * 8);
        let index = TextIndex::new(&self.reader.source, start..start + stored * 8, layout.endian, max)?;
        self.check_bytes(layout, stored, index.bytes)?;
        Ok(known.get_or_init(|| Box::new(index)))
    }

    /// Real length in the body of a string variable: mask, lengths and strings.
    pub(crate) fn text_bytes(&self, layout: &Layout) -> Result<u64> {
        let index = self.text_index(layout)?;
        Ok(self.entry.mask_len() + self.stored(layout)? * 8 + index.bytes)
    }

    /// Checks `stored` strings of `bytes` bytes in total against the declared length.
    fn check_bytes(&self, layout: &Layout, stored: u64, bytes: u64) -> Result<()> {
        let declared = self.entry.declared_len - self.entry.mask_len();
        let actual = stored * 8 + bytes;
        if actual == declared {
            return Ok(());
        }
        // Python's writer adds two bytes per missing string, for the "--" it prints, which is not stored.
        let hyphens = if layout.mask.is_some() { (layout.count - stored) * 2 } else { 0 };
        // Byte strings read from a file it counts by their `repr`: `b'...'`. With missing elements it takes unicode strings for byte strings.
        let printable = layout.data_type == DataType::Str || layout.mask.is_some();
        if actual + hyphens == declared
            || printable
                && actual + hyphens < declared
                && self.repr_bytes(layout, stored)? + stored * 8 + hyphens == declared
        {
            return Ok(());
        }
        let detail =
            format!(".len: expected {actual} bytes for its {stored} strings and their lengths, found {declared}");
        Err(Error::invalid(detail).at(layout.data.start))
    }

    /// Total length of all strings as Python's `repr` of byte strings. The lengths were checked before.
    fn repr_bytes(&self, layout: &Layout, stored: u64) -> Result<u64> {
        let source = &self.reader.source;
        let (mut lengths_at, mut at) = (layout.data.start, layout.data.start + stored * 8);
        let (end, mut all) = (at, 0u64);
        let (mut lengths, mut buffer) = (Vec::new(), Vec::new());
        let mut window: &[u8] = &[];
        while lengths_at < end {
            let next = end.min(lengths_at + CHUNK as u64 * 8);
            for len in source.view(lengths_at..next, &mut lengths)?.as_chunks().0 {
                let (mut left, mut repr) = (length(*len, layout.endian), ReprLen::default());
                while left > 0 {
                    if window.is_empty() {
                        let next = layout.data.end.min(at + CHUNK as u64 * 8);
                        window = source.view(at..next, &mut buffer)?;
                        at = next;
                        if window.is_empty() {
                            return Ok(all); // a length changed since it was checked
                        }
                    }
                    let count = usize::try_from(left).unwrap_or(usize::MAX).min(window.len());
                    let (now, later) = window.split_at_checked(count).unwrap_or_default();
                    repr.add(now);
                    window = later;
                    left -= count as u64;
                }
                all = all.saturating_add(repr.len());
            }
            lengths_at = next;
        }
        Ok(all)
    }

    /// The strings of an element range; missing ones are empty.
    pub(crate) fn read_strings(
        &self,
        layout: &Layout,
        range: Range<u64>,
        mask: Option<&Mask<'_>>,
    ) -> Result<Strings<'r>> {
        let element = range.start;
        let (ends, bytes) = self.text_ends(layout, range, mask)?;
        let start = bytes.start;
        let bytes = match self.reader.source.as_slice() {
            Some(all) => Cow::Borrowed(slice(all, &bytes).unwrap_or_default()),
            None => Cow::Owned(self.reader.source.read(bytes)?.into()),
        };
        if layout.data_type == DataType::Unicode {
            check_utf8(&bytes, &ends)
                .map_err(|error| error.at(element + error.index as u64, start + error.start as u64))?;
        }
        Ok(Strings::from_ends(bytes, ends))
    }

    /// The end of each string in an element range, relative to the first, and the file range of their bytes. Missing ones are empty.
    pub(crate) fn text_ends(
        &self,
        layout: &Layout,
        range: Range<u64>,
        mask: Option<&Mask<'_>>,
    ) -> Result<(Vec<usize>, Range<u64>)> {
        let whole = range == (0..layout.count);
        let stored = self.stored(layout)?;
        let (first, end) = match whole {
            true => (0, stored),
            false => (self.rank(layout, range.start)?, self.rank(layout, range.end)?),
        };
        let max = (layout.data.end - layout.data.start).saturating_sub(stored * 8);
        let start = if whole { 0 } else { self.text_start(layout, first)? };
        self.check_growth(range.end - range.start, layout)?;
        let mut ends = try_zeroed::<usize>(range.end - range.start)?;
        let (mut sum, mut at, mut buffer) = (start, layout.data.start + first * 8, Vec::new());
        let mut element = 0;
        for chunk in ends.chunks_mut(CHUNK) {
            let missing = |n: usize| mask.is_some_and(|mask| mask.is_missing(element + n));
            let lengths = (0..chunk.len()).filter(|n| !missing(*n)).count() as u64 * 8;
            let lengths_at = at;
            at += lengths;
            let mut lengths = self.reader.source.view(lengths_at..at, &mut buffer)?.as_chunks().0.iter().zip(0u64..);
            for (n, out) in chunk.iter_mut().enumerate() {
                if !missing(n)
                    && let Some((len, n)) = lengths.next()
                {
                    sum = add(sum, length(*len, layout.endian), max).map_err(|error| error.at(lengths_at + n * 8))?;
                }
                *out = usize::try_from(sum - start).unwrap_or(usize::MAX);
            }
            element += chunk.len();
        }
        if whole {
            self.check_bytes(layout, end, sum)?;
        }
        let base = layout.data.start + stored * 8;
        Ok((ends, base + start..base + sum))
    }

    /// Bytes of all strings before stored string number `stored`.
    pub(crate) fn text_start(&self, layout: &Layout, stored: u64) -> Result<u64> {
        let index = self.text_index(layout)?;
        let block = stored / TEXT_BLOCK as u64;
        let start = layout.data.start + block * TEXT_BLOCK as u64 * 8;
        let mut buffer = Vec::new();
        let lengths = self.reader.source.view(start..layout.data.start + stored * 8, &mut buffer)?;
        Ok(lengths.as_chunks().0.iter().fold(index.before(block), |sum, len| {
            sum.saturating_add(length(*len, layout.endian)) // at most the total
        }))
    }
}

/// Length of Python's `repr` of a byte string.
#[derive(Debug, Default)]
struct ReprLen {
    bytes: u64,
    quotes: u64,
    double_quotes: u64,
}

impl ReprLen {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.bytes += match byte {
                b'\t' | b'\n' | b'\r' | b'\\' => 2,
                b' '..=b'~' => 1,
                _ => 4,
            };
            self.quotes += u64::from(*byte == b'\'');
            self.double_quotes += u64::from(*byte == b'"');
        }
    }

    /// Includes the prefix and the quotes, which are double if that saves escapes.
    fn len(&self) -> u64 {
        3 + self.bytes + if self.double_quotes > 0 { self.quotes } else { 0 }
    }
}

/// A string that is not valid UTF-8.
pub(crate) struct NotUtf8 {
    /// Index within the range that was checked.
    pub(crate) index: usize,
    /// Offset of the string within the bytes of the range.
    pub(crate) start: usize,
    /// Offset of the first invalid byte within the string.
    byte: usize,
}

impl NotUtf8 {
    /// As an error for the string of `element`, which begins at file offset `at`.
    pub(crate) fn at(&self, element: u64, at: u64) -> Error {
        let detail = format!("element {element} is not valid UTF-8 at byte {}", self.byte);
        Error::invalid(detail).at(at.saturating_add(self.byte as u64))
    }
}

/// Checks that each string is valid UTF-8 by itself; returns the first that is not.
pub(crate) fn check_utf8(bytes: &[u8], ends: &[usize]) -> Result<(), NotUtf8> {
    // Fast path: all bytes at once, if no string ends inside a character.
    if let Ok(all) = std::str::from_utf8(bytes)
        && (all.is_ascii() || ends.iter().all(|end| all.is_char_boundary(*end)))
    {
        return Ok(());
    }
    let mut start = 0;
    for (index, end) in ends.iter().enumerate() {
        if let Err(error) = std::str::from_utf8(bytes.get(start..*end).unwrap_or_default()) {
            return Err(NotUtf8 { index, start, byte: error.valid_up_to() });
        }
        start = *end;
    }
    Ok(())
}
