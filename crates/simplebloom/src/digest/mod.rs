//! Hashing many short keys with BLAKE2s-256, of which the first 16 bytes are returned as two numbers.
//!
//! Filters hash keys themselves ([`BloomFilter::insert_many`](crate::BloomFilter::insert_many)). Use this module to insert
//! the same keys into several filters, or for another format with the same hash, such as
//! `hashlib.blake2s(key, salt=salt)` with a [`Salt`].
//!
//! ```
//! use simplebloom::digest::{Salt, digest, digest_many};
//!
//! let keys = ["a", "b", "a longer key, of two blocks, that is hashed side by side with the short ones all the same"];
//! let mut digests = [[0; 2]; 3];
//! digest_many(&keys, Salt::NONE, &mut digests)?;
//! assert_eq!(digests[1], digest(b"b", Salt::NONE));
//! // hashlib.blake2s(b"a").digest()[:8]
//! assert_eq!(digests[0][0], 0x4a0d_1298_7340_3037);
//! # Ok::<(), container_core::Error>(())
//! ```

pub(crate) mod group;
#[cfg_attr(target_arch = "aarch64", allow(dead_code, reason = "NEON takes its place but in tests"))]
pub(crate) mod portable;
pub(crate) mod rounds;
mod single;

#[cfg(test)]
mod tests;

#[cfg(feature = "parallel")]
pub use crate::parallel::par_digest_many;

use container_core::Result;

pub use self::group::Digest;
use self::group::{Group, LANES};
use crate::filter::check_length;
use crate::simd;

/// Eight bytes that change the digest of every key. All zeros are equivalent to no salt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Salt([u8; 8]);

impl Salt {
    /// No salt, as in Bloom filters.
    pub const NONE: Self = Self([0; 8]);

    /// A salt of these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }

    /// The state before the first block, for a digest of 32 bytes, no key, and this salt.
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
    single::digest(key, &salt.start())
}

/// The digests of many keys, of any lengths.
///
/// Sixteen keys are hashed side by side if their lengths allow it: a key takes one block per 64 bytes, and the number of
/// blocks of neighbors should not differ by more than a factor of four.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) if `digests` is not as long as `keys`; nothing is written then.
pub fn digest_many<K: AsRef<[u8]>>(keys: &[K], salt: Salt, digests: &mut [Digest]) -> Result<()> {
    check_length("digests", keys.len(), digests.len())?;
    let start = salt.start();
    for (keys, digests) in keys.chunks(LANES).zip(digests.chunks_mut(LANES)) {
        digest_up_to_group(keys, &start, digests);
    }
    Ok(())
}

/// The state before the first block of a key in a filter.
pub(crate) fn unsalted() -> [u32; 8] {
    Salt::NONE.start()
}

/// The digests of up to [`LANES`] keys.
pub(crate) fn digest_up_to_group<K: AsRef<[u8]>>(keys: &[K], start: &[u32; 8], digests: &mut [Digest]) {
    let group = Group { keys: core::array::from_fn(|lane| keys.get(lane).map_or(&[][..], K::as_ref)) };
    if group.is_worth_it(keys.len()) {
        for (to, from) in digests.iter_mut().zip(simd::digest_group(&group, start)) {
            *to = from;
        }
    } else {
        for (to, key) in digests.iter_mut().zip(keys) {
            *to = single::digest(key.as_ref(), start);
        }
    }
}
