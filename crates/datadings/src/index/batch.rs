//! Hashes keys in batches.

use simplebloom::digest::{self, Digest, Salt};

/// Keys hashed together.
const BATCH_LEN: usize = 256;

/// Collects keys and hashes them in batches, in order.
pub(crate) struct KeyBatch {
    salt: Salt,
    text: Vec<u8>,
    ends: Vec<usize>,
    digests: Vec<Digest>,
}

impl KeyBatch {
    pub(crate) fn new(salt: Salt) -> Self {
        Self { salt, text: Vec::new(), ends: Vec::with_capacity(BATCH_LEN), digests: Vec::new() }
    }

    /// Adds a key. `each` receives the digests computed so far, in key order; a digest's first half is the key hash.
    #[inline]
    pub(crate) fn push(&mut self, key: &str, each: impl FnMut(Digest)) {
        self.text.extend_from_slice(key.as_bytes());
        self.ends.push(self.text.len());
        if self.ends.len() == BATCH_LEN {
            self.finish(each);
        }
    }

    /// Hashes the remaining keys.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(Digest)) {
        let mut start = 0;
        let keys: Vec<&[u8]> = self
            .ends
            .iter()
            .map(|&end| self.text.get(std::mem::replace(&mut start, end)..end).unwrap_or_default())
            .collect();
        self.digests.clear();
        self.digests.resize(keys.len(), [0; 2]);
        // Cannot fail: there are as many digests as keys.
        if digest::digest_many(&keys, self.salt, &mut self.digests).is_ok() {
            self.digests.iter().for_each(|digest| each(*digest));
        }
        self.text.clear();
        self.ends.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::hash_key;

    #[test]
    fn batches_hash_like_single_keys() {
        for count in [0, 1, 255, 256, 257, 1000] {
            let keys: Vec<String> = (0..count).map(|n| "x".repeat(n % 150) + &n.to_string()).collect();
            let mut hashes = Vec::new();
            let mut batch = KeyBatch::new(Salt::new([7; 8]));
            keys.iter().for_each(|key| batch.push(key, |[hash, _]| hashes.push(hash)));
            batch.finish(|[hash, _]| hashes.push(hash));
            let expected: Vec<u64> = keys.iter().map(|key| hash_key(key, Salt::new([7; 8]))).collect();
            assert_eq!(hashes, expected);
        }
    }
}
