//! `TextSpan`: boundaries count UTF-16 code units, the text lies as UTF-8.
//!
//! Nearly all blocks are plain ASCII, where a unit is a byte. Otherwise the units are turned into byte positions once, a
//! text at a time, again with the short way for each text that is ASCII. The one thing that cannot be cut out of the
//! block's text is half a surrogate pair: then the text is rebuilt with U+FFFD for each half, as .NET shows it.

use std::ops::Range;

use container_core::{Cursor, Error, Result};

use super::check_count;
use crate::wire::leb;

/// The top bit of a boundary: the text is missing.
pub(crate) const MISSING: u32 = 1 << 31;

/// Texts of one block: one string that holds them all, and where each ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    pub(super) joined: String,
    pub(super) ends: Vec<u32>,
    /// Which texts are missing; empty when none is.
    pub(super) missing: Vec<bool>,
}

impl Texts {
    /// How many texts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A text; `None` when it is missing, and past the end.
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

    /// All texts in order; `None` for missing ones.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&str>> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// All texts joined, and where each ends in bytes: text `i` begins where text `i - 1` ends.
    #[must_use]
    pub fn parts(&self) -> (&str, &[u32]) {
        (&self.joined, &self.ends)
    }

    /// Appends a text.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) when all texts together would have 2^32 bytes or more (a block holds less than 2^31); nothing is
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

    /// Appends a missing text. ML.NET reads it as an empty one.
    pub fn push_missing(&mut self) {
        self.missing.resize(self.ends.len(), false);
        self.missing.push(true);
        self.ends.push(self.ends.last().copied().unwrap_or(0));
    }

    /// True when a text is missing.
    #[must_use]
    pub fn has_missing(&self) -> bool {
        self.missing.contains(&true)
    }

    /// Takes all texts out and keeps the memory.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.missing.truncate(len);
        self.joined.truncate(self.ends.last().map_or(0, |&end| to_usize(end)));
    }

    /// Appends a run of other texts.
    pub(super) fn extend_from(&mut self, other: &Self, range: Range<usize>) -> Result<()> {
        let outside = || Error::usage(format!("texts {} to {} of {}", range.start, range.end, other.len()));
        let ends = other.ends.get(range.clone()).ok_or_else(outside)?;
        let start = other.start_of(range.start);
        let end = ends.last().copied().unwrap_or(start);
        let joined = other.joined.get(to_usize(start)..to_usize(end)).ok_or_else(outside)?;
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
        // The sum was found to fit for the last and greatest of them.
        self.ends.extend(ends.iter().map(|end| end - start + base));
        Ok(())
    }

    /// Takes the texts of a block, in memory of their size.
    fn set_joined(&mut self, joined: &str) {
        self.joined.clear();
        self.joined.reserve_exact(joined.len());
        self.joined.push_str(joined);
    }

    /// Which texts of a run are missing; `None` when none of all is.
    pub(super) fn missing_flags(&self, range: Range<usize>) -> Option<&[bool]> {
        self.missing.get(range).filter(|_| !self.missing.is_empty())
    }

    /// Where all texts end when `more` bytes are appended.
    pub(super) fn end_with(&self, more: usize) -> Result<u32> {
        let end = u64::try_from(self.joined.len().saturating_add(more)).unwrap_or(u64::MAX);
        u32::try_from(end).map_err(|_| Error::limit("bytes of texts", end, u32::MAX.into()))
    }

    /// The byte where a text begins; where all end past the end.
    pub(super) fn start_of(&self, index: usize) -> u32 {
        let before = index.checked_sub(1);
        before.map_or(0, |before| self.ends.get(before).or(self.ends.last()).copied().unwrap_or(0))
    }
}

/// From a boundary that lies in a string.
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
    let mismatch = |found: u64| {
        Error::invalid(format!("the last boundary is {units}, the joined text has {found} UTF-16 units")).at(text_at)
    };
    // As long in bytes as in units: every character takes one of each.
    if len == u64::from(units) {
        if !joined.is_ascii() {
            return Err(mismatch(joined.encode_utf16().count() as u64));
        }
        out.set_joined(joined);
        return Ok(());
    }
    if !ends_to_bytes(joined, &mut out.ends) {
        let found = joined.encode_utf16().count() as u64;
        if found != u64::from(units) {
            return Err(mismatch(found));
        }
        rebuild(joined, out);
        return Ok(());
    }
    out.set_joined(joined);
    Ok(())
}

/// Boundaries never fall and missing texts are empty; takes the top bits off.
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
            return Err(Error::invalid(format!("boundary {end} of text {index} falls below {before}")).at(at));
        }
        if missing && *end != before {
            return Err(Error::invalid(format!("text {index} is missing and has {} units", *end - before)).at(at));
        }
        out.missing.push(missing);
        before = *end;
    }
    Ok(())
}

/// Turns boundaries in UTF-16 units into boundaries in bytes. False (and the boundaries as they were) when one lies inside a character
/// or the last is not the text's end.
fn ends_to_bytes(joined: &str, ends: &mut [u32]) -> bool {
    let original = ends.to_vec();
    let mut rest = joined;
    let mut start = 0;
    for (end, &units) in ends.iter_mut().zip(&original) {
        let wanted = usize::try_from(units - start).unwrap_or(usize::MAX);
        start = units;
        let len = match rest.as_bytes().get(..wanted) {
            Some(head) if head.is_ascii() => Some(wanted),
            _ => len_of_units(rest, wanted),
        };
        let Some(tail) = len.and_then(|len| rest.get(len..)) else {
            ends.copy_from_slice(&original);
            return false;
        };
        rest = tail;
        // The joined text is shorter than 4 GiB: it lies in a block of at most 2 GiB.
        *end = u32::try_from(joined.len() - rest.len()).unwrap_or(u32::MAX);
    }
    if !rest.is_empty() {
        ends.copy_from_slice(&original);
    }
    rest.is_empty()
}

/// The bytes that the first `units` UTF-16 units of `text` take, if they end at a character's end.
pub(crate) fn len_of_units(text: &str, units: usize) -> Option<usize> {
    let mut seen = 0;
    for (at, character) in text.char_indices() {
        if seen >= units {
            return (seen == units).then_some(at);
        }
        seen += character.len_utf16();
    }
    (seen == units).then_some(text.len())
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
