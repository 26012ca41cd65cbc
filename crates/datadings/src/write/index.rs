//! What is derived from the keys: their hashes, and the filter over them.

use std::thread;

use container_core::{Limits, Result, Sync};
use simplebloom::digest::{Digest, Salt};
use simplebloom::{BloomFilter, Shape};

use crate::index::{KeyList, KeyTable, choose_salt};
use crate::wire::{FileSet, Part};
use crate::write::spool::Spool;
use crate::write::sum::sum_of;

/// Fewer keys than this are not worth a thread.
const SMALL: u64 = 1 << 14;

/// Keys that are hashed at once.
const DIGESTS: usize = 1 << 12;

/// And by all threads.
#[cfg(feature = "parallel")]
const DIGESTS_OF_ALL: usize = 1 << 18;

/// The index files that are derived.
pub(crate) struct Derived {
    pub(crate) hashes: Spool,
    pub(crate) filter: Spool,
    /// The sums of all four index files, in the order of [`Part::INDEX`]; none where none are wanted.
    pub(crate) sums: [Option<[u8; 16]>; 4],
}

/// Writes `.key_hashes` and `.filter`, and sums them and the two that are there.
pub(crate) fn derive(
    set: &FileSet,
    [offsets, keys]: [&mut Spool; 2],
    list: &KeyList,
    threads: usize,
    sums: bool,
) -> Result<Derived> {
    let sync = offsets.sync();
    let threads = match threads {
        _ if list.len() < SMALL => 1,
        0 => thread::available_parallelism().map_or(1, Into::into),
        some => some,
    };
    let sum = |spool: &mut Spool| match sums {
        true => sum_of(&spool.read_all()?).map(Some),
        false => Ok(None),
    };
    let with_sum = |mut spool: Spool| {
        let sum = sum(&mut spool)?;
        Ok((spool, sum))
    };
    let hashes = || write_hashes(set, list, sync, threads).and_then(with_sum);
    let filter = || write_filter(set, list, sync, threads).and_then(with_sum);
    if threads == 1 {
        let first = [sum(offsets)?, sum(keys)?];
        return Ok(Derived::of(first, hashes()?, filter()?));
    }
    // Each has a part that one thread does: side by side they keep the others busy.
    thread::scope(|scope| {
        let (filter, hashes) = (scope.spawn(filter), scope.spawn(hashes));
        let offsets = scope.spawn(|| sum(offsets));
        let keys = sum(keys);
        let (filter, hashes, offsets) = (joined(filter), joined(hashes), joined(offsets));
        Ok(Derived::of([offsets?, keys?], hashes?, filter?))
    })
}

/// An index file and its sum.
type Summed = (Spool, Option<[u8; 16]>);

impl Derived {
    fn of([offsets, keys]: [Option<[u8; 16]>; 2], (hashes, third): Summed, (filter, fourth): Summed) -> Self {
        Self { hashes, filter, sums: [offsets, keys, third, fourth] }
    }
}

fn joined<T>(handle: thread::ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn write_hashes(set: &FileSet, keys: &KeyList, sync: Sync, threads: usize) -> Result<Spool> {
    let (salt, hashes) = choose_salt(|salt| {
        let hashes = hash_all(keys, Salt::new(salt), threads)?;
        // The table knows whether two are the same: the one thing that it can find wrong.
        Ok(KeyTable::build(&hashes, |_| 0, threads).is_ok().then_some(hashes))
    })?;
    let mut spool = Spool::create(&set.path(Part::KeyHashes), sync)?;
    spool.put(&salt)?;
    spool.put(&hashes)?;
    Ok(spool)
}

/// The hashes of all keys as they stand in the file.
pub(crate) fn hash_all(keys: &KeyList, salt: Salt, threads: usize) -> Result<Vec<u8>> {
    let len = usize::try_from(keys.len()).unwrap_or(usize::MAX); // keys are held in memory or mapped: they fit
    let mut hashes = vec![0; len.saturating_mul(8)];
    let share = len.div_ceil(threads.max(1)).max(1);
    let fill = |first: usize, out: &mut [u8]| {
        let (out, _) = out.as_chunks_mut::<8>();
        let mut places = out.iter_mut();
        each_digest(keys.starting(first as u64).take(places.len()), salt, |digests| {
            for ([hash, _], place) in digests.iter().zip(&mut places) {
                *place = hash.to_be_bytes();
            }
            Ok(())
        })
    };
    let parts = hashes.chunks_mut(share.saturating_mul(8)).enumerate();
    if threads <= 1 || len <= share {
        for (part, out) in parts {
            fill(part * share, out)?;
        }
        return Ok(hashes);
    }
    let fill = &fill;
    thread::scope(|scope| {
        let handles: Vec<_> = parts.map(|(part, out)| scope.spawn(move || fill(part * share, out))).collect();
        let mut results =
            handles.into_iter().map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        results.try_for_each(|result| result)
    })?;
    Ok(hashes)
}

fn write_filter(set: &FileSet, keys: &KeyList, sync: Sync, threads: usize) -> Result<Spool> {
    // However many keys there are: they are there, so the filter grows with what was written and no more.
    let limits = Limits::default().with_block_bytes(u64::MAX);
    let mut filter = BloomFilter::with_limits(Shape::with_default_probability(keys.len().max(2))?, &limits)?;
    fill(&mut filter, keys, threads)?;
    let mut spool = Spool::create(&set.path(Part::Filter), sync)?;
    spool.put(filter.as_bytes())?;
    Ok(spool)
}

/// Puts all keys into a filter.
pub(crate) fn fill(filter: &mut BloomFilter, keys: &KeyList, threads: usize) -> Result<()> {
    #[cfg(feature = "parallel")]
    if threads > 1 {
        let mut texts: Vec<&str> = Vec::new();
        let mut rest = keys.starting(0);
        loop {
            texts.clear();
            for key in rest.by_ref().take(DIGESTS_OF_ALL) {
                texts.push(key?);
            }
            if texts.is_empty() {
                return Ok(());
            }
            filter.par_insert_many(&texts, threads);
        }
    }
    #[cfg(not(feature = "parallel"))]
    let _ = threads; // one fills it
    each_digest(keys.starting(0), Salt::NONE, |digests| {
        filter.insert_digests(digests);
        Ok(())
    })
}

/// Hashes keys many at once and hands their digests on, in order.
pub(crate) fn each_digest<'a>(
    keys: impl Iterator<Item = Result<&'a str>>,
    salt: Salt,
    mut each: impl FnMut(&[Digest]) -> Result<()>,
) -> Result<()> {
    let mut texts: Vec<&str> = Vec::with_capacity(DIGESTS);
    let mut digests = vec![[0; 2]; DIGESTS];
    let mut hash = |texts: &mut Vec<&str>| -> Result<()> {
        let digests = digests.get_mut(..texts.len()).unwrap_or_default();
        simplebloom::digest::digest_many(texts, salt, digests)?;
        texts.clear();
        each(digests)
    };
    for key in keys {
        texts.push(key?);
        if texts.len() == DIGESTS {
            hash(&mut texts)?;
        }
    }
    hash(&mut texts)
}
