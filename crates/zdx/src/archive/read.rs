use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::io::Write as _;
use std::iter::FusedIterator;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use container_core::{Bytes, Error, Limits, OpenOptions, Result, Source, Spool};

use super::content::{Inflaters, Local, STORE, check_crc, locate};
use super::directory::Directory;
use super::entry::Entry;
use super::names::{Rejection, check_path};
use crate::layout::{DATA, INDEX};

/// Decompressed files up to this size are kept in memory, larger ones in a temporary file.
const MAX_IN_MEMORY: u64 = 64 << 20;

/// Total size of decompressed files in memory; beyond it, small files go to temporary files, too.
const MAX_TOTAL_IN_MEMORY: u64 = 256 << 20;

/// A store in a ZIP archive. Opening reads its directory and nothing else.
///
/// Paths are relative to the store's root, wherever that is in the archive, with slashes: `collections/a/meta/data.jsonl`. Cheap to clone; any
/// number of threads can read at once.
#[derive(Clone)]
pub struct Archive(Arc<Inner>);

struct Inner {
    name: Option<String>,
    source: Source,
    limits: Limits,
    directory: Directory,
    inflaters: Inflaters,
    /// Decompressed files by entry offset. A file being decompressed is locked.
    inflated: Mutex<HashMap<u64, Arc<Mutex<Option<Source>>>>>,
    /// Bytes of decompressed files in memory.
    bytes_in_memory: AtomicU64,
}

/// An archive entry that does not belong to the store, and is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForeignEntry<'a> {
    /// Its full name in the archive; bytes that are not UTF-8 are shown as `\xNN`.
    pub name: &'a str,
    /// Why it does not belong to the store.
    pub reason: &'static str,
    /// Whether the name is clearly meant to escape the target directory: absolute, or with `..`, a drive letter, a backslash or a control
    /// character. Such an archive cannot be unpacked.
    pub is_hostile: bool,
    /// Offset of its local header.
    pub offset: u64,
}

impl Archive {
    /// Opens an archive by reading its directory. A million entries take about 90 MB of memory.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); [`Invalid`](container_core::ErrorKind::Invalid) if it is not a ZIP archive, contains no store or
    /// two, or has duplicate or overlapping entries. Errors in a single entry are reported when it is read.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let source = Source::open_with(path, options.access).map_err(|error| error.in_format("zds"))?;
        Self::from_source(source, Some(path.display().to_string()), options)
    }

    /// Opens an archive from any source. Errors refer to it by `name`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_source(source: Source, name: Option<String>, options: &OpenOptions) -> Result<Self> {
        match Directory::read(&source) {
            Ok(directory) => Ok(Self(Arc::new(Inner {
                name,
                source,
                limits: options.limits,
                directory,
                inflaters: Inflaters::default(),
                inflated: Mutex::default(),
                bytes_in_memory: AtomicU64::new(0),
            }))),
            Err(error) => Err(with_name(error.in_format("zds"), name.as_deref())),
        }
    }

    /// The name used in errors.
    pub(crate) fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// Number of files in the store.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Whether the store has no files.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// The directory in the archive that contains the store, with a trailing slash; empty if it is at the top.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.0.directory.root
    }

    /// Paths of all files of the store, sorted.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.entries().iter().map(|entry| self.path(entry))
    }

    /// Entries that do not belong to the store, in archive order.
    pub fn foreign_entries(&self) -> impl Iterator<Item = ForeignEntry<'_>> {
        let directory = &self.0.directory;
        directory.others.iter().filter_map(|entry| {
            let reason = entry.rejection.filter(|reason| *reason != Rejection::Folder)?;
            let (name, offset) = (directory.name(entry), entry.offset);
            Some(ForeignEntry { name, reason: reason.text(), is_hostile: reason.is_hostile(), offset })
        })
    }

    /// Names of the collections, sorted, including empty directories.
    #[must_use]
    pub fn collections(&self) -> Vec<&str> {
        let mut names = BTreeSet::new();
        let mut rest = self.entries();
        rest = rest.get(rest.partition_point(|entry| self.path(entry) < "collections/")..).unwrap_or_default();
        while let Some(first) = rest.first() {
            let Some(collection) = collection_of(self.path(first)) else { break };
            names.insert(collection);
            let same = rest.partition_point(|entry| collection_of(self.path(entry)) == Some(collection));
            rest = rest.get(same.max(1)..).unwrap_or_default();
        }
        for folder in self.0.directory.others.iter().filter(|entry| entry.rejection == Some(Rejection::Folder)) {
            let path = self.0.directory.name(folder).strip_prefix(self.root());
            if let Some(collection) = path.and_then(collection_of)
                && check_path(&format!("collections/{collection}/any")).is_ok()
            {
                names.insert(collection);
            }
        }
        names.into_iter().collect()
    }

    /// Whether the store has a file with this path.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        self.find(path).is_some()
    }

    /// The declared length of a file in bytes; `None` if it does not exist.
    #[must_use]
    pub fn size(&self, path: &str) -> Option<u64> {
        self.find(path).map(|entry| entry.size)
    }

    /// The contents of a file; `None` if it does not exist.
    ///
    /// A stored file is a range of the archive: only its header is read, and its CRC is not checked ([`verify`](Self::verify) does). A
    /// compressed file is decompressed once, checked, and kept as long as the archive: in memory up to 64 MiB per file (less if
    /// `limits.block_bytes` is) and 256 MiB in total, otherwise in a temporary file.
    ///
    /// # Errors
    /// Those of the entry, with its name as key and its offset.
    pub fn file(&self, path: &str) -> Result<Option<Source>> {
        self.find(path).map(|entry| self.content(entry).map_err(|error| self.with_entry(error, entry))).transpose()
    }

    /// Ids of a collection's file-per-document documents, sorted by file name.
    #[must_use]
    pub fn documents(&self, collection: &str) -> Documents<'_> {
        Documents { archive: self, entries: self.documents_of(collection) }
    }

    /// The JSON of a file-per-document document; `None` if it does not exist. Its CRC is checked; it is not cached.
    ///
    /// # Errors
    /// Those of the entry, with its name as key and its offset; [`Limit`](container_core::ErrorKind::Limit) above `limits.block_bytes`.
    pub fn document(&self, collection: &str, id: &str) -> Result<Option<Bytes>> {
        let entry = self.find(&format!("collections/{collection}/docs/{id}.json"));
        entry.map(|entry| self.read_small(entry).map_err(|error| self.with_entry(error, entry))).transpose()
    }

    fn documents_of(&self, collection: &str) -> &[Entry] {
        let prefix = format!("collections/{collection}/docs/");
        let entries = self.entries();
        let start = entries.partition_point(|entry| self.path(entry) < prefix.as_str());
        let rest = entries.get(start..).unwrap_or_default();
        let end = rest.partition_point(|entry| self.path(entry).starts_with(&prefix));
        // With a slash, the prefix could match another directory.
        if collection.contains('/') { &[] } else { rest.get(..end).unwrap_or_default() }
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.0.directory.entries
    }

    pub(super) fn path(&self, entry: &Entry) -> &str {
        self.0.directory.name(entry)
    }

    fn find(&self, path: &str) -> Option<&Entry> {
        let entries = self.entries();
        let at = entries.binary_search_by(|entry| self.path(entry).cmp(path)).ok()?;
        entries.get(at)
    }

    /// Locates an entry's data by reading its local header.
    pub(super) fn locate(&self, entry: &Entry) -> Result<Local> {
        locate(&self.0.source, entry, self.0.directory.full_name(entry))
    }

    /// Reads an entry's contents block by block; its CRC is checked at the end.
    pub(super) fn read_blocks(&self, entry: &Entry, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let data = self.locate(entry)?.data;
        let start = data.start;
        let done = self.0.inflaters.read_blocks(entry, self.0.source.slice(data)?, sink);
        done.map_err(|error| error.shifted(start))
    }

    fn content(&self, entry: &Entry) -> Result<Source> {
        let data = self.locate(entry)?.data;
        let start = data.start;
        let data = self.0.source.slice(data)?;
        if entry.method == STORE {
            return Ok(data);
        }
        let slot = {
            let mut all = self.0.inflated.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(entry.offset).or_default())
        };
        // Concurrent requests for the same file wait here; after an error the next one tries again.
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(content) = &*slot {
            return Ok(content.clone());
        }
        let content = if self.reserve_memory(entry.size) {
            self.0.inflaters.decompress(entry, data).map(Source::from)
        } else {
            self.spool(entry, data)
        };
        let content = content.map_err(|error| error.shifted(start))?;
        *slot = Some(content.clone());
        Ok(content)
    }

    /// Reserves memory for a decompressed file, if available.
    fn reserve_memory(&self, size: u64) -> bool {
        let add = |bytes: u64| bytes.checked_add(size).filter(|bytes| *bytes <= MAX_TOTAL_IN_MEMORY);
        let is_small = size <= MAX_IN_MEMORY.min(self.0.limits.block_bytes);
        // Memory of a file that turns out to be damaged is never released. At worst another file goes to a temporary file.
        is_small && self.0.bytes_in_memory.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    /// Decompresses into a temporary file, deleted with the archive. Stops early once the contents are known to be useless: at once for metadata
    /// above the limit, and after a line above the limit.
    fn spool(&self, entry: &Entry, data: Source) -> Result<Source> {
        let limits = self.0.limits;
        let name = self.path(entry).rsplit('/').next().unwrap_or_default();
        if name != DATA && name != INDEX {
            limits.check_block("the entry's size", entry.size)?;
        }
        let mut line = 0_u64;
        let mut check_line = |piece: &[u8]| {
            line = match memchr::memrchr(b'\n', piece) {
                Some(feed) => (piece.len() - feed - 1) as u64,
                None => line + piece.len() as u64,
            };
            if name == DATA { limits.check_block("the length of a line", line) } else { Ok(()) }
        };
        let mut spool = Spool::new(0);
        self.0.inflaters.read_blocks(entry, data, &mut |piece| {
            check_line(piece)?;
            spool.write_all(piece).map_err(Spool::failed)
        })?;
        spool.finish()
    }

    fn read_small(&self, entry: &Entry) -> Result<Bytes> {
        let data = self.locate(entry)?.data;
        self.0.limits.check_block("the document's size", entry.size).map_err(|error| error.at(entry.offset))?;
        if entry.method == STORE {
            let content = self.0.source.read(data)?;
            check_crc(entry, crc32fast::hash(&content))?;
            return Ok(content);
        }
        let start = data.start;
        let content = self.0.inflaters.decompress(entry, self.0.source.slice(data)?);
        content.map(Bytes::from).map_err(|error| error.shifted(start))
    }

    /// Number of bytes after the end of the archive, and their offset.
    pub(super) fn trailing(&self) -> (u64, u64) {
        let trailing = self.0.directory.trailing;
        (trailing, self.0.source.len().saturating_sub(trailing))
    }

    /// Adds an entry's name and offset, and the archive's name, to an error.
    pub(super) fn with_entry(&self, error: Error, entry: &Entry) -> Error {
        let error = error.in_key(self.0.directory.full_name(entry).to_owned()).at(entry.offset);
        with_name(error.in_format("zds"), self.0.name.as_deref())
    }

    /// Adds the archive's name to an error.
    pub(super) fn with_name(&self, error: Error) -> Error {
        with_name(error.in_format("zds"), self.0.name.as_deref())
    }
}

fn with_name(error: Error, name: Option<&str>) -> Error {
    match name {
        Some(name) => error.in_file(name.to_owned()),
        None => error,
    }
}

/// The collection that a path is in.
fn collection_of(path: &str) -> Option<&str> {
    Some(path.strip_prefix("collections/")?.split_once('/')?.0)
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Archive").field("name", &self.0.name).field("files", &self.len()).finish_non_exhaustive()
    }
}

/// Iterator over the ids of file-per-document documents. Knows its length; `nth` is O(1).
#[derive(Clone)]
pub struct Documents<'a> {
    archive: &'a Archive,
    entries: &'a [Entry],
}

impl<'a> Documents<'a> {
    fn id(&self, entry: &Entry) -> &'a str {
        let path = self.archive.path(entry);
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        name.strip_suffix(".json").unwrap_or(name)
    }
}

impl<'a> Iterator for Documents<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<Self::Item> {
        let (first, rest) = self.entries.split_first()?;
        self.entries = rest;
        Some(self.id(first))
    }

    fn nth(&mut self, skipped: usize) -> Option<Self::Item> {
        self.entries = self.entries.get(skipped..).unwrap_or_default();
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.entries.len(), Some(self.entries.len()))
    }
}

impl ExactSizeIterator for Documents<'_> {}
impl FusedIterator for Documents<'_> {}

impl fmt::Debug for Documents<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Documents").field("left", &self.entries.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_limited() {
        let empty = Source::from(&b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"[..]);
        let open =
            |limits| Archive::from_source(empty.clone(), None, &OpenOptions::default().with_limits(limits)).unwrap();
        let archive = open(Limits::default());
        assert!(!archive.reserve_memory(MAX_IN_MEMORY + 1));
        for _ in 0..4 {
            assert!(archive.reserve_memory(MAX_IN_MEMORY));
        }
        assert!(!archive.reserve_memory(1) && archive.reserve_memory(0));
        let archive = open(Limits::default().with_block_bytes(10));
        assert!(!archive.reserve_memory(11) && archive.reserve_memory(10));
    }
}
