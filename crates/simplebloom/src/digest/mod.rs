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

pub(crate) mod group;
mod one;
pub(crate) mod portable;
pub(crate) mod rounds;

#[cfg(test)]
mod tests;

#[cfg(feature = "parallel")]
pub use crate::parallel::par_digest_many;

use container_core::{Error, Result};

pub use self::group::Digest;
use self::group::{Group, LANES};
use crate::simd;

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
        return Err(Error::usage(text).in_format(crate::shape::FORMAT));
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
