//! The reader's questions by key.

use container_core::Result;
use simplebloom::digest;

use crate::index::hash_key;
use crate::read::reader::Reader;
use crate::read::sample::Sample;

/// So many look-ups build the table at once.
const MANY: usize = 16;

impl Reader {
    /// The number of the sample that has this key, `None` where none has it.
    ///
    /// The first few look-ups go through all hashes (8 bytes a sample); then a table is built once, by several threads, of 9 to 10 bytes a
    /// sample. The key that was found is compared with the real one: a foreign key with the same hash is not found.
    ///
    /// # Errors
    /// What is wrong with `.key_hashes`, or with the keys where they have to be asked.
    pub fn find(&self, key: &str) -> Result<Option<u64>> {
        let Some(hashes) = self.key_hashes()? else { return Ok(None) };
        let hash = hash_key(key, hashes.salt());
        match self.row_of(hashes, hash, false)? {
            Some(row) if self.has_key(row, key)? => Ok(Some(row)),
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
        let found = digests.iter().zip(keys).map(|(&[hash, _], key)| {
            Ok(match self.row_of(hashes, hash, keys.len() >= MANY)? {
                Some(row) if self.has_key(row, key.as_ref())? => Some(row),
                _ => None,
            })
        });
        found.collect()
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

    /// Is this the key of the sample, and not only one with the same hash?
    fn has_key(&self, row: u64, key: &str) -> Result<bool> {
        // The sample that is wanted mostly says so itself, and a glance at it costs less than a walk over all keys.
        let stated = self.get(row).ok().and_then(|sample| sample.key().ok().map(|stated| stated == key));
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
