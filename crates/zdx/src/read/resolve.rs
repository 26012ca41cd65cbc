//! Determines which documents exist: from the index if it is valid, otherwise also from the data and the journal.

use std::collections::HashSet;
use std::sync::Arc;

use container_core::{Bytes, Error, Limits, Result, Source};

use crate::journal::Journal;
use crate::read::condition::{Condition, IndexState};
use crate::read::rebuild::scan_lines;
use crate::read::table::Table;
use crate::wire::index::{Entry, HEADER_LEN, Index, MAGIC, MAGIC_DESCRIBED, header, put};
use crate::wire::text_index;

/// The files beside the data.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndexSources {
    /// Contents of `index.bin`.
    pub(crate) index: Option<Bytes>,
    /// Why there is an `index.bin` without contents: a damaged entry of an archive.
    pub(crate) unreadable: Option<Arc<Error>>,
    /// Whether the data were modified after the index.
    pub(crate) is_older: bool,
    /// The journal, if it belongs to this index.
    pub(crate) journal: Option<Journal>,
    /// Documents whose files are about to be removed: they no longer count.
    pub(crate) removed: HashSet<String>,
}

impl IndexSources {
    /// The index, if it alone lists the documents: it is not stale, there is no journal, and its header is valid.
    pub(crate) fn trusted_index(&self) -> Option<Index<'_>> {
        let index = self.index.as_ref().filter(|_| !self.is_older && self.journal.is_none())?;
        Index::parse(index).ok()
    }
}

/// Builds an index entry by entry.
struct IndexBuilder {
    file: Vec<u8>,
    count: u64,
}

impl IndexBuilder {
    fn new(capacity: usize) -> Self {
        let mut file = Vec::with_capacity(capacity);
        file.extend_from_slice(&header(0));
        Self { file, count: 0 }
    }

    fn push(&mut self, entry: &Entry<'_>) -> Result<()> {
        self.count += 1;
        put(entry, &mut self.file)
    }

    fn finish(mut self) -> Bytes {
        self.file.splice(..HEADER_LEN, header(self.count));
        self.file.into()
    }
}

/// Determines which documents exist. A damaged index is not an error: the data are scanned instead.
///
/// # Errors
/// [`Io`](container_core::ErrorKind::Io) of the data; [`Limit`](container_core::ErrorKind::Limit) of lines and the index.
pub(crate) fn resolve(
    data: &Source,
    sources: &IndexSources,
    threads: usize,
    limits: Limits,
) -> Result<(Table, Condition)> {
    let mut condition = Condition { pending_removals: sources.removed.len() as u64, ..Condition::default() };
    let table = match sources.index.as_ref().map(|bytes| read_index(bytes, data.len(), threads)) {
        Some(Ok((table, state))) => {
            condition.index = state;
            Some(table)
        }
        // Without data, a missing or damaged index loses nothing.
        _ if data.is_empty() => return Ok((Table::build(IndexBuilder::new(0).finish(), 1)?, condition)),
        Some(Err(error)) => {
            condition.index = IndexState::Damaged(Arc::new(error.in_file(crate::layout::INDEX)));
            None
        }
        None => {
            condition.index = sources.unreadable.clone().map_or(IndexState::Missing, IndexState::Damaged);
            None
        }
    };
    // A journal never belongs to a damaged index.
    let journal = sources.journal.as_ref().filter(|_| table.is_some() || sources.index.is_none());
    // After compaction every line is a document, and the old index no longer applies.
    let was_compacted = journal.is_some_and(|journal| journal.was_compacted(data.len()));
    let table = table.filter(|_| !was_compacted);
    let lost_until = |table: &Table| Some(table.stats.lines_end).filter(|lines_end| *lines_end > data.len());
    let from = match (&table, &journal) {
        (Some(table), Some(journal)) => journal.header.data_bytes.max(table.stats.lines_end.min(data.len())),
        (Some(table), None) => table.stats.lines_end,
        (None, _) => 0,
    };
    // Duplicate ids within an index are reported; appended documents that replace indexed ones are normal.
    let duplicates = |table: &Table| table.stats.entries - table.stats.ids;
    let table = match table {
        Some(table) if journal.is_none() && (!sources.is_older || from >= data.len()) => {
            condition.superseded = duplicates(&table);
            condition.lost_until = lost_until(&table);
            if condition.pending_removals > 0 {
                condition.index = IndexState::Journal;
            }
            return Ok((table, condition));
        }
        table => table,
    };
    if journal.is_some() {
        condition.index = IndexState::Journal;
    }
    let scanned = scan_lines(data, from, threads, limits)?;
    if table.is_some() && journal.is_none() && scanned.documents > 0 {
        condition.index = IndexState::Stale;
    }
    condition.skipped_lines = scanned.skipped_lines;
    condition.first_skipped = scanned.first_problem(data, &limits)?.map(Arc::new);
    condition.torn = scanned.torn;
    if table.is_none() && journal.is_none() {
        // Use the scanned entries as they are: for a million documents, copying takes longer than building the table.
        condition.unindexed = scanned.documents;
        let all = Table::build_for(scanned.into_index(), data.len(), threads)?;
        condition.superseded = duplicates(&all);
        return Ok((all, condition));
    }
    let base = table.as_ref().map_or(0, |table| table.bytes().len());
    let mut all = IndexBuilder::new(base + scanned.index_bytes());
    let is_deleted = |entry: &Entry<'_>| journal.is_some_and(|journal| journal.is_deleted(entry.id, entry.offset));
    for (_, entry) in table.iter().flat_map(Table::entries).filter(|(_, entry)| !is_deleted(entry)) {
        all.push(&entry)?;
    }
    let tail = scanned.into_index();
    for entry in Index::parse(&tail)?.entries() {
        let entry = entry?;
        if !is_deleted(&entry) {
            condition.unindexed += 1;
            all.push(&entry)?;
        }
    }
    let all = Table::build_for(all.finish(), data.len(), threads)?;
    condition.superseded = table.as_ref().map_or_else(|| duplicates(&all), duplicates);
    condition.lost_until = lost_until(&all);
    Ok((all, condition))
}

/// Reads a binary or text index.
fn read_index(bytes: &Bytes, data: u64, threads: usize) -> Result<(Table, IndexState)> {
    if bytes.starts_with(&MAGIC) || bytes.starts_with(&MAGIC_DESCRIBED) || bytes.is_empty() {
        return Ok((Table::build_for(bytes.clone(), data, threads)?, IndexState::Valid));
    }
    let mut entries = IndexBuilder::new(bytes.len());
    for entry in text_index::lines(bytes) {
        // If not even the first line is text, report it as a damaged binary index.
        match entry {
            Ok(entry) => entries.push(&entry)?,
            Err(error) if entries.count > 0 => return Err(error),
            Err(_) => return Err(Index::parse(bytes).err().unwrap_or_else(|| Error::invalid("no index"))),
        }
    }
    Ok((Table::build_for(entries.finish(), data, threads)?, IndexState::Text))
}
