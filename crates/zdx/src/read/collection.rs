//! A collection opened for reading: documents by id, by row, and in order.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use container_core::{Error, ErrorKind, OpenOptions, Result, Source};
use serde_json::{Map, Value};

use crate::FORMAT_NAME;
use crate::journal::{Journal, JournalState};
use crate::layout::{DATA, INDEX, JOURNAL, MANIFEST, META};
use crate::read::cold_lookup;
use crate::read::condition::Condition;
use crate::read::document::{Document, Id};
use crate::read::fast_line::{begins_with_id, fast_line, is_ascii, is_same};
use crate::read::files::{Files, files};
use crate::read::line::{Raw, check_read, line};
use crate::read::offsets::{LineRef, line_refs};
use crate::read::once_cell::OnceCell;
use crate::read::paths::CollectionPaths;
use crate::read::resolve::{IndexSources, resolve};
use crate::read::table::Table;
use crate::wire::index::{Entry, HEADER_LEN, header, put};
use crate::wire::json;

/// Look-ups answered by scanning the index before the hash table is built. Building costs about three scans.
const SCANS_BEFORE_TABLE: u32 = 1;

/// Maximum attempts to read a consistent snapshot of index, journal and data.
const MAX_SNAPSHOT_ATTEMPTS: u32 = 64;

/// Indexes up to this many bytes are compared by content: they are not held open, so their file number may be reused.
const SMALL_INDEX: usize = 64 << 10;

/// A collection of documents, opened for reading.
///
/// Opening reads the index file but no entries. The first look-up by id scans the index; the second look-up, and anything that concerns all
/// documents, builds a hash table once (about 15 ms for a million documents). To look up many ids, call [`len`](Self::len) or
/// [`condition`](Self::condition) first, or use [`get_many`](Self::get_many), which build the table right away.
///
/// `Collection` is `Send + Sync` and keeps no cursor, so any number of threads can read at once. It is a snapshot: documents appended after
/// it was opened are not visible.
#[derive(Debug)]
pub struct Collection {
    name: String,
    pub(crate) paths: CollectionPaths,
    pub(crate) options: OpenOptions,
    pub(crate) data: Option<Source>,
    pub(crate) sources: IndexSources,
    pub(crate) has_docs: bool,
    scan_lookups: AtomicU32,
    resolved: OnceCell<(Table, Condition)>,
    line_refs: OnceCell<Vec<LineRef>>,
    files: OnceCell<Files>,
    threads: usize,
}

impl Collection {
    pub(crate) fn open_in(name: String, paths: CollectionPaths, options: OpenOptions) -> Result<Self> {
        let in_meta =
            |file: &'static str| move |error: Error| error.in_file(format!("{META}/{file}")).in_format(FORMAT_NAME);
        let read_all = |source: Source| source.read(0..source.len());
        let read_journal = || {
            let journal =
                paths.meta(JOURNAL, &options).and_then(|file| file.map(|(source, _)| read_all(source)).transpose());
            journal.map_err(in_meta(JOURNAL))
        };
        let mut attempts = 0;
        let mut unreadable = None;
        let (journal, index, is_older, data) = loop {
            // The order matters: with a writer at work, the index is never newer than the data read after it.
            let identity = paths.identity(INDEX);
            let journal = read_journal()?;
            let index = match paths.meta(INDEX, &options).map_err(in_meta(INDEX)) {
                // The data have all documents.
                Err(error) if matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Truncated { .. }) => {
                    unreadable = Some(Arc::new(error));
                    None
                }
                index => index?,
            };
            let data = paths.meta(DATA, &options).map_err(in_meta(DATA))?;
            let modified =
                |file: &Option<(Source, Option<std::time::SystemTime>)>| file.as_ref().and_then(|(_, time)| *time);
            let is_older = modified(&index).zip(modified(&data)).is_some_and(|(index, data)| index < data);
            let index = index.map(|(source, _)| read_all(source)).transpose().map_err(in_meta(INDEX))?;
            // A concurrent writer may have changed the files in between: the index may belong to data that have since been compacted.
            let reread_index = || match paths.meta(INDEX, &options) {
                Ok(Some((source, _))) => read_all(source).ok(),
                _ => None,
            };
            let is_consistent = identity == paths.identity(INDEX)
                && index.as_ref().is_none_or(|index| {
                    identity.is_none() || index.len() > SMALL_INDEX || reread_index().as_ref() == Some(index)
                })
                && journal == read_journal()?;
            attempts += 1;
            if is_consistent || attempts == MAX_SNAPSHOT_ATTEMPTS {
                break (journal, index, is_older, data);
            }
        };
        // An index without data must be reported as naming lost lines.
        let data = data.map(|(source, _)| source).or_else(|| index.as_ref().map(|_| Source::from(Vec::new())));
        let data_len = data.as_ref().map_or(0, Source::len);
        let mut sources = IndexSources { index, unreadable, is_older, ..IndexSources::default() };
        let mut visible_len = data_len;
        let state = journal.map(|bytes| Journal::state_for(&bytes, data_len, sources.index.as_deref()));
        match state.unwrap_or(JournalState::Unrelated) {
            JournalState::Unrelated => {}
            JournalState::Published(removed) => sources.removed = removed.into_iter().collect(),
            JournalState::Current(journal) => {
                visible_len = journal.visible_len(data_len);
                sources.journal = Some(journal);
            }
        }
        Ok(Self {
            has_docs: paths.has_documents(),
            name,
            paths,
            options,
            // An open transaction writes past this end, and may cut the file there: never look at those bytes.
            data: data
                .map(|data| if visible_len < data_len { data.slice(0..visible_len) } else { Ok(data) })
                .transpose()?,
            sources,
            scan_lookups: AtomicU32::new(0),
            resolved: OnceCell::default(),
            line_refs: OnceCell::default(),
            files: OnceCell::default(),
            threads: 0,
        })
    }

    /// The same data as if there were no index: every line with an id is a document, the last one of equal ids. Deleted documents come back whose
    /// lines remain.
    #[must_use]
    pub fn without_index(&self) -> Self {
        Self {
            name: self.name.clone(),
            paths: self.paths.clone(),
            options: self.options,
            data: self.data.clone(),
            sources: IndexSources::default(),
            has_docs: self.has_docs,
            scan_lookups: AtomicU32::new(0),
            resolved: OnceCell::default(),
            line_refs: OnceCell::default(),
            files: OnceCell::default(),
            threads: self.threads,
        }
    }

    /// Sets the number of threads for reading the index and scanning the data; 0, the default, uses all available ones.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// The collection's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The contents of `manifest.json`; `None` if there is none.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); [`Invalid`](container_core::ErrorKind::Invalid) if it is not a JSON object.
    pub fn manifest(&self) -> Result<Option<Map<String, Value>>> {
        let file = self.paths.meta(MANIFEST, &self.options).map_err(in_format)?;
        file.map(|(source, _)| read_object(&source, &self.options, &format!("{META}/{MANIFEST}"))).transpose()
    }

    /// The state the collection was found in: whether the index is valid, and what had to be recovered or skipped. Reads the whole index.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn condition(&self) -> Result<Condition> {
        let mut condition = match &self.data {
            Some(_) => self.resolved()?.1.clone(),
            None => Condition::default(),
        };
        let files = self.files()?;
        condition.shadowed = files.shadowed;
        condition.missing_files = files.missing_files;
        Ok(condition)
    }

    /// Number of documents. Reads the whole index.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn len(&self) -> Result<u64> {
        Ok(self.lines()? + self.files()?.ids.len() as u64)
    }

    /// Whether there are no documents.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Number of documents that are lines of `data.jsonl`.
    pub(crate) fn lines(&self) -> Result<u64> {
        Ok(self.table()?.map_or(0, |table| table.stats.ids))
    }

    /// Whether there is a document with this id.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn contains(&self, id: &str) -> Result<bool> {
        if self.find(id)?.is_some() {
            return Ok(true);
        }
        Ok(self.document_in_file(id)?.is_some())
    }

    /// The document with this id; `None` if there is none.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) if the index entry does not point at a line, or at another document's line;
    /// [`Truncated`](container_core::ErrorKind::Truncated) if it points past the end of the data; [`Io`](container_core::ErrorKind::Io).
    #[inline]
    pub fn get(&self, id: &str) -> Result<Option<Document<'_>>> {
        if let Some((table, _)) = self.resolved.get() {
            let data = self.memory();
            let hit = table.find_line(id.as_bytes(), data);
            if let Some((_, entry)) = hit
                && let Some(line) = fast_line(data, entry.offset, entry.length)
                && begins_with_id(line, id.as_bytes())
                && self.fits_limit(entry.length)
            {
                let offset = Some(entry.offset);
                let (id, bytes) = (Id::Is(Cow::Borrowed(entry.id)), Raw::Borrowed(line));
                return Ok(Some(Document { id, bytes, offset }));
            }
            // Pass the position, not the entry: an entry would have to be spilled to memory on the hot path, which never gets here.
            let position = hit.map(|(position, _)| position);
            return self.document_at_position(id, table, position);
        }
        self.document_for_entry(id, self.find_cold(id)?)
    }

    #[cold]
    fn document_at_position<'c>(
        &'c self,
        id: &str,
        table: &'c Table,
        position: Option<u64>,
    ) -> Result<Option<Document<'c>>> {
        self.document_for_entry(id, position.and_then(|position| table.entry(position)))
    }

    /// Whether a line of this many bytes is within the limits.
    #[inline]
    fn fits_limit(&self, length: u32) -> bool {
        u64::from(length) <= self.options.limits.block_bytes
    }

    /// The document of an index entry if its line passes the fast checks, as nearly all do.
    #[inline]
    pub(crate) fn fast_document<'c>(&'c self, id: &str, entry: Entry<'c>) -> Option<Document<'c>> {
        let line = fast_line(self.memory(), entry.offset, entry.length)?;
        let offset = Some(entry.offset);
        (begins_with_id(line, id.as_bytes()) && self.fits_limit(entry.length)).then_some(Document {
            id: Id::Is(Cow::Borrowed(entry.id)),
            bytes: Raw::Borrowed(line),
            offset,
        })
    }

    /// The document of an index entry, or of a file if `entry` is `None`.
    #[cold]
    pub(crate) fn document_for_entry<'c>(&'c self, id: &str, entry: Option<Entry<'c>>) -> Result<Option<Document<'c>>> {
        if let (Some(data), Some(entry)) = (&self.data, entry) {
            let checked = check_read(data, entry.offset, entry.length, &self.options.limits);
            let bytes = match checked.and_then(|()| line(data, entry.offset, entry.length)) {
                Ok(bytes) => bytes,
                Err(error) => return Err(in_data(error).in_key(id.to_owned())),
            };
            return document_of_line(id, entry, bytes).map(Some);
        }
        self.document_in_file(id)
    }

    fn document_in_file(&self, id: &str) -> Result<Option<Document<'_>>> {
        if !self.has_docs || self.sources.removed.contains(id) {
            return Ok(None);
        }
        let bytes = self.paths.document(id, &self.options).map_err(in_format)?;
        let id = || Id::Is(Cow::Owned(id.as_bytes().to_vec()));
        Ok(bytes.map(|bytes| Document { id: id(), bytes: Raw::Shared(bytes), offset: None }))
    }

    /// All ids, in the order of [`documents`](Self::documents). Reads no documents.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn ids(&self) -> Result<impl Iterator<Item = &str>> {
        let (table, line_refs, files) = (self.table()?, self.line_refs()?, self.files()?);
        let id = move |line: &LineRef| table.and_then(|table| table.entry(line.position)).map(|entry| entry.id);
        let lines = line_refs.iter().filter_map(id).map(|id| std::str::from_utf8(id).unwrap_or_default()); // validated
        Ok(lines.chain(files.ids.iter().map(String::as_str)))
    }

    /// The row of a document, from 0, in the order of [`documents`](Self::documents); `None` if there is no such document.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn row_of(&self, id: &str) -> Result<Option<u64>> {
        let line_refs = self.line_refs()?;
        if let Some((position, entry)) = self.table()?.and_then(|table| table.find(id.as_bytes())) {
            let key = (entry.offset, position);
            let row = line_refs.binary_search_by_key(&key, |line| (line.offset, line.position));
            return Ok(row.ok().map(|row| row as u64));
        }
        let files = self.files()?;
        let row = files.ids.iter().position(|other| other == id);
        Ok(row.map(|row| line_refs.len() as u64 + row as u64))
    }

    /// The data if they are in memory or mapped, else nothing.
    #[inline]
    pub(crate) fn memory(&self) -> &[u8] {
        self.data.as_ref().and_then(Source::as_slice).unwrap_or_default()
    }

    /// The index entry of an id.
    #[inline]
    fn find(&self, id: &str) -> Result<Option<Entry<'_>>> {
        if let Some((table, _)) = self.resolved.get() {
            return Ok(table.find(id.as_bytes()).map(|(_, entry)| entry));
        }
        self.find_cold(id)
    }

    #[cold]
    fn find_cold(&self, id: &str) -> Result<Option<Entry<'_>>> {
        if self.data.is_some()
            && self.scan_lookups.fetch_add(1, Ordering::Relaxed) < SCANS_BEFORE_TABLE
            && let Some(index) = self.sources.trusted_index()
        {
            let id = id.as_bytes();
            if let Some(entry) = cold_lookup::find(&index, id, self.threads) {
                return Ok(entry);
            }
            let (mut last, mut is_utf8) = (None, true);
            let scanned = index.entries().try_for_each(|entry| {
                entry.map(|entry| {
                    is_utf8 &= is_ascii(entry.id) || std::str::from_utf8(entry.id).is_ok();
                    // Ids often share a prefix: compare the last byte first.
                    if entry.id.last() == id.last() && is_same(entry.id, id) {
                        last = Some(entry);
                    }
                })
            });
            // With a damaged index, fall through to the table, which recovers from the data.
            if scanned.is_ok() && is_utf8 {
                return Ok(last);
            }
        }
        Ok(self.table()?.and_then(|table| table.find(id.as_bytes())).map(|(_, entry)| entry))
    }

    pub(crate) fn table(&self) -> Result<Option<&Table>> {
        match &self.data {
            Some(_) => self.resolved().map(|(table, _)| Some(table)),
            None => Ok(None),
        }
    }

    fn resolved(&self) -> Result<&(Table, Condition)> {
        self.resolved.get_or_try(|| {
            let empty = Source::from(Vec::new());
            let data = self.data.as_ref().unwrap_or(&empty);
            resolve(data, &self.sources, self.threads, self.options.limits).map_err(in_data)
        })
    }

    pub(crate) fn line_refs(&self) -> Result<&[LineRef]> {
        let line_refs = self.line_refs.get_or_try(|| match self.table()? {
            Some(table) => line_refs(table).map_err(in_data),
            None => Ok(Vec::new()),
        });
        line_refs.map(Vec::as_slice)
    }

    /// Encodes a fresh index of all documents in `data.jsonl`, in the order of their lines, as a writer's flush would.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn index_in_order(&self) -> Result<Vec<u8>> {
        let (line_refs, table) = (self.line_refs()?, self.table()?);
        let capacity = table.map_or(HEADER_LEN, |table| table.bytes().len());
        let mut out = Vec::with_capacity(capacity);
        out.extend_from_slice(&header(line_refs.len() as u64));
        for entry in line_refs.iter().filter_map(|line| table?.entry(line.position)) {
            put(&entry, &mut out)?;
        }
        Ok(out)
    }

    pub(crate) fn files(&self) -> Result<&Files> {
        self.files.get_or_try(|| {
            if !self.has_docs {
                return Ok(Files::default());
            }
            let table = self.table()?;
            let has_line = |id: &str| table.is_some_and(|table| table.find(id.as_bytes()).is_some());
            files(&self.paths, &self.options, &self.sources.removed, has_line).map_err(in_format)
        })
    }
}

/// Reads a file that holds one JSON object.
pub(crate) fn read_object(source: &Source, options: &OpenOptions, name: &str) -> Result<Map<String, Value>> {
    let in_file = |error: Error| error.in_file(name.to_owned()).in_format(FORMAT_NAME);
    options.limits.check_metadata("the length of metadata", source.len()).map_err(in_file)?;
    let bytes = source.read(0..source.len()).map_err(in_file)?;
    serde_json::from_slice(&bytes)
        .map_err(|cause| in_file(Error::invalid("the metadata is not a JSON object").caused_by(cause)))
}

/// The document in the line of an index entry.
///
/// # Errors
/// [`Invalid`](container_core::ErrorKind::Invalid) if it has another id.
#[inline]
pub(crate) fn document_of_line<'c>(id: &str, entry: Entry<'c>, bytes: Raw<'c>) -> Result<Document<'c>> {
    let document = Document { id: Id::Is(Cow::Borrowed(entry.id)), bytes, offset: Some(entry.offset) };
    check_id(&document, id).map(|()| document)
}

/// Checks that a document has the id under which the index lists it.
#[inline]
fn check_id(document: &Document<'_>, id: &str) -> Result<()> {
    if begins_with_id(&document.bytes, id.as_bytes()) {
        return Ok(());
    }
    let scanned = json::scan(&document.bytes).map_err(|error| document.placed(error, 0))?;
    match scanned.id() {
        Some(found) if found == id => Ok(()),
        Some(found) => {
            Err(document.placed(Error::invalid(format!("the index entry points at the line of document {found:?}")), 0))
        }
        None => Err(document.placed(Error::invalid("the document has no \"_id\""), 0)),
    }
}

pub(crate) fn in_data(error: Error) -> Error {
    error.in_file(format!("{META}/{DATA}")).in_format(FORMAT_NAME)
}

pub(crate) fn in_format(error: Error) -> Error {
    error.in_format(FORMAT_NAME)
}
