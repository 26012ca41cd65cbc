//! The reader: access by key.

use container_core::Result;
use simplebloom::digest;

use crate::index::{KeyHashes, hash_key};
use crate::read::reader::Reader;
use crate::read::sample::Sample;
use crate::value::RawValue;
use crate::wire::keys::opening_key;

/// Minimum number of keys in a batch for which the table is built at once.
const MIN_BATCH_FOR_TABLE: usize = 16;

/// Keys looked up together.
const BATCH_LEN: usize = 32;

impl Reader {
    /// The index of the sample with this key, or `None`.
    ///
    /// The first few look-ups scan all hashes (8 bytes per sample); then a table of 17 bytes per sample is built once, by several
    /// threads. The candidate's real key is compared: another key with the same hash is not found.
    ///
    /// # Errors
    /// Defects of `.key_hashes`, or of the keys where they must be read.
    pub fn find(&self, key: &str) -> Result<Option<u64>> {
        let Some(hashes) = self.key_hashes()? else { return Ok(None) };
        let hash = hash_key(key, hashes.salt());
        self.find_hash(hashes, hash, key, false)
    }

    fn find_hash(&self, hashes: &KeyHashes, hash: u64, key: &str, force_table: bool) -> Result<Option<u64>> {
        let mut confirmed = false;
        let row = match self.key_table(hashes, force_table)? {
            Some(table) => table
                .find(hashes.as_bytes(), hash, |row, start| {
                    // Most requested keys exist, and the sample itself confirms that fastest.
                    confirmed = self
                        .key_at_matches(start, key)
                        .unwrap_or_else(|| self.stored_key_matches(row.into(), key) == Some(true));
                    confirmed
                })
                .map(u64::from),
            None => self.scan_hashes(hashes, hash, |row| {
                confirmed = self.stored_key_matches(row, key) == Some(true);
                confirmed
            })?,
        };
        match row {
            Some(row) if confirmed || self.has_key(row, key)? => Ok(Some(row)),
            _ => Ok(None),
        }
    }

    /// The indexes of the samples with these keys, in the order of `keys`. Hashes keys in batches.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn find_many<K: AsRef<str>>(&self, keys: &[K]) -> Result<Vec<Option<u64>>> {
        let Some(hashes) = self.key_hashes()? else { return Ok(vec![None; keys.len()]) };
        let mut digests = vec![[0; 2]; keys.len()];
        let texts: Vec<&[u8]> = keys.iter().map(|key| key.as_ref().as_bytes()).collect();
        digest::digest_many(&texts, hashes.salt(), &mut digests)?;
        let table = self.key_table(hashes, keys.len() >= MIN_BATCH_FOR_TABLE)?;
        let mut rows = Vec::with_capacity(keys.len());
        for (keys, digests) in keys.chunks(BATCH_LEN).zip(digests.chunks(BATCH_LEN)) {
            // One step for the whole batch at a time, so that cache misses overlap.
            let mut candidates = [None; BATCH_LEN];
            for (candidate, [hash, _]) in candidates.iter_mut().zip(digests) {
                *candidate = table.and_then(|table| table.candidate(*hash));
            }
            let mut touched = 0;
            for (_, start) in candidates.iter().flatten() {
                touched ^= self.data_from(*start).and_then(|bytes| bytes.first()).copied().unwrap_or_default();
            }
            std::hint::black_box(touched);
            for ((key, [hash, _]), candidate) in keys.iter().zip(digests).zip(candidates) {
                let key = key.as_ref();
                rows.push(match candidate {
                    Some((row, start)) if self.key_at_matches(start, key) == Some(true) => Some(row.into()),
                    _ => self.find_hash(hashes, *hash, key, true)?,
                });
            }
        }
        Ok(rows)
    }

    /// True if a sample has this key. The filter answers for most keys that do not exist.
    ///
    /// # Errors
    /// As [`find`](Self::find), and defects of `.filter`.
    pub fn contains(&self, key: &str) -> Result<bool> {
        if let Some(filter) = self.key_filter()?
            && !filter.contains(key)
        {
            return Ok(false);
        }
        self.find(key).map(|row| row.is_some())
    }

    /// The sample with this key, or `None`.
    ///
    /// # Errors
    /// As [`find`](Self::find) and [`get`](Self::get).
    pub fn get_key(&self, key: &str) -> Result<Option<Sample<'_>>> {
        match self.find(key)? {
            Some(row) => self.get(row).map(Some),
            None => Ok(None),
        }
    }

    /// The data from `start` to their end, if they are in memory.
    #[inline]
    fn data_from(&self, start: u64) -> Option<&[u8]> {
        self.slice(&(start..self.data_end))
    }

    /// Whether the sample at offset `start` stores this key. `None` if the data are not in memory.
    #[inline]
    fn key_at_matches(&self, start: u64, key: &str) -> Option<bool> {
        let bytes = self.data_from(start)?;
        if opening_key(bytes) == Some(key.as_bytes()) {
            return Some(true);
        }
        let stored = RawValue::at(bytes, start).get("key").ok().flatten();
        Some(stored.is_some_and(|stored| stored.str().is_ok_and(|stored| stored == key)))
    }

    /// Whether the sample stores this key. `None` if it stores no key.
    #[inline]
    fn stored_key_matches(&self, row: u64, key: &str) -> Option<bool> {
        let sample = self.get(row).ok()?;
        if opening_key(sample.as_bytes()) == Some(key.as_bytes()) {
            return Some(true);
        }
        sample.key().ok().map(|stored| stored == key)
    }

    /// Whether this is the sample's key, and not only one with the same hash.
    fn has_key(&self, row: u64, key: &str) -> Result<bool> {
        // Reading the sample is cheaper than scanning all keys.
        let matches = self.stored_key_matches(row, key);
        if matches == Some(true) {
            return Ok(true);
        }
        match self.key_list()? {
            Some(keys) => Ok(keys.get(row).map_err(|error| self.in_part(crate::Part::Keys, error))? == Some(key)),
            // Nothing else to ask: a sample that stores another key is not it, one that stores none may be.
            None => Ok(matches.is_none()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{FileSet, Part};

    /// Without `.keys`, the samples decide: one that stores another key is not it, one that stores none may be.
    #[test]
    fn samples_decide_if_keys_are_not_listed() {
        let folder = tempfile::tempdir().unwrap();
        let set = FileSet::new(folder.path().join("d.msgpack"));
        std::fs::write(set.data(), b"\x81\xa3key\xa1a\xc0\x81\xa3key\xa1c").unwrap();
        std::fs::write(set.path(Part::Offsets), [0u64, 7, 8, 15].map(u64::to_be_bytes).concat()).unwrap();
        // The first hash is that of a key that does not exist.
        let hashes = ["b", "nil", "c"].map(|key| hash_key(key, digest::Salt::NONE));
        std::fs::write(set.path(Part::KeyHashes), [0, hashes[0], hashes[1], hashes[2]].map(u64::to_be_bytes).concat())
            .unwrap();
        let reader = Reader::open(set.data()).unwrap();
        let expected = [("a", None), ("b", None), ("nil", Some(1)), ("c", Some(2)), ("x", None)];
        // By scanning all hashes, and by the table.
        for _ in 0..3 {
            for (key, row) in expected {
                assert_eq!((reader.find(key).unwrap(), reader.contains(key).unwrap()), (row, row.is_some()), "{key}");
            }
        }
        let keys = expected.map(|(key, _)| key).repeat(10);
        let rows = expected.map(|(_, row)| row).repeat(10);
        assert_eq!(reader.find_many(&keys).unwrap(), rows);
        // The number of hashes must match.
        for count in [2, 4] {
            std::fs::write(set.path(Part::KeyHashes), vec![0; 8 + 8 * count]).unwrap();
            let error = Reader::open(set.data()).unwrap().find("c").unwrap_err().to_string();
            assert!(error.ends_with(&format!("expected 3 key hashes (one per sample), found {count}")), "{error}");
        }
    }

    /// Duplicate hashes are detected once and reported by every look-up.
    #[test]
    fn damaged_hashes_are_detected_once() {
        let folder = tempfile::tempdir().unwrap();
        let set = FileSet::new(folder.path().join("d.msgpack"));
        std::fs::write(set.data(), b"\xc0\xc0").unwrap();
        std::fs::write(set.path(Part::Offsets), [0u64, 1, 2].map(u64::to_be_bytes).concat()).unwrap();
        std::fs::write(set.path(Part::KeyHashes), [0u64, 5, 5].map(u64::to_be_bytes).concat()).unwrap();
        let reader = Reader::open(set.data()).unwrap();
        let errors: Vec<String> =
            (0..3).map(|_| reader.find_many(&["x"; MIN_BATCH_FOR_TABLE]).unwrap_err().to_string()).collect();
        assert!(reader.parts.damage.get().is_some());
        assert!(errors[0].contains("d.msgpack.key_hashes: samples 0 and 1 have the same key hash"), "{}", errors[0]);
        assert!(errors[0].ends_with("(byte 16, row 1)"), "{}", errors[0]);
        assert!(errors.iter().all(|text| *text == errors[0]), "{errors:?}");
        assert_eq!(reader.find("x").unwrap_err().to_string(), errors[0]);
    }
}
