//! Batched look-ups, which overlap their memory latencies.

use std::collections::VecDeque;

use container_core::Result;

use crate::read::collection::Collection;
use crate::read::document::Document;
use crate::read::table::prefetch_byte;
use crate::wire::index::Entry;

/// Look-ups in flight at once.
const BATCH: usize = 32;

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
    /// Ids looked up but not yet returned, with their entries.
    pending: VecDeque<(I::Item, Option<Entry<'c>>)>,
}

impl Collection {
    /// The documents of many ids, in the order of the ids, each as [`get`](Self::get) would return it. In large collections this is faster than
    /// `get`, because the memory accesses of several look-ups overlap.
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
        Self { collection, ids: Some(ids), pending: VecDeque::with_capacity(BATCH) }
    }

    /// Looks up the next batch. Each look-up waits for a table slot, an index entry and a line: each stage is prefetched for all ids before
    /// the first of them is needed.
    fn fill(&mut self) -> Result<()> {
        let ids = self.ids.iter_mut().flat_map(|ids| ids.by_ref().take(BATCH));
        self.pending.extend(ids.map(|id| (id, None)));
        if self.pending.is_empty() {
            return Ok(());
        }
        let Some(table) = self.collection.table()? else { return Ok(()) };
        let mut hashes = [0; BATCH];
        for ((id, _), hash) in self.pending.iter().zip(&mut hashes) {
            *hash = table.hash(id.as_ref().as_bytes());
        }
        table.prefetch(hashes.get(..self.pending.len()).unwrap_or_default());
        let data = self.collection.memory();
        for ((id, entry), hash) in self.pending.iter_mut().zip(hashes) {
            *entry = table.find_hashed(hash, id.as_ref().as_bytes(), |_| ()).map(|(_, entry)| entry);
            if let Some(entry) = entry {
                prefetch_line(data, entry);
            }
        }
        Ok(())
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
        let (id, entry) = self.pending.pop_front()?;
        let id = id.as_ref();
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
