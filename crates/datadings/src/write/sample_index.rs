//! What is recorded of every sample while a dataset is written: where it ends, and its key.

use container_core::{Error, Result, SyncPolicy};

use crate::FORMAT_NAME;
use crate::wire::{FileSet, Part};
use crate::write::key_set::KeySet;
use crate::write::keys::KeysFile;
use crate::write::spool::Spool;

/// `.offsets` and `.keys` while they are written, and the set of keys.
pub(crate) struct SampleIndex {
    pub(super) offsets: Spool,
    pub(super) keys: KeysFile,
    key_set: KeySet,
}

impl SampleIndex {
    pub(crate) fn create(set: &FileSet, sync: SyncPolicy) -> Result<Self> {
        let mut offsets = Spool::create(&set.path(Part::Offsets), sync)?;
        offsets.put(&0u64.to_be_bytes())?;
        let keys = KeysFile::create(&set.path(Part::Keys), sync)?;
        Ok(Self { offsets, keys, key_set: KeySet::new() })
    }

    /// The number of samples.
    pub(crate) fn len(&self) -> u32 {
        self.keys.len()
    }

    /// The sample that has this key.
    pub(crate) fn find(&self, key: &str) -> Result<Option<u32>> {
        let keys = &self.keys;
        self.key_set.find(key.as_bytes(), |row| keys.is(row, key.as_bytes()))
    }

    /// Makes room for the keys of this number of samples.
    pub(crate) fn reserve(&mut self, samples: usize) {
        self.key_set.reserve(samples);
    }

    /// Reserves a key for the next sample. If another sample has it, returns that one instead.
    #[inline]
    pub(crate) fn claim(&mut self, key: &[u8]) -> Result<Option<u32>> {
        let row = self.keys.len();
        if row == u32::MAX {
            let error = Error::limit("number of samples", u64::from(row) + 1, row.into());
            return Err(error.in_format(FORMAT_NAME));
        }
        let keys = &self.keys;
        self.key_set.claim(key, row, |row| keys.is(row, key))
    }

    /// Adds a sample, whose key has been [claimed](Self::claim), and which ends at this offset.
    pub(crate) fn push(&mut self, key: &str, end: u64) -> Result<()> {
        self.offsets.put(&end.to_be_bytes())?;
        self.keys.push(key)
    }

    /// The two files.
    pub(crate) fn into_files(self) -> (Spool, KeysFile) {
        (self.offsets, self.keys)
    }
}
