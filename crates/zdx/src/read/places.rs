//! Where documents lie, in the order of the data.

use container_core::{Error, Result};

use crate::read::table::Table;

/// The line of a document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its first byte in the data.
    pub(crate) offset: u64,
    /// Where its entry begins in the index.
    pub(crate) position: u64,
    /// Its bytes as the entry counts them.
    pub(crate) length: u32,
}

/// The places of all documents, sorted by where they lie.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) where there is no memory for them.
pub(crate) fn places(table: &Table) -> Result<Vec<Place>> {
    let mut places = Vec::new();
    let wanted = usize::try_from(table.seen.ids).unwrap_or(usize::MAX);
    places
        .try_reserve_exact(wanted)
        .map_err(|cause| Error::usage(format!("no memory for the places of {wanted} documents")).caused_by(cause))?;
    let is_each_its_own = table.seen.ids == table.seen.entries;
    for (position, entry) in table.entries() {
        // Of several entries of one id the last one holds.
        if is_each_its_own || table.find(entry.id).is_some_and(|(found, _)| found == position) {
            places.push(Place { offset: entry.offset, position, length: entry.length });
        }
    }
    if !table.seen.is_in_order {
        places.sort_unstable_by_key(|place| (place.offset, place.position));
    }
    Ok(places)
}
