//! The order in which the blocks of some columns are row_range, and the blocks themselves, made ahead by other threads.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use container_core::{Error, Result, Scan, parallel};

use super::Reader;
use super::budget::{Budget, Cost};
use super::block_request::BlockRequest;
use crate::FORMAT_NAME;
use crate::lookahead::{Job, Worker};
use crate::wire::{Compression, ItemType, Type};

/// Decoded bytes that may lie ahead of the reader, beyond one block for each thread.
const AHEAD_BYTES: u64 = 64 << 20;

/// Rows that are walked over when there is nothing to read in them: a header alone can declare any number.
const MOST_ROWS_WITHOUT_COLUMNS: u64 = 1 << 16;

/// What is charged for the blocks that are held together.
pub(crate) const SAME_ROWS: &str = "memory for the decoded blocks of the same rows";

/// Rows of a step when no column says how long it is.
const ROWS_WITHOUT_COLUMNS: u64 = 8192;

/// What blocks are made into.
pub(crate) trait BlockDecoder: Send + Sync + 'static {
    /// A block as the walk has it.
    type Block: Send + Default + 'static;
    /// Whether the memory of a block that was passed serves another one.
    const REUSED: bool;

    /// What a block takes that takes so much as [`Values`](crate::Values).
    fn cost(values: Cost) -> Cost;

    /// Makes a block of a column, at least its row_range rows; `old` is one whose memory may be used again.
    fn make(&self, reader: &Reader, place: BlockRequest, old: Self::Block) -> Result<Self::Block>;
}

/// A walk over blocks of columns: each step reaches to the end of the nearest block of any column.
pub(crate) struct BlockScan<M: BlockDecoder> {
    pub(crate) context: Arc<ScanContext<M>>,
    /// What has come of the columns: their blocks that the current step lies in.
    pub(crate) slots: Vec<Slot<M::Block>>,
    /// What is to be made next: first row row_range, slot, block.
    plan: BinaryHeap<Reverse<(u64, usize, u64)>>,
    /// What all blocks take that are held, being made or kept for their memory.
    budget: Budget,
    ahead: Ahead<M>,
    /// Rows of the current step.
    current: Range<u64>,
    row_range: Range<u64>,
    failed: bool,
}

/// What a thread needs to make blocks for a walk.
pub(crate) struct ScanContext<M> {
    reader: Reader,
    /// Columns of the slots.
    columns: Vec<usize>,
    pub(crate) decoder: M,
}

/// One of the columns walked over.
pub(crate) struct Slot<B> {
    pub(crate) block: B,
    /// The rows of the block.
    pub(crate) rows: Range<u64>,
    /// What the block takes.
    held: u64,
    /// Memory to use again, and how much it is.
    free: Vec<(B, u64)>,
}

/// A block that is to be made.
struct PlannedBlock {
    slot: usize,
    place: BlockRequest,
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
    /// The block, and memory to use again.
    type Task = (BlockRequest, M::Block);
    type Outcome = Result<M::Block>;

    fn work(&self, (place, old): Self::Task) -> Self::Outcome {
        self.decoder.make(&self.reader, place, old)
    }
}

impl<M: BlockDecoder> BlockScan<M> {
    /// A walk over these columns and the scan's rows, by as many threads as it says, within a budget.
    ///
    /// # Errors
    /// As [`Reader::batches`].
    pub(crate) fn new(reader: &Reader, columns: Vec<usize>, scan: &Scan, decoder: M, budget: Budget) -> Result<Self> {
        let total = reader.row_count();
        let (start, end) = (scan.rows.start, scan.rows.end.min(total));
        if start > total || scan.rows.end < start {
            let detail = format!("rows {start} to {} of {total} rows", scan.rows.end);
            return Err(Error::usage(detail).in_format(FORMAT_NAME));
        }
        if columns.is_empty() && start < end {
            // Columns may be left out, but not all because none of them can be read.
            reader.readable_columns()?;
        }
        if columns.is_empty() && end - start > MOST_ROWS_WITHOUT_COLUMNS {
            return Err(Error::limit("rows without a column to read", end - start, MOST_ROWS_WITHOUT_COLUMNS)
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
        let slot = || Slot { block: M::Block::default(), rows: 0..0, held: 0, free: Vec::new() };
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

    /// What all blocks take.
    pub(crate) fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    /// What the blocks of the current step take.
    pub(crate) fn decoded_bytes(&self) -> u64 {
        self.slots.iter().map(|slot| slot.held).fold(0, u64::saturating_add)
    }

    /// The rows of the step that [`advance`](Self::advance) went to; none where it did not.
    pub(crate) fn rows(&self) -> Range<u64> {
        if self.failed { self.current.end..self.current.end } else { self.current.clone() }
    }

    /// Goes to the next step; false at the end, and after an error from then on.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        let start = self.current.end;
        if self.failed || start >= self.row_range.end {
            self.current = self.row_range.end..self.row_range.end;
            return Ok(false);
        }
        // Until all of it is there, there is none.
        self.failed = true;
        let mut end = self.row_range.end;
        if self.slots.is_empty() {
            end = end.min(start + ROWS_WITHOUT_COLUMNS);
        }
        for slot in self.slots.iter_mut().filter(|slot| slot.rows.end <= start) {
            let (used, held) = (std::mem::take(&mut slot.block), std::mem::take(&mut slot.held));
            if M::REUSED {
                slot.free.push((used, held));
            } else {
                self.budget.release(held);
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

    /// Brings the next block of a slot. Blocks come in the order of the plan, so it is the next one there.
    fn next_block(&mut self, slot: usize) -> Result<()> {
        self.look_ahead();
        let (made, rows, cost) = match self.ahead.queue.pop_front() {
            Some(QueuedBlock { work, rows, cost, bytes }) => {
                self.ahead.bytes -= bytes;
                match work {
                    Pending::Job(job) => (job.take(&self.context)?, rows, cost),
                    Pending::Inline(place) => {
                        let (old, cost) = self.buffer(slot, cost);
                        (self.context.decoder.make(&self.context.reader, place, old)?, rows, cost)
                    }
                }
            }
            None => self.make_here()?,
        };
        self.budget.release(cost.peak - cost.decoded);
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.block = made;
            slot.rows = rows;
            slot.held = cost.decoded;
        }
        Ok(())
    }

    /// Makes the next block of the plan on this thread.
    fn make_here(&mut self) -> Result<(M::Block, Range<u64>, Cost)> {
        let planned = self.planned()?;
        if !self.reserve(planned.cost) {
            let name = self.context.reader.column_at(planned.place.column)?.unique_name().to_owned();
            let refused = self.budget.take(SAME_ROWS, planned.cost.peak);
            let located = |error: Error| error.in_column(name).in_block(planned.place.block).in_format(FORMAT_NAME);
            return refused.map_err(located).and_then(|()| Err(Error::usage("a block that fits was refused")));
        }
        self.take_planned(&planned);
        let (old, cost) = self.buffer(planned.slot, planned.cost);
        Ok((self.context.decoder.make(&self.context.reader, planned.place, old)?, planned.rows, cost))
    }

    /// Charges a block, if need be at the expense of memory that was kept. False when the budget does not allow it.
    fn reserve(&mut self, cost: Cost) -> bool {
        if self.budget.try_take(cost.peak) {
            return true;
        }
        for slot in &mut self.slots {
            for (_, held) in slot.free.drain(..) {
                self.budget.release(held);
            }
        }
        self.budget.try_take(cost.peak)
    }

    /// Memory to make a block in that is charged already, and what it takes there: both were charged, the greater stays.
    fn buffer(&mut self, slot: usize, cost: Cost) -> (M::Block, Cost) {
        let (block, had) = self.slots.get_mut(slot).and_then(|slot| slot.free.pop()).unwrap_or_default();
        self.budget.release(had.min(cost.decoded));
        (block, cost.in_buffer(had))
    }

    /// The next block of the plan.
    fn planned(&self) -> Result<PlannedBlock> {
        let Some(&Reverse((_, slot, block))) = self.plan.peek() else {
            return Err(Error::usage("a walk past its end").in_format(FORMAT_NAME));
        };
        let column = self.context.column(slot);
        let rows = self.context.reader.block_rows(column, block)?;
        let row_range = rows.start.max(self.row_range.start)..rows.end.min(self.row_range.end);
        let place = BlockRequest { slot, column, block, rows: row_range };
        let cost = M::cost(self.context.reader.block_cost(&place));
        Ok(PlannedBlock { slot, place, rows, cost })
    }

    /// Takes the next block off the plan and puts the one after it on.
    fn take_planned(&mut self, planned: &PlannedBlock) {
        self.plan.pop();
        if planned.rows.end < self.row_range.end {
            self.plan.push(Reverse((planned.rows.end, planned.slot, planned.place.block + 1)));
        }
    }
}

/// Blocks being made ahead.
struct Ahead<M: BlockDecoder> {
    queue: VecDeque<QueuedBlock<M>>,
    /// Decompressed bytes in the queue.
    bytes: u64,
    threads: usize,
    max_len: usize,
}

struct QueuedBlock<M: BlockDecoder> {
    work: Pending<M>,
    rows: Range<u64>,
    cost: Cost,
    /// What it adds to the decoded bytes in the queue.
    bytes: u64,
}

enum Pending<M: BlockDecoder> {
    /// Under way, or soon.
    Job(Arc<Job<ScanContext<M>>>),
    /// A block that is merely copied: to be read when it is row_range, which costs less than handing it over.
    Inline(BlockRequest),
}

impl<M: BlockDecoder> Ahead<M> {
    fn new(threads: usize) -> Self {
        // So many blocks lie in the queue at max_len; with a number of threads given, no more than that are at work.
        let (threads, max_len) = match threads {
            1 => (1, 0),
            0 => (parallel::threads(), parallel::threads() * 8),
            some => (some.min(parallel::threads()), some.min(parallel::threads())),
        };
        Self { queue: VecDeque::new(), bytes: 0, threads, max_len }
    }
}

impl<M: BlockDecoder> BlockScan<M> {
    /// Puts blocks before the pool until enough are under way. With one thread nothing is: the walk decodes itself.
    fn look_ahead(&mut self) {
        if self.ahead.threads <= 1 {
            return;
        }
        while self.ahead.queue.len() < self.ahead.max_len {
            let few = self.ahead.queue.len() < self.ahead.threads;
            if self.plan.is_empty() || (!few && self.ahead.bytes >= AHEAD_BYTES) {
                return;
            }
            let Ok(planned) = self.planned() else { return };
            // What is not needed yet waits until there is room for it.
            if !self.reserve(planned.cost) {
                return;
            }
            self.take_planned(&planned);
            let PlannedBlock { slot, place, rows, cost } = planned;
            if self.context.is_copy(slot) {
                self.ahead.queue.push_back(QueuedBlock { work: Pending::Inline(place), rows, cost, bytes: 0 });
                continue;
            }
            let (old, cost) = self.buffer(slot, cost);
            self.ahead.bytes += cost.decoded;
            let work = Pending::Job(Job::spawn(&self.context, (place, old)));
            self.ahead.queue.push_back(QueuedBlock { work, rows, cost, bytes: cost.decoded });
        }
    }
}

impl<M: BlockDecoder> ScanContext<M> {
    /// Whether the blocks of a slot are copied as they are: uncompressed, of items of a fixed width.
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
