//! A collection: documents by id, by number, in their order.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

use container_core::{Error, OpenOptions, Result, Source};
use serde_json::{Map, Value};

use crate::FORMAT_NAME;
use crate::journal::{Journal, Meaning};
use crate::layout::{DATA, INDEX, JOURNAL, MANIFEST, META};
use crate::read::condition::Condition;
use crate::read::document::{Document, Id};
use crate::read::files::{Files, files};
use crate::read::first;
use crate::read::home::Home;
use crate::read::line::{Raw, check_read, line};
use crate::read::once::Once;
use crate::read::places::{Place, places};
use crate::read::plain::{begins_with_id, is_ascii, is_same, plain_line};
use crate::read::resolve::{Found, resolve};
use crate::read::table::Table;
use crate::wire::index::{Entry, HEAD, head, put};
use crate::wire::json;

/// So many look-ups walk over the index; then the table is worth it, which takes as long as about three of them.
const WALKS: u32 = 1;

/// So often it is looked whether index, journal and data have changed while they were opened.
const TRIES: u32 = 64;

/// A collection of documents, opened for reading.
///
/// Opening reads the head of the index and nothing else. The first look-up by id walks over its entries; from the second one on, and for
/// everything that concerns all documents, there is a table, which is built once (about 15 ms for a million documents). Whoever will look up
/// many ids saves the walk by asking for [`len`](Self::len) or [`condition`](Self::condition) first, or by [`get_many`](Self::get_many): then
/// there is the table at once. It is `Send + Sync`,
/// takes `&self` and holds no position: any number of threads may read at once.
///
/// What it sees is the collection as it was when it was opened: documents that a writer appends later are not among it.
#[derive(Debug)]
pub struct Collection {
    name: String,
    pub(crate) home: Home,
    pub(crate) options: OpenOptions,
    pub(crate) data: Option<Source>,
    pub(crate) found: Found,
    has_files: bool,
    looked: AtomicU32,
    resolved: Once<(Table, Condition)>,
    places: Once<Vec<Place>>,
    files: Once<Files>,
    threads: usize,
}

impl Collection {
    pub(crate) fn open_in(name: String, home: Home, options: OpenOptions) -> Result<Self> {
        let named =
            |file: &'static str| move |error: Error| error.in_file(format!("{META}/{file}")).in_format(FORMAT_NAME);
        let whole = |source: Source| source.read(0..source.len());
        let journal_now = || {
            let found =
                home.meta(JOURNAL, &options).and_then(|found| found.map(|(source, _)| whole(source)).transpose());
            found.map_err(named(JOURNAL))
        };
        let mut tries = 0;
        let (journal, index, is_older, data) = loop {
            // In this order: the index of a writer that is at work is never newer than the data that are seen.
            let mark = home.mark(INDEX);
            let journal = journal_now()?;
            let index = home.meta(INDEX, &options).map_err(named(INDEX))?;
            let data = home.meta(DATA, &options).map_err(named(DATA))?;
            let written =
                |found: &Option<(Source, Option<std::time::SystemTime>)>| found.as_ref().and_then(|(_, time)| *time);
            let is_older = written(&index).zip(written(&data)).is_some_and(|(index, data)| index < data);
            let index = index.map(|(source, _)| whole(source)).transpose().map_err(named(INDEX))?;
            // What a writer has changed meanwhile may not fit together: an index of data that have been compacted, say. A small index is not
            // held open, so that its number may be that of the next one.
            let is_small = |index: &container_core::Bytes| index.len() <= 64 << 10;
            let small_now = || match home.meta(INDEX, &options) {
                Ok(Some((source, _))) => whole(source).ok(),
                _ => None,
            };
            let is_as_it_was = mark == home.mark(INDEX)
                && index
                    .as_ref()
                    .is_none_or(|index| mark.is_none() || !is_small(index) || small_now().as_ref() == Some(index))
                && journal == journal_now()?;
            tries += 1;
            if is_as_it_was || tries == TRIES {
                break (journal, index, is_older, data);
            }
        };
        // Of an index without data it has to be told that what it names is gone.
        let data = data.map(|(source, _)| source).or_else(|| index.as_ref().map(|_| Source::from(Vec::new())));
        let data_len = data.as_ref().map_or(0, Source::len);
        let mut found = Found { index, is_older, journal: None, removed: HashSet::new() };
        let mut counted = data_len;
        match journal.map_or(Meaning::Nothing, |bytes| Journal::beside(&bytes, data_len, found.index.as_deref())) {
            Meaning::Nothing => {}
            Meaning::Published(removed) => found.removed = removed.into_iter().collect(),
            Meaning::Current(journal) => {
                counted = journal.counted(data_len);
                found.journal = Some(journal);
            }
        }
        Ok(Self {
            has_files: home.has_documents(),
            name,
            home,
            options,
            // Behind this end a transaction is going on: nothing there is ever looked at, as it may be cut off.
            data: data.map(|data| if counted < data_len { data.slice(0..counted) } else { Ok(data) }).transpose()?,
            found,
            looked: AtomicU32::new(0),
            resolved: Once::default(),
            places: Once::default(),
            files: Once::default(),
            threads: 0,
        })
    }

    /// With how many threads the index is read and the data are walked over where that is needed; 0, the default, for as many as there are.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its `manifest.json` says; `None` where there is none.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) of the file; [`Invalid`](container_core::ErrorKind::Invalid) where it is no JSON object.
    pub fn manifest(&self) -> Result<Option<Map<String, Value>>> {
        let found = self.home.meta(MANIFEST, &self.options).map_err(in_format)?;
        found.map(|(source, _)| object(&source, &self.options, &format!("{META}/{MANIFEST}"))).transpose()
    }

    /// In what state it was found: whether the index holds, and what is not as it should be. Reads the whole index.
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
        condition.without_file = files.without_file;
        Ok(condition)
    }

    /// How many documents there are. Reads the whole index.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn len(&self) -> Result<u64> {
        Ok(self.lines()? + self.files()?.ids.len() as u64)
    }

    /// Is there no document?
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// How many documents have a line in the data, and not a file of their own.
    pub(crate) fn lines(&self) -> Result<u64> {
        Ok(self.table()?.map_or(0, |table| table.seen.ids))
    }

    /// Is there a document of this id?
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn contains(&self, id: &str) -> Result<bool> {
        if self.find(id)?.is_some() {
            return Ok(true);
        }
        Ok(self.document_in_file(id)?.is_some())
    }

    /// The document of this id; `None` where there is none.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) where the index names what is no line, or the line of another document;
    /// [`Truncated`](container_core::ErrorKind::Truncated) where it names what lies behind the end of the data;
    /// [`Io`](container_core::ErrorKind::Io).
    #[inline]
    pub fn get(&self, id: &str) -> Result<Option<Document<'_>>> {
        if let Some((table, _)) = self.resolved.get() {
            let data = self.memory();
            let found = table.find_line(id.as_bytes(), data);
            if let Some((_, entry)) = found
                && let Some(line) = plain_line(data, entry.offset, entry.length)
                && begins_with_id(line, id.as_bytes())
                && self.takes(entry.length)
            {
                let offset = Some(entry.offset);
                let (id, bytes) = (Id::Is(Cow::Borrowed(entry.id)), Raw::Borrowed(line));
                return Ok(Some(Document { id, bytes, offset }));
            }
            // Not the entry: what is handed over would have to lie in memory for nearly all look-ups, which do not come here.
            let position = found.map(|(position, _)| position);
            return self.document_at(id, table, position);
        }
        self.document_of(id, self.find_at_first(id)?)
    }

    #[cold]
    fn document_at<'c>(&'c self, id: &str, table: &'c Table, position: Option<u64>) -> Result<Option<Document<'c>>> {
        self.document_of(id, position.and_then(|position| table.entry(position)))
    }

    /// Is a line of so many bytes within the limit?
    #[inline]
    fn takes(&self, length: u32) -> bool {
        u64::from(length) <= self.options.limits.block_bytes
    }

    /// The document of an id and of its entry, where it is as nearly all of them are.
    #[inline]
    pub(crate) fn plain_document<'c>(&'c self, id: &str, entry: Entry<'c>) -> Option<Document<'c>> {
        let line = plain_line(self.memory(), entry.offset, entry.length)?;
        let offset = Some(entry.offset);
        (begins_with_id(line, id.as_bytes()) && self.takes(entry.length)).then_some(Document {
            id: Id::Is(Cow::Borrowed(entry.id)),
            bytes: Raw::Borrowed(line),
            offset,
        })
    }

    /// The document of an id, and of its entry if it has one.
    #[cold]
    pub(crate) fn document_of<'c>(&'c self, id: &str, entry: Option<Entry<'c>>) -> Result<Option<Document<'c>>> {
        if let (Some(data), Some(entry)) = (&self.data, entry) {
            let found = check_read(data, entry.offset, entry.length, &self.options.limits);
            let bytes = match found.and_then(|()| line(data, entry.offset, entry.length)) {
                Ok(bytes) => bytes,
                Err(error) => return Err(in_data(error).in_key(id.to_owned())),
            };
            let document = Document { id: Id::Is(Cow::Borrowed(entry.id)), bytes, offset: Some(entry.offset) };
            return is_of(&document, id).map(|()| Some(document));
        }
        self.document_in_file(id)
    }

    fn document_in_file(&self, id: &str) -> Result<Option<Document<'_>>> {
        if !self.has_files || self.found.removed.contains(id) {
            return Ok(None);
        }
        let bytes = self.home.document(id, &self.options).map_err(in_format)?;
        let own = || Id::Is(Cow::Owned(id.as_bytes().to_vec()));
        Ok(bytes.map(|bytes| Document { id: own(), bytes: Raw::Shared(bytes), offset: None }))
    }

    /// All ids, in the order of [`documents`](Self::documents). No document is read.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn ids(&self) -> Result<impl Iterator<Item = &str>> {
        let (table, places, files) = (self.table()?, self.places()?, self.files()?);
        let id = move |place: &Place| table.and_then(|table| table.entry(place.position)).map(|entry| entry.id);
        let lines = places.iter().filter_map(id).map(|id| std::str::from_utf8(id).unwrap_or_default()); // checked
        Ok(lines.chain(files.ids.iter().map(String::as_str)))
    }

    /// The number of a document, counted from 0 in the order of [`documents`](Self::documents); `None` where there is none.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn row_of(&self, id: &str) -> Result<Option<u64>> {
        let places = self.places()?;
        if let Some((position, entry)) = self.table()?.and_then(|table| table.find(id.as_bytes())) {
            let wanted = (entry.offset, position);
            let is_sorted = places.binary_search_by_key(&wanted, |place| (place.offset, place.position));
            return Ok(is_sorted.ok().map(|row| row as u64));
        }
        let files = self.files()?;
        let row = files.ids.iter().position(|other| other == id);
        Ok(row.map(|row| places.len() as u64 + row as u64))
    }

    /// The data, where they lie in memory.
    #[inline]
    pub(crate) fn memory(&self) -> &[u8] {
        self.data.as_ref().and_then(Source::as_slice).unwrap_or_default()
    }

    /// The entry of an id.
    #[inline]
    fn find(&self, id: &str) -> Result<Option<Entry<'_>>> {
        if let Some((table, _)) = self.resolved.get() {
            return Ok(table.find(id.as_bytes()).map(|(_, entry)| entry));
        }
        self.find_at_first(id)
    }

    #[cold]
    fn find_at_first(&self, id: &str) -> Result<Option<Entry<'_>>> {
        if self.data.is_some()
            && self.looked.fetch_add(1, Ordering::Relaxed) < WALKS
            && let Some(index) = self.found.plain_index()
        {
            let wanted = id.as_bytes();
            if let Some(found) = first::find(&index, wanted, self.threads) {
                return Ok(found);
            }
            let (mut last, mut is_text) = (None, true);
            let is_whole = index.entries().try_for_each(|entry| {
                entry.map(|entry| {
                    is_text &= is_ascii(entry.id) || std::str::from_utf8(entry.id).is_ok();
                    // Ids often differ in nothing but their last letters.
                    if entry.id.last() == wanted.last() && is_same(entry.id, wanted) {
                        last = Some(entry);
                    }
                })
            });
            // What is wrong with it is another matter, and the data are there.
            if is_whole.is_ok() && is_text {
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
            resolve(data, &self.found, self.threads, self.options.limits).map_err(in_data)
        })
    }

    pub(crate) fn places(&self) -> Result<&[Place]> {
        let made = self.places.get_or_try(|| match self.table()? {
            Some(table) => places(table).map_err(in_data),
            None => Ok(Vec::new()),
        });
        made.map(Vec::as_slice)
    }

    /// An index of all documents that have a line, in the order of the data: the bytes that a writer leaves.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn index_in_order(&self) -> Result<Vec<u8>> {
        let (places, table) = (self.places()?, self.table()?);
        let room = table.map_or(HEAD, |table| table.bytes().len());
        let mut out = Vec::with_capacity(room);
        out.extend_from_slice(&head(places.len() as u64));
        for entry in places.iter().filter_map(|place| table?.entry(place.position)) {
            put(&entry, &mut out)?;
        }
        Ok(out)
    }

    pub(crate) fn files(&self) -> Result<&Files> {
        self.files.get_or_try(|| {
            if !self.has_files {
                return Ok(Files::default());
            }
            let table = self.table()?;
            let has_line = |id: &str| table.is_some_and(|table| table.find(id.as_bytes()).is_some());
            files(&self.home, &self.options, &self.found.removed, has_line).map_err(in_format)
        })
    }
}

/// A file that is one JSON object.
pub(crate) fn object(source: &Source, options: &OpenOptions, name: &str) -> Result<Map<String, Value>> {
    let placed = |error: Error| error.in_file(name.to_owned()).in_format(FORMAT_NAME);
    options.limits.check_metadata("the length of metadata", source.len()).map_err(placed)?;
    let bytes = source.read(0..source.len()).map_err(placed)?;
    serde_json::from_slice(&bytes)
        .map_err(|cause| placed(Error::invalid("the metadata are no JSON object").caused_by(cause)))
}

/// Is it the document that the index says it is?
#[inline]
fn is_of(document: &Document<'_>, id: &str) -> Result<()> {
    if begins_with_id(&document.bytes, id.as_bytes()) {
        return Ok(());
    }
    let scanned = json::scan(&document.bytes).map_err(|error| document.placed(error, 0))?;
    match scanned.id() {
        Some(found) if found == id => Ok(()),
        Some(found) => {
            Err(document.placed(Error::invalid(format!("the index names the line of the document {found:?}")), 0))
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
