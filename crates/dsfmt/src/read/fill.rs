//! Decodes file bytes into elements, a chunk at a time.

use std::borrow::Cow;
use std::ops::Range;

use bytemuck::Zeroable;
use container_core::{Error, Result, parallel};

use crate::array::{Mask, Values};
use crate::kernel;
use crate::read::foreign::ForeignSource;
use crate::read::layout::{Layout, slice};
use crate::read::variable::Variable;
use crate::types::Element;
use crate::wire::bit_bytes;

/// Elements decoded at once: fits the CPU cache, and a multiple of 8.
const CHUNK: usize = 32 << 10;

/// Up to this many booleans are unpacked on one thread.
const SEQUENTIAL_BOOLS: u64 = 1 << 20;

/// Growth from file to memory that is allowed whatever the limits: a missing element takes one bit in the file.
const FREE_GROWTH: u64 = 16;

/// Allocates `count` zeroed elements; an error when memory does not suffice.
pub(crate) fn try_zeroed<T: Zeroable + Clone>(count: u64) -> Result<Vec<T>> {
    usize::try_from(count).ok().and_then(container_core::zeroed_vec).ok_or_else(|| too_many(count))
}

/// Fills `out` in chunks of `CHUNK` elements. `fill` takes the index of the chunk's first element, the chunk, and a scratch buffer. Feature
/// `parallel` fills chunks concurrently.
fn for_each_chunk<T: Send>(
    out: &mut [T],
    fill: impl Fn(u64, &mut [T], &mut Vec<u8>) -> Result<()> + Send + Sync,
) -> Result<()> {
    const HUGE_PAGE_BYTES: usize = 2 << 20;
    // All chunks of a huge page go to one thread: two threads touching a new page would both have it cleared.
    let per_page = (HUGE_PAGE_BYTES / (CHUNK * size_of::<T>().max(1))).max(1);
    parallel::for_each_chunk(out, CHUNK, per_page, |buffer, index, out| fill((index * CHUNK) as u64, out, buffer))
}

/// The mask bits of `len` elements from `first`, which is a multiple of 8.
fn chunk_bits<'m>(mask: &'m Mask<'_>, first: u64, len: usize) -> &'m [u8] {
    let start = usize::try_from(first / 8).unwrap_or(usize::MAX);
    mask.as_bits().get(start..).and_then(|bits| bits.get(..len.div_ceil(8))).unwrap_or_default()
}

impl<'r> Variable<'r> {
    /// Reads an element range from a foreign source and checks what it returns.
    pub(crate) fn read_foreign(
        &self,
        source: &dyn ForeignSource,
        layout: &Layout,
        range: Range<u64>,
    ) -> Result<(Values<'r>, Option<Mask<'r>>)> {
        let index =
            self.reader.header.find(self.name()).ok_or_else(|| Error::usage("the variable belongs to another file"))?;
        let count = range.end - range.start;
        let (values, mask) = source.read(index, range)?;
        if values.len() as u64 != count {
            return Err(Error::truncated("values", count, values.len() as u64));
        }
        if values.data_type() != layout.data_type {
            let detail = format!("expected values of type {}, found {}", layout.data_type, values.data_type());
            return Err(Error::invalid(detail));
        }
        Ok((values, mask))
    }

    /// Rejects values that take far more memory than bytes in the file, unless the limits allow it.
    pub(crate) fn check_growth(&self, elements: u64, layout: &Layout) -> Result<()> {
        let width = layout.data_type.width().unwrap_or(if layout.data_type.is_text() { size_of::<usize>() } else { 1 });
        let bytes = elements.saturating_mul(width as u64);
        match bytes > self.entry.len.saturating_mul(FREE_GROWTH) {
            true => self.reader.options.limits.check_block("size of its values in memory", bytes),
            false => Ok(()),
        }
    }

    /// The numbers of an element range, borrowed if possible; missing ones become `fill`.
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

    /// Decodes the numbers of an element range; missing ones become `fill`.
    pub(crate) fn owned_numbers<T: Element>(
        &self,
        layout: &Layout,
        range: Range<u64>,
        mask: Option<&Mask<'_>>,
        fill: T,
    ) -> Result<Vec<T>> {
        self.check_growth(range.end - range.start, layout)?;
        let mut out = try_zeroed(range.end - range.start)?;
        self.numbers_into(layout, range, mask, fill, &mut out)?;
        Ok(out)
    }

    /// Decodes the numbers of an element range into `out`, which must have the same length.
    pub(crate) fn numbers_into<T: Element>(
        &self,
        layout: &Layout,
        range: Range<u64>,
        mask: Option<&Mask<'_>>,
        fill: T,
        out: &mut [T],
    ) -> Result<()> {
        let (width, swap) = (size_of::<T>() as u64, layout.swap());
        for_each_chunk(out, |first, out, buffer| {
            let start = self.rank(layout, range.start + first)?;
            let bits = mask.map(|mask| chunk_bits(mask, first, out.len()));
            let stored = out.len() as u64 - bits.map_or(0, |bits| kernel::count_ones(bits, out.len() as u64));
            let start = layout.data.start + start * width;
            let bytes = self.reader.source.view(start..start + stored * width, buffer)?;
            match bits {
                Some(bits) => kernel::expand_numbers(bits, bytes, out, fill, swap),
                None => kernel::load(bytes, out, swap),
            }
            Ok(())
        })
    }

    /// The numbers stored in a byte range of the file, borrowed if possible.
    pub(crate) fn stored_numbers<T: Element>(&self, layout: &Layout, bytes: Range<u64>) -> Result<Cow<'r, [T]>> {
        if let Some(numbers) = self.borrowed(layout, &bytes) {
            return Ok(numbers.into());
        }
        let (width, swap) = (size_of::<T>() as u64, layout.swap());
        let mut out = try_zeroed((bytes.end - bytes.start) / width)?;
        for_each_chunk(&mut out, |first, out, buffer| {
            let start = bytes.start + first * width;
            kernel::load(self.reader.source.view(start..start + out.len() as u64 * width, buffer)?, out, swap);
            Ok(())
        })?;
        Ok(out.into())
    }

    /// Borrows the numbers in a byte range of the file; `None` if they need a copy.
    pub(crate) fn borrowed<T: Element>(&self, layout: &Layout, bytes: &Range<u64>) -> Option<&'r [T]> {
        let stored = slice(self.reader.source.as_slice()?, bytes)?;
        if layout.swap() && size_of::<T>() > 1 { None } else { bytemuck::try_cast_slice(stored).ok() }
    }

    /// The booleans of an element range; missing ones become false.
    pub(crate) fn owned_bools(&self, layout: &Layout, range: Range<u64>, mask: Option<&Mask<'_>>) -> Result<Vec<bool>> {
        self.check_growth(range.end - range.start, layout)?;
        let first = layout.data.start + range.start / 8;
        let whole = slice(
            self.reader.source.as_slice().unwrap_or_default(),
            &(first..layout.data.start + bit_bytes(range.end)),
        );
        if let (Some(bytes), None, 0, ..SEQUENTIAL_BOOLS) = (whole, mask, range.start % 8, range.end - range.start) {
            // Small and in memory: unpacked without zeroing first. Larger ones are worth huge pages and all cores.
            let count = usize::try_from(range.end - range.start).map_err(|_| too_many(range.end - range.start))?;
            return Ok(kernel::unpacked(bytes, count));
        }
        let mut out = try_zeroed(range.end - range.start)?;
        self.decode_bools_into(layout, range, mask, &mut out)?;
        Ok(out)
    }

    /// Decodes the booleans of an element range into `out`, which must have the same length.
    pub(crate) fn decode_bools_into(
        &self,
        layout: &Layout,
        range: Range<u64>,
        mask: Option<&Mask<'_>>,
        out: &mut [bool],
    ) -> Result<()> {
        for_each_chunk(out, |first, out, buffer| {
            let start = self.rank(layout, range.start + first)?;
            let bits = mask.map(|mask| chunk_bits(mask, first, out.len()));
            let stored = out.len() as u64 - bits.map_or(0, |bits| kernel::count_ones(bits, out.len() as u64));
            let byte_range =
                layout.data.start + start / 8..layout.data.start + bit_bytes(start + stored).max(start / 8);
            let mut bytes = self.reader.source.view(byte_range, buffer)?;
            let stored = usize::try_from(stored).unwrap_or(0); // at most `out.len()`
            let aligned;
            if !start.is_multiple_of(8) {
                aligned = kernel::shifted(bytes, (start % 8) as usize, stored); // below 8
                bytes = &aligned;
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
    Error::usage(format!("{count} elements do not fit in memory"))
}
