use std::ops::Range;

use container_core::{Result, Scan};

use super::Reader;
use super::block::ScratchPool;
use super::budget::{Budget, Cost};
use super::block_request::BlockRequest;
use super::block_scan::{BlockDecoder, Slot, BlockScan};
use crate::codec::Values;

/// Columns over a range of rows, some rows at a time, in order: the fastest way through a file.
///
/// A batch reaches to the end of the nearest block of any column, so it is a block where all columns have equal blocks
/// (all files of ML.NET). With feature `parallel` blocks are decoded ahead by the threads of rayon's pool; memory is a few
/// blocks a thread, whatever the file's size, and never more than [`Limits::memory_bytes`](container_core::Limits::memory_bytes).
pub struct Batches {
    scan: BlockScan<ValuesDecoder>,
}

/// Blocks as values.
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

    fn make(&self, reader: &Reader, place: BlockRequest, mut values: Values) -> Result<Values> {
        self.scratch_pool.with(reader, |scratch| reader.read_rows(&place, &mut values, scratch))?;
        Ok(values)
    }
}

/// Some rows of the columns of a scan.
#[derive(Clone)]
pub struct Batch<'a> {
    slots: &'a [Slot<Values>],
    rows: Range<u64>,
}

/// One column of a batch: a run of values of a decoded block.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ColumnSlice<'a> {
    /// The values of the block the rows lie in, those at its end maybe left out.
    pub values: &'a Values,
    /// Which of them are the batch's.
    pub range: Range<usize>,
}

impl<'a> ColumnSlice<'a> {
    /// A run of values.
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
    /// The rows, counted from the beginning of the file.
    #[must_use]
    pub fn rows(&self) -> Range<u64> {
        self.rows.clone()
    }

    /// How many rows there are; never 0.
    #[must_use]
    pub fn row_count(&self) -> usize {
        usize::try_from(self.rows.end - self.rows.start).unwrap_or(usize::MAX)
    }

    /// How many columns there are.
    #[must_use]
    pub fn column_count(&self) -> usize {
        self.slots.len()
    }

    /// A column, counted in the order of the scan.
    #[must_use]
    pub fn column(&self, index: usize) -> Option<ColumnSlice<'a>> {
        self.slots.get(index).map(|slot| {
            // Both ends lie in the slot's block, whose length is a usize.
            let place = |row: u64| usize::try_from(row - slot.rows.start).unwrap_or(usize::MAX);
            ColumnSlice { values: &slot.block, range: place(self.rows.start)..place(self.rows.end) }
        })
    }
}

impl Reader {
    /// Walks over columns in batches of rows: those of the scan in its order, or all readable ones.
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
    /// [`Usage`](container_core::ErrorKind::Usage) for a column that does not exist and for rows that begin past the end; why a
    /// column asked for, or each of all, is unreadable. [`Limit`](container_core::ErrorKind::Limit) comes with the batch whose blocks take more than
    /// [`Limits::memory_bytes`](container_core::Limits::memory_bytes).
    pub fn batches(&self, scan: &Scan) -> Result<Batches> {
        let columns = match &scan.columns {
            Some(columns) => columns.clone(),
            None => self.readable(),
        };
        Ok(Batches { scan: BlockScan::new(self, columns, scan, ValuesDecoder::default(), self.memory_budget())? })
    }
}

impl Batches {
    /// The next batch; `None` at the end, and after an error from then on.
    ///
    /// # Errors
    /// All that is wrong with a block, as [`Reader::read_block`] says.
    pub fn try_next(&mut self) -> Result<Option<Batch<'_>>> {
        Ok(if self.advance()? { self.current() } else { None })
    }

    /// Goes to the next batch; false at the end, and after an error from then on.
    pub(super) fn advance(&mut self) -> Result<bool> {
        self.scan.advance()
    }

    /// What is charged for all that the scan holds.
    pub(super) fn budget(&mut self) -> &mut Budget {
        self.scan.budget()
    }

    /// What the decoded blocks of the current batch take.
    pub(super) fn decoded_bytes(&self) -> u64 {
        self.scan.decoded_bytes()
    }

    /// The batch that [`advance`](Self::advance) went to.
    pub(super) fn current(&self) -> Option<Batch<'_>> {
        let rows = self.scan.rows();
        (!rows.is_empty()).then(|| Batch { slots: &self.scan.slots, rows })
    }
}
