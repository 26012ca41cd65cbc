//! Fills one filter by several threads.

use container_core::Result;
use simplebloom::BloomFilter;

use crate::index::KeyList;

/// Keys collected at once.
const BATCH_LEN: usize = 1 << 18;

/// Inserts all keys into a filter.
pub(super) fn fill(filter: &mut BloomFilter, keys: &KeyList, threads: usize) -> Result<()> {
    let mut batch: Vec<&[u8]> = Vec::new();
    let mut rest = keys.bytes_of(0..keys.len());
    loop {
        batch.clear();
        for key in rest.by_ref().take(BATCH_LEN) {
            batch.push(key?);
        }
        if batch.is_empty() {
            return Ok(());
        }
        filter.par_insert_many(&batch, threads);
    }
}
