//! [`BloomFilter`].

use alloc::format;
use alloc::vec::Vec;
use core::fmt;

use container_core::{Error, ErrorKind, Limits, Result};

use crate::bulk::{Inserter, LOOKUP_KEYS, TileLookup};
use crate::digest::group::LANES;
use crate::digest::{Digest, Salt, digest, digest_up_to_group, unsalted};
use crate::ln::ln;
use crate::partitioned::{self, PartitionedLookup};
use crate::plan::Plan;
use crate::shape::{FORMAT, HEADER_BYTES, Shape};
use crate::wire;

/// A Bloom filter: a set of keys with false positives, but no false negatives.
///
/// `B` holds the whole file, header and bits: a `Vec<u8>`, a borrowed or mapped slice, `bytes::Bytes`, or anything else that
/// is `AsRef<[u8]>`. Keys are inserted in place if it is also `AsMut<[u8]>`.
///
/// Keys are strings, as in the reference, which hashes their UTF-8. The methods for many keys and those named `bytes` accept
/// any bytes; the reference can query only those that are UTF-8.
#[derive(Clone)]
pub struct BloomFilter<B = Vec<u8>> {
    shape: Shape,
    pub(crate) plan: Plan,
    bytes: B,
}

impl BloomFilter<Vec<u8>> {
    /// An empty filter for `elements` keys, at least 2, with a false positive probability of `1 / elements`.
    ///
    /// # Errors
    /// As [`with_shape`](Self::with_shape), and as [`Shape::with_default_probability`].
    pub fn new(elements: u64) -> Result<Self> {
        Self::with_shape(Shape::with_default_probability(elements)?)
    }

    /// An empty filter for `elements` keys with this false positive probability.
    ///
    /// # Errors
    /// As [`with_shape`](Self::with_shape), and as [`Shape::new`].
    pub fn with_probability(elements: u64, probability: f64) -> Result<Self> {
        Self::with_shape(Shape::new(elements, probability)?)
    }

    /// An empty filter of this shape.
    ///
    /// # Errors
    /// [`Limit`](ErrorKind::Limit) if it exceeds the default [`block_bytes`](container_core::Limits::block_bytes), 1 GiB;
    /// [`Io`](ErrorKind::Io) if it cannot be allocated.
    pub fn with_shape(shape: Shape) -> Result<Self> {
        Self::with_limits(shape, &Limits::default())
    }

    /// An empty filter of this shape, of at most [`block_bytes`](container_core::Limits::block_bytes).
    ///
    /// # Errors
    /// As [`with_shape`](Self::with_shape).
    pub fn with_limits(shape: Shape, limits: &Limits) -> Result<Self> {
        let length = shape.file_bytes();
        limits.check_block("length of the filter in bytes", length).map_err(|error| error.in_format(FORMAT))?;
        let mut bytes = Vec::new();
        let no_memory = || Error::new(ErrorKind::Io, format!("cannot allocate a filter of {length} bytes"));
        let length = usize::try_from(length).map_err(|_| no_memory().in_format(FORMAT))?;
        bytes.try_reserve_exact(length).map_err(|cause| no_memory().caused_by(cause).in_format(FORMAT))?;
        bytes.extend_from_slice(&wire::emit(&shape));
        bytes.resize(length, 0);
        Ok(Self { shape, plan: Plan::new(&shape), bytes })
    }
}

impl<B: AsRef<[u8]>> BloomFilter<B> {
    /// Opens the filter in a file's bytes, without a copy. Checks the length and the header of 32 bytes; everything else is
    /// valid then.
    ///
    /// # Errors
    /// [`Truncated`](ErrorKind::Truncated) or [`Invalid`](ErrorKind::Invalid), with a byte offset.
    pub fn from_bytes(bytes: B) -> Result<Self> {
        let shape = wire::parse(bytes.as_ref())?;
        Ok(Self { shape, plan: Plan::new(&shape), bytes })
    }

    /// Capacity, false positive probability and sizes.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The bytes of the file.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Returns the bytes of the file.
    #[must_use]
    pub fn into_inner(self) -> B {
        self.bytes
    }

    /// The bits without the header.
    pub(crate) fn bits(&self) -> &[u8] {
        self.as_bytes().get(HEADER_BYTES..).unwrap_or_default()
    }

    /// Whether the filter contains the key. `true` may be a false positive, `false` is certain.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.contains_bytes(key.as_bytes())
    }

    /// [`contains`](Self::contains) for a key of any bytes.
    #[must_use]
    pub fn contains_bytes(&self, key: &[u8]) -> bool {
        self.plan.contains(self.bits(), digest(key, Salt::NONE))
    }

    /// Whether the filter contains all of the keys. Stops soon after the first that is absent.
    #[must_use]
    pub fn contains_all<K: AsRef<[u8]>>(&self, keys: &[K]) -> bool {
        let mut results = [false; LOOKUP_KEYS];
        keys.chunks(LOOKUP_KEYS).all(|keys| {
            let results = results.get_mut(..keys.len()).unwrap_or_default();
            look_up(self.bits(), self.plan, keys, results, 1, key_hasher());
            results.iter().all(|present| *present)
        })
    }

    /// Writes to `results`, for each key, whether the filter contains it.
    ///
    /// For many keys in a filter of more than 6 MiB, this allocates up to twice the size of the filter.
    ///
    /// ```
    /// # use simplebloom::BloomFilter;
    /// let mut filter = BloomFilter::new(1000)?;
    /// filter.insert_many(&["a", "b"]);
    /// let mut results = [false; 3];
    /// filter.contains_many(&["b", "c", "a"], &mut results)?;
    /// assert_eq!(results, [true, false, true]);
    /// # Ok::<(), container_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Usage`](ErrorKind::Usage) if `results` is not as long as `keys`; nothing is written then.
    pub fn contains_many<K: AsRef<[u8]>>(&self, keys: &[K], results: &mut [bool]) -> Result<()> {
        check_length("results", keys.len(), results.len())?;
        look_up(self.bits(), self.plan, keys, results, 1, key_hasher());
        Ok(())
    }

    /// Iterates over whether the filter contains each key. Reads up to 64 keys ahead.
    ///
    /// ```
    /// # use simplebloom::BloomFilter;
    /// let mut filter = BloomFilter::new(1000)?;
    /// filter.extend((0..500).map(|number| number.to_string()));
    /// assert_eq!(filter.contains_iter((400..600).map(|number| number.to_string())).filter(|&found| found).count(), 100);
    /// # Ok::<(), container_core::Error>(())
    /// ```
    pub fn contains_iter<I>(&self, keys: I) -> impl Iterator<Item = bool>
    where
        I: IntoIterator<Item: AsRef<[u8]>>,
    {
        let mut keys = keys.into_iter();
        let mut batch = Vec::with_capacity(LOOKUP_KEYS);
        let (mut results, mut next, mut count) = ([false; LOOKUP_KEYS], 0, 0);
        core::iter::from_fn(move || {
            if next == count {
                batch.clear();
                batch.extend(keys.by_ref().take(LOOKUP_KEYS));
                results = [false; LOOKUP_KEYS];
                let results = results.get_mut(..batch.len()).unwrap_or_default();
                look_up(self.bits(), self.plan, &batch, results, 1, key_hasher());
                (next, count) = (0, batch.len());
            }
            let result = results.get(next).copied().filter(|_| next < count);
            next += usize::from(result.is_some());
            result
        })
    }

    /// [`contains_many`](Self::contains_many) for keys already hashed, without a salt, by
    /// [`digest_many`](crate::digest::digest_many).
    ///
    /// # Errors
    /// As [`contains_many`](Self::contains_many).
    pub fn contains_digests(&self, digests: &[Digest], results: &mut [bool]) -> Result<()> {
        check_length("results", digests.len(), results.len())?;
        look_up(self.bits(), self.plan, digests, results, 1, copy_digests);
        Ok(())
    }

    /// The fraction of bits that are set: 0 for an empty filter, about 0.5 for one at capacity.
    ///
    /// O(n): counts all bits, at memory speed.
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        ratio(self.ones(), self.shape.bits())
    }

    /// An estimate of the number of keys inserted, from the fraction of bits set. 0 for an empty filter, infinity for a full
    /// one, NaN if keys have no bits.
    ///
    /// O(n): counts all bits, at memory speed.
    #[must_use]
    pub fn estimated_len(&self) -> f64 {
        let (ones, bits) = (self.ones(), self.shape.bits());
        if self.shape.hashes() == 0 {
            return f64::NAN;
        }
        match ratio(bits.saturating_sub(ones), bits) {
            unset if unset <= 0.0 => f64::INFINITY,
            unset if unset >= 1.0 => 0.0,
            unset => -ratio(bits, 1) / f64::from(self.shape.hashes()) * ln(unset),
        }
    }

    /// The number of bits set.
    fn ones(&self) -> u64 {
        let (words, rest) = self.bits().as_chunks::<8>();
        let words = words.iter().map(|word| u64::from(u64::from_ne_bytes(*word).count_ones())).sum::<u64>();
        words + rest.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>()
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> BloomFilter<B> {
    pub(crate) fn bits_mut(&mut self) -> &mut [u8] {
        self.bytes.as_mut().get_mut(HEADER_BYTES..).unwrap_or_default()
    }

    /// Inserts a key.
    pub fn insert(&mut self, key: &str) {
        self.insert_bytes(key.as_bytes());
    }

    /// [`insert`](Self::insert) for a key of any bytes.
    pub fn insert_bytes(&mut self, key: &[u8]) {
        let plan = self.plan;
        plan.insert(self.bits_mut(), digest(key, Salt::NONE));
    }

    /// Inserts many keys. For an iterator, use [`extend`](Extend::extend).
    ///
    /// For many keys and a filter of more than 6 MiB, this allocates up to the size of the filter.
    pub fn insert_many<K: AsRef<[u8]>>(&mut self, keys: &[K]) {
        let plan = self.plan;
        insert_into(self.bits_mut(), plan, keys, key_hasher());
    }

    /// Inserts keys already hashed, without a salt, by [`digest_many`](crate::digest::digest_many).
    pub fn insert_digests(&mut self, digests: &[Digest]) {
        let plan = self.plan;
        insert_into(self.bits_mut(), plan, digests, copy_digests);
    }

    /// Inserts all keys of another filter.
    ///
    /// # Errors
    /// [`Usage`](ErrorKind::Usage) if the shapes differ; nothing is changed then.
    pub fn union(&mut self, other: &BloomFilter<impl AsRef<[u8]>>) -> Result<()> {
        let (shape, theirs) = (self.shape, other.shape);
        if shape != theirs {
            let text = format!(
                "cannot merge a filter for {} elements and probability {:?} into one for {} elements and probability {:?}",
                theirs.elements(),
                theirs.probability(),
                shape.elements(),
                shape.probability()
            );
            return Err(Error::usage(text).in_format(FORMAT));
        }
        merge(self.bits_mut(), other.bits());
        Ok(())
    }
}

/// Sets the bits that are set in `other`.
pub(crate) fn merge(bits: &mut [u8], other: &[u8]) {
    for (to, from) in bits.iter_mut().zip(other) {
        *to |= from;
    }
}

/// Inserts keys; `hash` hashes up to [`LANES`] of them.
pub(crate) fn insert_into<K>(bits: &mut [u8], plan: Plan, keys: &[K], hash: impl Fn(&[K], &mut [Digest])) {
    let mut inserter = Inserter::new(bits, plan, keys.len());
    let mut digests = [[0; 2]; LANES];
    for keys in keys.chunks(LANES) {
        hash(keys, &mut digests);
        inserter.push(digests.get(..keys.len()).unwrap_or_default());
    }
}

/// Looks up keys; `hash` hashes up to [`LANES`] of them. `threads` calls run at the same time.
pub(crate) fn look_up<K>(
    bits: &[u8],
    plan: Plan,
    keys: &[K],
    results: &mut [bool],
    threads: usize,
    hash: impl Fn(&[K], &mut [Digest]),
) {
    let hash = |keys: &[K], digests: &mut [Digest]| {
        for (keys, digests) in keys.chunks(LANES).zip(digests.chunks_mut(LANES)) {
            hash(keys, digests);
        }
    };
    if partitioned::is_worth_it(bits, &plan, keys.len()) {
        let mut lookup = PartitionedLookup::new(bits, plan, keys.len(), threads);
        let size = lookup.batch_size();
        let mut digests = alloc::vec![[0; 2]; size];
        for (keys, results) in keys.chunks(size).zip(results.chunks_mut(size)) {
            hash(keys, &mut digests);
            lookup.look_up(&digests, results);
        }
    } else {
        let mut lookup = TileLookup::new(bits, plan);
        let mut digests = [[0; 2]; LOOKUP_KEYS];
        for (keys, results) in keys.chunks(LOOKUP_KEYS).zip(results.chunks_mut(LOOKUP_KEYS)) {
            hash(keys, &mut digests);
            lookup.look_up(digests.get(..keys.len()).unwrap_or_default(), results);
        }
    }
}

/// A function that hashes up to [`LANES`] keys.
pub(crate) fn key_hasher<K: AsRef<[u8]>>() -> impl Fn(&[K], &mut [Digest]) {
    let start = unsalted();
    move |keys, digests| digest_up_to_group(keys, &start, digests)
}

/// The counterpart of [`key_hasher`] for keys already hashed.
pub(crate) fn copy_digests(keys: &[Digest], digests: &mut [Digest]) {
    for (to, from) in digests.iter_mut().zip(keys) {
        *to = *from;
    }
}

/// Checks the length of an output slice.
pub(crate) fn check_length(what: &str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::usage(format!("{what}: expected length {expected}, found {found}")).in_format(FORMAT))
}

#[expect(clippy::cast_precision_loss, reason = "the ratio is used for estimates")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

impl<B: AsRef<[u8]> + AsMut<[u8]>, K: AsRef<[u8]>> Extend<K> for BloomFilter<B> {
    /// Inserts the keys, sixteen at a time.
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        let plan = self.plan;
        let hash = key_hasher();
        let mut keys = keys.into_iter();
        let mut batch = Vec::with_capacity(LANES);
        let mut inserter = Inserter::new(self.bits_mut(), plan, keys.size_hint().0);
        let mut digests = [[0; 2]; LANES];
        loop {
            batch.clear();
            batch.extend(keys.by_ref().take(LANES));
            if batch.is_empty() {
                return;
            }
            hash(&batch, &mut digests);
            inserter.push(digests.get(..batch.len()).unwrap_or_default());
        }
    }
}

/// Compares the files.
impl<B: AsRef<[u8]>, C: AsRef<[u8]>> PartialEq<BloomFilter<C>> for BloomFilter<B> {
    fn eq(&self, other: &BloomFilter<C>) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl<B: AsRef<[u8]>> Eq for BloomFilter<B> {}

/// Shows the shape, not the bits.
impl<B> fmt::Debug for BloomFilter<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BloomFilter").field("shape", &self.shape).finish_non_exhaustive()
    }
}
