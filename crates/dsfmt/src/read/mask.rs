//! Reads masks, and ranks elements among the stored values.

use std::ops::Range;

use container_core::{Error, Result};

use crate::array::Mask;
use crate::kernel;
use crate::read::fill::too_many;
use crate::read::index::{MASK_BLOCK, MaskIndex};
use crate::read::layout::{Layout, slice};
use crate::read::variable::Variable;
use crate::types::DataType;
use crate::wire::bit_bytes;

impl<'r> Variable<'r> {
    /// The index of its mask, checked against its declared length.
    pub(crate) fn mask_index(&self, layout: &Layout) -> Result<&'r MaskIndex> {
        let known = &self.index.mask;
        if let Some(index) = known.get() {
            return Ok(index);
        }
        let bytes = layout.mask.clone().unwrap_or(0..0);
        let index = MaskIndex::new(&self.reader.source, bytes, layout.count)?;
        let available = layout.data.end - layout.data.start;
        let (matches, needed) = match layout.data_type.width() {
            Some(width) => (index.stored * width as u64 == available, index.stored * width as u64),
            None if layout.data_type == DataType::Bool => {
                (bit_bytes(index.stored) == available, bit_bytes(index.stored))
            }
            None => (index.stored * 8 <= available, index.stored * 8),
        };
        if !matches {
            let (stored, count, more) =
                (index.stored, layout.count, if layout.data_type.is_text() { " or more" } else { "" });
            let detail = format!(
                "expected {needed} bytes{more} for the {stored} of {count} elements that its mask leaves, found {available}"
            );
            return Err(Error::invalid(detail).at(layout.data.start));
        }
        Ok(known.get_or_init(|| Box::new(index)))
    }

    /// The mask of an element range, its first element in the first bit.
    pub(crate) fn mask_bits(&self, layout: &Layout, range: Range<u64>) -> Result<Option<Mask<'r>>> {
        let Some(mask) = &layout.mask else { return Ok(None) };
        self.mask_index(layout)?;
        let len = usize::try_from(range.end - range.start).map_err(|_| too_many(range.end - range.start))?;
        let bytes = mask.start + range.start / 8..mask.start + bit_bytes(range.end).max(range.start / 8);
        let first = (range.start % 8) as usize; // below 8
        let source = &self.reader.source;
        let borrowed = source.as_slice().and_then(|all| slice(all, &bytes));
        match borrowed {
            Some(bits) if first == 0 => Mask::from_bits(bits, len).map(Some),
            Some(bits) => Mask::from_bits(kernel::shifted(bits, first, len), len).map(Some),
            None => {
                let bits = source.read(bytes)?;
                Mask::from_bits(kernel::shifted(&bits, first, len), len).map(Some)
            }
        }
    }

    /// Number of values stored before `element`.
    pub(crate) fn rank(&self, layout: &Layout, element: u64) -> Result<u64> {
        let Some(mask) = &layout.mask else { return Ok(element) };
        let index = self.mask_index(layout)?;
        if element >= layout.count {
            return Ok(index.stored);
        }
        let block = element / 8 / MASK_BLOCK as u64;
        let bits = element - block * MASK_BLOCK as u64 * 8;
        if bits == 0 {
            return Ok(index.before(block));
        }
        let start = mask.start + block * MASK_BLOCK as u64;
        let mut buffer = Vec::new();
        let bytes = self.reader.source.view(start..start + bit_bytes(bits), &mut buffer)?;
        Ok(index.before(block) + bits - kernel::count_ones(bytes, bits))
    }
}
