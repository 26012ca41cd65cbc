//! The lines of all documents, sorted by offset.

use container_core::{Error, Result};

use crate::read::table::Table;

/// A document's line and index entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LineRef {
    /// Offset of the line in the data.
    pub(crate) offset: u64,
    /// Offset of the entry in the index.
    pub(crate) position: u64,
    /// Length of the line as the entry states it: with or without its line feed.
    pub(crate) length: u32,
}

/// The lines of all documents, sorted by offset.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) if memory runs out.
pub(crate) fn line_refs(table: &Table) -> Result<Vec<LineRef>> {
    let mut line_refs = Vec::new();
    let count = usize::try_from(table.stats.ids).unwrap_or(usize::MAX);
    line_refs.try_reserve_exact(count).map_err(|cause| {
        Error::usage(format!("out of memory for the offsets of {count} documents")).caused_by(cause)
    })?;
    let has_unique_ids = table.stats.ids == table.stats.entries;
    for (position, entry) in table.entries() {
        // Of several entries with one id, the last one counts.
        if has_unique_ids || table.find(entry.id).is_some_and(|(last, _)| last == position) {
            line_refs.push(LineRef { offset: entry.offset, position, length: entry.length });
        }
    }
    if !table.stats.is_in_order {
        line_refs.sort_unstable_by_key(|line| (line.offset, line.position));
    }
    Ok(line_refs)
}
