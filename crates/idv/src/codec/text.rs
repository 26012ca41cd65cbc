//! `TextSpan`: joined UTF-8 text with boundaries in UTF-16 code units.
//!
//! In ASCII blocks, nearly all, a unit is a byte. Otherwise boundaries are converted to byte offsets text by text, with a fast path for
//! each ASCII text. A boundary inside a surrogate pair has no byte offset: the text is then rebuilt with U+FFFD for each half, as in .NET.

use std::ops::Range;

use container_core::{Cursor, Error, Result};

use super::check_count;
use crate::wire::leb;

/// Top bit of a boundary: the text is missing.
pub(crate) const MISSING: u32 = 1 << 31;

/// The texts of a block: one joined string and the end of each text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    pub(super) joined: String,
    pub(super) ends: Vec<u32>,
    /// Missing flags; empty when no text is missing.
    pub(super) missing: Vec<bool>,
}

impl Texts {
    /// Number of texts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no texts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text at `index`; `None` if it is missing or past the end.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&str> {
        if self.missing.get(index).copied().unwrap_or(false) {
            return None;
        }
        let end = usize::try_from(*self.ends.get(index)?).ok()?;
        let start = match index.checked_sub(1).and_then(|before| self.ends.get(before)) {
            Some(&start) => usize::try_from(start).ok()?,
            None => 0,
        };
        self.joined.get(start..end)
    }

    /// All texts in order; `None` for a missing one.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&str>> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// The joined texts and the byte offset where each ends; text `i` starts where text `i - 1` ends.
    #[must_use]
    pub fn parts(&self) -> (&str, &[u32]) {
        (&self.joined, &self.ends)
    }

    /// Appends a text.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) when all texts together exceed 2^32 bytes (a block holds less than 2^31). Nothing is
    /// appended then.
    pub fn push(&mut self, text: &str) -> Result<()> {
        let end = self.end_with(text.len())?;
        self.joined.push_str(text);
        self.ends.push(end);
        if !self.missing.is_empty() {
            self.missing.push(false);
        }
        Ok(())
    }

    /// Appends a missing text, which ML.NET reads as empty.
    pub fn push_missing(&mut self) {
        self.missing.resize(self.ends.len(), false);
        self.missing.push(true);
        self.ends.push(self.ends.last().copied().unwrap_or(0));
    }

    /// True if any text is missing.
    #[must_use]
    pub fn has_missing(&self) -> bool {
        self.missing.contains(&true)
    }

    /// Removes all texts and keeps the memory.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.missing.truncate(len);
        self.joined.truncate(self.ends.last().map_or(0, |&end| to_usize(end)));
    }

    /// Appends a range of texts.
    pub(super) fn extend_from(&mut self, other: &Self, range: Range<usize>) -> Result<()> {
        let out_of_bounds =
            || Error::usage(format!("texts {}..{} are out of bounds for {}", range.start, range.end, other.len()));
        let ends = other.ends.get(range.clone()).ok_or_else(out_of_bounds)?;
        let start = other.start_of(range.start);
        let end = ends.last().copied().unwrap_or(start);
        let joined = other.joined.get(to_usize(start)..to_usize(end)).ok_or_else(out_of_bounds)?;
        let base = self.end_with(0)?;
        self.end_with(joined.len())?;
        match other.missing.get(range.clone()) {
            Some(missing) if missing.contains(&true) => {
                self.missing.resize(self.ends.len(), false);
                self.missing.extend_from_slice(missing);
            }
            _ if self.missing.is_empty() => {}
            _ => self.missing.resize(self.ends.len() + ends.len(), false),
        }
        self.joined.push_str(joined);
        // `end_with` checked the last and largest of them.
        self.ends.extend(ends.iter().map(|end| end - start + base));
        Ok(())
    }

    /// Replaces the joined text, in memory of exactly its size.
    fn set_joined(&mut self, joined: &str) {
        self.joined.clear();
        self.joined.reserve_exact(joined.len());
        self.joined.push_str(joined);
    }

    /// Missing flags of a range; `None` when no text is missing.
    pub(super) fn missing_flags(&self, range: Range<usize>) -> Option<&[bool]> {
        self.missing.get(range).filter(|_| !self.missing.is_empty())
    }

    /// End of the joined text after appending `more` bytes.
    pub(super) fn end_with(&self, more: usize) -> Result<u32> {
        let end = u64::try_from(self.joined.len().saturating_add(more)).unwrap_or(u64::MAX);
        u32::try_from(end).map_err(|_| Error::limit("bytes of texts", end, u32::MAX.into()))
    }

    /// Byte offset where a text starts; the end of the joined text past the end.
    pub(super) fn start_of(&self, index: usize) -> u32 {
        let before = index.checked_sub(1);
        before.map_or(0, |before| self.ends.get(before).or(self.ends.last()).copied().unwrap_or(0))
    }
}

/// Converts a boundary to an index.
pub(super) fn to_usize(end: u32) -> usize {
    usize::try_from(end).unwrap_or(usize::MAX)
}

pub(crate) fn decode(cursor: &mut Cursor<'_>, n: usize, out: &mut Texts) -> Result<()> {
    out.clear();
    check_count(cursor, "number of texts", n)?;
    let ends_at = cursor.offset();
    super::numbers::decode(cursor, n, &mut out.ends)?;
    check_boundaries(out, ends_at)?;
    let units = out.ends.last().copied().unwrap_or(0);

    let len = leb(cursor, "length of the joined text")?;
    let text_at = cursor.offset();
    let bytes = cursor.take_u64(len, "the joined text")?;
    let joined = std::str::from_utf8(bytes).map_err(|error| {
        Error::invalid("the joined text is not UTF-8").at(text_at + error.valid_up_to() as u64).caused_by(error)
    })?;
    let unit_mismatch = |found: u64| {
        Error::invalid(format!("the last boundary is {units} but the joined text has {found} UTF-16 units")).at(text_at)
    };
    // As many bytes as units: must be ASCII.
    if len == u64::from(units) {
        if !joined.is_ascii() {
            return Err(unit_mismatch(joined.encode_utf16().count() as u64));
        }
        out.set_joined(joined);
        return Ok(());
    }
    if !ends_to_bytes(joined, &mut out.ends) {
        let found = joined.encode_utf16().count() as u64;
        if found != u64::from(units) {
            return Err(unit_mismatch(found));
        }
        rebuild(joined, out);
        return Ok(());
    }
    out.set_joined(joined);
    Ok(())
}

/// Checks that boundaries do not decrease and missing texts are empty, and strips the missing bits.
fn check_boundaries(out: &mut Texts, ends_at: u64) -> Result<()> {
    let mut before = 0;
    let mut any = 0;
    let mut rising = true;
    for &end in &out.ends {
        rising &= end & !MISSING >= before;
        before = end & !MISSING;
        any |= end;
    }
    if rising && any & MISSING == 0 {
        return Ok(());
    }
    let mut before = 0;
    out.missing.reserve_exact(out.ends.len());
    for (index, end) in out.ends.iter_mut().enumerate() {
        let missing = *end & MISSING != 0;
        *end &= !MISSING;
        let at = ends_at + 4 * index as u64;
        if *end < before {
            return Err(
                Error::invalid(format!("boundary {end} of text {index} is below the previous one, {before}")).at(at)
            );
        }
        if missing && *end != before {
            return Err(Error::invalid(format!("missing text {index} has {} units", *end - before)).at(at));
        }
        out.missing.push(missing);
        before = *end;
    }
    Ok(())
}

/// Converts boundaries from UTF-16 units to bytes. Returns false, with the boundaries unchanged, when one lies inside a character or the
/// last is not the end of the text.
fn ends_to_bytes(joined: &str, ends: &mut [u32]) -> bool {
    let original = ends.to_vec();
    let mut rest = joined;
    let mut start = 0;
    for (end, &units) in ends.iter_mut().zip(&original) {
        let unit_count = usize::try_from(units - start).unwrap_or(usize::MAX);
        start = units;
        let len = match rest.as_bytes().get(..unit_count) {
            Some(head) if head.is_ascii() => Some(unit_count),
            _ => len_of_units(rest, unit_count),
        };
        let Some(tail) = len.and_then(|len| rest.get(len..)) else {
            ends.copy_from_slice(&original);
            return false;
        };
        rest = tail;
        // A block has at most 2 GiB.
        *end = u32::try_from(joined.len() - rest.len()).unwrap_or(u32::MAX);
    }
    if !rest.is_empty() {
        ends.copy_from_slice(&original);
    }
    rest.is_empty()
}

/// The bytes that the first `units` UTF-16 units of `text` take, if they end at a character's end.
pub(crate) fn len_of_units(text: &str, units: usize) -> Option<usize> {
    let mut counted = 0;
    for (at, character) in text.char_indices() {
        if counted >= units {
            return (counted == units).then_some(at);
        }
        counted += character.len_utf16();
    }
    (counted == units).then_some(text.len())
}

/// Cuts the text at every boundary in UTF-16 units, with U+FFFD for each half of a pair that a boundary divides. The
/// boundaries are known to rise and the last to be the text's end.
fn rebuild(joined: &str, out: &mut Texts) {
    let ends = std::mem::take(&mut out.ends);
    out.ends.reserve_exact(ends.len());
    // Four bytes of a divided pair become six.
    out.joined.reserve_exact(joined.len() + joined.len() / 2);
    let mut units = joined.encode_utf16();
    let mut start = 0;
    for end in ends {
        let part = units.by_ref().take(usize::try_from(end - start).unwrap_or(usize::MAX));
        out.joined.extend(char::decode_utf16(part).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
        // At most 3 bytes for each of less than 2^31 / 2 divided pairs' halves: below 4 GiB.
        out.ends.push(u32::try_from(out.joined.len()).unwrap_or(u32::MAX));
        start = end;
    }
}
