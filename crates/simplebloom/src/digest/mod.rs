//! The hash of many short keys: BLAKE2s-256, of which the first 16 bytes are given, as two numbers.
//!
//! A filter hashes by itself ([`BloomFilter::insert_many`](crate::BloomFilter::insert_many)). Take this module where the
//! same keys go into several filters, or where another format hashes the same way: with a [`Salt`], as
//! `hashlib.blake2s(key, salt=salt)` does.
//!
//! ```
//! use simplebloom::digest::{Salt, digest, digest_many};
//!
//! let keys = ["a", "b", "a rather longer key that nevertheless is hashed beside the others, in two blocks"];
//! let mut digests = [[0; 2]; 3];
//! digest_many(&keys, Salt::NONE, &mut digests)?;
//! assert_eq!(digests[1], digest(b"b", Salt::NONE));
//! // hashlib.blake2s(b"a").digest()[:8]
//! assert_eq!(digests[0][0], 0x4a0d_1298_7340_3037);
//! # Ok::<(), container_core::Error>(())
//! ```

mod one;
pub(crate) mod portable;
pub(crate) mod rounds;

#[cfg(test)]
mod tests;

#[cfg(feature = "parallel")]
pub use crate::parallel::par_digest_many;

use container_core::{Error, Result};

use crate::simd;

/// The first 16 bytes of a key's BLAKE2s-256 digest, as two big-endian numbers.
pub type Digest = [u64; 2];

/// Eight bytes that give every key another digest.
///
/// A salt of zeros is no salt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Salt([u8; 8]);

impl Salt {
    /// No salt: what Bloom filters hash with.
    pub const NONE: Self = Self([0; 8]);

    /// These eight bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }

    /// The state before the first block: the initial words, with a digest of 32 bytes, no key, and the salt.
    pub(crate) fn start(self) -> [u32; 8] {
        const PARAMETERS: u32 = 0x0101_0020;
        let [a, b, c, d, e, f, g, h] = rounds::IV;
        let [s, t, u, v, w, x, y, z] = self.0;
        [a ^ PARAMETERS, b, c, d, e ^ u32::from_le_bytes([s, t, u, v]), f ^ u32::from_le_bytes([w, x, y, z]), g, h]
    }
}

impl From<[u8; 8]> for Salt {
    fn from(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }
}

/// Bytes of a block.
pub(crate) const BLOCK: usize = 64;

/// Keys of a group.
pub(crate) const LANES: usize = 16;

/// The digest of one key, of any length.
#[must_use]
pub fn digest(key: &[u8], salt: Salt) -> Digest {
    one::digest(key, &salt.start())
}

/// The digests of many keys, of any lengths.
///
/// Sixteen keys are hashed side by side where their lengths allow it: keys of up to 64 bytes take one block, longer ones
/// one for each 64 bytes, and neighbours should not differ by much more than a factor of four.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) when `digests` is not as long as `keys`; then nothing was written.
pub fn digest_many<K: AsRef<[u8]>>(keys: &[K], salt: Salt, digests: &mut [Digest]) -> Result<()> {
    if keys.len() != digests.len() {
        let text = alloc::format!("{} keys are to be hashed into {} digests", keys.len(), digests.len());
        return Err(Error::usage(text).in_format(crate::wire::FORMAT));
    }
    let start = salt.start();
    for (keys, digests) in keys.chunks(LANES).zip(digests.chunks_mut(LANES)) {
        digest_some(keys, &start, digests);
    }
    Ok(())
}

/// The state before the first block of a key in a filter.
pub(crate) fn unsalted() -> [u32; 8] {
    Salt::NONE.start()
}

/// The digests of up to [`LANES`] keys; as many of the two as there are of both.
pub(crate) fn digest_some<K: AsRef<[u8]>>(keys: &[K], start: &[u32; 8], digests: &mut [Digest]) {
    let group = Group { keys: core::array::from_fn(|lane| keys.get(lane).map_or(&[][..], K::as_ref)) };
    if group.is_even(keys.len()) {
        for (to, from) in digests.iter_mut().zip(simd::digest_group(&group, start)) {
            *to = from;
        }
    } else {
        for (to, key) in digests.iter_mut().zip(keys) {
            *to = one::digest(key.as_ref(), start);
        }
    }
}

/// Keys that are hashed side by side.
pub(crate) struct Group<'a> {
    pub(crate) keys: [&'a [u8]; LANES],
}

/// What a key has to do with a block.
pub(crate) struct Turn<'a> {
    /// Its bytes in it; the block is filled up with zeros.
    pub(crate) bytes: &'a [u8],
    /// Its bytes up to the end of the block.
    pub(crate) counter: u32,
    /// All ones when this is its last block.
    pub(crate) last: u32,
    /// All ones unless it has ended before.
    pub(crate) active: u32,
}

impl<'a> Group<'a> {
    /// How many blocks the longest key takes; an empty one takes one.
    #[inline(always)]
    pub(crate) fn blocks(&self) -> usize {
        let longest = self.keys.iter().fold(0, |longest, key| key.len().max(longest));
        blocks(longest)
    }

    /// Whether hashing side by side is worth it: it costs as much for each block of the longest key, whatever the others
    /// do, as about four blocks alone. Of the keys only `count` are wanted.
    #[inline(always)]
    fn is_even(&self, count: usize) -> bool {
        const ALONE: usize = 4;
        // Some kernels count bytes in 32 bits.
        const LONGEST: usize = 1 << 30;
        let most = self.blocks();
        if most == 1 {
            return count >= ALONE;
        }
        let all = self.keys.iter().take(count).fold(0, |all: usize, key| all.saturating_add(blocks(key.len())));
        most <= LONGEST / BLOCK && all >= ALONE * most
    }

    /// A key's turn in a block, both counted from 0.
    #[inline(always)]
    pub(crate) fn block(&self, lane: usize, block: usize) -> Turn<'a> {
        let key = self.keys.get(lane).copied().unwrap_or_default();
        let (begin, end) = (block * BLOCK, (block + 1) * BLOCK);
        let bytes = key.get(begin..).unwrap_or_default();
        let bytes = bytes.get(..BLOCK).unwrap_or(bytes);
        let counter = u32::try_from(key.len().min(end)).unwrap_or(u32::MAX);
        let mask = |is: bool| if is { u32::MAX } else { 0 };
        Turn { bytes, counter, last: mask(key.len() <= end), active: mask(block == 0 || begin < key.len()) }
    }
}

fn blocks(bytes: usize) -> usize {
    bytes.div_ceil(BLOCK).max(1)
}

/// The first four words of a state as two big-endian numbers; the words are little-endian.
#[inline(always)]
pub(crate) fn pair(state: &[u32; 8]) -> Digest {
    let [a, b, c, d, ..] = state.map(|word| u64::from(word.swap_bytes()));
    [a << 32 | b, c << 32 | d]
}
