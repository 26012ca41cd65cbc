//! Several threads.
//!
//! A small filter is filled once for each thread and the copies are united. Of a large one each thread has a part of the
//! bits to itself, after all have sorted the indices of some keys by part. Either way the bits are the same in the end,
//! whatever the number of threads.

use alloc::vec::Vec;

use container_core::{Error, Result};
use rayon::prelude::*;

use crate::BloomFilter;
use crate::digest::group::LANES;
use crate::digest::{Digest, Salt, digest_many};
use crate::far::{Bins, sorted_at_once};
use crate::filter::{ask, given, hashed, insert_into, same_length, unite};
use crate::plan::Plan;
use crate::shape::FORMAT;

/// Bytes that all copies of a filter may take together.
const COPIES: usize = 16 << 20;

/// Handing over fewer keys than this costs more than it saves.
const FEW: usize = 2048;

/// How many threads are worth it for so many keys.
fn threads_for(keys: usize, asked: usize) -> usize {
    let there = rayon::current_num_threads();
    let threads = if asked == 0 { there } else { asked.min(there) };
    threads.min(keys / FEW).max(1)
}

fn insert<K: Sync>(bits: &mut [u8], plan: Plan, keys: &[K], threads: usize, hash: impl Fn(&[K], &mut [Digest]) + Sync) {
    let threads = threads_for(keys.len(), threads);
    if threads == 1 {
        insert_into(bits, plan, keys, hash);
    } else if bits.len().saturating_mul(threads) <= COPIES {
        insert_copies(bits, plan, keys, threads, hash);
    } else {
        insert_parts(bits, plan, keys, threads, hash);
    }
}

fn insert_copies<K: Sync>(
    bits: &mut [u8],
    plan: Plan,
    keys: &[K],
    threads: usize,
    hash: impl Fn(&[K], &mut [Digest]) + Sync,
) {
    const PIECE: usize = 64 << 10;
    let copies = keys.par_chunks(keys.len().div_ceil(threads)).map(|keys| {
        let mut copy = alloc::vec![0; bits.len()];
        insert_into(&mut copy, plan, keys, &hash);
        copy
    });
    let copies: Vec<Vec<u8>> = copies.collect();
    let piece = bits.len().div_ceil(threads).max(PIECE);
    bits.par_chunks_mut(piece).enumerate().for_each(|(at, bits)| {
        for copy in &copies {
            unite(bits, copy.get(at * piece..).unwrap_or_default());
        }
    });
}

fn insert_parts<K: Sync>(
    bits: &mut [u8],
    plan: Plan,
    keys: &[K],
    threads: usize,
    hash: impl Fn(&[K], &mut [Digest]) + Sync,
) {
    let at_once = sorted_at_once(bits, &plan).min(keys.len()).div_ceil(threads);
    let new = || Bins::new(bits.len(), at_once.saturating_mul(plan.hashes()));
    let mut bins: Vec<Bins<u32>> = (0..threads).map(|_| new()).collect();
    let part = bins.first().map_or(bits.len(), Bins::part_bytes);
    let parts_each = bits.len().div_ceil(part).div_ceil(threads);
    for keys in keys.chunks(at_once.saturating_mul(threads)) {
        bins.par_iter_mut().zip(keys.par_chunks(at_once)).for_each(|(bins, keys)| {
            let mut digests = [[0; 2]; LANES];
            for keys in keys.chunks(LANES) {
                hash(keys, &mut digests);
                bins.sort(&plan, digests.get(..keys.len()).unwrap_or_default());
            }
        });
        bits.par_chunks_mut(part * parts_each).enumerate().for_each(|(at, bits)| {
            for (part, bits) in (at * parts_each..).zip(bits.chunks_mut(part)) {
                for bins in &bins {
                    bins.set(part, bits);
                }
            }
        });
        bins.iter_mut().for_each(Bins::clear);
    }
}

fn ask_in_pieces<K: Sync>(
    bits: &[u8],
    plan: Plan,
    keys: &[K],
    found: &mut [bool],
    threads: usize,
    hash: impl Fn(&[K], &mut [Digest]) + Sync,
) {
    let threads = threads_for(keys.len(), threads);
    let piece = keys.len().div_ceil(threads).max(1);
    keys.par_chunks(piece).zip(found.par_chunks_mut(piece)).for_each(|(keys, found)| {
        ask(bits, plan, keys, found, threads, &hash);
    });
}

/// With feature `parallel`.
impl<B: AsRef<[u8]>> BloomFilter<B> {
    /// As [`contains_many`](Self::contains_many), by up to `threads` threads of rayon's pool; all of them for 0.
    ///
    /// For a filter of more than 6 MiB and many keys this takes memory, up to eight times as much as the filter.
    ///
    /// # Errors
    /// As [`contains_many`](Self::contains_many).
    pub fn par_contains_many<K>(&self, keys: &[K], found: &mut [bool], threads: usize) -> Result<()>
    where
        K: AsRef<[u8]> + Sync,
    {
        same_length("keys", keys.len(), found.len())?;
        ask_in_pieces(self.bits(), self.plan(), keys, found, threads, hashed());
        Ok(())
    }

    /// As [`contains_digests`](Self::contains_digests), by up to `threads` threads of rayon's pool; all of them for 0.
    ///
    /// # Errors
    /// As [`contains_digests`](Self::contains_digests).
    pub fn par_contains_digests(&self, digests: &[Digest], found: &mut [bool], threads: usize) -> Result<()> {
        same_length("digests", digests.len(), found.len())?;
        ask_in_pieces(self.bits(), self.plan(), digests, found, threads, given);
        Ok(())
    }
}

/// With feature `parallel`.
impl<B: AsRef<[u8]> + AsMut<[u8]>> BloomFilter<B> {
    /// As [`insert_many`](Self::insert_many), by up to `threads` threads of rayon's pool; all of them for 0. The bits are the
    /// same for any number of them.
    ///
    /// Takes up to 16 MiB, or as much memory again as the filter has.
    pub fn par_insert_many<K: AsRef<[u8]> + Sync>(&mut self, keys: &[K], threads: usize) {
        let plan = self.plan();
        insert(self.bits_mut(), plan, keys, threads, hashed());
    }

    /// As [`insert_digests`](Self::insert_digests), in the way of [`par_insert_many`](Self::par_insert_many).
    pub fn par_insert_digests(&mut self, digests: &[Digest], threads: usize) {
        let plan = self.plan();
        insert(self.bits_mut(), plan, digests, threads, given);
    }
}

/// As [`digest_many`], by up to `threads` threads of rayon's pool; all of them for 0.
///
/// # Errors
/// As [`digest_many`].
pub fn par_digest_many<K>(keys: &[K], salt: Salt, digests: &mut [Digest], threads: usize) -> Result<()>
where
    K: AsRef<[u8]> + Sync,
{
    if keys.len() != digests.len() {
        let text = alloc::format!("{} keys are to be hashed into {} digests", keys.len(), digests.len());
        return Err(Error::usage(text).in_format(FORMAT));
    }
    let piece = keys.len().div_ceil(threads_for(keys.len(), threads)).max(1).next_multiple_of(LANES);
    keys.par_chunks(piece)
        .zip(digests.par_chunks_mut(piece))
        .try_for_each(|(keys, digests)| digest_many(keys, salt, digests))
}
