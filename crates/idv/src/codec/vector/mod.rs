mod build;
mod shared;

use std::ops::Range;

use container_core::{Cursor, Error, Result};

use super::{Values, check_bools, check_count, count, decode_items, min_len, numbers};
use crate::wire::ItemType;

/// The vectors of a block, dense or sparse, of equal or different lengths.
///
/// To build them, append the items of a vector to [`items_mut`](Self::items_mut), then call [`close_dense`](Self::close_dense) or
/// [`close_sparse`](Self::close_sparse).
///
/// ```
/// use idv::{ItemType, Values, Vectors};
/// # fn main() -> container_core::Result<()> {
/// let mut vectors = Vectors::of(ItemType::Single);
/// for items in [&[1.0_f32, 2.0][..], &[]] {
///     if let Values::Single(floats) = vectors.items_mut() {
///         floats.extend_from_slice(items);
///     }
///     vectors.close_dense()?;
/// }
/// assert_eq!((vectors.len(), vectors.get(0).unwrap().length), (2, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Vectors {
    rows: usize,
    /// The common length; `None` when `lengths` has them.
    length: Option<u32>,
    lengths: Vec<i32>,
    /// Number of stored values, -1 for a dense vector; empty when all are dense and of equal length.
    counts: Vec<i32>,
    /// Start of each row's values and indices; empty when `counts` is.
    value_starts: Vec<usize>,
    index_starts: Vec<usize>,
    indices: Vec<u32>,
    values: Values,
}

/// One vector of a block. Equality compares length, indices and stored values, floats by their bits.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct VectorRef<'a> {
    /// Number of items, stored or not.
    pub length: u32,
    /// Increasing slots of the stored values of a sparse vector; all other slots have the type's default.
    pub indices: Option<&'a [u32]>,
    /// Stored values of the whole block.
    pub values: &'a Values,
    /// The range of `values` that belongs to this vector.
    pub range: Range<usize>,
}

impl Vectors {
    /// Number of vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no vectors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The vector at `index`; `None` past the end.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<VectorRef<'_>> {
        if index >= self.rows {
            return None;
        }
        let length = match self.length {
            Some(length) => length,
            None => u32::try_from(*self.lengths.get(index)?).ok()?,
        };
        let Some(&stored) = self.counts.get(index) else {
            let width = usize::try_from(length).ok()?;
            let start = index.checked_mul(width)?;
            return Some(VectorRef { length, indices: None, values: &self.values, range: start..start + width });
        };
        let start = *self.value_starts.get(index)?;
        let stored = usize::try_from(stored).ok();
        let indices = match stored {
            Some(stored) => {
                let at = *self.index_starts.get(index)?;
                Some(self.indices.get(at..at + stored)?)
            }
            None => None,
        };
        let width = stored.or_else(|| usize::try_from(length).ok())?;
        Some(VectorRef { length, indices, values: &self.values, range: start..start + width })
    }

    /// All vectors in order.
    pub fn iter(&self) -> impl Iterator<Item = VectorRef<'_>> {
        (0..self.rows).filter_map(|index| self.get(index))
    }

    /// All stored values in row order.
    #[must_use]
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The common length when all vectors are dense and equally long: row `i` is then the `i`-th chunk of that length.
    #[must_use]
    pub fn dense_length(&self) -> Option<u32> {
        self.length.filter(|_| self.counts.is_empty())
    }

    /// One sparse vector of texts, for slot names of version 1.1.1.3. Slots increase and are below the length.
    pub(crate) fn of_texts(length: u32, slots: Vec<u32>, texts: super::Texts) -> Self {
        let dense = slots.len() == usize::try_from(length).unwrap_or(usize::MAX);
        let mut vectors = Self { rows: 1, length: Some(length), values: Values::Text(texts), ..Self::default() };
        if !dense {
            // The count comes from an i32.
            vectors.counts.push(i32::try_from(slots.len()).unwrap_or(i32::MAX));
            vectors.value_starts.push(0);
            vectors.index_starts.push(0);
            vectors.indices = slots;
        }
        vectors
    }
}

impl PartialEq for Vectors {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl PartialEq for VectorRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.length == other.length
            && self.indices == other.indices
            && (self.range.is_empty() && other.range.is_empty()
                || self.values.ranges_equal(self.range.clone(), other.values, other.range.clone()))
    }
}

/// Decodes a block of `n` vectors; `size` is the length by type, 0 if variable.
pub(crate) fn decode(
    item: ItemType,
    size: u32,
    n: usize,
    cursor: &mut Cursor<'_>,
    limit: u64,
    out: &mut Vectors,
) -> Result<()> {
    let total_values = decode_layout(item, size, n, cursor, out)?;
    check_bools(item, total_values, limit, cursor)?;
    decode_items(item, total_values, cursor, &mut out.values)
}

/// Decodes the vector layout, which precedes the values. Returns the number of values, for which enough bytes remain.
pub(super) fn decode_layout(
    item: ItemType,
    size: u32,
    n: usize,
    cursor: &mut Cursor<'_>,
    out: &mut Vectors,
) -> Result<usize> {
    out.rows = n;
    out.lengths.clear();
    check_count(cursor, "number of vectors", n)?;
    let at = cursor.offset();
    let stated = count(cursor, "vector length")?;
    let length = u32::try_from(stated).unwrap_or(u32::MAX);
    if size != 0 && length != size {
        return Err(Error::invalid(format!("vector length: expected {size} by type, found {length}")).at(at));
    }
    out.length = Some(length);
    if length == 0 {
        let at = cursor.offset();
        numbers::decode(cursor, n, &mut out.lengths)?;
        check_lengths(&out.lengths, at)?;
        out.length = None;
    }
    let counts_at = cursor.offset();
    numbers::decode(cursor, n, &mut out.counts)?;
    let (total_values, total_indices) = locate_rows(out, counts_at)?;

    let at = cursor.offset();
    let stated = count(cursor, "number of indices")?;
    if stated != total_indices {
        return Err(Error::invalid(format!(
            "number of indices: expected {total_indices} by the counts, found {stated}"
        ))
        .at(at));
    }
    let at = cursor.offset();
    numbers::decode(cursor, total_indices, &mut out.indices)?;
    check_indices(out, at)?;

    // Checked before memory for the values is allocated.
    let next = min_len(item, total_values as u64).unwrap_or(u64::MAX);
    if next > cursor.remaining() as u64 {
        return Err(Error::truncated("values", next, cursor.remaining() as u64).at(cursor.offset()));
    }
    Ok(total_values)
}

fn check_lengths(lengths: &[i32], at: u64) -> Result<()> {
    match lengths.iter().position(|&length| length < 0) {
        None => Ok(()),
        Some(row) => {
            let length = lengths.get(row).copied().unwrap_or(0);
            Err(Error::invalid(format!("vector length {length} of item {row} is negative")).at(at + 4 * row as u64))
        }
    }
}

/// Checks the counts and computes where each vector's values and indices start. Returns their totals.
fn locate_rows(out: &mut Vectors, counts_at: u64) -> Result<(usize, usize)> {
    out.value_starts.clear();
    out.index_starts.clear();
    let overflow = || Error::invalid("the sum of the vector lengths overflows").at(counts_at);
    if let Some(length) = out.length
        && out.counts.iter().all(|&count| count == -1)
    {
        out.counts.clear();
        let total = usize::try_from(length).ok().and_then(|length| length.checked_mul(out.rows));
        return total.map(|total| (total, 0)).ok_or_else(overflow);
    }
    out.value_starts.reserve_exact(out.counts.len());
    out.index_starts.reserve_exact(out.counts.len());
    let (mut values, mut indices) = (0usize, 0usize);
    for (row, &count) in out.counts.iter().enumerate() {
        let length = match out.length {
            Some(length) => length,
            None => out.lengths.get(row).and_then(|&length| u32::try_from(length).ok()).unwrap_or(0),
        };
        out.value_starts.push(values);
        out.index_starts.push(indices);
        let stored = match u32::try_from(count) {
            Ok(count) if count < length || (count == 0 && length == 0) => {
                // At most 2^31 counts below 2^31.
                indices =
                    usize::try_from(count).ok().and_then(|count| indices.checked_add(count)).ok_or_else(overflow)?;
                count
            }
            Err(_) if count == -1 => length,
            _ => {
                let detail = format!("count {count} of item {row} is neither -1 (dense) nor below the length {length}");
                return Err(Error::invalid(detail).at(counts_at + 4 * row as u64));
            }
        };
        values = usize::try_from(stored).ok().and_then(|stored| values.checked_add(stored)).ok_or_else(overflow)?;
    }
    Ok((values, indices))
}

/// Checks that the indices of each sparse vector increase and are below its length.
fn check_indices(out: &Vectors, at: u64) -> Result<()> {
    for (row, (&start, &count)) in out.index_starts.iter().zip(&out.counts).enumerate() {
        let Ok(count) = usize::try_from(count) else { continue };
        let length = match out.length {
            Some(length) => length,
            None => out.lengths.get(row).and_then(|&length| u32::try_from(length).ok()).unwrap_or(0),
        };
        let indices = out.indices.get(start..start + count).unwrap_or_default();
        let mut next = 0;
        for (offset, &index) in indices.iter().enumerate() {
            if index < next || index >= length {
                // As the signed number in the file.
                let shown = i32::from_ne_bytes(index.to_ne_bytes());
                let detail = format!("index {shown} of item {row} is not between {next} and {length} (not included)");
                return Err(Error::invalid(detail).at(at + 4 * (start + offset) as u64));
            }
            next = index + 1;
        }
    }
    Ok(())
}
