//! Which documents there are: the index where it holds, and what the data and the journal say where it does not.

use std::collections::HashSet;
use std::sync::Arc;

use container_core::{Bytes, Error, Limits, Result, Source};

use crate::journal::Journal;
use crate::read::condition::{Condition, IndexState};
use crate::read::rebuild::walk;
use crate::read::table::Table;
use crate::wire::index::{Entry, HEAD, Index, MAGIC, MAGIC_DESCRIBED, head, put};
use crate::wire::text_index;

/// What lies beside the data.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// `index.bin`, whole.
    pub(crate) index: Option<Bytes>,
    /// Were the data written after the index?
    pub(crate) is_older: bool,
    /// What the journal says, where it belongs to this index.
    pub(crate) journal: Option<Journal>,
    /// Documents whose own files are about to be removed: they do not count any more.
    pub(crate) removed: HashSet<String>,
}

impl Found {
    /// The index as it lies there, if it alone says where documents are: nothing speaks against it, and it is not damaged at its head.
    pub(crate) fn plain_index(&self) -> Option<Index<'_>> {
        let index = self.index.as_ref().filter(|_| !self.is_older && self.journal.is_none())?;
        Index::parse(index).ok()
    }
}

/// Entries that lie one behind the other, counted.
struct Entries {
    file: Vec<u8>,
    count: u64,
}

impl Entries {
    fn new(room: usize) -> Self {
        let mut file = Vec::with_capacity(room);
        file.extend_from_slice(&head(0));
        Self { file, count: 0 }
    }

    fn push(&mut self, entry: &Entry<'_>) -> Result<()> {
        self.count += 1;
        put(entry, &mut self.file)
    }

    fn finish(mut self) -> Bytes {
        self.file.splice(..HEAD, head(self.count));
        self.file.into()
    }
}

/// Finds out which documents there are.
///
/// # Errors
/// [`Io`](container_core::ErrorKind::Io) of the data, and the limits of an index. What is wrong with an index is no error: the data are
/// walked over instead.
pub(crate) fn resolve(data: &Source, found: &Found, threads: usize, limits: Limits) -> Result<(Table, Condition)> {
    let mut condition = Condition::default();
    let table = match found.index.as_ref().map(|bytes| read_index(bytes, data.len(), threads)) {
        Some(Ok((table, state))) => {
            condition.index = state;
            Some(table)
        }
        // Nothing is missed.
        _ if data.is_empty() => return Ok((Table::build(Entries::new(0).finish(), 1)?, condition)),
        Some(Err(error)) => {
            condition.index = IndexState::Damaged(Arc::new(error.in_file(crate::layout::INDEX)));
            None
        }
        None => {
            condition.index = IndexState::Missing;
            None
        }
    };
    // A damaged index is not the one that a journal belongs to.
    let journal = found.journal.as_ref().filter(|_| table.is_some() || found.index.is_none());
    // Compacted data are all of documents, and the index that is still there is about others.
    let was_compacted = journal.is_some_and(|journal| journal.was_compacted(data.len()));
    let table = table.filter(|_| !was_compacted);
    let behind_the_end = |table: &Table| Some(table.seen.covered).filter(|covered| *covered > data.len());
    let from = match (&table, &journal) {
        (Some(table), Some(journal)) => journal.head.data_bytes.max(table.seen.covered.min(data.len())),
        (Some(table), None) => table.seen.covered,
        (None, _) => 0,
    };
    // Ids that an index has more than once are odd; that appended documents replace others is as it should be.
    let twice = |table: &Table| table.seen.entries - table.seen.ids;
    let table = match table {
        Some(table) if journal.is_none() && (!found.is_older || from >= data.len()) => {
            condition.superseded = twice(&table);
            condition.data_end_before = behind_the_end(&table);
            return Ok((table, condition));
        }
        table => table,
    };
    if journal.is_some() {
        condition.index = IndexState::Journal;
    }
    let walked = walk(data, from, threads, limits)?;
    if table.is_some() && journal.is_none() && walked.documents > 0 {
        condition.index = IndexState::Stale;
    }
    condition.passed_over = walked.passed_over;
    condition.first_passed_over = walked.first_problem(data, &limits)?.map(Arc::new);
    condition.torn = walked.torn;
    if table.is_none() && journal.is_none() {
        // As they are: of a million documents a copy takes longer than the table.
        condition.unindexed = walked.documents;
        let all = Table::build_for(walked.into_index(), data.len(), threads)?;
        condition.superseded = twice(&all);
        return Ok((all, condition));
    }
    let base = table.as_ref().map_or(0, |table| table.bytes().len());
    let mut all = Entries::new(base + walked.index_bytes());
    let is_deleted = |entry: &Entry<'_>| journal.is_some_and(|journal| journal.is_deleted(entry.id, entry.offset));
    for (_, entry) in table.iter().flat_map(Table::entries).filter(|(_, entry)| !is_deleted(entry)) {
        all.push(&entry)?;
    }
    let tail = walked.into_index();
    for entry in Index::parse(&tail)?.entries() {
        let entry = entry?;
        if !is_deleted(&entry) {
            condition.unindexed += 1;
            all.push(&entry)?;
        }
    }
    let all = Table::build_for(all.finish(), data.len(), threads)?;
    condition.superseded = table.as_ref().map_or_else(|| twice(&all), twice);
    condition.data_end_before = behind_the_end(&all);
    Ok((all, condition))
}

/// An index of either kind.
fn read_index(bytes: &Bytes, data: u64, threads: usize) -> Result<(Table, IndexState)> {
    if bytes.starts_with(&MAGIC) || bytes.starts_with(&MAGIC_DESCRIBED) || bytes.is_empty() {
        return Ok((Table::build_for(bytes.clone(), data, threads)?, IndexState::Valid));
    }
    let mut entries = Entries::new(bytes.len());
    for entry in text_index::lines(bytes) {
        // What is neither is told of as what it should be.
        match entry {
            Ok(entry) => entries.push(&entry)?,
            Err(error) if entries.count > 0 => return Err(error),
            Err(_) => return Err(Index::parse(bytes).err().unwrap_or_else(|| Error::invalid("no index"))),
        }
    }
    Ok((Table::build_for(entries.finish(), data, threads)?, IndexState::Text))
}
