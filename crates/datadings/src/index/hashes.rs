//! Key hashes: the first eight bytes of salted BLAKE2s, as a big-endian number.

use container_core::{Bytes, Error, Result};
use simplebloom::digest::{self, Salt};

/// Salts tried before giving up, as in Python.
const MAX_SALT_ATTEMPTS: u32 = 1000;

/// Bytes of the salt at the start of the file.
const SALT_LEN: usize = 8;

/// The hash of a key.
#[inline]
pub(crate) fn hash_key(key: &str, salt: Salt) -> u64 {
    let [hash, _] = digest::digest(key.as_bytes(), salt);
    hash
}

/// The salt of attempt `attempt`, from 0: the digest of its decimal digits.
pub(crate) fn salt_of_attempt(attempt: u32) -> [u8; 8] {
    let [first, _] = digest::digest(attempt.to_string().as_bytes(), Salt::NONE);
    first.to_be_bytes()
}

/// The first salt for which all hashes are distinct. `hashes` returns `None` when two collide.
///
/// # Errors
/// When every salt collides; errors of `hashes`.
pub(crate) fn choose_salt<T>(mut hashes: impl FnMut([u8; 8]) -> Result<Option<T>>) -> Result<([u8; 8], T)> {
    for attempt in 0..MAX_SALT_ATTEMPTS {
        let salt = salt_of_attempt(attempt);
        if let Some(hashes) = hashes(salt)? {
            return Ok((salt, hashes));
        }
    }
    Err(Error::unsupported(format!("two keys have the same hash with each of {MAX_SALT_ATTEMPTS} salts")))
}

/// The contents of `.key_hashes`, zero-copy: a salt, then the hash of every key in sample order.
pub(crate) struct KeyHashes {
    bytes: Bytes,
    salt: [u8; 8],
    len: u64,
}

impl KeyHashes {
    /// Checks the length and reads the salt.
    ///
    /// # Errors
    /// When the salt or the last hash is truncated.
    pub(crate) fn parse(bytes: Bytes) -> Result<Self> {
        let Some((salt, hashes)) = bytes.split_first_chunk::<SALT_LEN>() else {
            return Err(Error::truncated("the salt", SALT_LEN as u64, bytes.len() as u64).at(0));
        };
        let (salt, part) = (*salt, hashes.len() % 8);
        if part != 0 {
            return Err(Error::truncated("a key hash", 8, part as u64).at((bytes.len() - part) as u64));
        }
        let len = (hashes.len() / 8) as u64;
        Ok(Self { bytes, salt, len })
    }

    /// Lays out computed hashes as in the file.
    pub(crate) fn computed(salt: [u8; 8], hashes: &[u64]) -> Self {
        let bytes: Vec<u8> = salt.into_iter().chain(hashes.iter().flat_map(|hash| hash.to_be_bytes())).collect();
        Self { bytes: bytes.into(), salt, len: hashes.len() as u64 }
    }

    pub(crate) fn salt(&self) -> Salt {
        Salt::new(self.salt)
    }

    pub(crate) fn salt_bytes(&self) -> [u8; 8] {
        self.salt
    }

    /// The number of hashes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The hashes, eight bytes each, big-endian.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(SALT_LEN..).unwrap_or_default()
    }

    /// The first sample at or after `from` whose key has this hash. A linear scan.
    pub(crate) fn scan(&self, hash: u64, from: u64) -> Option<u64> {
        /// Hashes compared without a branch, so that the loop vectorizes.
        const BLOCK: usize = 64;
        let target = hash.to_be_bytes();
        let start = usize::try_from(from).ok()?;
        let bytes = self.as_bytes().get(start.checked_mul(8)?..)?;
        let (hashes, _) = bytes.as_chunks::<8>();
        let mut before = start;
        for block in hashes.chunks(BLOCK) {
            let any =
                block.iter().fold(false, |any, hash| any | (u64::from_ne_bytes(*hash) == u64::from_ne_bytes(target)));
            if any {
                let position = block.iter().position(|hash| *hash == target)?;
                return Some((before + position) as u64);
            }
            before += block.len();
        }
        None
    }
}

/// The hash of `row` among big-endian hashes of eight bytes each.
#[inline]
pub(crate) fn hash_at(hashes: &[u8], row: usize) -> Option<u64> {
    hashes.get(row.checked_mul(8)?..)?.first_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn salts_match_the_format_description() {
        assert_eq!(salt_of_attempt(0), [0x65, 0x2E, 0x53, 0x0E, 0xDE, 0xE5, 0x89, 0x3B]);
        assert_eq!(salt_of_attempt(1), [0x62, 0x58, 0x51, 0xE3, 0x87, 0x6E, 0x6E, 0x6D]);
    }

    #[test]
    fn salts_are_tried_until_hashes_are_distinct() {
        let mut tried = Vec::new();
        let (salt, third) = choose_salt(|salt| {
            tried.push(salt);
            Ok((tried.len() == 3).then_some(tried.len()))
        })
        .unwrap();
        assert_eq!((salt, third), (salt_of_attempt(2), 3));
        let error = choose_salt(|_| Ok(None::<()>)).unwrap_err();
        assert_eq!(error.to_string(), "two keys have the same hash with each of 1000 salts");
    }

    #[test]
    fn scan_finds_every_row() {
        let hashes: Vec<u64> = (0..300).map(|n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        let file = KeyHashes::computed([1; 8], &hashes);
        assert_eq!(file.len(), 300);
        for (row, &hash) in hashes.iter().enumerate() {
            assert_eq!(hash_at(file.as_bytes(), row), Some(hash));
            assert_eq!(file.scan(hash, 0), Some(row as u64));
            assert_eq!(file.scan(hash, row as u64), Some(row as u64));
            assert_eq!(file.scan(hash, row as u64 + 1), None);
        }
        assert_eq!(file.scan(5, 0), None);
        assert_eq!(file.scan(5, u64::MAX), None);
    }

    #[test]
    fn rejects_a_truncated_hash() {
        let error = KeyHashes::parse(vec![0; 5].into()).err().unwrap();
        assert_eq!(error.to_string(), "the salt: needs 8 bytes, 5 available (byte 0)");
        let error = KeyHashes::parse(vec![0; 21].into()).err().unwrap();
        assert_eq!(error.to_string(), "a key hash: needs 8 bytes, 5 available (byte 16)");
        assert_eq!(KeyHashes::parse(vec![0; 8].into()).unwrap().len(), 0);
    }
}
