//! Look-ups of many ids, which wait for memory together and not one after another.

use std::collections::VecDeque;

use container_core::Result;

use crate::read::collection::Collection;
use crate::read::document::Document;
use crate::read::table::touch_byte;
use crate::wire::index::Entry;

/// Look-ups that are under way at the same time.
const BATCH: usize = 32;

/// So much of a line is fetched before it is needed; more of it comes while that is read.
const LINE_BYTES: u64 = 512;

/// Bytes that memory gives at once.
const CACHE_LINE: usize = 64;

/// The documents of many ids, in the ids' order: what [`Collection::get_many`] gives. Where the index cannot be read it ends with that error;
/// what is wrong with one document does not concern the others.
#[derive(Debug)]
pub struct Many<'c, I: Iterator> {
    collection: &'c Collection,
    /// The ids to come; none after an error.
    ids: Option<I>,
    /// Ids that were looked up, and their entries.
    found: VecDeque<(I::Item, Option<Entry<'c>>)>,
}

impl Collection {
    /// The documents of many ids, one after another in the ids' order, each as [`get`](Self::get) would give it. It is faster than that where
    /// there are many documents, as what lies far apart in memory is fetched for several ids at once.
    ///
    /// ```no_run
    /// # let collection = zdx::Store::open("store")?.only_collection()?;
    /// for document in collection.get_many(["tree-7", "tree-1"]) {
    ///     let Some(document) = document? else { continue };
    ///     println!("{}: {} bytes", document.id(), document.bytes().len());
    /// }
    /// # Ok::<(), zdx::Error>(())
    /// ```
    pub fn get_many<I: IntoIterator<Item: AsRef<str>>>(&self, ids: I) -> Many<'_, I::IntoIter> {
        Many::new(self, ids.into_iter())
    }
}

impl<'c, I: Iterator<Item: AsRef<str>>> Many<'c, I> {
    pub(crate) fn new(collection: &'c Collection, ids: I) -> Self {
        Self { collection, ids: Some(ids), found: VecDeque::with_capacity(BATCH) }
    }

    /// The next ids. A look-up waits for a place of the table, for an entry of the index and for a line: each of them is touched for all ids
    /// before any of them is needed.
    fn look_up(&mut self) -> Result<()> {
        let ids = self.ids.iter_mut().flat_map(|ids| ids.by_ref().take(BATCH));
        self.found.extend(ids.map(|id| (id, None)));
        if self.found.is_empty() {
            return Ok(());
        }
        let Some(table) = self.collection.table()? else { return Ok(()) };
        let mut hashes = [0; BATCH];
        for ((id, _), hash) in self.found.iter().zip(&mut hashes) {
            *hash = table.hash(id.as_ref().as_bytes());
        }
        table.touch(hashes.get(..self.found.len()).unwrap_or_default());
        let data = self.collection.memory();
        for ((id, entry), hash) in self.found.iter_mut().zip(hashes) {
            *entry = table.find_hashed(hash, id.as_ref().as_bytes(), |_| ()).map(|(_, entry)| entry);
            if let Some(entry) = entry {
                touch_line(data, entry);
            }
        }
        Ok(())
    }
}

/// Has the line of an entry fetched, or its beginning.
#[inline]
fn touch_line(data: &[u8], entry: &Entry<'_>) {
    let end = u64::from(entry.length).min(LINE_BYTES);
    (0..end).step_by(CACHE_LINE).for_each(|at| touch_byte(data, entry.offset.checked_add(at)));
}

impl<'c, I: Iterator<Item: AsRef<str>>> Iterator for Many<'c, I> {
    type Item = Result<Option<Document<'c>>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.found.is_empty()
            && let Err(error) = self.look_up()
        {
            (self.ids, self.found) = (None, VecDeque::new());
            return Some(Err(error));
        }
        let (id, entry) = self.found.pop_front()?;
        let id = id.as_ref();
        match entry.and_then(|entry| self.collection.plain_document(id, entry)) {
            None => Some(self.collection.document_of(id, entry)),
            plain => Some(Ok(plain)),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let most = self.ids.as_ref().map_or(Some(0), |ids| ids.size_hint().1);
        (0, most.and_then(|most| most.checked_add(self.found.len())))
    }
}
