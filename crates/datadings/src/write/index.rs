//! What is derived from the keys: their hashes, and the filter over them.

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

/// Fewer keys than this are not worth a thread.
const SMALL: u64 = 1 << 14;

/// Keys that are hashed at once.
const DIGESTS: usize = 1 << 12;

/// Filters of up to so many bytes together are filled one by each thread. (Less in tests, which come to both ways then.)
const COPIES: u64 = if cfg!(test) { 1 << 20 } else { 16 << 20 };

/// The index files that are derived.
pub(crate) struct Derived {
    pub(crate) hashes: Spool,
    pub(crate) filter: Spool,
    /// The sums of all four index files, in the order of [`Part::INDEX`]; none where none are wanted.
    pub(crate) sums: [Option<[u8; 16]>; 4],
}

/// An index file and its sum.
type Summed = (Spool, Option<[u8; 16]>);

/// Writes `.key_hashes` and `.filter`, and sums them and the two that are there.
pub(crate) fn derive(
    set: &FileSet,
    [offsets, keys]: [&mut Spool; 2],
    list: &KeyList,
    threads: usize,
    sums: bool,
) -> Result<Derived> {
    let work = Work { set, list, sync: offsets.sync(), threads: threads_for(list, threads), sums };
    let sum = |spool: &mut Spool| match sums {
        true => sum_of(&spool.read_all()?).map(Some),
        false => Ok(None),
    };
    let (offsets, keys, (hashes, filter)) =
        work.beside(|| sum(offsets), || work.beside(|| sum(keys), || work.derive())).map(|(a, (b, c))| (a, b, c))?;
    Ok(Derived { sums: [offsets, keys, hashes.1, filter.1], hashes: hashes.0, filter: filter.0 })
}

fn threads_for(list: &KeyList, asked: usize) -> usize {
    match asked {
        _ if list.len() < SMALL => 1,
        0 => thread::available_parallelism().map_or(1, Into::into),
        some => some,
    }
}

#[derive(Clone, Copy)]
struct Work<'a> {
    set: &'a FileSet,
    list: &'a KeyList,
    sync: SyncPolicy,
    threads: usize,
    sums: bool,
}

impl Work<'_> {
    /// Does one thing beside another, unless there is to be one thread.
    fn beside<A: Send, B>(
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

    fn derive(&self) -> Result<(Summed, Summed)> {
        let shape = Shape::with_default_probability(self.list.len().max(2))?;
        // The first salt nearly always is the one.
        let mut hashes = Some(self.hash(Salt::new(salt_of_attempt(0)))?);
        // All the others keep the processors busy beside what is done one byte after the other: the sums.
        let filter_file = || self.file(Part::Filter, [self.filter(shape)?.as_bytes(), &[]]);
        let hashes_file = || {
            let (_, written) = choose_salt(|salt| {
                let hashes = match hashes.take() {
                    Some(hashes) => hashes,
                    None => self.hash(Salt::new(salt))?,
                };
                let file = || self.file(Part::KeyHashes, [&salt, hashes.as_flattened()]);
                // The table knows whether two are the same: the one thing that it can find wrong.
                let distinct = || Ok(KeyTable::build(hashes.as_flattened(), |_| 0, self.threads).is_ok());
                let (written, distinct) = self.beside(file, distinct)?;
                Ok(distinct.then_some(written))
            })?;
            Ok(written)
        };
        self.beside(filter_file, hashes_file).map(|(filter, hashes)| (hashes, filter))
    }

    /// A file of these bytes.
    fn file(&self, part: Part, bytes: [&[u8]; 2]) -> Result<Summed> {
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

    /// All keys in a filter.
    fn filter(&self, shape: Shape) -> Result<BloomFilter> {
        if self.threads > 1 && shape.file_bytes().saturating_mul(self.threads as u64) > COPIES {
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

    /// The hashes of all keys as they stand in the file.
    fn hash(&self, salt: Salt) -> Result<HugePageVec<[u8; 8]>> {
        let len = usize::try_from(self.list.len()).unwrap_or(usize::MAX); // keys are held in memory or mapped: they fit
        let mut hashes: HugePageVec<[u8; 8]> = HugePageVec::zeroed(len);
        let share = len.div_ceil(self.threads).max(1);
        let done = in_parallel(hashes.chunks_mut(share).enumerate(), |(part, out)| {
            let first = (part * share) as u64; // below the number of hashes
            let keys = self.list.range(first..first + out.len() as u64);
            let mut places = out.iter_mut();
            each_digest(keys, salt, |digests| {
                for ([hash, _], place) in digests.iter().zip(&mut places) {
                    *place = hash.to_be_bytes();
                }
            })
        });
        done.into_iter().collect::<Result<()>>()?;
        Ok(hashes)
    }
}

fn new_filter(shape: Shape) -> Result<BloomFilter> {
    // However many keys there are: they are there, so the filter grows with what was written and no more.
    BloomFilter::with_limits(shape, &Limits::default().with_block_bytes(u64::MAX))
}

/// Hashes keys many at once and hands their digests on, in order.
pub(super) fn each_digest<'a>(
    keys: impl Iterator<Item = Result<&'a str>>,
    salt: Salt,
    mut each: impl FnMut(&[Digest]),
) -> Result<()> {
    let mut texts: Vec<&str> = Vec::with_capacity(DIGESTS);
    let mut digests = vec![[0; 2]; DIGESTS];
    let mut hash = |texts: &mut Vec<&str>| -> Result<()> {
        let digests = digests.get_mut(..texts.len()).unwrap_or_default();
        simplebloom::digest::digest_many(texts, salt, digests)?;
        each(digests);
        texts.clear();
        Ok(())
    };
    for key in keys {
        texts.push(key?);
        if texts.len() == DIGESTS {
            hash(&mut texts)?;
        }
    }
    hash(&mut texts)
}
