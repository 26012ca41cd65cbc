//! Storage for the HDF5 library: the file with replaced and added blocks, and a read budget.
//!
//! [`super::walk`] computes the replacements before the library reads the file. Added blocks have addresses beyond any file.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use container_core::{Error, Result, Source};
use hdf5_reader::error::Error as LibraryError;
use hdf5_reader::{Storage, StorageBuffer};

/// Minimum cost of a read in bytes, so that loops of empty reads end.
const MIN_COST: u64 = 64;

/// Blocks that replace bytes of the file or follow its end, by address.
pub(super) type Blocks = BTreeMap<u64, Arc<Vec<u8>>>;

pub(super) struct BoundedStorage {
    source: Source,
    blocks: Blocks,
    budget: AtomicU64,
    left: AtomicU64,
}

impl BoundedStorage {
    pub(super) fn new(source: Source, blocks: Blocks) -> Self {
        Self { source, blocks, budget: AtomicU64::new(u64::MAX), left: AtomicU64::new(u64::MAX) }
    }

    /// Starts a new budget for all following reads.
    pub(super) fn set_budget(&self, bytes: u64) {
        self.budget.store(bytes, Ordering::Relaxed);
        self.left.store(bytes, Ordering::Relaxed);
    }

    /// Fails when the budget is exhausted: in some places the library skips what it cannot read, without an error.
    pub(super) fn check_budget(&self) -> Result<()> {
        match self.left.load(Ordering::Relaxed) {
            0 => {
                let budget = self.budget.load(Ordering::Relaxed);
                Err(Error::limit("bytes read for one operation", budget.saturating_add(1), budget))
            }
            _ => Ok(()),
        }
    }

    fn spend(&self, len: u64) -> hdf5_reader::error::Result<()> {
        let cost = len.max(MIN_COST);
        let before =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(cost)));
        match before {
            Ok(left) if left > cost => Ok(()),
            _ => Err(LibraryError::ResourceLimit("bytes read for one operation".to_owned())),
        }
    }
}

impl Storage for BoundedStorage {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_range(&self, offset: u64, len: usize) -> hdf5_reader::error::Result<StorageBuffer> {
        let end = offset.checked_add(len as u64).ok_or(LibraryError::OffsetOutOfBounds(offset))?;
        let outside = || LibraryError::UnexpectedEof {
            offset,
            needed: len as u64,
            available: self.source.len().saturating_sub(offset),
        };
        if let Some((start, block)) = self.blocks.range(..=offset).next_back()
            && offset - start < block.len() as u64
            && offset >= self.source.len()
        {
            self.spend(len as u64)?;
            let at = usize::try_from(offset - start).map_err(|_| outside())?;
            return StorageBuffer::from_shared_owner(block.clone(), at, len);
        }
        if end > self.source.len() {
            return Err(outside());
        }
        self.spend(len as u64)?;
        let bytes = self.source.read(offset..end).map_err(|error| match error.kind() {
            container_core::ErrorKind::Io => LibraryError::Io(std::io::Error::other(error.to_string())),
            _ => outside(),
        })?;
        let before = self.blocks.range(..=offset).next_back().map(|(start, _)| *start);
        let mut replaced = self.blocks.range(before.unwrap_or(offset)..end).peekable();
        if replaced.peek().is_none() {
            return StorageBuffer::from_shared_owner(Arc::new(bytes), 0, len);
        }
        let mut bytes = bytes.to_vec();
        for (start, block) in replaced {
            let (from, to) = (offset.max(*start), end.min(start + block.len() as u64));
            let slices = usize_range(from, to, offset).zip(usize_range(from, to, *start));
            if let Some((here, there)) = slices
                && let (Some(target), Some(source)) = (bytes.get_mut(here), block.get(there))
            {
                target.copy_from_slice(source);
            }
        }
        Ok(StorageBuffer::from_vec(bytes))
    }
}

/// The range `from..to` relative to `base`; `None` when empty.
fn usize_range(from: u64, to: u64, base: u64) -> Option<std::ops::Range<usize>> {
    let at = |position: u64| usize::try_from(position.checked_sub(base)?).ok();
    (from < to).then_some(at(from)?..at(to)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storage(blocks: &[(u64, &[u8])]) -> BoundedStorage {
        let blocks = blocks.iter().map(|(at, bytes)| (*at, Arc::new(bytes.to_vec()))).collect();
        BoundedStorage::new(Source::from(b"0123456789".to_vec()), blocks)
    }

    #[test]
    fn blocks_replace_and_extend_the_file() {
        let storage = storage(&[(2, b"ab"), (6, b"c"), (1 << 40, b"added")]);
        let read = |at, len| storage.read_range(at, len).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
        assert_eq!(read(0, 10).unwrap(), "01ab45c789");
        assert_eq!(read(3, 3).unwrap(), "b45");
        assert_eq!(read(4, 2).unwrap(), "45");
        assert_eq!(read((1 << 40) + 1, 3).unwrap(), "dde");
        assert!(read((1 << 40) + 1, 5).is_err());
        assert!(read(8, 3).is_err());
        assert!(read(u64::MAX, 3).is_err());
    }

    #[test]
    fn reads_fail_beyond_the_budget() {
        let storage = storage(&[]);
        storage.set_budget(3 * MIN_COST);
        assert!(storage.read_range(0, 10).is_ok());
        assert!(storage.read_range(0, 0).is_ok());
        storage.check_budget().unwrap();
        assert!(storage.read_range(0, 10).is_err());
        let error = storage.check_budget().unwrap_err().to_string();
        assert_eq!(error, "bytes read for one operation 193 exceeds the limit 192");
        storage.set_budget(1 << 20);
        assert!(storage.read_range(0, 10).is_ok());
    }
}
