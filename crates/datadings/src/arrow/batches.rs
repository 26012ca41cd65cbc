//! A walk over samples in batches.

use std::collections::VecDeque;
use std::ops::Range;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use container_arrow::{BatchReader, BatchScan, Columns, add_losses, to_arrow};
use container_core::{Error, Loss, Result};

use super::append::Appender;
use super::plan::Plan;
use super::pool::Pool;
use crate::FORMAT_NAME;
use crate::container::DatadingsContainer;
use crate::read::Reader;

/// Parts in which the bytes of columns are counted for each byte of a message.
const PARTS: u64 = 1024;

/// See the page of the module.
pub(super) struct SampleBatches<'a> {
    reader: &'a Reader,
    plan: Plan,
    scan: BatchScan,
    pool: Pool,
    /// Samples of which no batches were made yet.
    left: Range<u64>,
    /// Bytes that a row takes whatever it has, and parts of a byte for each byte of its message: known when there is a first batch.
    row_bytes: u64,
    parts: Option<u64>,
    ready: VecDeque<Step>,
    losses: Vec<Loss>,
}

/// What comes of some samples.
enum Step {
    Batch(RecordBatch, Vec<Loss>),
    Failed(Error),
}

/// What comes of a piece of samples.
struct Piece {
    steps: Vec<Step>,
    /// Bytes of its columns beyond those that rows take in any case, and of its messages.
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
        Ok(Self { reader, plan, scan: scan.clone(), pool, left, row_bytes, parts: None, ready, losses })
    }

    pub(super) fn into_schema(self) -> SchemaRef {
        self.plan.schema
    }

    /// The samples of the next batch. Where it ends depends on the samples alone.
    fn cut(&mut self) -> Range<u64> {
        let most = (self.scan.batch_bytes as u64).saturating_mul(PARTS);
        let parts = self.parts.unwrap_or(PARTS);
        let Range { start, end } = self.left;
        let end = end.min(start.saturating_add(self.scan.batch_rows.max(1) as u64));
        let (mut at, mut bytes) = (start, 0_u64);
        while at < end {
            // What is wrong with its place is told when it is read.
            let message = self.reader.extent(at).map_or(0, |extent| extent.end - extent.start);
            let row = self.row_bytes.saturating_mul(PARTS).saturating_add(message.saturating_mul(parts));
            bytes = bytes.saturating_add(row);
            if bytes > most && at > start {
                break;
            }
            at += 1;
        }
        self.left.start = at;
        start..at
    }

    /// Makes the next batches, side by side.
    fn go_on(&mut self) {
        let mut pieces = Vec::new();
        // The first one alone: it tells how large the others are.
        let ahead = if self.parts.is_some() { self.pool.ahead() } else { 1 };
        while pieces.len() < ahead && !self.left.is_empty() {
            pieces.push(self.cut());
        }
        let Self { reader, plan, scan, pool, .. } = self;
        for piece in pool.side_by_side(pieces, |rows| make(reader, plan, scan, rows)) {
            self.parts.get_or_insert_with(|| {
                let parts = piece.bytes.saturating_mul(PARTS).checked_div(piece.messages);
                parts.map_or(PARTS, |parts| parts.clamp(1, 16 * PARTS))
            });
            self.ready.extend(piece.steps);
        }
    }

    fn step(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            match self.ready.pop_front() {
                Some(Step::Batch(batch, losses)) => {
                    add_losses(&mut self.losses, losses);
                    return Ok(Some(batch));
                }
                Some(Step::Failed(error)) => {
                    self.left.start = self.left.end;
                    self.ready.clear();
                    return Err(error.in_format(FORMAT_NAME));
                }
                None if self.left.is_empty() => return Ok(None),
                None => self.go_on(),
            }
        }
    }
}

/// Makes the batches of some samples: one, unless their columns are larger than their messages let expect.
fn make(reader: &Reader, plan: &Plan, scan: &BatchScan, rows: Range<u64>) -> Piece {
    let mut piece = Piece { steps: Vec::new(), bytes: 0, messages: 0 };
    if let Err(error) = fill(reader, plan, scan, rows, &mut piece) {
        piece.steps.push(Step::Failed(error));
    }
    piece
}

fn fill(reader: &Reader, plan: &Plan, scan: &BatchScan, rows: Range<u64>, piece: &mut Piece) -> Result<()> {
    let limits = reader.options.limits;
    let mut columns = Columns::new(plan.schema.clone(), scan, &limits)?;
    let mut appender = Appender::new(plan, limits);
    let end = |columns: &mut Columns, appender: &mut Appender<'_>, piece: &mut Piece| {
        let fixed = columns.row_bytes().saturating_mul(columns.len());
        piece.bytes = piece.bytes.saturating_add(columns.bytes().saturating_sub(fixed) as u64);
        let mut losses = columns.take_losses();
        add_losses(&mut losses, appender.take_losses());
        columns.finish().map(|batch| piece.steps.push(Step::Batch(batch, losses)))
    };
    let mut failed = None;
    for sample in reader.samples(rows)? {
        let done = sample.and_then(|sample| {
            piece.messages = piece.messages.saturating_add(sample.as_bytes().len() as u64);
            appender.append(&sample, &mut columns)
        });
        if let Err(error) = done {
            failed = Some(error);
            break;
        }
        if columns.is_full() {
            end(&mut columns, &mut appender, piece)?;
        }
    }
    if !columns.is_empty() {
        end(&mut columns, &mut appender, piece)?;
    }
    failed.map_or(Ok(()), Err)
}

impl Iterator for SampleBatches<'_> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().map_err(to_arrow).transpose()
    }
}

impl RecordBatchReader for SampleBatches<'_> {
    fn schema(&self) -> SchemaRef {
        self.plan.schema.clone()
    }
}

impl BatchReader for SampleBatches<'_> {
    fn losses(&self) -> Vec<Loss> {
        self.losses.clone()
    }
}
