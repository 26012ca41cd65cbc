//! A folder as the storage of `zarrs`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use container_core::{Access, Source, SyncPolicy};
use zarrs::storage::byte_range::{ByteRange, ByteRangeIterator};
use zarrs::storage::{
    Bytes, MaybeBytes, MaybeBytesIterator, OffsetBytesIterator, ReadableStorageTraits, StorageError, StoreKey,
    StorePrefix, WritableStorageTraits,
};

/// The name of the file that describes a group or an array.
pub(super) const METADATA: &str = "zarr.json";

/// A folder. Keys are relative paths below it.
pub(super) struct Folder {
    root: PathBuf,
    access: Access,
    /// Maximum bytes of a file that is read whole.
    limit: u64,
    sync: SyncPolicy,
}

impl Folder {
    /// A folder to read.
    pub(super) fn new(root: &Path, access: Access, limit: u64) -> Self {
        Self { root: root.to_owned(), access, limit, sync: SyncPolicy::Never }
    }

    /// A folder to write.
    pub(super) fn writable(root: &Path, sync: SyncPolicy) -> Self {
        Self { sync, ..Self::new(root, Access::default(), u64::MAX) }
    }

    /// The file of a key. Keys are made of names of folders and numbers of chunks, so that they stay below the root.
    fn path(&self, key: &StoreKey) -> PathBuf {
        self.root.join(key.as_str())
    }

    /// The file of a key, if it exists.
    fn open(&self, key: &StoreKey) -> Result<Option<Source>, StorageError> {
        match Source::open_with(self.path(key), self.access) {
            Ok(source) => Ok(Some(source)),
            Err(error) => match std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<io::Error>()) {
                Some(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                    Ok(None)
                }
                _ => Err(failed(&error)),
            },
        }
    }

    /// Writes a file of the folder.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.root.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = fs::File::create(path)?;
        io::Write::write_all(&mut file, bytes)?;
        if self.sync == SyncPolicy::Disk { file.sync_all() } else { Ok(()) }
    }
}

fn failed(error: &container_core::Error) -> StorageError {
    StorageError::Other(error.to_string())
}

impl ReadableStorageTraits for Folder {
    fn get(&self, key: &StoreKey) -> Result<MaybeBytes, StorageError> {
        let Some(source) = self.open(key)? else { return Ok(None) };
        if source.len() > self.limit {
            return Err(StorageError::Other(format!("{} bytes exceed the limit {}", source.len(), self.limit)));
        }
        source.read(0..source.len()).map(Some).map_err(|error| failed(&error))
    }

    fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        ranges: ByteRangeIterator<'a>,
    ) -> Result<MaybeBytesIterator<'a>, StorageError> {
        let Some(source) = self.open(key)? else { return Ok(None) };
        let (len, limit) = (source.len(), self.limit);
        Ok(Some(Box::new(ranges.map(move |range| {
            let outside = || StorageError::Other(format!("expected bytes {range:?} of a chunk, found {len} bytes"));
            let (start, end) = match range {
                ByteRange::FromStart(start, None) => (Some(start), Some(len)),
                ByteRange::FromStart(start, Some(count)) => (Some(start), start.checked_add(count)),
                ByteRange::Suffix(count) => (len.checked_sub(count), Some(len)),
            };
            match (start, end) {
                (Some(start), Some(end)) if start <= end && end <= len && end - start <= limit => {
                    source.read(start..end).map_err(|error| failed(&error))
                }
                _ => Err(outside()),
            }
        }))))
    }

    fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        Ok(self.open(key)?.map(|source| source.len()))
    }

    fn supports_get_partial(&self) -> bool {
        true
    }
}

impl WritableStorageTraits for Folder {
    fn set(&self, key: &StoreKey, value: Bytes) -> Result<(), StorageError> {
        Ok(self.write(key.as_str(), &value)?)
    }

    fn set_partial_many(&self, _: &StoreKey, _: OffsetBytesIterator<'_>) -> Result<(), StorageError> {
        Err(StorageError::Unsupported("chunks are written whole".to_owned()))
    }

    /// Chunks of fill values are not written, and nothing is written twice.
    fn erase(&self, _: &StoreKey) -> Result<(), StorageError> {
        Ok(())
    }

    fn erase_prefix(&self, _: &StorePrefix) -> Result<(), StorageError> {
        Err(StorageError::Unsupported("nothing is erased".to_owned()))
    }

    fn supports_set_partial(&self) -> bool {
        false
    }
}
