use std::cmp::Reverse;
use std::collections::BinaryHeap;
#[cfg(feature = "parallel")]
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use container_core::{Error, Result, Scan};

use super::{Reader, Scratch};
use crate::FORMAT_NAME;
use crate::codec::Values;
#[cfg(feature = "parallel")]
use crate::job::{Job, Worker};
#[cfg(feature = "parallel")]
use crate::wire::{Compression, ItemType, Type};

/// Decoded bytes that may lie ahead of the reader, beyond one block for each thread.
#[cfg(feature = "parallel")]
const AHEAD_BYTES: u64 = 64 << 20;

/// Rows that are walked over when there is nothing to read in them: a header alone can declare any number.
const MOST_ROWS_WITHOUT_COLUMNS: u64 = 1 << 24;

/// Rows of a batch when no column says how long it is.
const ROWS_WITHOUT_COLUMNS: u64 = 8192;

/// Columns over a range of rows, some rows at a time, in order: the fastest way through a file.
///
/// A batch reaches to the end of the nearest block of any column, so it is a block where all columns have equal blocks
/// (all files of ML.NET). With feature `parallel` blocks are decoded ahead by the threads of rayon's pool; memory is a few
/// blocks a thread, whatever the file's size.
pub struct Batches {
    decoder: Arc<Decoder>,
    slots: Vec<Slot>,
    /// What is to be decoded next: first row wanted, slot, block.
    plan: BinaryHeap<Reverse<(u64, usize, u64)>>,
    #[cfg(feature = "parallel")]
    ahead: Ahead,
    /// Rows of the current batch.
    current: Range<u64>,
    end: u64,
    failed: bool,
}

/// What a thread needs to decode blocks for a walk.
pub(super) struct Decoder {
    reader: Reader,
    /// Columns of the slots.
    columns: Vec<usize>,
    scratches: Mutex<Vec<Scratch>>,
}

impl Decoder {
    fn decode(&self, slot: usize, block: u64, mut values: Values) -> Result<Values> {
        let column = self.columns.get(slot).copied().unwrap_or(usize::MAX);
        let idle = self.scratches.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = idle.unwrap_or_default();
        let outcome = self.reader.read_block(column, block, &mut values, &mut scratch);
        self.scratches.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        outcome.map(|_| values)
    }
}

#[cfg(feature = "parallel")]
impl Worker for Decoder {
    /// Slot, block, and a buffer to use again.
    type Task = (usize, u64, Values);
    type Outcome = Result<Values>;

    fn work(&self, (slot, block, buffer): Self::Task) -> Self::Outcome {
        self.decode(slot, block, buffer)
    }
}

/// One of the columns walked over.
struct Slot {
    values: Values,
    rows: Range<u64>,
    /// Buffers to use again.
    free: Vec<Values>,
}

/// Some rows of the columns of a walk.
#[derive(Clone)]
pub struct Batch<'a> {
    slots: &'a [Slot],
    rows: Range<u64>,
}

/// One column of a batch: a run of values of a decoded block.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ColumnSlice<'a> {
    /// The values of the block the rows lie in.
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

    /// A column, counted in the order of the walk.
    #[must_use]
    pub fn column(&self, index: usize) -> Option<ColumnSlice<'a>> {
        self.slots.get(index).map(|slot| {
            // Both ends lie in the slot's block, whose length is a usize.
            let place = |row: u64| usize::try_from(row - slot.rows.start).unwrap_or(usize::MAX);
            ColumnSlice { values: &slot.values, range: place(self.rows.start)..place(self.rows.end) }
        })
    }
}

impl Reader {
    /// Walks over columns in batches of rows: those of the scan in its order, or all readable ones.
    ///
    /// ```
    /// # fn main() -> container_core::Result<()> {
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/idv/scalar-mixed-none.idv");
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
    /// column asked for is unreadable.
    pub fn batches(&self, scan: &Scan) -> Result<Batches> {
        let columns = match &scan.columns {
            Some(columns) => columns.clone(),
            None => self.readable(),
        };
        let total = self.row_count();
        let (start, end) = (scan.rows.start, scan.rows.end.min(total));
        if start > total || scan.rows.end < start {
            let detail = format!("rows {start} to {} of {total} rows", scan.rows.end);
            return Err(Error::usage(detail).in_format(FORMAT_NAME));
        }
        if columns.is_empty() && end - start > MOST_ROWS_WITHOUT_COLUMNS {
            return Err(Error::limit("rows without a column to read", end - start, MOST_ROWS_WITHOUT_COLUMNS)
                .at(40)
                .in_format(FORMAT_NAME));
        }
        let mut plan = BinaryHeap::with_capacity(columns.len());
        for (slot, &index) in columns.iter().enumerate() {
            let column = self.column_at(index)?;
            if let Err(unreadable) = column.kind() {
                let name = column.unique_name().to_owned();
                return Err(unreadable.to_error().in_column(name).in_format(FORMAT_NAME));
            }
            if start < end {
                plan.push(Reverse((start, slot, self.block_of_row(index, start)?)));
            }
        }
        let slot = || Slot { values: Values::default(), rows: 0..0, free: Vec::new() };
        let slots = std::iter::repeat_with(slot).take(columns.len()).collect();
        let decoder = Decoder { reader: self.clone(), columns, scratches: Mutex::new(Vec::new()) };
        Ok(Batches {
            decoder: Arc::new(decoder),
            slots,
            plan,
            #[cfg(feature = "parallel")]
            ahead: Ahead::new(scan.threads),
            current: start..start,
            end,
            failed: false,
        })
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
        let start = self.current.end;
        if self.failed || start >= self.end {
            self.current = self.end..self.end;
            return Ok(false);
        }
        // Until the batch is whole, there is none.
        self.failed = true;
        let mut end = self.end;
        if self.slots.is_empty() {
            end = end.min(start + ROWS_WITHOUT_COLUMNS);
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

    /// The batch that [`advance`](Self::advance) went to.
    pub(super) fn current(&self) -> Option<Batch<'_>> {
        (!self.failed && !self.current.is_empty()).then(|| Batch { slots: &self.slots, rows: self.current.clone() })
    }

    /// Brings the next block of a slot. Blocks come in the order of the plan, so it is the next one there.
    fn next_block(&mut self, slot: usize) -> Result<()> {
        if let Some(slot) = self.slots.get_mut(slot) {
            let used = std::mem::take(&mut slot.values);
            slot.free.push(used);
        }
        #[cfg(feature = "parallel")]
        let (values, rows) = {
            self.look_ahead();
            match self.ahead.queue.pop_front() {
                Some(Next { work, rows, bytes }) => {
                    self.ahead.bytes -= bytes;
                    let values = match work {
                        Work::Job(job) => job.take(&self.decoder)?,
                        Work::Here(block) => {
                            let buffer = self.buffer(slot);
                            self.decoder.decode(slot, block, buffer)?
                        }
                    };
                    (values, rows)
                }
                None => self.decode_here()?,
            }
        };
        #[cfg(not(feature = "parallel"))]
        let (values, rows) = self.decode_here()?;
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.values = values;
            slot.rows = rows;
        }
        Ok(())
    }

    /// Decodes the next block of the plan on this thread.
    fn decode_here(&mut self) -> Result<(Values, Range<u64>)> {
        let (slot, block, rows) = self.take_planned()?;
        let buffer = self.buffer(slot);
        Ok((self.decoder.decode(slot, block, buffer)?, rows))
    }

    fn buffer(&mut self, slot: usize) -> Values {
        self.slots.get_mut(slot).and_then(|slot| slot.free.pop()).unwrap_or_default()
    }

    /// Takes the next block off the plan and puts the one after it on.
    fn take_planned(&mut self) -> Result<(usize, u64, Range<u64>)> {
        let Some(Reverse((_, slot, block))) = self.plan.pop() else {
            return Err(Error::usage("a walk past its end").in_format(FORMAT_NAME));
        };
        let column = self.decoder.columns.get(slot).copied().unwrap_or(usize::MAX);
        let rows = self.decoder.reader.block_rows(column, block)?;
        if rows.end < self.end {
            self.plan.push(Reverse((rows.end, slot, block + 1)));
        }
        Ok((slot, block, rows))
    }
}

/// Blocks being decoded ahead.
#[cfg(feature = "parallel")]
struct Ahead {
    queue: VecDeque<Next>,
    /// Decompressed bytes in the queue.
    bytes: u64,
    threads: usize,
    most: usize,
}

#[cfg(feature = "parallel")]
struct Next {
    work: Work,
    rows: Range<u64>,
    bytes: u64,
}

#[cfg(feature = "parallel")]
enum Work {
    /// Under way, or soon.
    Job(Arc<Job<Decoder>>),
    /// A block that is merely copied: to be read when it is wanted, which costs less than handing it over.
    Here(u64),
}

#[cfg(feature = "parallel")]
impl Ahead {
    fn new(threads: usize) -> Self {
        // So many blocks lie in the queue at most; with a number of threads given, no more than that are at work.
        let (threads, most) = match threads {
            1 => (1, 0),
            0 => (rayon::current_num_threads(), rayon::current_num_threads() * 8),
            some => (some.min(rayon::current_num_threads()), some.min(rayon::current_num_threads())),
        };
        Self { queue: VecDeque::new(), bytes: 0, threads, most }
    }
}

#[cfg(feature = "parallel")]
impl Batches {
    /// Puts blocks before the pool until enough are under way. With one thread nothing is: the walk decodes itself.
    fn look_ahead(&mut self) {
        if self.ahead.threads <= 1 {
            return;
        }
        while self.ahead.queue.len() < self.ahead.most {
            let few = self.ahead.queue.len() < self.ahead.threads;
            if self.plan.is_empty() || (!few && self.ahead.bytes >= AHEAD_BYTES) {
                return;
            }
            let Ok((slot, block, rows)) = self.take_planned() else { return };
            if self.decoder.is_copy(slot) {
                self.ahead.queue.push_back(Next { work: Work::Here(block), rows, bytes: 0 });
                continue;
            }
            let buffer = self.buffer(slot);
            let bytes = self.decoder.size_of(slot, block);
            self.ahead.bytes += bytes;
            let work = Work::Job(Job::spawn(&self.decoder, (slot, block, buffer)));
            self.ahead.queue.push_back(Next { work, rows, bytes });
        }
    }
}

#[cfg(feature = "parallel")]
impl Decoder {
    /// Whether the blocks of a slot are copied as they are: uncompressed, of items of a fixed width.
    fn is_copy(&self, slot: usize) -> bool {
        let column = self.columns.get(slot).and_then(|&index| self.reader.columns().get(index));
        column.is_some_and(|column| {
            let plain = column.compression() == Some(Compression::None);
            plain && matches!(column.kind(), Ok(Type::Item(item)) if *item != ItemType::Text)
        })
    }

    /// The decompressed size of a block; what is wrong with its entry is found when it is decoded.
    fn size_of(&self, slot: usize, block: u64) -> u64 {
        let column = self.columns.get(slot).and_then(|&index| self.reader.columns().get(index));
        let entry = column.map(|column| self.reader.lookup(column, block, &mut Vec::new()));
        entry.and_then(Result::ok).map_or(0, |entry| entry.raw_len.into())
    }
}

#[cfg(feature = "parallel")]
impl Drop for Batches {
    fn drop(&mut self) {
        for next in &self.ahead.queue {
            if let Work::Job(job) = &next.work {
                job.cancel();
            }
        }
    }
}
