//! Scans the blocks of several columns in row order, decoding ahead on other threads. Used by `Batches` and `RecordBatches`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use container_core::{Error, Result, Scan, parallel};

use super::Reader;
use super::block_request::BlockRequest;
use super::budget::{Budget, Cost};
use crate::FORMAT_NAME;
use crate::lookahead::{Job, Worker};
use crate::wire::{Compression, ItemType, Type};

/// Maximum bytes decoded ahead, beyond one block per thread.
const AHEAD_BYTES: u64 = 64 << 20;

/// Maximum rows of a scan without columns, as a header can declare any number.
const MAX_ROWS_WITHOUT_COLUMNS: u64 = 1 << 16;

/// What the memory of simultaneously decoded blocks is called in errors.
pub(crate) const SAME_ROWS: &str = "memory for the decoded blocks of the same rows";

/// Rows per step of a scan without columns.
const ROWS_WITHOUT_COLUMNS: u64 = 8192;

/// Decodes blocks into a representation.
pub(crate) trait BlockDecoder: Send + Sync + 'static {
    /// A decoded block.
    type Block: Send + Default + 'static;
    /// Whether the memory of a finished block is reused.
    const REUSED: bool;

    /// Memory of a block, given its memory as [`Values`](crate::Values).
    fn cost(values: Cost) -> Cost;

    /// Decodes a block, at least its requested rows; the memory of `old` may be reused.
    fn decode(&self, reader: &Reader, request: BlockRequest, old: Self::Block) -> Result<Self::Block>;
}

/// A scan over the blocks of several columns. Each step ends at the nearest block end of any column.
pub(crate) struct BlockScan<M: BlockDecoder> {
    pub(crate) context: Arc<ScanContext<M>>,
    /// Per column, the block that contains the current step.
    pub(crate) slots: Vec<Slot<M::Block>>,
    /// Blocks to decode, in order: first row, slot, block.
    plan: BinaryHeap<Reverse<(u64, usize, u64)>>,
    /// Memory of all blocks that are current, being decoded, or kept for reuse.
    budget: Budget,
    ahead: Ahead<M>,
    /// Rows of the current step.
    current: Range<u64>,
    row_range: Range<u64>,
    failed: bool,
}

/// What threads need to decode blocks.
pub(crate) struct ScanContext<M> {
    reader: Reader,
    /// Column of each slot.
    columns: Vec<usize>,
    pub(crate) decoder: M,
}

/// One column of the scan.
pub(crate) struct Slot<B> {
    pub(crate) block: B,
    /// Rows of the block.
    pub(crate) rows: Range<u64>,
    /// Memory of the block in bytes.
    bytes: u64,
    /// Blocks kept for reuse, and their memory in bytes.
    free: Vec<(B, u64)>,
}

/// The next block to decode.
struct PlannedBlock {
    slot: usize,
    request: BlockRequest,
    /// All rows of the block.
    rows: Range<u64>,
    cost: Cost,
}

impl<M: BlockDecoder> ScanContext<M> {
    fn column(&self, slot: usize) -> usize {
        self.columns.get(slot).copied().unwrap_or(usize::MAX)
    }
}

impl<M: BlockDecoder> Worker for ScanContext<M> {
    /// The request, and a block whose memory is reused.
    type Task = (BlockRequest, M::Block);
    type Outcome = Result<M::Block>;

    fn work(&self, (request, old): Self::Task) -> Self::Outcome {
        self.decoder.decode(&self.reader, request, old)
    }
}

impl<M: BlockDecoder> BlockScan<M> {
    /// Scans these columns over the scan's rows, with its number of threads, within a memory budget.
    ///
    /// # Errors
    /// As [`Reader::batches`].
    pub(crate) fn new(reader: &Reader, columns: Vec<usize>, scan: &Scan, decoder: M, budget: Budget) -> Result<Self> {
        let total = reader.row_count();
        let (start, end) = (scan.rows.start, scan.rows.end.min(total));
        if start > total || scan.rows.end < start {
            let detail = format!("row range {start}..{} is out of bounds for {total} rows", scan.rows.end);
            return Err(Error::usage(detail).in_format(FORMAT_NAME));
        }
        if columns.is_empty() && start < end {
            // An empty projection is allowed, but not because every column is unreadable.
            reader.readable_columns()?;
        }
        if columns.is_empty() && end - start > MAX_ROWS_WITHOUT_COLUMNS {
            return Err(Error::limit("rows without a column to read", end - start, MAX_ROWS_WITHOUT_COLUMNS)
                .at(40)
                .in_format(FORMAT_NAME));
        }
        let mut plan = BinaryHeap::with_capacity(columns.len());
        for (slot, &index) in columns.iter().enumerate() {
            let column = reader.column_at(index)?;
            if let Err(unreadable) = column.kind() {
                let name = column.unique_name().to_owned();
                return Err(unreadable.to_error().in_column(name).in_format(FORMAT_NAME));
            }
            if start < end {
                plan.push(Reverse((start, slot, reader.block_of_row(index, start)?)));
            }
        }
        let slot = || Slot { block: M::Block::default(), rows: 0..0, bytes: 0, free: Vec::new() };
        let slots = std::iter::repeat_with(slot).take(columns.len()).collect();
        let context = ScanContext { reader: reader.clone(), columns, decoder };
        Ok(Self {
            context: Arc::new(context),
            slots,
            plan,
            budget,
            ahead: Ahead::new(scan.threads),
            current: start..start,
            row_range: start..end,
            failed: false,
        })
    }

    /// The memory budget.
    pub(crate) fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    /// Memory of the blocks of the current step, in bytes.
    pub(crate) fn decoded_bytes(&self) -> u64 {
        self.slots.iter().map(|slot| slot.bytes).fold(0, u64::saturating_add)
    }

    /// Rows of the current step; empty before the first, at the end and after an error.
    pub(crate) fn rows(&self) -> Range<u64> {
        if self.failed { self.current.end..self.current.end } else { self.current.clone() }
    }

    /// Moves to the next step; false at the end and after an error.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        let start = self.current.end;
        if self.failed || start >= self.row_range.end {
            self.current = self.row_range.end..self.row_range.end;
            return Ok(false);
        }
        // Cleared once all blocks are decoded.
        self.failed = true;
        let mut end = self.row_range.end;
        if self.slots.is_empty() {
            end = end.min(start + ROWS_WITHOUT_COLUMNS);
        }
        for slot in self.slots.iter_mut().filter(|slot| slot.rows.end <= start) {
            let (used, bytes) = (std::mem::take(&mut slot.block), std::mem::take(&mut slot.bytes));
            if M::REUSED {
                slot.free.push((used, bytes));
            } else {
                self.budget.release(bytes);
            }
        }
        for slot in 0..self.slots.len() {
            let exhausted = self.slots.get(slot).is_some_and(|slot| slot.rows.end <= start);
            if exhausted {
                self.next_block(slot)?;
            }
            end = end.min(self.slots.get(slot).map_or(end, |slot| slot.rows.end));
        }
        self.failed = false;
        self.current = start..end;
        Ok(true)
    }

    /// Loads the next block of a slot, which is the next one in the plan.
    fn next_block(&mut self, slot: usize) -> Result<()> {
        self.fill_queue();
        let (block, rows, cost) = match self.ahead.queue.pop_front() {
            Some(QueuedBlock { work, rows, cost, bytes }) => {
                self.ahead.bytes -= bytes;
                match work {
                    Pending::Job(job) => (job.take(&self.context)?, rows, cost),
                    Pending::Inline(request) => {
                        let (old, cost) = self.buffer(slot, cost);
                        (self.context.decoder.decode(&self.context.reader, request, old)?, rows, cost)
                    }
                }
            }
            None => self.decode_inline()?,
        };
        self.budget.release(cost.peak - cost.decoded);
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.block = block;
            slot.rows = rows;
            slot.bytes = cost.decoded;
        }
        Ok(())
    }

    /// Decodes the next block of the plan on this thread.
    fn decode_inline(&mut self) -> Result<(M::Block, Range<u64>, Cost)> {
        let planned = self.planned()?;
        if !self.reserve(planned.cost) {
            let name = self.context.reader.column_at(planned.request.column)?.unique_name().to_owned();
            let refused = self.budget.take(SAME_ROWS, planned.cost.peak);
            let located = |error: Error| error.in_column(name).in_block(planned.request.block).in_format(FORMAT_NAME);
            return refused.map_err(located).and_then(|()| Err(Error::usage("a block within the budget was rejected")));
        }
        self.take_planned(&planned);
        let (old, cost) = self.buffer(planned.slot, planned.cost);
        Ok((self.context.decoder.decode(&self.context.reader, planned.request, old)?, planned.rows, cost))
    }

    /// Charges a block, releasing reusable memory if needed. False when it exceeds the budget.
    fn reserve(&mut self, cost: Cost) -> bool {
        if self.budget.try_take(cost.peak) {
            return true;
        }
        for slot in &mut self.slots {
            for (_, bytes) in slot.free.drain(..) {
                self.budget.release(bytes);
            }
        }
        self.budget.try_take(cost.peak)
    }

    /// A reusable block and the cost of decoding into it. Both are charged already; only the larger stays charged.
    fn buffer(&mut self, slot: usize, cost: Cost) -> (M::Block, Cost) {
        let (block, kept) = self.slots.get_mut(slot).and_then(|slot| slot.free.pop()).unwrap_or_default();
        self.budget.release(kept.min(cost.decoded));
        (block, cost.in_buffer(kept))
    }

    /// The next block of the plan.
    fn planned(&self) -> Result<PlannedBlock> {
        let Some(&Reverse((_, slot, block))) = self.plan.peek() else {
            return Err(Error::usage("scan past its end").in_format(FORMAT_NAME));
        };
        let column = self.context.column(slot);
        let rows = self.context.reader.block_rows(column, block)?;
        let row_range = rows.start.max(self.row_range.start)..rows.end.min(self.row_range.end);
        let request = BlockRequest { slot, column, block, rows: row_range };
        let cost = M::cost(self.context.reader.block_cost(&request));
        Ok(PlannedBlock { slot, request, rows, cost })
    }

    /// Replaces the next block of the plan by its successor.
    fn take_planned(&mut self, planned: &PlannedBlock) {
        self.plan.pop();
        if planned.rows.end < self.row_range.end {
            self.plan.push(Reverse((planned.rows.end, planned.slot, planned.request.block + 1)));
        }
    }
}

/// Blocks being decoded ahead.
struct Ahead<M: BlockDecoder> {
    queue: VecDeque<QueuedBlock<M>>,
    /// Memory of the queued blocks in bytes.
    bytes: u64,
    threads: usize,
    max_len: usize,
}

struct QueuedBlock<M: BlockDecoder> {
    work: Pending<M>,
    rows: Range<u64>,
    cost: Cost,
    /// Its share of the queue's memory.
    bytes: u64,
}

enum Pending<M: BlockDecoder> {
    /// Submitted to the thread pool.
    Job(Arc<Job<ScanContext<M>>>),
    /// A plain copy, done on demand because handing it to a thread costs more.
    Inline(BlockRequest),
}

impl<M: BlockDecoder> Ahead<M> {
    fn new(threads: usize) -> Self {
        // An explicit number of threads bounds the queue, and so the threads at work.
        let (threads, max_len) = match threads {
            1 => (1, 0),
            0 => (parallel::threads(), parallel::threads() * 8),
            some => (some.min(parallel::threads()), some.min(parallel::threads())),
        };
        Self { queue: VecDeque::new(), bytes: 0, threads, max_len }
    }
}

impl<M: BlockDecoder> BlockScan<M> {
    /// Submits blocks to the pool until enough are queued. With one thread, nothing is decoded ahead.
    fn fill_queue(&mut self) {
        if self.ahead.threads <= 1 {
            return;
        }
        while self.ahead.queue.len() < self.ahead.max_len {
            let below_threads = self.ahead.queue.len() < self.ahead.threads;
            if self.plan.is_empty() || (!below_threads && self.ahead.bytes >= AHEAD_BYTES) {
                return;
            }
            let Ok(planned) = self.planned() else { return };
            // Not needed yet: wait for memory.
            if !self.reserve(planned.cost) {
                return;
            }
            self.take_planned(&planned);
            let PlannedBlock { slot, request, rows, cost } = planned;
            if self.context.is_copy(slot) {
                self.ahead.queue.push_back(QueuedBlock { work: Pending::Inline(request), rows, cost, bytes: 0 });
                continue;
            }
            let (old, cost) = self.buffer(slot, cost);
            self.ahead.bytes += cost.decoded;
            let work = Pending::Job(Job::spawn(&self.context, (request, old)));
            self.ahead.queue.push_back(QueuedBlock { work, rows, cost, bytes: cost.decoded });
        }
    }
}

impl<M: BlockDecoder> ScanContext<M> {
    /// Whether blocks of a slot are plain copies: uncompressed and of fixed width.
    fn is_copy(&self, slot: usize) -> bool {
        let column = self.reader.columns().get(self.column(slot));
        column.is_some_and(|column| {
            let plain = column.compression() == Some(Compression::None);
            plain && matches!(column.kind(), Ok(Type::Item(item)) if *item != ItemType::Text)
        })
    }
}

impl<M: BlockDecoder> Drop for Ahead<M> {
    fn drop(&mut self) {
        for next in &self.queue {
            if let Pending::Job(job) = &next.work {
                job.cancel();
            }
        }
    }
}
