//! Derives key hashes and the filter from the keys.

use std::thread;

use container_core::{HugePageVec, Limits, Result, Source, SyncPolicy};
use simplebloom::digest::{Digest, Salt};
use simplebloom::{BloomFilter, Shape};

use crate::index::{KeyList, choose_salt, in_parallel, salt_of_attempt};
use crate::md5::Md5;
use crate::wire::{FileSet, Part};
use crate::write::fill::fill;
use crate::write::spool::Spool;

/// Fewer keys are processed by one thread.
const MIN_PARALLEL_KEYS: u64 = 1 << 14;

/// Keys hashed at once.
const DIGESTS: usize = 1 << 12;

/// Maximum total size of one filter per thread; larger filters are filled jointly. Smaller in tests, to cover both ways.
const MAX_COPIES_BYTES: u64 = if cfg!(test) { 1 << 20 } else { 16 << 20 };

/// The derived index files.
pub(crate) struct DerivedFiles {
    pub(crate) hashes: Spool,
    pub(crate) filter: Spool,
    /// MD5 sums of all four index files, in the order of [`Part::INDEX`]; `None` if not requested.
    pub(crate) sums: [Option<[u8; 16]>; 4],
}

/// Writes `.key_hashes` and `.filter`, and sums them and the two existing files: `.offsets`, and `.keys` with this list.
pub(crate) fn derive(
    set: &FileSet,
    offsets: &mut Spool,
    list: &KeyList,
    threads: usize,
    sums: bool,
) -> Result<DerivedFiles> {
    let builder = Builder { set, list, sync: offsets.sync(), threads: threads_for(list, threads), sums };
    builder.derive(&offsets.read_all()?)
}

fn threads_for(list: &KeyList, requested: usize) -> usize {
    match requested {
        _ if list.len() < MIN_PARALLEL_KEYS => 1,
        0 => thread::available_parallelism().map_or(1, Into::into),
        count => count,
    }
}

#[derive(Clone, Copy)]
struct Builder<'a> {
    set: &'a FileSet,
    list: &'a KeyList,
    sync: SyncPolicy,
    threads: usize,
    sums: bool,
}

impl Builder<'_> {
    /// Runs two functions in parallel, or one after the other with a single thread.
    fn join<A: Send, B>(
        &self,
        one: impl FnOnce() -> Result<A> + Send,
        other: impl FnOnce() -> Result<B>,
    ) -> Result<(A, B)> {
        if self.threads == 1 {
            return Ok((one()?, other()?));
        }
        thread::scope(|scope| {
            let handle = scope.spawn(one);
            let other = other();
            let one = handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((one?, other?))
        })
    }

    fn derive(&self, offsets: &Source) -> Result<DerivedFiles> {
        let shape = Shape::with_default_probability(self.list.len().max(2))?;
        // The first salt almost always works.
        let mut hashes = Some(self.hash(salt_of_attempt(0))?);
        // The MD5 sums are sequential; the rest uses the other cores meanwhile.
        let filter_file = || {
            let filter = self.filter(shape)?;
            let spool = self.file(Part::Filter, filter.as_bytes())?;
            Ok((spool, self.sums.then(|| Md5::digest(filter.as_bytes()))))
        };
        let hashes_file = || {
            let (_, file) = choose_salt(|salt| {
                let hashes = match hashes.take() {
                    Some(hashes) => hashes,
                    None => self.hash(salt)?,
                };
                let write = || {
                    let bytes = hashes.as_flattened();
                    let spool = self.file(Part::KeyHashes, bytes)?;
                    let sums = self.sums.then(|| sums_beside(offsets, bytes, self.list.as_bytes()));
                    Ok((spool, sums.transpose()?))
                };
                let check_distinct = || Ok(hashes.split_first().is_none_or(|(_, hashes)| are_distinct(hashes)));
                let (file, distinct) = self.join(write, check_distinct)?;
                Ok(distinct.then_some(file))
            })?;
            Ok(file)
        };
        let ((filter, filter_sum), (hashes, sums)) = self.join(filter_file, hashes_file)?;
        let [offsets, keys, of_hashes] = sums.map_or([None; 3], |sums| sums.map(Some));
        Ok(DerivedFiles { hashes, filter, sums: [offsets, keys, of_hashes, filter_sum] })
    }

    /// Writes a file.
    fn file(&self, part: Part, bytes: &[u8]) -> Result<Spool> {
        let mut spool = Spool::create(&self.set.path(part), self.sync)?;
        spool.put(bytes)?;
        Ok(spool)
    }

    /// The filter over all keys.
    fn filter(&self, shape: Shape) -> Result<BloomFilter> {
        if self.threads > 1 && shape.file_bytes().saturating_mul(self.threads as u64) > MAX_COPIES_BYTES {
            let mut filter = new_filter(shape)?;
            fill(&mut filter, self.list, self.threads)?;
            return Ok(filter);
        }
        let len = self.list.len();
        let share = len.div_ceil(self.threads as u64).max(1);
        let firsts: Vec<u64> = (0..len).step_by(usize::try_from(share).unwrap_or(usize::MAX)).collect();
        let filters = in_parallel(firsts.into_iter(), |first| {
            let mut filter = new_filter(shape)?;
            each_digest(self.list.bytes_of(first..len.min(first + share)), Salt::NONE, |digests| {
                filter.insert_digests(digests);
            })?;
            Ok(filter)
        });
        let mut filters = filters.into_iter();
        let mut filter = filters.next().unwrap_or_else(|| new_filter(shape))?;
        filters.try_for_each(|part| filter.union(&part?))?;
        Ok(filter)
    }

    /// The salt and the hashes of all keys, in the byte order of the file.
    fn hash(&self, salt: [u8; 8]) -> Result<HugePageVec<[u8; 8]>> {
        let len = usize::try_from(self.list.len()).unwrap_or(usize::MAX); // the keys are in memory or mapped, so it fits
        let mut file: HugePageVec<[u8; 8]> = HugePageVec::zeroed(len.saturating_add(1));
        let Some((first, hashes)) = file.split_first_mut() else { return Ok(file) };
        *first = salt;
        let salt = Salt::new(salt);
        let share = len.div_ceil(self.threads).max(1);
        let results = in_parallel(hashes.chunks_mut(share).enumerate(), |(part, out)| {
            let first = (part * share) as u64; // below the number of hashes
            let keys = self.list.bytes_of(first..first + out.len() as u64);
            let mut slots = out.iter_mut();
            each_digest(keys, salt, |digests| {
                for ([hash, _], slot) in digests.iter().zip(&mut slots) {
                    *slot = hash.to_be_bytes();
                }
            })
        });
        results.into_iter().collect::<Result<()>>()?;
        Ok(file)
    }
}

/// The MD5 sums of these three files. The last one, which is the longest, is hashed beside the others.
fn sums_beside(offsets: &Source, hashes: &[u8], keys: &[u8]) -> Result<[[u8; 16]; 3]> {
    /// Bytes read at once, whole blocks of MD5.
    const CHUNK: u64 = 1 << 20;
    let (mut of_keys, mut rest) = (Md5::new(), keys);
    let mut update = |sum: &mut Md5, bytes: &[u8]| {
        let (beside, tail) = rest.split_at(rest.len().min(Md5::whole_blocks(bytes.len())));
        rest = tail;
        Md5::update_both([sum, &mut of_keys], [bytes, beside]);
    };
    let (mut of_offsets, mut of_hashes) = (Md5::new(), Md5::new());
    let (mut buffer, mut at) = (Vec::new(), 0);
    while at < offsets.len() {
        let end = offsets.len().min(at + CHUNK);
        update(&mut of_offsets, offsets.view(at..end, &mut buffer)?);
        at = end;
    }
    update(&mut of_hashes, hashes);
    of_keys.update(rest);
    Ok([of_offsets, of_keys, of_hashes].map(Md5::finish))
}

/// Whether all hashes are distinct. O(n), or O(n log n) for keys chosen to have similar hashes.
fn are_distinct(hashes: &[[u8; 8]]) -> bool {
    /// Bits per hash: at most one hash in 32 is expected to find its bit set.
    const BITS: usize = 32;
    let words = (hashes.len() * BITS / 64).next_power_of_two().max(2);
    let mut bits: HugePageVec<u64> = HugePageVec::zeroed(words);
    let place = |hash: u64| {
        // The leading bits are the word, those after them the bit.
        let word = usize::try_from(hash >> (64 - words.trailing_zeros())).unwrap_or(0); // at most 63 bits
        (word, 1_u64 << (hash >> (58 - words.trailing_zeros()) & 63))
    };
    let all = || hashes.iter().map(|hash| u64::from_be_bytes(*hash));
    let mut candidates: Vec<u64> = Vec::new();
    for hash in all() {
        let (word, bit) = place(hash);
        let Some(word) = bits.get_mut(word) else { continue };
        if *word & bit != 0 {
            candidates.push(hash);
        }
        *word |= bit;
    }
    // A candidate equals an earlier hash if at all: collect all hashes whose bit is that of a candidate.
    bits.fill(0);
    for &hash in &candidates {
        let (word, bit) = place(hash);
        if let Some(word) = bits.get_mut(word) {
            *word |= bit;
        }
    }
    candidates.clear();
    candidates.extend(all().filter(|&hash| {
        let (word, bit) = place(hash);
        bits.get(word).is_some_and(|word| word & bit != 0)
    }));
    candidates.sort_unstable();
    candidates.windows(2).all(|pair| pair.first() != pair.last())
}

fn new_filter(shape: Shape) -> Result<BloomFilter> {
    // The keys have been written already, so the size of the filter needs no limit.
    BloomFilter::with_limits(shape, &Limits::default().with_block_bytes(u64::MAX))
}

/// Hashes keys in batches and passes on their digests, in order.
pub(super) fn each_digest<'a>(
    keys: impl Iterator<Item = Result<&'a [u8]>>,
    salt: Salt,
    mut each: impl FnMut(&[Digest]),
) -> Result<()> {
    let mut batch: Vec<&[u8]> = Vec::with_capacity(DIGESTS);
    let mut digests = vec![[0; 2]; DIGESTS];
    let mut hash = |batch: &mut Vec<&[u8]>| -> Result<()> {
        let digests = digests.get_mut(..batch.len()).unwrap_or_default();
        simplebloom::digest::digest_many(batch, salt, digests)?;
        each(digests);
        batch.clear();
        Ok(())
    };
    for key in keys {
        batch.push(key?);
        if batch.len() == DIGESTS {
            hash(&mut batch)?;
        }
    }
    hash(&mut batch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_equal_hashes() {
        let mixed = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        // Uniform; all with equal leading or equal trailing bits.
        for hash in [mixed, |n| n, |n| n << 40] {
            for len in [0, 1, 2, 3, 63, 1000, 100_000] {
                let mut hashes: Vec<[u8; 8]> = (0..len).map(|n| hash(n).to_be_bytes()).collect();
                assert!(are_distinct(&hashes), "{len}");
                for (from, to) in [(0, 1), (0, hashes.len() / 2), (hashes.len() / 3, hashes.len().saturating_sub(1))] {
                    if let (Some(&copied), true) = (hashes.get(from), from != to && to < hashes.len()) {
                        let kept = std::mem::replace(&mut hashes[to], copied);
                        assert!(!are_distinct(&hashes), "{len}: {from} and {to}");
                        hashes[to] = kept;
                    }
                }
            }
        }
    }
}
