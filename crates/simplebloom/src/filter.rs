//! The filter.

use alloc::format;
use alloc::vec::Vec;
use core::fmt;

use container_core::{Error, ErrorKind, Limits, Result};

use crate::bulk::{ASKED, Asker, Inserter};
use crate::digest::group::LANES;
use crate::digest::{Digest, Salt, digest, digest_some, unsalted};
use crate::far::{FarAsker, is_far};
use crate::ln::ln;
use crate::plan::Plan;
use crate::shape::Shape;
use crate::shape::{FORMAT, HEADER_BYTES};
use crate::wire::{self};

/// A Bloom filter: a set of keys that may say yes to a key that is not in it, and never no to one that is.
///
/// `B` holds the whole file, header and bits: a `Vec<u8>` of its own, a borrowed or mapped slice, `bytes::Bytes`, or
/// whatever else is `AsRef<[u8]>`. A filter over bytes that can be changed (`AsMut<[u8]>`) takes keys in place.
///
/// Keys are strings, as in the reference, which hashes their UTF-8. The methods for many keys and those named `bytes` take
/// any bytes; only such that are UTF-8 have a string that the reference could ask for.
#[derive(Clone)]
pub struct BloomFilter<B = Vec<u8>> {
    shape: Shape,
    plan: Plan,
    bytes: B,
}

impl BloomFilter<Vec<u8>> {
    /// An empty filter for `elements` keys, at least 2, that is wrong about one in as many others.
    ///
    /// # Errors
    /// As [`with_shape`](Self::with_shape), and as [`Shape::with_default_probability`].
    pub fn new(elements: u64) -> Result<Self> {
        Self::with_shape(Shape::with_default_probability(elements)?)
    }

    /// An empty filter for `elements` keys that is wrong about others with `probability`.
    ///
    /// # Errors
    /// As [`with_shape`](Self::with_shape), and as [`Shape::new`].
    pub fn with_probability(elements: u64, probability: f64) -> Result<Self> {
        Self::with_shape(Shape::new(elements, probability)?)
    }

    /// An empty filter of this shape.
    ///
    /// # Errors
    /// [`Limit`](ErrorKind::Limit) when it takes more than the default
    /// [`block_bytes`](container_core::Limits::block_bytes), 1 GiB; [`Io`](ErrorKind::Io) when there is no memory for it.
    pub fn with_shape(shape: Shape) -> Result<Self> {
        Self::with_limits(shape, &Limits::default())
    }

    /// An empty filter of this shape, of up to [`block_bytes`](container_core::Limits::block_bytes).
    ///
    /// # Errors
    /// As [`with_shape`](Self::with_shape).
    pub fn with_limits(shape: Shape, limits: &Limits) -> Result<Self> {
        let length = shape.file_bytes();
        limits.check_block("the filter's length in bytes", length).map_err(|error| error.in_format(FORMAT))?;
        let mut bytes = Vec::new();
        let no_memory = || Error::new(ErrorKind::Io, format!("no memory for a filter of {length} bytes"));
        let length = usize::try_from(length).map_err(|_| no_memory().in_format(FORMAT))?;
        bytes.try_reserve_exact(length).map_err(|cause| no_memory().caused_by(cause).in_format(FORMAT))?;
        bytes.extend_from_slice(&wire::emit(&shape));
        bytes.resize(length, 0);
        Ok(Self { shape, plan: Plan::new(&shape), bytes })
    }
}

impl<B: AsRef<[u8]>> BloomFilter<B> {
    /// The filter in a file's bytes, which stay where they are. Everything is checked here, once; of the bytes themselves
    /// only the first 32 are looked at.
    ///
    /// # Errors
    /// [`Truncated`](ErrorKind::Truncated) or [`Invalid`](ErrorKind::Invalid), with the byte where it went wrong.
    pub fn from_bytes(bytes: B) -> Result<Self> {
        let shape = wire::parse(bytes.as_ref())?;
        Ok(Self { shape, plan: Plan::new(&shape), bytes })
    }

    /// How large the filter is, and what for.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The file: what is to be written to disk.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// What holds the file.
    #[must_use]
    pub fn into_inner(self) -> B {
        self.bytes
    }

    /// The bits without the header.
    pub(crate) fn bits(&self) -> &[u8] {
        self.as_bytes().get(HEADER_BYTES..).unwrap_or_default()
    }

    #[cfg(feature = "parallel")]
    pub(crate) const fn plan(&self) -> Plan {
        self.plan
    }

    /// Whether the filter holds the key: no is certain, yes is not.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.contains_bytes(key.as_bytes())
    }

    /// As [`contains`](Self::contains), for a key that need not be text.
    #[must_use]
    pub fn contains_bytes(&self, key: &[u8]) -> bool {
        self.plan.contains(self.bits(), digest(key, Salt::NONE))
    }

    /// Whether the filter holds every one of the keys. Stops soon after the first that it does not.
    #[must_use]
    pub fn contains_all<K: AsRef<[u8]>>(&self, keys: &[K]) -> bool {
        let mut found = [false; ASKED];
        keys.chunks(ASKED).all(|keys| {
            let found = found.get_mut(..keys.len()).unwrap_or_default();
            ask(self.bits(), self.plan, keys, found, 1, hashed());
            found.iter().all(|found| *found)
        })
    }

    /// Says of each key whether the filter holds it.
    ///
    /// For a filter of more than 6 MiB and many keys this takes memory, up to twice as much as the filter.
    ///
    /// ```
    /// # use simplebloom::BloomFilter;
    /// let mut filter = BloomFilter::new(1000)?;
    /// filter.insert_many(&["a", "b"]);
    /// let mut found = [false; 3];
    /// filter.contains_many(&["b", "c", "a"], &mut found)?;
    /// assert_eq!(found, [true, false, true]);
    /// # Ok::<(), container_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Usage`](ErrorKind::Usage) when `found` is not as long as `keys`; then nothing was written.
    pub fn contains_many<K: AsRef<[u8]>>(&self, keys: &[K], found: &mut [bool]) -> Result<()> {
        same_length("keys", keys.len(), found.len())?;
        ask(self.bits(), self.plan, keys, found, 1, hashed());
        Ok(())
    }

    /// Says of each key whether the filter holds it, some keys behind what the iterator has given.
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
        let mut some = Vec::with_capacity(ASKED);
        let (mut found, mut next, mut count) = ([false; ASKED], 0, 0);
        core::iter::from_fn(move || {
            if next == count {
                some.clear();
                some.extend(keys.by_ref().take(ASKED));
                found = [false; ASKED];
                ask(self.bits(), self.plan, &some, found.get_mut(..some.len()).unwrap_or_default(), 1, hashed());
                (next, count) = (0, some.len());
            }
            let answer = found.get(next).copied().filter(|_| next < count);
            next += usize::from(answer.is_some());
            answer
        })
    }

    /// As [`contains_many`](Self::contains_many), for keys that have been hashed, without a salt, by
    /// [`digest_many`](crate::digest::digest_many).
    ///
    /// # Errors
    /// As [`contains_many`](Self::contains_many).
    pub fn contains_digests(&self, digests: &[Digest], found: &mut [bool]) -> Result<()> {
        same_length("digests", digests.len(), found.len())?;
        ask(self.bits(), self.plan, digests, found, 1, given);
        Ok(())
    }

    /// How much of the filter is set: 0 when it is empty, about a half when it holds as many keys as it is for.
    ///
    /// Counts all bits, at memory speed.
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        ratio(self.ones(), self.shape.bits())
    }

    /// About how many keys were inserted, by how much of the filter is set. 0 for an empty filter, infinity for a full
    /// one, NaN where keys set no bits.
    ///
    /// Counts all bits, at memory speed.
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

    /// How many bits are set.
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

    /// As [`insert`](Self::insert), for a key that need not be text.
    pub fn insert_bytes(&mut self, key: &[u8]) {
        let plan = self.plan;
        plan.insert(self.bits_mut(), digest(key, Salt::NONE));
    }

    /// Inserts many keys. From an iterator, [`extend`](Extend::extend) does.
    ///
    /// For a filter of more than 6 MiB and many keys this takes memory, up to as much again as the filter.
    pub fn insert_many<K: AsRef<[u8]>>(&mut self, keys: &[K]) {
        let plan = self.plan;
        insert_into(self.bits_mut(), plan, keys, hashed());
    }

    /// Inserts keys that have been hashed, without a salt, by [`digest_many`](crate::digest::digest_many).
    pub fn insert_digests(&mut self, digests: &[Digest]) {
        let plan = self.plan;
        insert_into(self.bits_mut(), plan, digests, given);
    }

    /// Inserts all that was inserted into another filter.
    ///
    /// # Errors
    /// [`Usage`](ErrorKind::Usage) when the two are not of the same shape; then nothing has changed.
    pub fn union(&mut self, other: &BloomFilter<impl AsRef<[u8]>>) -> Result<()> {
        let (shape, theirs) = (self.shape, other.shape);
        if shape != theirs {
            let text = format!(
                "a filter for {} elements and the probability {:?} does not go into one for {} and {:?}",
                theirs.elements(),
                theirs.probability(),
                shape.elements(),
                shape.probability()
            );
            return Err(Error::usage(text).in_format(FORMAT));
        }
        unite(self.bits_mut(), other.bits());
        Ok(())
    }
}

/// Sets what is set in `other`.
pub(crate) fn unite(bits: &mut [u8], other: &[u8]) {
    for (to, from) in bits.iter_mut().zip(other) {
        *to |= from;
    }
}

/// Inserts keys into bits; `hash` is for up to [`LANES`] of them.
pub(crate) fn insert_into<K>(bits: &mut [u8], plan: Plan, keys: &[K], hash: impl Fn(&[K], &mut [Digest])) {
    let mut inserter = Inserter::new(bits, plan, keys.len());
    let mut digests = [[0; 2]; LANES];
    for keys in keys.chunks(LANES) {
        hash(keys, &mut digests);
        inserter.push(digests.get(..keys.len()).unwrap_or_default());
    }
}

/// Says of each of many keys whether it is there; `hash` is for up to [`LANES`] of them. `askers` of these are at work.
pub(crate) fn ask<K>(
    bits: &[u8],
    plan: Plan,
    keys: &[K],
    found: &mut [bool],
    askers: usize,
    hash: impl Fn(&[K], &mut [Digest]),
) {
    let hash = |keys: &[K], digests: &mut [Digest]| {
        for (keys, digests) in keys.chunks(LANES).zip(digests.chunks_mut(LANES)) {
            hash(keys, digests);
        }
    };
    if is_far(bits, &plan, keys.len()) {
        let mut asker = FarAsker::new(bits, plan, keys.len(), askers);
        let mut digests = alloc::vec![[0; 2]; asker.at_once()];
        for (keys, found) in keys.chunks(asker.at_once()).zip(found.chunks_mut(asker.at_once())) {
            hash(keys, &mut digests);
            asker.ask(&digests, found);
        }
    } else {
        let mut asker = Asker::new(bits, plan);
        let mut digests = [[0; 2]; ASKED];
        for (keys, found) in keys.chunks(ASKED).zip(found.chunks_mut(ASKED)) {
            hash(keys, &mut digests);
            asker.ask(digests.get(..keys.len()).unwrap_or_default(), found);
        }
    }
}

/// Hashes up to [`LANES`] keys.
pub(crate) fn hashed<K: AsRef<[u8]>>() -> impl Fn(&[K], &mut [Digest]) {
    let start = unsalted();
    move |keys, digests| digest_some(keys, &start, digests)
}

/// Takes up to [`LANES`] keys that have been hashed.
pub(crate) fn given(keys: &[Digest], digests: &mut [Digest]) {
    for (to, from) in digests.iter_mut().zip(keys) {
        *to = *from;
    }
}

pub(crate) fn same_length(what: &str, keys: usize, found: usize) -> Result<()> {
    if keys == found {
        return Ok(());
    }
    Err(Error::usage(format!("there are {keys} {what} and room for {found} answers")).in_format(FORMAT))
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of bits is an estimate of something else")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

impl<B: AsRef<[u8]> + AsMut<[u8]>, K: AsRef<[u8]>> Extend<K> for BloomFilter<B> {
    /// Inserts the keys, sixteen at a time.
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        let plan = self.plan;
        let hash = hashed();
        let mut keys = keys.into_iter();
        let mut some = Vec::with_capacity(LANES);
        let mut inserter = Inserter::new(self.bits_mut(), plan, keys.size_hint().0);
        let mut digests = [[0; 2]; LANES];
        loop {
            some.clear();
            some.extend(keys.by_ref().take(LANES));
            if some.is_empty() {
                return;
            }
            hash(&some, &mut digests);
            inserter.push(digests.get(..some.len()).unwrap_or_default());
        }
    }
}

/// Equal when their files are.
impl<B: AsRef<[u8]>, C: AsRef<[u8]>> PartialEq<BloomFilter<C>> for BloomFilter<B> {
    fn eq(&self, other: &BloomFilter<C>) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl<B: AsRef<[u8]>> Eq for BloomFilter<B> {}

/// The shape, not the bits.
impl<B> fmt::Debug for BloomFilter<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BloomFilter").field("shape", &self.shape).finish_non_exhaustive()
    }
}
