//! Inserting and querying with several threads.
//!
//! For a small filter each thread fills a copy, and the copies are merged. For a large one the threads first partition the
//! indices of a batch of keys, then each sets the bits of its own parts. The bits are the same for any number of threads.

use alloc::vec::Vec;

use container_core::Result;
use rayon::prelude::*;

use crate::BloomFilter;
use crate::digest::group::LANES;
use crate::digest::{Digest, Salt, digest_many};
use crate::filter::{check_length, copy_digests, insert_into, key_hasher, look_up, merge};
use crate::partitioned::{Bins, batch_size};
use crate::plan::Plan;

/// Maximum bytes of all copies of a filter together.
const MAX_COPIES_BYTES: usize = 16 << 20;

/// Fewer keys per thread cost more than they save.
const MIN_KEYS_PER_THREAD: usize = 2048;

/// The number of threads to use for `keys` keys, at most `requested`; 0 requests all.
fn threads_for(keys: usize, requested: usize) -> usize {
    let available = rayon::current_num_threads();
    let threads = if requested == 0 { available } else { requested.min(available) };
    threads.min(keys / MIN_KEYS_PER_THREAD).max(1)
}

fn insert<K: Sync>(bits: &mut [u8], plan: Plan, keys: &[K], threads: usize, hash: impl Fn(&[K], &mut [Digest]) + Sync) {
    let threads = threads_for(keys.len(), threads);
    if threads == 1 {
        insert_into(bits, plan, keys, hash);
    } else if bits.len().saturating_mul(threads) <= MAX_COPIES_BYTES {
        insert_with_copies(bits, plan, keys, threads, hash);
    } else {
        insert_partitioned(bits, plan, keys, threads, hash);
    }
}

fn insert_with_copies<K: Sync>(
    bits: &mut [u8],
    plan: Plan,
    keys: &[K],
    threads: usize,
    hash: impl Fn(&[K], &mut [Digest]) + Sync,
) {
    const MIN_CHUNK: usize = 64 << 10;
    let copies = keys.par_chunks(keys.len().div_ceil(threads)).map(|keys| {
        let mut copy = alloc::vec![0; bits.len()];
        insert_into(&mut copy, plan, keys, &hash);
        copy
    });
    let copies: Vec<Vec<u8>> = copies.collect();
    let chunk = bits.len().div_ceil(threads).max(MIN_CHUNK);
    bits.par_chunks_mut(chunk).enumerate().for_each(|(at, bits)| {
        for copy in &copies {
            merge(bits, copy.get(at * chunk..).unwrap_or_default());
        }
    });
}

fn insert_partitioned<K: Sync>(
    bits: &mut [u8],
    plan: Plan,
    keys: &[K],
    threads: usize,
    hash: impl Fn(&[K], &mut [Digest]) + Sync,
) {
    let batch = batch_size(bits, &plan).min(keys.len()).div_ceil(threads);
    let new = || Bins::new(bits.len(), batch.saturating_mul(plan.hashes()));
    let mut bins: Vec<Bins<u32>> = (0..threads).map(|_| new()).collect();
    let part_bytes = bins.first().map_or(bits.len(), Bins::part_bytes);
    let parts_per_thread = bits.len().div_ceil(part_bytes).div_ceil(threads);
    for keys in keys.chunks(batch.saturating_mul(threads)) {
        bins.par_iter_mut().zip(keys.par_chunks(batch)).for_each(|(bins, keys)| {
            let mut digests = [[0; 2]; LANES];
            for keys in keys.chunks(LANES) {
                hash(keys, &mut digests);
                bins.add(&plan, digests.get(..keys.len()).unwrap_or_default());
            }
        });
        bits.par_chunks_mut(part_bytes * parts_per_thread).enumerate().for_each(|(at, bits)| {
            for (part, bits) in (at * parts_per_thread..).zip(bits.chunks_mut(part_bytes)) {
                for bins in &bins {
                    bins.set_part(part, bits);
                }
            }
        });
        bins.iter_mut().for_each(Bins::clear);
    }
}

fn look_up_in_chunks<K: Sync>(
    bits: &[u8],
    plan: Plan,
    keys: &[K],
    results: &mut [bool],
    threads: usize,
    hash: impl Fn(&[K], &mut [Digest]) + Sync,
) {
    let threads = threads_for(keys.len(), threads);
    let chunk = keys.len().div_ceil(threads).max(1);
    keys.par_chunks(chunk).zip(results.par_chunks_mut(chunk)).for_each(|(keys, results)| {
        look_up(bits, plan, keys, results, threads, &hash);
    });
}

/// With feature `parallel`.
impl<B: AsRef<[u8]>> BloomFilter<B> {
    /// [`contains_many`](Self::contains_many) with at most `threads` threads of rayon's pool; 0 for all.
    ///
    /// For many keys in a filter of more than 6 MiB, this allocates up to eight times the size of the filter.
    ///
    /// # Errors
    /// As [`contains_many`](Self::contains_many).
    pub fn par_contains_many<K>(&self, keys: &[K], results: &mut [bool], threads: usize) -> Result<()>
    where
        K: AsRef<[u8]> + Sync,
    {
        check_length("results", keys.len(), results.len())?;
        look_up_in_chunks(self.bits(), self.plan, keys, results, threads, key_hasher());
        Ok(())
    }

    /// [`contains_digests`](Self::contains_digests) with at most `threads` threads of rayon's pool; 0 for all.
    ///
    /// # Errors
    /// As [`contains_digests`](Self::contains_digests).
    pub fn par_contains_digests(&self, digests: &[Digest], results: &mut [bool], threads: usize) -> Result<()> {
        check_length("results", digests.len(), results.len())?;
        look_up_in_chunks(self.bits(), self.plan, digests, results, threads, copy_digests);
        Ok(())
    }
}

/// With feature `parallel`.
impl<B: AsRef<[u8]> + AsMut<[u8]>> BloomFilter<B> {
    /// [`insert_many`](Self::insert_many) with at most `threads` threads of rayon's pool; 0 for all. The bits are the same for
    /// any number of them.
    ///
    /// Allocates up to 16 MiB, or the size of the filter if that is more.
    pub fn par_insert_many<K: AsRef<[u8]> + Sync>(&mut self, keys: &[K], threads: usize) {
        let plan = self.plan;
        insert(self.bits_mut(), plan, keys, threads, key_hasher());
    }

    /// [`insert_digests`](Self::insert_digests) with several threads, as [`par_insert_many`](Self::par_insert_many).
    pub fn par_insert_digests(&mut self, digests: &[Digest], threads: usize) {
        let plan = self.plan;
        insert(self.bits_mut(), plan, digests, threads, copy_digests);
    }
}

/// [`digest_many`] with at most `threads` threads of rayon's pool; 0 for all.
///
/// # Errors
/// As [`digest_many`].
pub fn par_digest_many<K>(keys: &[K], salt: Salt, digests: &mut [Digest], threads: usize) -> Result<()>
where
    K: AsRef<[u8]> + Sync,
{
    check_length("digests", keys.len(), digests.len())?;
    let chunk = keys.len().div_ceil(threads_for(keys.len(), threads)).max(1).next_multiple_of(LANES);
    keys.par_chunks(chunk)
        .zip(digests.par_chunks_mut(chunk))
        .try_for_each(|(keys, digests)| digest_many(keys, salt, digests))
}
