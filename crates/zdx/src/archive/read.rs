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
use super::names::{Why, check_path};
use crate::layout::{DATA, INDEX};

/// Inflated files up to this size are kept in memory, larger ones in a temporary file.
const IN_MEMORY: u64 = 64 << 20;

/// All of them together, then temporary files are used for small ones, too.
const IN_MEMORY_TOGETHER: u64 = 256 << 20;

/// A store in a ZIP archive, opened: its directory has been read, nothing else.
///
/// Paths are relative to the root of the tree, wherever that stands in the archive, and have slashes: `collections/a/meta/data.jsonl`.
/// Cheap to clone; all threads may read at once.
#[derive(Clone)]
pub struct Archive(Arc<Inner>);

struct Inner {
    name: Option<String>,
    source: Source,
    limits: Limits,
    directory: Directory,
    inflaters: Inflaters,
    /// Files that were inflated; one that is under way is waited for.
    inflated: Mutex<HashMap<u64, Arc<Mutex<Option<Source>>>>>,
    /// Bytes of them that are in memory.
    held: AtomicU64,
}

/// An entry of the archive that is none of the store's. It is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForeignEntry<'a> {
    /// Its whole name in the archive; bytes that are no text are shown as `\xNN`.
    pub name: &'a str,
    /// Why it is none of the store's.
    pub why: &'static str,
    /// True for a name that could only be meant to be written somewhere else: absolute, with `..`, a drive letter, a backslash or a control
    /// character. Such an archive is not unpacked.
    pub hostile: bool,
    /// Where its own header begins.
    pub offset: u64,
}

impl Archive {
    /// Opens an archive. Costs a read of its directory; a million entries take some 90 MB of memory.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); [`Invalid`](container_core::ErrorKind::Invalid) for what is no ZIP archive, has no store in it or
    /// two, two entries of one name or two that share bytes. What is wrong with a single entry is told when it is asked for.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let source = Source::open_with(path, options.access).map_err(|error| error.in_format("zds"))?;
        Self::from_source(source, Some(path.display().to_string()), options)
    }

    /// Opens an archive from any source. The name is what errors call it.
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
                held: AtomicU64::new(0),
            }))),
            Err(error) => Err(named(error.in_format("zds"), name.as_deref())),
        }
    }

    /// What errors call it.
    pub(crate) fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// Files of the store.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// True where the store has no files.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// The folder of the archive that the store stands in, with its slash; empty at the root.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.0.directory.root
    }

    /// The paths of all files of the store, in order.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.entries().iter().map(|entry| self.path(entry))
    }

    /// Entries that are none of the store's, in the archive's order.
    pub fn strangers(&self) -> impl Iterator<Item = ForeignEntry<'_>> {
        let directory = &self.0.directory;
        directory.others.iter().filter_map(|entry| {
            let why = entry.why.filter(|why| *why != Why::Folder)?;
            let (name, offset) = (directory.name(entry), entry.offset);
            Some(ForeignEntry { name, why: why.text(), hostile: why.hostile(), offset })
        })
    }

    /// The names of the collections, in order; also of those that are empty folders.
    #[must_use]
    pub fn collections(&self) -> Vec<&str> {
        let mut found = BTreeSet::new();
        let mut rest = self.entries();
        rest = rest.get(rest.partition_point(|entry| self.path(entry) < "collections/")..).unwrap_or_default();
        while let Some(first) = rest.first() {
            let Some(collection) = collection_of(self.path(first)) else { break };
            found.insert(collection);
            let same = rest.partition_point(|entry| collection_of(self.path(entry)) == Some(collection));
            rest = rest.get(same.max(1)..).unwrap_or_default();
        }
        for folder in self.0.directory.others.iter().filter(|entry| entry.why == Some(Why::Folder)) {
            let path = self.0.directory.name(folder).strip_prefix(self.root());
            if let Some(collection) = path.and_then(collection_of)
                && check_path(&format!("collections/{collection}/any")).is_ok()
            {
                found.insert(collection);
            }
        }
        found.into_iter().collect()
    }

    /// Is there such a file?
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        self.find(path).is_some()
    }

    /// The declared length of a file in bytes.
    #[must_use]
    pub fn size(&self, path: &str) -> Option<u64> {
        self.find(path).map(|entry| entry.size)
    }

    /// A file of the store; `None` where there is none.
    ///
    /// What is stored is the archive's own bytes in place, of which nothing is read but the entry's header; its CRC is not
    /// checked ([`verify`](Self::verify) does). What is compressed is inflated once, checked, and kept for as long as the archive: in memory
    /// up to 64 MiB (less where `limits.block_bytes` is less) and 256 MiB in all, else in a temporary file.
    ///
    /// # Errors
    /// What is wrong with the entry, with its name as key and its place.
    pub fn file(&self, path: &str) -> Result<Option<Source>> {
        self.find(path).map(|entry| self.content(entry).map_err(|error| self.explain(error, entry))).transpose()
    }

    /// The ids of the documents of a collection that are files of their own, in the order of the files' names.
    #[must_use]
    pub fn documents(&self, collection: &str) -> Documents<'_> {
        Documents { archive: self, entries: self.documents_of(collection) }
    }

    /// The JSON of a document that is a file of its own; `None` where there is none. Its CRC is checked; it is not kept.
    ///
    /// # Errors
    /// What is wrong with the entry, with its name as key and its place; [`Limit`](container_core::ErrorKind::Limit) for more than
    /// `limits.block_bytes`.
    pub fn document(&self, collection: &str, id: &str) -> Result<Option<Bytes>> {
        let found = self.find(&format!("collections/{collection}/docs/{id}.json"));
        found.map(|entry| self.small(entry).map_err(|error| self.explain(error, entry))).transpose()
    }

    fn documents_of(&self, collection: &str) -> &[Entry] {
        let prefix = format!("collections/{collection}/docs/");
        let entries = self.entries();
        let start = entries.partition_point(|entry| self.path(entry) < prefix.as_str());
        let rest = entries.get(start..).unwrap_or_default();
        let end = rest.partition_point(|entry| self.path(entry).starts_with(&prefix));
        // A name with a slash would reach into another folder of the same spelling.
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
        let place = entries.binary_search_by(|entry| self.path(entry).cmp(path)).ok()?;
        entries.get(place)
    }

    /// Where an entry's bytes lie, after a look at its header.
    pub(super) fn locate(&self, entry: &Entry) -> Result<Local> {
        locate(&self.0.source, entry, self.0.directory.full_name(entry))
    }

    /// An entry's content piece by piece, checked at its end.
    pub(super) fn pieces(&self, entry: &Entry, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let data = self.locate(entry)?.data;
        let start = data.start;
        let done = self.0.inflaters.pieces(entry, self.0.source.slice(data)?, sink);
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
        // Others that want the same file wait here; after an error the next one tries again.
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(content) = &*slot {
            return Ok(content.clone());
        }
        let content = if self.hold(entry.size) {
            self.0.inflaters.whole(entry, data).map(Source::from)
        } else {
            self.spool(entry, data)
        };
        let content = content.map_err(|error| error.shifted(start))?;
        *slot = Some(content.clone());
        Ok(content)
    }

    /// Takes memory for a file that is kept, where it is to be had.
    fn hold(&self, size: u64) -> bool {
        let more = |held: u64| held.checked_add(size).filter(|held| *held <= IN_MEMORY_TOGETHER);
        let small = size <= IN_MEMORY.min(self.0.limits.block_bytes);
        // A file that turns out to be damaged has taken its part for good: the worst of it is a temporary file more.
        small && self.0.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Inflates into a temporary file that vanishes with the archive. It ends where it is known that nobody can use the content: behind a
    /// line that is too long, and at once for metadata that are.
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
        self.0.inflaters.pieces(entry, data, &mut |piece| {
            check_line(piece)?;
            spool.write_all(piece).map_err(Spool::failed)
        })?;
        spool.finish()
    }

    fn small(&self, entry: &Entry) -> Result<Bytes> {
        let data = self.locate(entry)?.data;
        self.0.limits.check_block("the document's size", entry.size).map_err(|error| error.at(entry.offset))?;
        if entry.method == STORE {
            let content = self.0.source.read(data)?;
            check_crc(entry, crc32fast::hash(&content))?;
            return Ok(content);
        }
        let start = data.start;
        let content = self.0.inflaters.whole(entry, self.0.source.slice(data)?);
        content.map(Bytes::from).map_err(|error| error.shifted(start))
    }

    /// Bytes behind the archive's end, and where they begin.
    pub(super) fn behind(&self) -> (u64, u64) {
        let behind = self.0.directory.behind;
        (behind, self.0.source.len().saturating_sub(behind))
    }

    /// An error about an entry, with all that is known.
    pub(super) fn explain(&self, error: Error, entry: &Entry) -> Error {
        let error = error.in_key(self.0.directory.full_name(entry).to_owned()).at(entry.offset);
        named(error.in_format("zds"), self.0.name.as_deref())
    }

    /// An error about the archive.
    pub(super) fn named(&self, error: Error) -> Error {
        named(error.in_format("zds"), self.0.name.as_deref())
    }
}

fn named(error: Error, name: Option<&str>) -> Error {
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

/// A walk over the ids of documents that are files of their own. It knows its length, and jumps.
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
    fn what_is_kept_in_memory_is_counted() {
        let empty = Source::from(&b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"[..]);
        let open =
            |limits| Archive::from_source(empty.clone(), None, &OpenOptions::default().with_limits(limits)).unwrap();
        let archive = open(Limits::default());
        assert!(!archive.hold(IN_MEMORY + 1));
        for _ in 0..4 {
            assert!(archive.hold(IN_MEMORY));
        }
        assert!(!archive.hold(1) && archive.hold(0));
        let archive = open(Limits::default().with_block_bytes(10));
        assert!(!archive.hold(11) && archive.hold(10));
    }
}
