//! Batched look-ups, which overlap their memory latencies, or share reads.

use std::collections::VecDeque;
use std::ops::Range;

use container_core::{Bytes, Result, Source};

use crate::read::collection::{Collection, document_of_line};
use crate::read::document::Document;
use crate::read::line::{Raw, line_in};
use crate::read::table::prefetch_byte;
use crate::read::window::window;
use crate::wire::index::Entry;

/// Look-ups in flight at once.
const BATCH: usize = 32;

/// Maximum look-ups whose lines are read together. Batches begin small and double, so that the first documents do not have to wait.
const MAX_READ_BATCH: usize = 16 << 10;

/// Maximum bytes of the lines read together, which stay in memory until they have been returned.
const MAX_READ_BYTES: u64 = 4 << 20;

/// Longer lines are read one by one, when it is their turn.
const MAX_SHARED_LINE: u64 = 64 << 10;

/// Bytes of a line to prefetch; the hardware prefetcher fetches the rest.
const LINE_BYTES: u64 = 512;

/// Bytes of a cache line.
const CACHE_LINE: usize = 64;

/// Iterator over the documents of many ids, in the order of the ids; see [`Collection::get_many`]. It ends after an error of the index; an
/// error in one document does not affect the others.
#[derive(Debug)]
pub struct BatchLookup<'c, I: Iterator> {
    collection: &'c Collection,
    /// Remaining ids; `None` after an error.
    ids: Option<I>,
    /// Ids looked up but not yet returned.
    pending: VecDeque<Pending<'c, I::Item>>,
    /// Look-ups in the next batch.
    batch: usize,
    /// Lines of the pending look-ups, unless the data are in memory.
    lines: Bytes,
}

#[derive(Debug)]
struct Pending<'c, T> {
    id: T,
    entry: Option<Entry<'c>>,
    /// The document in [`BatchLookup::lines`].
    line: Option<Range<usize>>,
}

impl Collection {
    /// The documents of many ids, in the order of the ids, each as [`get`](Self::get) would return it. In large collections this is faster than
    /// `get`, because the memory accesses of several look-ups overlap.
    ///
    /// Of data that are neither in memory nor mapped, it reads up to 16384 lines and 4 MiB at once, in the order of the data, and those near
    /// each other together: the more ids, and the closer their documents, the fewer system calls.
    ///
    /// ```no_run
    /// # let collection = zdx::Store::open("store")?.only_collection()?;
    /// for document in collection.get_many(["tree-7", "tree-1"]) {
    ///     let Some(document) = document? else { continue };
    ///     println!("{}: {} bytes", document.id(), document.bytes().len());
    /// }
    /// # Ok::<(), zdx::Error>(())
    /// ```
    pub fn get_many<I: IntoIterator<Item: AsRef<str>>>(&self, ids: I) -> BatchLookup<'_, I::IntoIter> {
        BatchLookup::new(self, ids.into_iter())
    }
}

impl<'c, I: Iterator<Item: AsRef<str>>> BatchLookup<'c, I> {
    pub(crate) fn new(collection: &'c Collection, ids: I) -> Self {
        let pending = VecDeque::with_capacity(BATCH);
        Self { collection, ids: Some(ids), pending, batch: BATCH, lines: Bytes::new() }
    }

    /// Looks up the next batch.
    fn fill(&mut self) -> Result<()> {
        let unread = self.collection.data.as_ref().filter(|data| data.as_slice().is_none());
        let mut bytes = 0;
        while self.pending.len() < self.batch && bytes < MAX_READ_BYTES {
            let done = self.pending.len();
            let ids = self.ids.iter_mut().flat_map(|ids| ids.by_ref().take(BATCH));
            self.pending.extend(ids.map(|id| Pending { id, entry: None, line: None }));
            if self.pending.len() == done {
                break;
            }
            self.find_entries(done)?;
            bytes +=
                self.pending.range(done..).filter_map(|pending| Some(u64::from(pending.entry?.length))).sum::<u64>();
        }
        if let Some(data) = unread {
            self.batch = (self.batch * 2).min(MAX_READ_BATCH);
            self.read(data);
        }
        Ok(())
    }

    /// Looks up the pending ids from number `done` on, at most [`BATCH`]. Each look-up waits for a table slot, an index entry and a line: each
    /// stage is prefetched for all ids before the first of them is needed.
    fn find_entries(&mut self, done: usize) -> Result<()> {
        let Some(table) = self.collection.table()? else { return Ok(()) };
        let mut hashes = [0; BATCH];
        for (pending, hash) in self.pending.range(done..).zip(&mut hashes) {
            *hash = table.hash(pending.id.as_ref().as_bytes());
        }
        table.prefetch(hashes.get(..self.pending.len() - done).unwrap_or_default());
        let data = self.collection.memory();
        for (pending, hash) in self.pending.range_mut(done..).zip(hashes) {
            pending.entry = table.find_hashed(hash, pending.id.as_ref().as_bytes(), |_| ()).map(|(_, entry)| entry);
            if let Some(entry) = pending.entry {
                prefetch_line(data, &entry);
            }
        }
        Ok(())
    }

    /// Reads the lines of the pending look-ups. Those that are long, invalid or cannot be read are left to [`Collection::document_for_entry`].
    fn read(&mut self, data: &Source) {
        let max = self.collection.options.limits.block_bytes.min(MAX_SHARED_LINE);
        let lines = self.pending.iter().zip(0..).filter_map(|(pending, number)| {
            let entry = pending.entry?;
            (u64::from(entry.length) <= max).then_some((entry.offset, entry.length, number))
        });
        let mut lines: Vec<(u64, u32, usize)> = lines.collect();
        lines.sort_unstable();
        let mut out = Vec::with_capacity(lines.iter().map(|line| line.1 as usize).sum());
        let (mut rest, mut buffer) = (&lines[..], Vec::new());
        while !rest.is_empty() {
            let (range, count) = window(data.len(), rest, |(offset, length, _)| (*offset, *length));
            let (near, far) = rest.split_at(count);
            rest = far;
            let Ok(bytes) = data.view(range.clone(), &mut buffer) else { continue };
            for (offset, length, number) in near {
                let line = line_in(bytes, range.start, range.end == data.len(), *offset, *length);
                if let Some(line) = line.and_then(|line| bytes.get(line))
                    && let Some(pending) = self.pending.get_mut(*number)
                {
                    let start = out.len();
                    out.extend_from_slice(line);
                    pending.line = Some(start..out.len());
                }
            }
        }
        self.lines = out.into();
    }
}

/// Prefetches the beginning of an entry's line.
#[inline]
fn prefetch_line(data: &[u8], entry: &Entry<'_>) {
    let end = u64::from(entry.length).min(LINE_BYTES);
    (0..end).step_by(CACHE_LINE).for_each(|at| prefetch_byte(data, entry.offset.checked_add(at)));
}

impl<'c, I: Iterator<Item: AsRef<str>>> Iterator for BatchLookup<'c, I> {
    type Item = Result<Option<Document<'c>>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.pending.is_empty()
            && let Err(error) = self.fill()
        {
            (self.ids, self.pending) = (None, VecDeque::new());
            return Some(Err(error));
        }
        let Pending { id, entry, line } = self.pending.pop_front()?;
        let id = id.as_ref();
        if let Some((entry, line)) = entry.zip(line) {
            return Some(document_of_line(id, entry, Raw::Shared(self.lines.slice(line))).map(Some));
        }
        match entry.and_then(|entry| self.collection.fast_document(id, entry)) {
            None => Some(self.collection.document_for_entry(id, entry)),
            document => Some(Ok(document)),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let upper = self.ids.as_ref().map_or(Some(0), |ids| ids.size_hint().1);
        (0, upper.and_then(|upper| upper.checked_add(self.pending.len())))
    }
}
