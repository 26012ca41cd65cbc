use std::ops::Range;

use container_core::{Result, Scan};

use super::Reader;
use super::block::ScratchPool;
use super::block_request::BlockRequest;
use super::block_scan::{BlockDecoder, BlockScan, Slot};
use super::budget::{Budget, Cost};
use crate::codec::Values;

/// Batches of rows over selected columns, in order: the fastest way to read a file.
///
/// A batch ends at the nearest block end of any column, so it is one block when all columns have the same rows per block (as in all files
/// of ML.NET). With feature `parallel`, rayon's threads decode blocks ahead. Memory is a few blocks per thread, independent of file size,
/// and at most [`Limits::memory_bytes`](container_core::Limits::memory_bytes).
pub struct Batches {
    scan: BlockScan<ValuesDecoder>,
}

/// Decodes blocks into [`Values`].
#[derive(Default)]
struct ValuesDecoder {
    scratch_pool: ScratchPool,
}

impl BlockDecoder for ValuesDecoder {
    type Block = Values;
    const REUSED: bool = true;

    fn cost(values: Cost) -> Cost {
        values
    }

    fn decode(&self, reader: &Reader, request: BlockRequest, mut values: Values) -> Result<Values> {
        self.scratch_pool.with(reader, |scratch| reader.read_rows(&request, &mut values, scratch))?;
        Ok(values)
    }
}

/// A batch of rows of the selected columns.
#[derive(Clone)]
pub struct Batch<'a> {
    slots: &'a [Slot<Values>],
    rows: Range<u64>,
}

/// One column of a batch: a range of a decoded block.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ColumnSlice<'a> {
    /// The values of the block, possibly without those at its end.
    pub values: &'a Values,
    /// The range of `values` that belongs to the batch.
    pub range: Range<usize>,
}

impl<'a> ColumnSlice<'a> {
    /// A range of values.
    #[must_use]
    pub const fn new(values: &'a Values, range: Range<usize>) -> Self {
        Self { values, range }
    }
}

impl<'a> From<&'a Values> for ColumnSlice<'a> {
    fn from(values: &'a Values) -> Self {
        Self { values, range: 0..values.len() }
    }
}

impl<'a> Batch<'a> {
    /// Row numbers, counted from the start of the file.
    #[must_use]
    pub fn rows(&self) -> Range<u64> {
        self.rows.clone()
    }

    /// Number of rows, at least 1.
    #[must_use]
    pub fn row_count(&self) -> usize {
        usize::try_from(self.rows.end - self.rows.start).unwrap_or(usize::MAX)
    }

    /// Number of columns.
    #[must_use]
    pub fn column_count(&self) -> usize {
        self.slots.len()
    }

    /// A column by its index in the projection.
    #[must_use]
    pub fn column(&self, index: usize) -> Option<ColumnSlice<'a>> {
        self.slots.get(index).map(|slot| {
            // Both ends are in the block, whose length is a usize.
            let offset = |row: u64| usize::try_from(row - slot.rows.start).unwrap_or(usize::MAX);
            ColumnSlice { values: &slot.block, range: offset(self.rows.start)..offset(self.rows.end) }
        })
    }
}

impl Reader {
    /// Reads the columns of the scan (default: all readable ones) in batches of rows.
    ///
    /// ```
    /// # fn main() -> container_core::Result<()> {
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/scalar-mixed-none.idv");
    /// use idv::Reader;
    /// use container_core::Scan;
    ///
    /// let reader = Reader::open(path)?;
    /// let mut batches = reader.batches(&Scan::default())?;
    /// let mut rows = 0;
    /// while let Some(batch) = batches.try_next()? {
    ///     rows += batch.row_count();
    /// }
    /// assert_eq!(rows as u64, reader.row_count());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a column that does not exist or rows that start past the end; the reason why a
    /// selected column, or every column, is unreadable. A batch whose blocks exceed
    /// [`Limits::memory_bytes`](container_core::Limits::memory_bytes) fails with [`Limit`](container_core::ErrorKind::Limit).
    pub fn batches(&self, scan: &Scan) -> Result<Batches> {
        let columns = match &scan.columns {
            Some(columns) => columns.clone(),
            None => self.readable(),
        };
        Ok(Batches { scan: BlockScan::new(self, columns, scan, ValuesDecoder::default(), self.memory_budget())? })
    }
}

impl Batches {
    /// The next batch; `None` at the end and after an error.
    ///
    /// # Errors
    /// As [`Reader::read_block`].
    pub fn try_next(&mut self) -> Result<Option<Batch<'_>>> {
        Ok(if self.advance()? { self.current() } else { None })
    }

    /// Moves to the next batch; false at the end and after an error.
    pub(super) fn advance(&mut self) -> Result<bool> {
        self.scan.advance()
    }

    /// The memory budget of the scan.
    pub(super) fn budget(&mut self) -> &mut Budget {
        self.scan.budget()
    }

    /// Memory of the decoded blocks of the current batch, in bytes.
    pub(super) fn decoded_bytes(&self) -> u64 {
        self.scan.decoded_bytes()
    }

    /// The current batch.
    pub(super) fn current(&self) -> Option<Batch<'_>> {
        let rows = self.scan.rows();
        (!rows.is_empty()).then(|| Batch { slots: &self.scan.slots, rows })
    }
}
