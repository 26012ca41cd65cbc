//! Strings: their lengths one after the other, then their bytes.

use std::borrow::Cow;
use std::ops::Range;

use container_core::{Error, Result};

use crate::array::{Mask, Strings};
use crate::read::fill::room;
use crate::read::index::{TEXT_BLOCK, TextIndex, add, length};
use crate::read::layout::{Layout, slice};
use crate::read::variable::Variable;
use crate::types::DataType;

/// Lengths that are looked at at once.
const CHUNK: usize = 32 << 10;

impl<'r> Variable<'r> {
    /// Values that are stored.
    pub(crate) fn stored(&self, layout: &Layout) -> Result<u64> {
        match &layout.mask {
            Some(_) => Ok(self.mask_index(layout)?.stored),
            None => Ok(layout.count),
        }
    }

    /// The sums over the lengths of its strings, checked against the bytes that the variable is said to take.
    pub(crate) fn text_index(&self, layout: &Layout) -> Result<&'r TextIndex> {
        let known = &self.index.text;
        if let Some(index) = known.get() {
            return Ok(index);
        }
        let stored = self.stored(layout)?;
        let start = layout.data.start;
        // There are 8 bytes for each: that was checked when it was opened, or when the mask was counted.
        let most = (layout.data.end - start).saturating_sub(stored * 8);
        let index = TextIndex::new(&self.reader.source, start..start + stored * 8, layout.endian, most)?;
        self.check_bytes(layout, stored, index.bytes)?;
        Ok(known.get_or_init(|| Box::new(index)))
    }

    /// The bytes that a variable of strings really takes: mask, lengths and strings.
    pub(crate) fn text_bytes(&self, layout: &Layout) -> Result<u64> {
        let index = self.text_index(layout)?;
        Ok(self.entry.mask_len() + self.stored(layout)? * 8 + index.bytes)
    }

    /// Do so many strings of so many bytes take what the variable is said to take?
    fn check_bytes(&self, layout: &Layout, stored: u64, bytes: u64) -> Result<()> {
        let said = self.entry.stated - self.entry.mask_len();
        let found = stored * 8 + bytes;
        if found == said {
            return Ok(());
        }
        // Python's writer counts two bytes for each missing text (the hyphens that it prints for one), which it does not store.
        let hyphens = if layout.mask.is_some() { (layout.count - stored) * 2 } else { 0 };
        // Strings of bytes that it has read from a file it counts as it prints them: `b'...'`. With some missing it takes them for texts.
        let printable = layout.data_type == DataType::Str || layout.mask.is_some();
        if found + hyphens == said
            || printable && found + hyphens < said && self.printed(layout, stored)? + stored * 8 + hyphens == said
        {
            return Ok(());
        }
        let detail =
            format!("its {stored} strings take {found} bytes with their lengths; its .len has {said} for them");
        Err(Error::invalid(detail).at(layout.data.start))
    }

    /// The bytes of all strings as Python prints strings of bytes. Their lengths were checked.
    fn printed(&self, layout: &Layout, stored: u64) -> Result<u64> {
        let source = &self.reader.source;
        let (mut lengths_at, mut at) = (layout.data.start, layout.data.start + stored * 8);
        let (end, mut all) = (at, 0u64);
        let (mut lengths, mut buffer) = (Vec::new(), Vec::new());
        let mut window: &[u8] = &[];
        while lengths_at < end {
            let next = end.min(lengths_at + CHUNK as u64 * 8);
            for len in source.view(lengths_at..next, &mut lengths)?.as_chunks().0 {
                let (mut left, mut print) = (length(*len, layout.endian), Print::default());
                while left > 0 {
                    if window.is_empty() {
                        let next = layout.data.end.min(at + CHUNK as u64 * 8);
                        window = source.view(at..next, &mut buffer)?;
                        at = next;
                        if window.is_empty() {
                            return Ok(all); // a length was overwritten since it was checked
                        }
                    }
                    let some = usize::try_from(left).unwrap_or(usize::MAX).min(window.len());
                    let (now, later) = window.split_at_checked(some).unwrap_or_default();
                    print.add(now);
                    window = later;
                    left -= some as u64;
                }
                all = all.saturating_add(print.len());
            }
            lengths_at = next;
        }
        Ok(all)
    }

    /// Strings of a range of elements; missing ones are empty.
    pub(crate) fn texts(&self, layout: &Layout, range: Range<u64>, mask: Option<&Mask<'_>>) -> Result<Strings<'r>> {
        let element = range.start;
        let (ends, bytes) = self.text_ends(layout, range, mask)?;
        let place = bytes.start;
        let bytes = match self.reader.source.as_slice() {
            Some(all) => Cow::Borrowed(slice(all, &bytes).unwrap_or_default()),
            None => Cow::Owned(self.reader.source.read(bytes)?.into()),
        };
        if layout.data_type == DataType::Unicode {
            check_utf8(&bytes, &ends)
                .map_err(|found| found.error(element + found.index as u64, place + found.start as u64))?;
        }
        Ok(Strings::from_ends(bytes, ends))
    }

    /// Where each string of a range of elements ends, counted from the first byte of all of them, and where in the file these are. Missing
    /// ones are empty.
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
        let most = (layout.data.end - layout.data.start).saturating_sub(stored * 8);
        let start = if whole { 0 } else { self.text_start(layout, first)? };
        self.check_growth(range.end - range.start, layout)?;
        let mut ends = room::<usize>(range.end - range.start)?;
        let (mut sum, mut at, mut buffer) = (start, layout.data.start + first * 8, Vec::new());
        let mut element = 0;
        for part in ends.chunks_mut(CHUNK) {
            let missing = |n: usize| mask.is_some_and(|mask| mask.is_missing(element + n));
            let lengths = (0..part.len()).filter(|n| !missing(*n)).count() as u64 * 8;
            let place = at;
            at += lengths;
            let mut lengths = self.reader.source.view(place..at, &mut buffer)?.as_chunks().0.iter().zip(0u64..);
            for (n, out) in part.iter_mut().enumerate() {
                if !missing(n)
                    && let Some((len, n)) = lengths.next()
                {
                    sum = add(sum, length(*len, layout.endian), most).map_err(|error| error.at(place + n * 8))?;
                }
                *out = usize::try_from(sum - start).unwrap_or(usize::MAX);
            }
            element += part.len();
        }
        if whole {
            self.check_bytes(layout, end, sum)?;
        }
        let base = layout.data.start + stored * 8;
        Ok((ends, base + start..base + sum))
    }

    /// The bytes of all strings before the one that is stored as number `stored`.
    pub(crate) fn text_start(&self, layout: &Layout, stored: u64) -> Result<u64> {
        let index = self.text_index(layout)?;
        let block = stored / TEXT_BLOCK as u64;
        let start = layout.data.start + block * TEXT_BLOCK as u64 * 8;
        let mut buffer = Vec::new();
        let lengths = self.reader.source.view(start..layout.data.start + stored * 8, &mut buffer)?;
        Ok(lengths.as_chunks().0.iter().fold(index.before(block), |sum, len| {
            sum.saturating_add(length(*len, layout.endian)) // no more than all of them
        }))
    }
}

/// How long Python's `repr` of a string of bytes is.
#[derive(Debug, Default)]
struct Print {
    bytes: u64,
    quotes: u64,
    double_quotes: u64,
}

impl Print {
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

    /// With the letter and the quotes around: double ones where that saves escapes.
    fn len(&self) -> u64 {
        3 + self.bytes + if self.double_quotes > 0 { self.quotes } else { 0 }
    }
}

/// A text that is not UTF-8.
pub(crate) struct NotUtf8 {
    /// Its number among those that were looked at.
    pub(crate) index: usize,
    /// Where it begins in their bytes.
    pub(crate) start: usize,
    /// Where it goes wrong, from there.
    byte: usize,
}

impl NotUtf8 {
    /// The text is that of `element` and begins at byte `at` of the file.
    pub(crate) fn error(&self, element: u64, at: u64) -> Error {
        let detail = format!("the text of element {element} is not UTF-8 at its byte {}", self.byte);
        Error::invalid(detail).at(at.saturating_add(self.byte as u64))
    }
}

/// Is each text UTF-8 by itself? If not, the first that is none.
pub(crate) fn check_utf8(bytes: &[u8], ends: &[usize]) -> Result<(), NotUtf8> {
    // All at once is quick: then only no text may end inside a character.
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
