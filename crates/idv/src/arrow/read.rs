//! Reading record batches.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use container_arrow::{ArrowTable, BatchReader, BatchScan, BatchSteps, StepReader, from_arrow};
use container_core::{Error, Loss, Position, Result};

use super::lists::BlockArray;
use super::plan::{ColumnPlan, Plan};
use super::tally::{Rows, Tally};
use crate::FORMAT_NAME;
use crate::codec::shared::SharedBlock;
use crate::container::IdvContainer;
use crate::read::block::ScratchPool;
use crate::read::block_scan::{BlockDecoder, BlockScan, Slot};
use crate::read::budget::Cost;
use crate::read::{BlockRequest, Reader};

/// Batches smaller than this fraction of the requested rows and bytes are concatenated.
const MIN_BATCH_DIVISOR: usize = 8;

/// An iterator of record batches, from [`Reader::record_batches`].
///
/// Shares the file with the [`Reader`] and may outlive it. Ends after an error.
pub type RecordBatches = StepReader<Steps>;

/// The state of [`RecordBatches`].
pub struct Steps {
    scan: BlockScan<ArrowDecoder>,
    schema: SchemaRef,
    left_out: Vec<Loss>,
    tallies: Vec<Tally>,
    /// First row of the next batch.
    at: u64,
    most_rows: usize,
    most_bytes: u64,
    /// Maximum bytes of a row.
    row_bytes: u64,
    /// An error to return after the current batch.
    failed: Option<Error>,
}

/// Decodes blocks into arrays.
struct ArrowDecoder {
    columns: Vec<ColumnPlan>,
    scratch_pool: ScratchPool,
}

/// Rows of a block as an array, and their losses.
#[derive(Default)]
struct Block {
    array: BlockArray,
    /// First row of the array.
    first: u64,
    tally: Tally,
}

impl BlockDecoder for ArrowDecoder {
    type Block = Block;
    const REUSED: bool = false;

    fn cost(values: Cost) -> Cost {
        // Converted arrays exist next to the values.
        Cost { decoded: values.decoded, peak: values.peak.saturating_add(values.decoded) }
    }

    fn decode(&self, reader: &Reader, request: BlockRequest, _: Block) -> Result<Block> {
        let shared = self.scratch_pool.with(reader, |scratch| reader.shared_block(&request, scratch))?;
        let all = reader.block_rows(request.column, request.block)?;
        let Some(plan) = self.columns.get(request.slot) else { return Ok(Block::default()) };
        plan.build(shared, &request.rows, all.start)
            .map_err(|error| error.in_column(plan.name.to_string()).in_block(request.block).in_format(FORMAT_NAME))
    }
}

impl ColumnPlan {
    /// Converts the requested rows of a block that starts with row `start`.
    fn build(&self, shared: SharedBlock, requested: &Range<u64>, start: u64) -> Result<Block> {
        // Rows of a block fit a usize.
        let offset = |row: u64| usize::try_from(row - start).unwrap_or(usize::MAX);
        let rows = offset(requested.start)..offset(requested.end);
        let mut tally = Tally::default();
        let array = match (&self.list, shared.vectors) {
            (Some(list), Some(vectors)) => {
                let items = vectors.item_start(rows.start)..vectors.item_start(rows.end);
                let row_of = |item: usize| start + row_of(&vectors, &rows, items.start + item) as u64;
                let array = self.item.build(shared.items, items.clone(), &Rows(&row_of), &mut tally)?;
                list.build(vectors, rows, array, || self.item.default_item(requested.start))?
            }
            _ => {
                let row_of = |item: usize| requested.start + item as u64;
                BlockArray::Array(self.item.build(shared.items, rows, &Rows(&row_of), &mut tally)?)
            }
        };
        Ok(Block { array, first: requested.start, tally })
    }
}

/// The row of an item, by binary search.
fn row_of(vectors: &crate::Vectors, rows: &Range<usize>, item: usize) -> usize {
    let (mut low, mut high) = (rows.start, rows.end);
    // The last row that starts at the item or before.
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if vectors.item_start(middle) <= item {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

impl Reader {
    /// Reads the columns of the scan (default: all readable ones) as record batches. See [`arrow`](crate::arrow) for the type mapping and
    /// what is zero-copy.
    ///
    /// ```
    /// # fn main() -> container_core::Result<()> {
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/real-adult.idv");
    /// use container_arrow::{BatchReader, BatchScan};
    ///
    /// let reader = idv::Reader::open(path)?;
    /// let mut batches = reader.record_batches(&BatchScan::default())?;
    /// let mut rows = 0;
    /// while let Some(batch) = batches.try_next()? {
    ///     rows += batch.num_rows() as u64;
    /// }
    /// assert_eq!(rows, reader.row_count());
    /// assert!(batches.losses().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`batches`](Self::batches); any defect of a column's metadata; [`Usage`](container_core::ErrorKind::Usage) for a declared schema.
    pub fn record_batches(&self, scan: &BatchScan) -> Result<RecordBatches> {
        let Plan { indices, columns, schema, left_out, budget } = Plan::new(self, scan)?;
        let tallies = vec![Tally::default(); columns.len()];
        let decoder = ArrowDecoder { columns, scratch_pool: ScratchPool::default() };
        let blocks = BlockScan::new(self, indices, &scan.scan, decoder, budget)?;
        let at = blocks.rows().start;
        // Offsets of texts and lists are 32 bits wide.
        let most_bytes = (scan.batch_bytes as u64).min(self.row_bytes()).min(0x7FFF_FFFF);
        let most_rows = scan.batch_rows.max(1);
        let row_bytes = self.row_bytes();
        Ok(StepReader::new(Steps {
            scan: blocks,
            schema,
            left_out,
            tallies,
            at,
            most_rows,
            most_bytes,
            row_bytes,
            failed: None,
        }))
    }

    /// The schema of [`record_batches`](Self::record_batches) for the same scan. Reads the metadata.
    ///
    /// # Errors
    /// As [`record_batches`](Self::record_batches).
    pub fn arrow_schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        Ok(Plan::new(self, scan)?.schema)
    }
}

impl Steps {
    /// Ensures that rows remain in the current step; false at the end.
    fn advance(&mut self) -> Result<bool> {
        if self.at < self.scan.rows().end {
            return Ok(true);
        }
        if !self.scan.advance()? {
            return Ok(false);
        }
        for (slot, tally) in self.scan.slots.iter_mut().zip(&mut self.tallies) {
            tally.merge(&std::mem::take(&mut slot.block.tally));
        }
        Ok(true)
    }

    /// Approximate bytes of the next `rows` rows.
    fn bytes(&self, rows: usize) -> u64 {
        let of = |slot: &Slot<Block>| slot.block.array.bytes(self.range_in(&slot.block, rows));
        self.scan.slots.iter().map(of).fold(0, u64::saturating_add)
    }

    /// Range of the next `rows` rows within a block's array.
    fn range_in(&self, block: &Block, rows: usize) -> Range<usize> {
        let start = usize::try_from(self.at - block.first).unwrap_or(usize::MAX);
        start..start + rows
    }

    /// Number and bytes of the next rows within the limits.
    fn fitting(&self, rows: usize, bytes: u64) -> (usize, u64) {
        let left = usize::try_from(self.scan.rows().end - self.at).unwrap_or(usize::MAX).min(rows);
        let all = self.bytes(left);
        if all <= bytes {
            return (left, all);
        }
        let (mut low, mut high) = (0, left);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.bytes(middle) <= bytes {
                low = middle;
            } else {
                high = middle;
            }
        }
        (low, self.bytes(low))
    }

    /// Fails when the next row exceeds the row limit, naming its largest column.
    fn check_row(&self) -> Result<()> {
        let (bytes, limit) = (self.bytes(1), self.row_bytes);
        if bytes <= limit {
            return Ok(());
        }
        let columns = self.scan.slots.iter().zip(&self.scan.context.decoder.columns);
        let largest = columns.max_by_key(|(slot, _)| slot.block.array.bytes(self.range_in(&slot.block, 1)));
        let what = match largest {
            Some((slot, _)) if slot.block.array.is_sparse() => "bytes of a row with its sparse vectors made dense",
            _ => "bytes of a row",
        };
        let error = Error::limit(what, bytes, limit).in_row(self.at).in_format(FORMAT_NAME);
        Err(match largest {
            Some((_, plan)) => error.in_column(plan.name.to_string()),
            None => error,
        })
    }

    /// Returns the next rows as a batch.
    fn take(&mut self, rows: usize) -> Result<RecordBatch> {
        let slots = self.scan.slots.iter().zip(&self.scan.context.decoder.columns);
        let arrays = slots.map(|(slot, plan)| {
            let array = slot.block.array.rows(self.range_in(&slot.block, rows));
            array.map_err(|error| error.in_row(self.at).in_column(plan.name.to_string()).in_format(FORMAT_NAME))
        });
        let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
        self.at += rows as u64;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options).map_err(from_arrow)
    }
}

impl BatchSteps for Steps {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        // Small batches are concatenated.
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut parts: Vec<RecordBatch> = Vec::new();
        let (mut rows, mut bytes) = (0, 0);
        let (few_rows, few_bytes) = (self.most_rows / MIN_BATCH_DIVISOR, self.most_bytes / MIN_BATCH_DIVISOR as u64);
        let outcome = loop {
            match self.advance() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
            let (fit, more) = self.fitting(self.most_rows - rows, self.most_bytes - bytes);
            let enough = fit >= few_rows.max(1) || more >= few_bytes.max(1);
            if !parts.is_empty() && (fit == 0 || enough) {
                // Large batches are not copied.
                break Ok(());
            }
            let taken = if fit == 0 { self.check_row() } else { Ok(()) };
            match taken.and_then(|()| self.take(fit.max(1))) {
                Ok(part) => parts.push(part),
                Err(error) => break Err(error),
            }
            (rows, bytes) = (rows + fit.max(1), bytes.saturating_add(more).min(self.most_bytes));
            if enough || fit == 0 || rows >= few_rows || bytes >= few_bytes {
                break Ok(());
            }
        };
        if let Err(error) = outcome {
            if parts.is_empty() {
                return Err(error);
            }
            self.failed = Some(error);
        }
        match parts.len() {
            0 | 1 => Ok(parts.pop()),
            _ => concat_batches(&self.schema, &parts).map(Some).map_err(from_arrow),
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn losses(&self) -> Vec<Loss> {
        let mut losses = self.left_out.clone();
        for (tally, plan) in self.tallies.iter().zip(&self.scan.context.decoder.columns) {
            for (what, count) in [
                ("key above its count shown as null", tally.bad_keys),
                ("time truncated to the microsecond", tally.cut),
            ] {
                if count.times > 0 {
                    let first = Position::of_column(plan.name.to_string()).in_row(count.first);
                    losses.push(Loss::new(what, count.times, first));
                }
            }
        }
        losses
    }
}

impl ArrowTable for IdvContainer {
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        self.reader().arrow_schema(scan)
    }

    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        Ok(Box::new(self.reader().record_batches(scan)?))
    }
}
