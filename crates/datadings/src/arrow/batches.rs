//! Scans samples in batches.

use std::collections::VecDeque;
use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use container_arrow::{BatchScan, BatchSteps, Columns, add_losses};
use container_core::{Error, Loss, Result};

use super::append::Appender;
use super::plan::Plan;
use super::pool::Pool;
use crate::FORMAT_NAME;
use crate::container::DatadingsContainer;
use crate::read::Reader;

/// Fixed-point scale of the number of column bytes per message byte.
const SCALE: u64 = 1024;

/// See the documentation of the module.
pub(super) struct SampleBatches<'a> {
    reader: &'a Reader,
    plan: Plan,
    scan: BatchScan,
    pool: Pool,
    /// Rows for which no batches were made yet.
    left: Range<u64>,
    /// Bytes that every row takes, and the scaled number of column bytes per message byte, known after the first batch.
    row_bytes: u64,
    bytes_per_byte: Option<u64>,
    ready: VecDeque<BatchResult>,
    losses: Vec<Loss>,
}

/// A batch with its losses, or an error.
enum BatchResult {
    Batch(RecordBatch, Vec<Loss>),
    Failed(Error),
}

/// The result of a chunk of rows.
struct Chunk {
    results: Vec<BatchResult>,
    /// Bytes of its columns beyond those that every row takes, and of its messages.
    bytes: u64,
    messages: u64,
}

impl<'a> SampleBatches<'a> {
    pub(super) fn new(container: &'a DatadingsContainer, scan: &BatchScan) -> Result<Self> {
        let pool = Pool::new(scan.scan.threads)?;
        let plan = Plan::new(container, scan, &pool)?;
        let reader = container.reader();
        let row_bytes = Columns::new(plan.schema.clone(), scan, &reader.options.limits)?.row_bytes() as u64;
        let (left, losses, ready) = (plan.rows.clone(), Vec::new(), VecDeque::new());
        Ok(Self { reader, plan, scan: scan.clone(), pool, left, row_bytes, bytes_per_byte: None, ready, losses })
    }

    pub(super) fn into_schema(self) -> SchemaRef {
        self.plan.schema
    }

    /// The rows of the next batch. They depend on the samples only.
    fn next_rows(&mut self) -> Range<u64> {
        let max_bytes = (self.scan.batch_bytes as u64).saturating_mul(SCALE);
        let bytes_per_byte = self.bytes_per_byte.unwrap_or(SCALE);
        let Range { start, end } = self.left;
        let end = end.min(start.saturating_add(self.scan.batch_rows.max(1) as u64));
        let (mut at, mut bytes) = (start, 0_u64);
        while at < end {
            // Invalid offsets are reported when the sample is read.
            let message = self.reader.extent(at).map_or(0, |extent| extent.end - extent.start);
            let row = self.row_bytes.saturating_mul(SCALE).saturating_add(message.saturating_mul(bytes_per_byte));
            bytes = bytes.saturating_add(row);
            if bytes > max_bytes && at > start {
                break;
            }
            at += 1;
        }
        self.left.start = at;
        start..at
    }

    /// Makes the next batches in parallel.
    fn make_next(&mut self) {
        let mut chunks = Vec::new();
        // Begin with a single batch, which shows how large the others will be.
        let concurrency = if self.bytes_per_byte.is_some() { self.pool.concurrency() } else { 1 };
        while chunks.len() < concurrency && !self.left.is_empty() {
            chunks.push(self.next_rows());
        }
        let Self { reader, plan, scan, pool, .. } = self;
        for chunk in pool.map(chunks, |rows| make_chunk(reader, plan, scan, rows)) {
            self.bytes_per_byte.get_or_insert_with(|| {
                let ratio = chunk.bytes.saturating_mul(SCALE).checked_div(chunk.messages);
                ratio.map_or(SCALE, |ratio| ratio.clamp(1, 16 * SCALE))
            });
            self.ready.extend(chunk.results);
        }
    }
}

/// Makes the batches of some rows: one, unless their columns are larger than estimated.
fn make_chunk(reader: &Reader, plan: &Plan, scan: &BatchScan, rows: Range<u64>) -> Chunk {
    let mut chunk = Chunk { results: Vec::new(), bytes: 0, messages: 0 };
    if let Err(error) = append_rows(reader, plan, scan, rows, &mut chunk) {
        chunk.results.push(BatchResult::Failed(error));
    }
    chunk
}

fn append_rows(reader: &Reader, plan: &Plan, scan: &BatchScan, rows: Range<u64>, chunk: &mut Chunk) -> Result<()> {
    let limits = reader.options.limits;
    let mut columns = Columns::new(plan.schema.clone(), scan, &limits)?;
    let mut appender = Appender::new(plan, limits);
    let finish_batch = |columns: &mut Columns, appender: &mut Appender<'_>, chunk: &mut Chunk| {
        let fixed = columns.row_bytes().saturating_mul(columns.len());
        chunk.bytes = chunk.bytes.saturating_add(columns.bytes().saturating_sub(fixed) as u64);
        let mut losses = columns.take_losses();
        add_losses(&mut losses, appender.take_losses());
        columns.finish().map(|batch| chunk.results.push(BatchResult::Batch(batch, losses)))
    };
    let mut failed = None;
    for sample in reader.samples(rows)? {
        let result = sample.and_then(|sample| {
            chunk.messages = chunk.messages.saturating_add(sample.as_bytes().len() as u64);
            appender.append(&sample, &mut columns)
        });
        if let Err(error) = result {
            failed = Some(error);
            break;
        }
        if columns.is_full() {
            finish_batch(&mut columns, &mut appender, chunk)?;
        }
    }
    if !columns.is_empty() {
        finish_batch(&mut columns, &mut appender, chunk)?;
    }
    failed.map_or(Ok(()), Err)
}

impl BatchSteps for SampleBatches<'_> {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            match self.ready.pop_front() {
                Some(BatchResult::Batch(batch, losses)) => {
                    add_losses(&mut self.losses, losses);
                    return Ok(Some(batch));
                }
                Some(BatchResult::Failed(error)) => return Err(error.in_format(FORMAT_NAME)),
                None if self.left.is_empty() => return Ok(None),
                None => self.make_next(),
            }
        }
    }

    fn schema(&self) -> SchemaRef {
        self.plan.schema.clone()
    }

    fn losses(&self) -> Vec<Loss> {
        self.losses.clone()
    }
}
