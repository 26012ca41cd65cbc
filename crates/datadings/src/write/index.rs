//! Derives key hashes and the filter from the keys.

use std::thread;

use container_core::{HugePageVec, Limits, Result, SyncPolicy};
use simplebloom::digest::{Digest, Salt};
use simplebloom::{BloomFilter, Shape};

use crate::index::{KeyList, KeyTable, choose_salt, in_parallel, salt_of_attempt};
use crate::md5::Md5;
use crate::wire::{FileSet, Part};
use crate::write::fill::fill;
use crate::write::spool::Spool;
use crate::write::sum::sum_of;

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

/// An index file and its MD5 sum.
type FileAndSum = (Spool, Option<[u8; 16]>);

/// Writes `.key_hashes` and `.filter`, and sums them and the two existing files.
pub(crate) fn derive(
    set: &FileSet,
    [offsets, keys]: [&mut Spool; 2],
    list: &KeyList,
    threads: usize,
    sums: bool,
) -> Result<DerivedFiles> {
    let builder = Builder { set, list, sync: offsets.sync(), threads: threads_for(list, threads), sums };
    let sum = |spool: &mut Spool| match sums {
        true => sum_of(&spool.read_all()?).map(Some),
        false => Ok(None),
    };
    let (offsets, (keys, (hashes, filter))) =
        builder.join(|| sum(offsets), || builder.join(|| sum(keys), || builder.derive()))?;
    Ok(DerivedFiles { sums: [offsets, keys, hashes.1, filter.1], hashes: hashes.0, filter: filter.0 })
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

    fn derive(&self) -> Result<(FileAndSum, FileAndSum)> {
        let shape = Shape::with_default_probability(self.list.len().max(2))?;
        // The first salt almost always works.
        let mut hashes = Some(self.hash(Salt::new(salt_of_attempt(0)))?);
        // The MD5 sums are sequential; the rest uses the other cores meanwhile.
        let filter_file = || self.file(Part::Filter, [self.filter(shape)?.as_bytes(), &[]]);
        let hashes_file = || {
            let (_, file) = choose_salt(|salt| {
                let hashes = match hashes.take() {
                    Some(hashes) => hashes,
                    None => self.hash(Salt::new(salt))?,
                };
                let write = || self.file(Part::KeyHashes, [&salt, hashes.as_flattened()]);
                // Building the table detects duplicate hashes; nothing else can fail.
                let check_distinct = || Ok(KeyTable::build(hashes.as_flattened(), |_| 0, self.threads).is_ok());
                let (file, distinct) = self.join(write, check_distinct)?;
                Ok(distinct.then_some(file))
            })?;
            Ok(file)
        };
        self.join(filter_file, hashes_file).map(|(filter, hashes)| (hashes, filter))
    }

    /// Writes a file.
    fn file(&self, part: Part, bytes: [&[u8]; 2]) -> Result<FileAndSum> {
        let mut spool = Spool::create(&self.set.path(part), self.sync)?;
        let mut sum = self.sums.then(Md5::new);
        for bytes in bytes {
            spool.put(bytes)?;
            if let Some(sum) = &mut sum {
                sum.update(bytes);
            }
        }
        Ok((spool, sum.map(Md5::finish)))
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
            each_digest(self.list.range(first..len.min(first + share)), Salt::NONE, |digests| {
                filter.insert_digests(digests);
            })?;
            Ok(filter)
        });
        let mut filters = filters.into_iter();
        let mut filter = filters.next().unwrap_or_else(|| new_filter(shape))?;
        filters.try_for_each(|part| filter.union(&part?))?;
        Ok(filter)
    }

    /// The hashes of all keys, in the byte order of the file.
    fn hash(&self, salt: Salt) -> Result<HugePageVec<[u8; 8]>> {
        let len = usize::try_from(self.list.len()).unwrap_or(usize::MAX); // the keys are in memory or mapped, so it fits
        let mut hashes: HugePageVec<[u8; 8]> = HugePageVec::zeroed(len);
        let share = len.div_ceil(self.threads).max(1);
        let results = in_parallel(hashes.chunks_mut(share).enumerate(), |(part, out)| {
            let first = (part * share) as u64; // below the number of hashes
            let keys = self.list.range(first..first + out.len() as u64);
            let mut slots = out.iter_mut();
            each_digest(keys, salt, |digests| {
                for ([hash, _], slot) in digests.iter().zip(&mut slots) {
                    *slot = hash.to_be_bytes();
                }
            })
        });
        results.into_iter().collect::<Result<()>>()?;
        Ok(hashes)
    }
}

fn new_filter(shape: Shape) -> Result<BloomFilter> {
    // The keys have been written already, so the size of the filter needs no limit.
    BloomFilter::with_limits(shape, &Limits::default().with_block_bytes(u64::MAX))
}

/// Hashes keys in batches and passes on their digests, in order.
pub(super) fn each_digest<'a>(
    keys: impl Iterator<Item = Result<&'a str>>,
    salt: Salt,
    mut each: impl FnMut(&[Digest]),
) -> Result<()> {
    let mut batch: Vec<&str> = Vec::with_capacity(DIGESTS);
    let mut digests = vec![[0; 2]; DIGESTS];
    let mut hash = |batch: &mut Vec<&str>| -> Result<()> {
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
