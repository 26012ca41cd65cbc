//! One filter that one thread fills: without feature `parallel` there is no other way.

use container_core::Result;
use simplebloom::BloomFilter;
use simplebloom::digest::Salt;

use crate::index::KeyList;
use crate::write::index::each_digest;

/// Puts all keys into a filter, whatever the number of threads.
pub(super) fn fill(filter: &mut BloomFilter, keys: &KeyList, _threads: usize) -> Result<()> {
    each_digest(keys.starting(0), Salt::NONE, |digests| filter.insert_digests(digests))
}
