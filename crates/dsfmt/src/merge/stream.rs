//! Streams the values of a merged variable in chunks.

use std::ops::Range;

use container_core::{Error, Limits, Result};

use crate::array::{Array, Mask, Values};
use crate::edit::converted;
use crate::merge::plan::{Join, Part};
use crate::read::{CHUNK_ELEMENTS, by_number, rows_at_once};
use crate::types::DataType;
use crate::write::Writer;

/// Growth from file to memory of missing elements that is allowed whatever the limits.
const FREE_GROWTH: u64 = 16;

/// An error, and the index of the dataset that caused it, if any.
type Failed = (Option<usize>, Error);

impl Join<'_> {
    /// Appends all rows of the variable.
    pub(super) fn write(&self, writer: &mut Writer<'_>) -> Result<(), Failed> {
        match self.axis {
            // Each row combines rows of all parts.
            Some(axis) if axis > 0 => self.write_interleaved(axis, writer),
            axis => {
                for (dataset, part) in self.parts.iter().enumerate() {
                    let (rows, first) = if axis.is_some() { (part.extent, false) } else { (1, true) };
                    let step = if first { 1 } else { rows_at_once(&self.shape) };
                    let mut at = 0;
                    while at < rows {
                        let end = rows.min(at.saturating_add(step));
                        let chunk = if first { self.whole(part) } else { self.chunk(part, at..end, None) };
                        let chunk = chunk.map_err(|error| self.in_dataset(dataset, error))?;
                        writer.append(&chunk).map_err(|error| (None, error))?;
                        at = end;
                    }
                }
                Ok(())
            }
        }
    }

    fn in_dataset(&self, dataset: usize, error: Error) -> Failed {
        (Some(dataset), error.in_column(self.name.clone()))
    }

    /// All values of a dataset as one row.
    fn whole<'p>(&self, part: &'p Part<'_>) -> Result<Array<'p>> {
        let array = match &part.variable {
            Some(variable) => self.convert(variable.read()?, part)?,
            None => self.missing(1, None)?,
        };
        let (_, values, mask) = array.into_parts();
        let mut shape = self.shape.clone();
        if let Some(first) = shape.first_mut() {
            *first = 1;
        }
        Ok(Array::new_unchecked(shape, values, mask))
    }

    /// A row range of a part. `extent` gives its size along an axis that is not the first.
    fn chunk<'p>(&self, part: &'p Part<'_>, rows: Range<u64>, extent: Option<(usize, u64)>) -> Result<Array<'p>> {
        match &part.variable {
            Some(variable) => self.convert(variable.read_rows(rows)?, part),
            None => self.missing(rows.end - rows.start, extent),
        }
    }

    /// Converts to the common type, and to the common time units.
    fn convert<'p>(&self, array: Array<'p>, part: &Part<'_>) -> Result<Array<'p>> {
        match part.rebase {
            Some(rebase) => rebase.array(array, self.data_type),
            None => converted(array, self.data_type).map(|(array, _)| array),
        }
    }

    /// Rows whose elements are all missing.
    fn missing(&self, rows: u64, extent: Option<(usize, u64)>) -> Result<Array<'static>> {
        let mut shape = self.shape.clone();
        if let Some(first) = shape.first_mut() {
            *first = rows;
        }
        if let Some((axis, extent)) = extent
            && let Some(size) = shape.get_mut(axis)
        {
            *size = extent;
        }
        let count = shape.iter().try_fold(1u64, |all, size| all.checked_mul(*size));
        let too_many = || Error::usage(format!("shape {shape:?} does not fit in memory"));
        let count = count.and_then(|count| usize::try_from(count).ok()).ok_or_else(too_many)?;
        self.check_growth(count)?;
        let values = by_number!(self.data_type,
            Number => Values::from(vec![Number::default(); count]),
            DataType::Bool => Values::from(vec![false; count]),
            DataType::Str => Values::Str(std::iter::repeat_n(&b""[..], count).collect()),
            DataType::Unicode => Values::Unicode(std::iter::repeat_n(&b""[..], count).collect())
        );
        let mask = Mask::from_bits(vec![0xff; count.div_ceil(8)], count)?;
        Array::new(shape, values)?.with_mask(mask)
    }

    /// Rejects missing elements, which take no space in a file, when they would need far more memory than the files justify.
    fn check_growth(&self, count: usize) -> Result<()> {
        let width = self.data_type.width().unwrap_or(if self.data_type.is_text() { size_of::<usize>() } else { 1 });
        let bytes = (count as u64).saturating_mul(width as u64);
        let stored = self.parts.iter().filter_map(|part| part.variable.map(|variable| variable.stored_bytes())).max();
        match bytes > stored.unwrap_or(0).saturating_mul(FREE_GROWTH) {
            true => Limits::default().check_block("size of missing elements in memory", bytes),
            false => Ok(()),
        }
    }

    fn write_interleaved(&self, axis: usize, writer: &mut Writer<'_>) -> Result<(), Failed> {
        let all = if self.shape.contains(&0) { 0 } else { self.shape.first().copied().unwrap_or(0) };
        let inner = self.shape.iter().skip(axis + 1).product::<u64>(); // at most the total, which was checked
        let step = rows_at_once(&self.shape).min(CHUNK_ELEMENTS);
        let mut at = 0;
        while at < all {
            let end = all.min(at.saturating_add(step));
            let mut chunks = Vec::with_capacity(self.parts.len());
            for (dataset, part) in self.parts.iter().enumerate().filter(|(_, part)| part.extent > 0) {
                let chunk = self.chunk(part, at..end, Some((axis, part.extent)));
                let chunk = chunk.map_err(|error| self.in_dataset(dataset, error))?;
                // Number of consecutive elements of the part.
                let run = usize::try_from(part.extent * inner).unwrap_or(usize::MAX);
                chunks.push((chunk, run));
            }
            let joined = self.interleave(end - at, &chunks).map_err(|error| (None, error))?;
            writer.append(&joined).map_err(|error| (None, error))?;
            at = end;
        }
        Ok(())
    }

    /// Concatenates one run of each chunk in turn.
    fn interleave(&self, rows: u64, chunks: &[(Array<'_>, usize)]) -> Result<Array<'static>> {
        let len: usize = chunks.iter().map(|(chunk, _)| chunk.len()).sum();
        let mut values = Values::with_capacity(self.data_type, len);
        let masked = chunks.iter().any(|(chunk, _)| chunk.missing() > 0);
        let mut missing = Vec::with_capacity(if masked { len } else { 0 });
        let turns = chunks.iter().map(|(chunk, run)| chunk.len() / (*run).max(1)).max().unwrap_or(0);
        for turn in 0..turns {
            for (chunk, run) in chunks {
                let range = turn * run..(turn + 1) * run;
                values.extend(chunk.values(), range.clone());
                if masked {
                    missing.extend(range.map(|index| chunk.mask().is_some_and(|mask| mask.is_missing(index))));
                }
            }
        }
        let mut shape = self.shape.clone();
        if let Some(first) = shape.first_mut() {
            *first = rows;
        }
        let array = Array::new(shape, values)?;
        if masked { array.with_mask(Mask::from_bools(missing)) } else { Ok(array) }
    }
}
