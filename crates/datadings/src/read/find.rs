//! The reader's questions by key.

use container_core::Result;
use simplebloom::digest;

use crate::index::{KeyHashes, hash_key};
use crate::read::reader::Reader;
use crate::read::sample::Sample;
use crate::value::RawValue;
use crate::wire::keys::opening_key;

/// So many look-ups build the table at once.
const MANY: usize = 16;

/// So many keys are looked for at once.
const BATCH: usize = 32;

impl Reader {
    /// The number of the sample that has this key, `None` where none has it.
    ///
    /// The first few look-ups go through all hashes (8 bytes a sample); then a table is built once, by several threads, of 17 bytes a
    /// sample. The key that was found is compared with the real one: a foreign key with the same hash is not found.
    ///
    /// # Errors
    /// What is wrong with `.key_hashes`, or with the keys where they have to be asked.
    pub fn find(&self, key: &str) -> Result<Option<u64>> {
        let Some(hashes) = self.key_hashes()? else { return Ok(None) };
        let hash = hash_key(key, hashes.salt());
        self.find_hash(hashes, hash, key, false)
    }

    fn find_hash(&self, hashes: &KeyHashes, hash: u64, key: &str, many: bool) -> Result<Option<u64>> {
        let mut sure = false;
        let row = match self.key_table(hashes, many)? {
            Some(table) => table
                .find(hashes.as_bytes(), hash, |row, start| {
                    // Most keys that are looked for are there: the sample says so at once.
                    sure =
                        self.begins_with_key(start, key).unwrap_or_else(|| self.states(row.into(), key) == Some(true));
                    sure
                })
                .map(u64::from),
            None => self.scan(hashes, hash, |row| {
                sure = self.states(row, key) == Some(true);
                sure
            })?,
        };
        match row {
            Some(row) if sure || self.has_key(row, key)? => Ok(Some(row)),
            _ => Ok(None),
        }
    }

    /// The numbers of the samples that have these keys, in the order of the keys. Hashes many keys at once.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn find_many<K: AsRef<str>>(&self, keys: &[K]) -> Result<Vec<Option<u64>>> {
        let Some(hashes) = self.key_hashes()? else { return Ok(vec![None; keys.len()]) };
        let mut digests = vec![[0; 2]; keys.len()];
        let texts: Vec<&[u8]> = keys.iter().map(|key| key.as_ref().as_bytes()).collect();
        digest::digest_many(&texts, hashes.salt(), &mut digests)?;
        let table = self.key_table(hashes, keys.len() >= MANY)?;
        let mut found = Vec::with_capacity(keys.len());
        for (keys, digests) in keys.chunks(BATCH).zip(digests.chunks(BATCH)) {
            // Step by step for the whole batch, so that the processor waits for many places of memory at once.
            let mut guesses = [None; BATCH];
            for (guess, [hash, _]) in guesses.iter_mut().zip(digests) {
                *guess = table.and_then(|table| table.candidate(*hash));
            }
            let mut touched = 0;
            for (_, start) in guesses.iter().flatten() {
                touched ^= self.from(*start).and_then(|bytes| bytes.first()).copied().unwrap_or_default();
            }
            std::hint::black_box(touched);
            for ((key, [hash, _]), guess) in keys.iter().zip(digests).zip(guesses) {
                let key = key.as_ref();
                found.push(match guess {
                    Some((row, start)) if self.begins_with_key(start, key) == Some(true) => Some(row.into()),
                    _ => self.find_hash(hashes, *hash, key, true)?,
                });
            }
        }
        Ok(found)
    }

    /// True when a sample has this key. The filter answers for most keys that none has.
    ///
    /// # Errors
    /// As [`find`](Self::find), and what is wrong with `.filter`.
    pub fn contains(&self, key: &str) -> Result<bool> {
        if let Some(filter) = self.key_filter()?
            && !filter.contains(key)
        {
            return Ok(false);
        }
        self.find(key).map(|found| found.is_some())
    }

    /// The sample that has this key, `None` where none has it.
    ///
    /// # Errors
    /// As [`find`](Self::find) and [`get`](Self::get).
    pub fn get_key(&self, key: &str) -> Result<Option<Sample<'_>>> {
        match self.find(key)? {
            Some(row) => self.get(row).map(Some),
            None => Ok(None),
        }
    }

    /// The bytes of the data from here to their end, where they lie in memory.
    #[inline]
    fn from(&self, start: u64) -> Option<&[u8]> {
        self.lend(&(start..self.data_end))
    }

    /// Does the sample that begins here say that this is its key? `None` where the data do not lie in memory.
    #[inline]
    fn begins_with_key(&self, start: u64, key: &str) -> Option<bool> {
        let bytes = self.from(start)?;
        if opening_key(bytes) == Some(key.as_bytes()) {
            return Some(true);
        }
        let stated = RawValue::at(bytes, start).get("key").ok().flatten();
        Some(stated.is_some_and(|stated| stated.str().is_ok_and(|stated| stated == key)))
    }

    /// Does the sample itself say that this is its key? `None` where it says nothing.
    #[inline]
    fn states(&self, row: u64, key: &str) -> Option<bool> {
        let sample = self.get(row).ok()?;
        if opening_key(sample.as_bytes()) == Some(key.as_bytes()) {
            return Some(true);
        }
        sample.key().ok().map(|stated| stated == key)
    }

    /// Is this the key of the sample, and not only one with the same hash?
    fn has_key(&self, row: u64, key: &str) -> Result<bool> {
        // A glance at the sample costs less than a walk over all keys.
        let stated = self.states(row, key);
        if stated == Some(true) {
            return Ok(true);
        }
        match self.key_list()? {
            Some(keys) => Ok(keys.get(row).map_err(|error| self.in_part(crate::Part::Keys, error))? == Some(key)),
            // Nothing else knows: a sample that states another key is not it, one that states none may be.
            None => Ok(stated.is_none()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{FileSet, Part};

    /// Where no keys are listed the samples are asked: one that states another key is not the one, one that states none may be.
    #[test]
    fn without_listed_keys_the_samples_are_asked() {
        let folder = tempfile::tempdir().unwrap();
        let set = FileSet::new(folder.path().join("d.msgpack"));
        std::fs::write(set.data(), b"\x81\xa3key\xa1a\xc0\x81\xa3key\xa1c").unwrap();
        std::fs::write(set.path(Part::Offsets), [0u64, 7, 8, 15].map(u64::to_be_bytes).concat()).unwrap();
        // The first hash is that of a foreign key.
        let hashes = ["b", "nil", "c"].map(|key| hash_key(key, digest::Salt::NONE));
        std::fs::write(set.path(Part::KeyHashes), [0, hashes[0], hashes[1], hashes[2]].map(u64::to_be_bytes).concat())
            .unwrap();
        let reader = Reader::open(set.data()).unwrap();
        let expected = [("a", None), ("b", None), ("nil", Some(1)), ("c", Some(2)), ("x", None)];
        // Going through all hashes, and by the table.
        for _ in 0..3 {
            for (key, row) in expected {
                assert_eq!((reader.find(key).unwrap(), reader.contains(key).unwrap()), (row, row.is_some()), "{key}");
            }
        }
        let keys = expected.map(|(key, _)| key).repeat(10);
        let rows = expected.map(|(_, row)| row).repeat(10);
        assert_eq!(reader.find_many(&keys).unwrap(), rows);
        // Hashes of something else are not asked.
        for count in [2, 4] {
            std::fs::write(set.path(Part::KeyHashes), vec![0; 8 + 8 * count]).unwrap();
            let error = Reader::open(set.data()).unwrap().find("c").unwrap_err().to_string();
            assert!(error.ends_with(&format!("there are {count} key hashes for 3 samples")), "{error}");
        }
    }

    /// Hashes of which two are the same are found out once, and said at every look-up.
    #[test]
    fn damaged_hashes_are_not_gone_through_again() {
        let folder = tempfile::tempdir().unwrap();
        let set = FileSet::new(folder.path().join("d.msgpack"));
        std::fs::write(set.data(), b"\xc0\xc0").unwrap();
        std::fs::write(set.path(Part::Offsets), [0u64, 1, 2].map(u64::to_be_bytes).concat()).unwrap();
        std::fs::write(set.path(Part::KeyHashes), [0u64, 5, 5].map(u64::to_be_bytes).concat()).unwrap();
        let reader = Reader::open(set.data()).unwrap();
        let said: Vec<String> = (0..3).map(|_| reader.find_many(&["x"; MANY]).unwrap_err().to_string()).collect();
        assert!(reader.parts.damage.get().is_some());
        assert!(said[0].contains("d.msgpack.key_hashes: the samples 0 and 1 have the same key hash"), "{}", said[0]);
        assert!(said[0].ends_with("(byte 16, row 1)"), "{}", said[0]);
        assert!(said.iter().all(|text| *text == said[0]), "{said:?}");
        assert_eq!(reader.find("x").unwrap_err().to_string(), said[0]);
    }
}
