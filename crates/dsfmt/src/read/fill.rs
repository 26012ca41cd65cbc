//! From bytes of the file to elements in memory, some thousands at a time.

use std::borrow::Cow;
use std::ops::Range;

use bytemuck::Zeroable;
use container_core::{Error, Result, parallel};

use crate::array::{Mask, Values};
use crate::kernel;
use crate::read::foreign::Foreign;
use crate::read::layout::{Layout, slice};
use crate::read::variable::Variable;
use crate::types::Element;
use crate::wire::bit_bytes;

/// Elements that are dealt with at once: few enough for the fast memory, and a multiple of 8.
const CHUNK: usize = 32 << 10;

/// So many truth values are many.
const FEW: u64 = 1 << 20;

/// So many times its own bytes a variable may take in memory, whatever the limits: missing elements take a bit in the file.
const GROWTH: u64 = 16;

/// A vector of so many elements, or the reason why there is none.
pub(crate) fn room<T: Zeroable + Clone>(count: u64) -> Result<Vec<T>> {
    usize::try_from(count).ok().and_then(container_core::zeroed_vec).ok_or_else(|| too_many(count))
}

/// Fills `out` in pieces of `CHUNK` elements: `each` is given the number of a piece's first element, and memory to use again. With feature
/// `parallel` many pieces are filled side by side.
fn pieces<T: Send>(
    out: &mut [T],
    each: impl Fn(u64, &mut [T], &mut Vec<u8>) -> Result<()> + Send + Sync,
) -> Result<()> {
    /// Bytes of new memory that are had at once.
    const LARGE_PAGE: usize = 2 << 20;
    // Pieces of one large page are one thread's: two that come to it at once would both clear it.
    let page = (LARGE_PAGE / (CHUNK * size_of::<T>().max(1))).max(1);
    parallel::for_each_chunk(out, CHUNK, page, |buffer, piece, out| each((piece * CHUNK) as u64, out, buffer))
}

/// The bits of the piece that begins with element `first`, which is a multiple of 8.
fn piece_of<'m>(mask: &'m Mask<'_>, first: u64, len: usize) -> &'m [u8] {
    let start = usize::try_from(first / 8).unwrap_or(usize::MAX);
    mask.as_bits().get(start..).and_then(|bits| bits.get(..len.div_ceil(8))).unwrap_or_default()
}

impl<'r> Variable<'r> {
    /// The values of a range of elements, which the variable has, from elsewhere.
    pub(crate) fn foreign(
        &self,
        from: &dyn Foreign,
        layout: &Layout,
        range: Range<u64>,
    ) -> Result<(Values<'r>, Option<Mask<'r>>)> {
        let place =
            self.reader.header.find(self.name()).ok_or_else(|| Error::usage("the variable is of another file"))?;
        let count = range.end - range.start;
        let (values, mask) = from.read(place, range)?;
        if values.len() as u64 != count {
            return Err(Error::truncated("the values", count, values.len() as u64));
        }
        if values.data_type() != layout.data_type {
            let detail = format!("its values are {} where {} is expected", values.data_type(), layout.data_type);
            return Err(Error::invalid(detail));
        }
        Ok((values, mask))
    }

    /// Refuses what would take far more memory than the file can answer for.
    pub(crate) fn check_growth(&self, elements: u64, layout: &Layout) -> Result<()> {
        let width = layout.data_type.width().unwrap_or(if layout.data_type.is_text() { size_of::<usize>() } else { 1 });
        let bytes = elements.saturating_mul(width as u64);
        match bytes > self.entry.len.saturating_mul(GROWTH) {
            true => self.reader.options.limits.check_block("the size of its values in memory", bytes),
            false => Ok(()),
        }
    }

    /// Numbers of a range of elements; missing ones are `fill`.
    pub(crate) fn numbers<T: Element>(
        &self,
        layout: &Layout,
        range: Range<u64>,
        mask: Option<&Mask<'_>>,
        fill: T,
    ) -> Result<Cow<'r, [T]>> {
        if mask.is_none() {
            let width = size_of::<T>() as u64;
            let bytes = layout.data.start + range.start * width..layout.data.start + range.end * width;
            return self.stored_numbers(layout, bytes);
        }
        self.owned_numbers(layout, range, mask, fill).map(Cow::Owned)
    }

    /// Numbers of a range of elements in memory of their own.
    pub(crate) fn owned_numbers<T: Element>(
        &self,
        layout: &Layout,
        range: Range<u64>,
        mask: Option<&Mask<'_>>,
        fill: T,
    ) -> Result<Vec<T>> {
        self.check_growth(range.end - range.start, layout)?;
        let mut out = room(range.end - range.start)?;
        self.numbers_into(layout, range, mask, fill, &mut out)?;
        Ok(out)
    }

    /// Puts numbers of a range of elements, which are as many as `out` has room for, there.
    pub(crate) fn numbers_into<T: Element>(
        &self,
        layout: &Layout,
        range: Range<u64>,
        mask: Option<&Mask<'_>>,
        fill: T,
        out: &mut [T],
    ) -> Result<()> {
        let (width, swap) = (size_of::<T>() as u64, layout.swap());
        pieces(out, |first, out, buffer| {
            let start = self.rank(layout, range.start + first)?;
            let bits = mask.map(|mask| piece_of(mask, first, out.len()));
            let stored = out.len() as u64 - bits.map_or(0, |bits| kernel::missing(bits, out.len() as u64));
            let start = layout.data.start + start * width;
            let bytes = self.reader.source.view(start..start + stored * width, buffer)?;
            match bits {
                Some(bits) => kernel::expand_numbers(bits, bytes, out, fill, swap),
                None => kernel::load(bytes, out, swap),
            }
            Ok(())
        })
    }

    /// The numbers that these bytes of the file are.
    pub(crate) fn stored_numbers<T: Element>(&self, layout: &Layout, bytes: Range<u64>) -> Result<Cow<'r, [T]>> {
        if let Some(numbers) = self.borrowed(layout, &bytes) {
            return Ok(numbers.into());
        }
        let (width, swap) = (size_of::<T>() as u64, layout.swap());
        let mut out = room((bytes.end - bytes.start) / width)?;
        pieces(&mut out, |first, out, buffer| {
            let start = bytes.start + first * width;
            kernel::load(self.reader.source.view(start..start + out.len() as u64 * width, buffer)?, out, swap);
            Ok(())
        })?;
        Ok(out.into())
    }

    /// The numbers at these bytes of the file where they lie.
    pub(crate) fn borrowed<T: Element>(&self, layout: &Layout, bytes: &Range<u64>) -> Option<&'r [T]> {
        let found = slice(self.reader.source.as_slice()?, bytes)?;
        if layout.swap() && size_of::<T>() > 1 { None } else { bytemuck::try_cast_slice(found).ok() }
    }

    /// Truth values of a range of elements; missing ones are false.
    pub(crate) fn truths(&self, layout: &Layout, range: Range<u64>, mask: Option<&Mask<'_>>) -> Result<Vec<bool>> {
        self.check_growth(range.end - range.start, layout)?;
        let first = layout.data.start + range.start / 8;
        let whole = slice(
            self.reader.source.as_slice().unwrap_or_default(),
            &(first..layout.data.start + bit_bytes(range.end)),
        );
        if let (Some(bytes), None, 0, ..FEW) = (whole, mask, range.start % 8, range.end - range.start) {
            // In memory and side by side: written once, and not zeroed before. Many are worth large pages, and all cores.
            let count = usize::try_from(range.end - range.start).map_err(|_| too_many(range.end - range.start))?;
            return Ok(kernel::unpacked(bytes, count));
        }
        let mut out = room(range.end - range.start)?;
        self.truths_into(layout, range, mask, &mut out)?;
        Ok(out)
    }

    /// Puts truth values of a range of elements, which are as many as `out` has room for, there.
    pub(crate) fn truths_into(
        &self,
        layout: &Layout,
        range: Range<u64>,
        mask: Option<&Mask<'_>>,
        out: &mut [bool],
    ) -> Result<()> {
        pieces(out, |first, out, buffer| {
            let start = self.rank(layout, range.start + first)?;
            let bits = mask.map(|mask| piece_of(mask, first, out.len()));
            let stored = out.len() as u64 - bits.map_or(0, |bits| kernel::missing(bits, out.len() as u64));
            let place = layout.data.start + start / 8..layout.data.start + bit_bytes(start + stored).max(start / 8);
            let mut bytes = self.reader.source.view(place, buffer)?;
            let stored = usize::try_from(stored).unwrap_or(0); // no more than there are elements
            let moved;
            if !start.is_multiple_of(8) {
                moved = kernel::shifted(bytes, (start % 8) as usize, stored); // less than 8
                bytes = &moved;
            }
            match bits {
                None => kernel::unpack(bytes, out),
                Some(bits) => {
                    let mut values = [false; CHUNK];
                    let values = values.get_mut(..stored).unwrap_or_default();
                    kernel::unpack(bytes, values);
                    kernel::expand(bits, values, out, false, |value| value);
                }
            }
            Ok(())
        })
    }
}

#[cold]
pub(crate) fn too_many(count: u64) -> Error {
    Error::usage(format!("{count} elements do not fit into memory"))
}
