//! One filter that all threads fill.

use container_core::Result;
use simplebloom::BloomFilter;

use crate::index::KeyList;

/// Keys whose texts are held at once.
const TEXTS: usize = 1 << 18;

/// Puts all keys into a filter.
pub(super) fn fill(filter: &mut BloomFilter, keys: &KeyList, threads: usize) -> Result<()> {
    let mut texts: Vec<&str> = Vec::new();
    let mut rest = keys.starting(0);
    loop {
        texts.clear();
        for key in rest.by_ref().take(TEXTS) {
            texts.push(key?);
        }
        if texts.is_empty() {
            return Ok(());
        }
        filter.par_insert_many(&texts, threads);
    }
}
