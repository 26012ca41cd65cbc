//! Fills one filter by one thread, for builds without the feature `parallel`.

use container_core::Result;
use simplebloom::BloomFilter;
use simplebloom::digest::Salt;

use crate::index::KeyList;
use crate::write::index::each_digest;

/// Inserts all keys into a filter; ignores the number of threads.
pub(super) fn fill(filter: &mut BloomFilter, keys: &KeyList, _threads: usize) -> Result<()> {
    each_digest(keys.bytes_of(0..keys.len()), Salt::NONE, |digests| filter.insert_digests(digests))
}
