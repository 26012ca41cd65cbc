//! Values of a joined variable, piece by piece.

use std::ops::Range;

use container_core::{Error, Limits, Result};

use crate::array::{Array, Mask, Values};
use crate::edit::converted;
use crate::merge::pieces::{CHUNK, rows_at_once};
use crate::merge::plan::{Join, Part};
use crate::read::by_number;
use crate::types::DataType;
use crate::write::Writer;

/// So many times the bytes of a file missing elements may take in memory, whatever the limits.
const GROWTH: u64 = 16;

/// An error, and the dataset in which it happened, if in one.
type Failed = (Option<usize>, Error);

impl Join<'_> {
    /// Appends all rows.
    pub(super) fn write(&self, writer: &mut Writer<'_>) -> Result<(), Failed> {
        match self.axis {
            // Rows are joined from rows of all parts.
            Some(axis) if axis > 0 => self.side_by_side(axis, writer),
            axis => {
                for (dataset, part) in self.parts.iter().enumerate() {
                    let (rows, first) = if axis.is_some() { (part.extent, false) } else { (1, true) };
                    let step = if first { 1 } else { rows_at_once(&self.shape) };
                    let mut at = 0;
                    while at < rows {
                        let end = rows.min(at.saturating_add(step));
                        let piece = if first { self.whole(part) } else { self.piece(part, at..end, None) };
                        let piece = piece.map_err(|error| self.placed(dataset, error))?;
                        writer.append(&piece).map_err(|error| (None, error))?;
                        at = end;
                    }
                }
                Ok(())
            }
        }
    }

    fn placed(&self, dataset: usize, error: Error) -> Failed {
        (Some(dataset), error.in_column(self.name.clone()))
    }

    /// A dataset's values as one row.
    fn whole<'p>(&self, part: &'p Part<'_>) -> Result<Array<'p>> {
        let array = match &part.variable {
            Some(variable) => self.brought(variable.read()?, part)?,
            None => self.missing(1, None)?,
        };
        let (_, values, mask) = array.into_parts();
        let mut shape = self.shape.clone();
        if let Some(first) = shape.first_mut() {
            *first = 1;
        }
        Ok(Array::checked(shape, values, mask))
    }

    /// Rows of a part; `extent` of it along the axis where that is not the first.
    fn piece<'p>(&self, part: &'p Part<'_>, rows: Range<u64>, extent: Option<(usize, u64)>) -> Result<Array<'p>> {
        match &part.variable {
            Some(variable) => self.brought(variable.read_rows(rows)?, part),
            None => self.missing(rows.end - rows.start, extent),
        }
    }

    /// Values in the common type.
    fn brought<'p>(&self, array: Array<'p>, part: &Part<'_>) -> Result<Array<'p>> {
        match part.rebase {
            Some(rebase) => rebase.array(array, self.data_type),
            None => converted(array, self.data_type).map(|(array, _)| array),
        }
    }

    /// Rows of which every element is missing.
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
        let too_many = || Error::usage(format!("{shape:?} elements do not fit into memory"));
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

    /// Elements that are missing take nothing in a file: refuses what would take far more memory than the files can answer for.
    fn check_growth(&self, count: usize) -> Result<()> {
        let width = self.data_type.width().unwrap_or(if self.data_type.is_text() { size_of::<usize>() } else { 1 });
        let bytes = (count as u64).saturating_mul(width as u64);
        let stored = self.parts.iter().filter_map(|part| part.variable.map(|variable| variable.stored_bytes())).max();
        match bytes > stored.unwrap_or(0).saturating_mul(GROWTH) {
            true => Limits::default().check_block("the size of missing elements in memory", bytes),
            false => Ok(()),
        }
    }

    fn side_by_side(&self, axis: usize, writer: &mut Writer<'_>) -> Result<(), Failed> {
        let all = if self.shape.contains(&0) { 0 } else { self.shape.first().copied().unwrap_or(0) };
        let inner = self.shape.iter().skip(axis + 1).product::<u64>(); // no more than all elements, which were counted
        let step = rows_at_once(&self.shape).min(CHUNK);
        let mut at = 0;
        while at < all {
            let end = all.min(at.saturating_add(step));
            let mut pieces = Vec::with_capacity(self.parts.len());
            for (dataset, part) in self.parts.iter().enumerate().filter(|(_, part)| part.extent > 0) {
                let piece = self.piece(part, at..end, Some((axis, part.extent)));
                let piece = piece.map_err(|error| self.placed(dataset, error))?;
                // Elements of the part that stand together.
                let run = usize::try_from(part.extent * inner).unwrap_or(usize::MAX);
                pieces.push((piece, run));
            }
            let joined = self.joined(end - at, &pieces).map_err(|error| (None, error))?;
            writer.append(&joined).map_err(|error| (None, error))?;
            at = end;
        }
        Ok(())
    }

    /// Runs of all pieces in turn.
    fn joined(&self, rows: u64, pieces: &[(Array<'_>, usize)]) -> Result<Array<'static>> {
        let len: usize = pieces.iter().map(|(piece, _)| piece.len()).sum();
        let mut values = Values::with_capacity(self.data_type, len);
        let masked = pieces.iter().any(|(piece, _)| piece.missing() > 0);
        let mut missing = Vec::with_capacity(if masked { len } else { 0 });
        let turns = pieces.iter().map(|(piece, run)| piece.len() / (*run).max(1)).max().unwrap_or(0);
        for turn in 0..turns {
            for (piece, run) in pieces {
                let range = turn * run..(turn + 1) * run;
                values.extend(piece.values(), range.clone());
                if masked {
                    missing.extend(range.map(|index| piece.mask().is_some_and(|mask| mask.is_missing(index))));
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
