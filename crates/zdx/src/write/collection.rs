//! A collection opened for writing: opening it, and repairing it before its first change.

use std::collections::HashSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use container_core::{Bytes, Error, OpenOptions, Owner, Result, Source};
use serde_json::{Value, json};

use crate::journal::IndexMark;
use crate::layout::{COLLECTIONS, DATA, DOCS, DOCUMENT_LIST, INDEX, JOURNAL, MANIFEST, META, ORDER};
use crate::read::line::line;
use crate::read::offsets::line_refs;
use crate::read::paths::CollectionPaths;
use crate::read::resolve::{IndexSources, resolve};
use crate::read::table::Table;
use crate::read::{Collection, Condition, IndexState};
use crate::wire::index::{HEADER_LEN, header, put};
use crate::wire::lines::BYTE_ORDER_MARK;
use crate::write::disk::Disk;
use crate::write::folder::{Folder, Mode};
use crate::write::ids::Ids;
use crate::write::metadata::Metadata;
use crate::write::schema::Schema;
use crate::write::shared::Shared;
use crate::write::staging::{STAGED_DATA, Transaction};
use crate::write::time::rfc3339;

/// A collection opened for writing.
///
/// Puts are appended to the data, in large blocks; [`flush`](Self::flush), [`compact`](Self::compact) and [`finish`](Self::finish) write the
/// index, after which every reader sees all changes. **Dropping the writer writes nothing**: of the changes since the last flush, those
/// already written to the files are there the next time the collection is opened, the rest is lost. To make all changes up to the next flush
/// one transaction, call [`begin`](Self::begin).
///
/// After a failed write outside of a transaction the writer refuses to continue. The files are intact, and a new writer can.
#[derive(Debug)]
#[must_use = "changes may be lost without flush() or finish()"]
pub struct CollectionWriter {
    pub(crate) shared: Arc<Shared>,
    pub(crate) name: String,
    /// Path of its directory, for reading and messages.
    pub(crate) path: PathBuf,
    pub(crate) disk: Disk,
    /// Its open directories; `None` while the collection does not exist.
    pub(crate) folders: Option<Folders>,
    /// The open data file; `None` while there is none.
    pub(crate) data: Option<File>,
    /// What the first change has to do first; `None` once done.
    pub(crate) pending_repair: Option<PendingRepair>,
    /// Snapshot of the data for reading.
    pub(crate) source: Source,
    /// Length of the data file.
    pub(crate) written: u64,
    /// Lines to append to it.
    pub(crate) buffer: Vec<u8>,
    /// Journal lines to append before that.
    pub(crate) deletions: Vec<u8>,
    /// Open from the first change after a flush on.
    pub(crate) journal: Option<File>,
    /// The index file.
    pub(crate) disk_index: DiskIndex,
    pub(crate) ids: Ids,
    /// End of the last document's line, and whether that document still exists. What follows is not a document.
    pub(crate) lines_end: u64,
    pub(crate) is_last_line_live: bool,
    /// Whether the last line lacks a line feed.
    pub(crate) needs_feed: bool,
    pub(crate) is_changed: bool,
    pub(crate) has_failed: bool,
    pub(crate) transaction: Option<Transaction>,
    pub(crate) docs: Docs,
    pub(crate) manifest: Option<Metadata>,
    /// Set if all documents must have one schema.
    pub(crate) strict: Option<Strict>,
    pub(crate) recovered: Condition,
}

/// The open directories of a collection.
#[derive(Debug)]
pub(crate) struct Folders {
    pub(crate) collection: Folder,
    pub(crate) meta: Folder,
}

/// What has to be done before the first change.
#[derive(Debug, Default)]
pub(crate) struct PendingRepair {
    /// Whether the collection does not exist yet.
    pub(crate) is_new: bool,
    /// Truncate the data to this length: a torn line or an unfinished transaction follows.
    cut: Option<u64>,
    /// Write a new index: the one in [`CollectionWriter::ids`].
    writes_index: bool,
    /// Whether the last line of the data is not a document, but could be taken for one.
    has_dead_last_line: bool,
    /// Documents deleted in a finished transaction, whose files are still to be removed.
    removed: Vec<String>,
}

/// The index file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DiskIndex {
    Nothing,
    /// The one that [`Ids`] was loaded from.
    Base,
    Other(IndexMark),
}

/// File-per-document documents.
#[derive(Debug, Default)]
pub(crate) struct Docs {
    /// Ids without a line.
    pub(crate) unshadowed: HashSet<String>,
    /// Ids that also have a line, which takes precedence.
    pub(crate) shadowed: HashSet<String>,
    /// Ids removed since the order was written.
    pub(crate) removed: HashSet<String>,
}

/// The requirement that all documents have one schema.
#[derive(Debug, Default)]
pub(crate) struct Strict {
    /// Schema of the first document.
    pub(crate) schema: Option<Schema>,
}

impl PendingRepair {
    /// For a collection that does not exist.
    pub(crate) fn new_collection() -> Self {
        Self { is_new: true, ..Self::default() }
    }
}

impl CollectionWriter {
    pub(crate) fn open(shared: Arc<Shared>, name: &str) -> Result<Self> {
        let options = shared.options.clone();
        let path = shared.root.join(COLLECTIONS).join(name);
        let collection = shared.collections(false)?.map(|all| all.folder(name)).transpose()?.flatten();
        let is_new = collection.is_none();
        if is_new && !options.create {
            return Err(Error::usage(format!("no collection {name:?}")));
        }
        let meta = collection.as_ref().map(|folder| folder.folder(META)).transpose()?.flatten();
        // Links and special files must be refused before anything is changed.
        if let Some(collection) = &collection {
            collection.folder(DOCS)?;
        }
        for file in [DATA, INDEX, JOURNAL, MANIFEST, ORDER, DOCUMENT_LIST, STAGED_DATA] {
            meta.as_ref().map(|meta| meta.contains(file)).transpose()?;
        }
        let mut manifest = meta.as_ref().map(|meta| Metadata::read(meta, MANIFEST)).transpose()?.flatten();
        if manifest.is_none() && is_new {
            manifest = Some(Metadata::new(&[
                ("version", json!("0.1.0")),
                ("collection", json!(name)),
                ("strict", json!(options.strict)),
                ("created_at", json!(rfc3339(options.now()))),
                ("doc_count", json!(0)),
                ("schema_count", json!(0)),
            ]));
        }

        let read = Collection::open_in(name.to_owned(), CollectionPaths::Folder(path.clone()), OpenOptions::default())?;
        let data = meta.as_ref().map(|meta| meta.open(DATA, Mode::Append)).transpose()?.flatten();
        let has_journal = meta.as_ref().map(|meta| meta.contains(JOURNAL)).transpose()? == Some(true);
        let has_index = read.sources.index.is_some();
        let sources = match options.rebuild {
            true => IndexSources { removed: read.sources.removed.clone(), ..IndexSources::default() },
            false => read.sources.clone(),
        };
        let mut source = read.data.clone().unwrap_or_else(|| Source::from(Vec::new()));
        let in_data = |error: Error| error.in_file(format!("{META}/{DATA}"));
        let (table, condition) = resolve(&source, &sources, options.threads, read.options.limits).map_err(in_data)?;
        let is_clean = match condition.index {
            IndexState::Valid => condition.superseded == 0,
            IndexState::NoData => !has_index,
            _ => false,
        };
        if let Some(end) = condition.lost_until {
            let detail = format!(
                "the index lists lines up to byte {end}, past the end of the data; it can be rebuilt from what is left",
            );
            return Err(in_data(Error::invalid(detail).at(source.len())));
        }
        if table.stats.ids == 0 && condition.skipped_lines > 0 {
            let detail = "the data contain no documents";
            let error = Error::invalid(detail);
            return Err(in_data(match &condition.first_skipped {
                Some(first) => error.caused_by(Arc::clone(first)),
                None => error,
            }));
        }

        let file_len = match &data {
            Some(data) => data.metadata().map_err(|cause| in_data(Error::io("cannot open", cause)))?.len(),
            None => 0,
        };
        if let Some(torn) = condition.torn {
            source = source.slice(0..torn)?;
        }
        let written = source.len();
        let mut pending_repair = PendingRepair {
            is_new,
            cut: (written < file_len).then_some(written),
            writes_index: !is_clean || has_journal || options.rebuild,
            has_dead_last_line: false,
            removed: read.sources.removed.iter().cloned().collect(),
        };
        let mut docs = Docs::default();
        if read.paths.has_documents() {
            for id in read.paths.documents()?.into_iter().filter(|id| !read.sources.removed.contains(id)) {
                let has_line = table.find(id.as_bytes()).is_some();
                if has_line { &mut docs.shadowed } else { &mut docs.unshadowed }.insert(id);
            }
        }
        let lines_end = table.stats.lines_end;
        let table = match pending_repair.writes_index {
            true => Table::build(in_order(&table)?, options.threads)?,
            false => table,
        };
        let folders = match (collection, meta) {
            (Some(collection), Some(meta)) => Some(Folders { collection, meta }),
            _ => None,
        };
        let mut writer = Self {
            disk: options.disk(),
            shared,
            name: name.to_owned(),
            path,
            folders,
            data,
            pending_repair: None,
            source,
            written,
            buffer: Vec::new(),
            deletions: Vec::new(),
            journal: None,
            disk_index: if has_index { DiskIndex::Base } else { DiskIndex::Nothing },
            ids: Ids::new(table),
            lines_end,
            is_last_line_live: true,
            needs_feed: false,
            is_changed: false,
            has_failed: false,
            transaction: None,
            docs,
            strict: None,
            manifest,
            recovered: condition,
        };
        writer.check_last_line()?;
        pending_repair.has_dead_last_line = !writer.is_last_line_live;
        writer.pending_repair = Some(pending_repair);
        let manifest_strict = writer.manifest.as_ref().and_then(|manifest| manifest.get("strict"));
        if options.strict || manifest_strict == Some(Value::Bool(true)) {
            writer.strict = Some(Strict { schema: writer.first_schema()? });
        }
        Ok(writer)
    }

    /// Schema of the first document: of the first line, or else of the first file.
    fn first_schema(&self) -> Result<Option<Schema>> {
        let first = match self.ids.first() {
            Some((offset, length)) => Some(self.line(offset, length)?),
            None => match self.docs.unshadowed.iter().min() {
                Some(id) => self.get(id)?,
                None => None,
            },
        };
        first.map(|document| Schema::of(&document)).transpose()
    }

    /// Creates missing files and repairs the others, before the first change.
    pub(crate) fn prepare(&mut self) -> Result<()> {
        self.shared.owner.check()?;
        if self.pending_repair.is_none() {
            return Ok(());
        }
        self.shared.renew_lock()?;
        if self.folders.is_none() {
            self.folders = Some(self.make_folders()?);
            self.write_manifest()?;
        }
        if self.data.is_none() && !self.transaction.as_ref().is_some_and(Transaction::stages_data) {
            let meta = self.meta()?;
            let data = meta.open(DATA, Mode::AppendOrCreate)?;
            self.data = data;
        }
        let Some(pending_repair) = self.pending_repair.take() else { return Ok(()) };
        let repaired = self.repair(&pending_repair);
        if repaired.is_err() {
            // The repair can start over.
            self.pending_repair = Some(pending_repair);
        }
        repaired
    }

    fn make_folders(&mut self) -> Result<Folders> {
        let collection = match self.transaction.as_mut().and_then(Transaction::hidden) {
            Some(hidden) => {
                let (folder, _) = hidden.insert(self.shared.make_hidden()?);
                self.disk.folder(folder, &self.name)?
            }
            None => {
                let missing = || Error::usage("the store has no directory of collections");
                self.disk.folder(&self.shared.collections(true)?.ok_or_else(missing)?, &self.name)?
            }
        };
        let meta = self.disk.folder(&collection, META)?;
        Ok(Folders { collection, meta })
    }

    fn repair(&mut self, pending_repair: &PendingRepair) -> Result<()> {
        // Left behind by a writer that was killed.
        let meta = self.meta()?;
        for stale in meta.names("")?.iter().filter(|name| is_stale(name)) {
            meta.remove(stale)?;
        }
        if let Some(len) = pending_repair.cut {
            self.disk.cut("data", self.data()?, len)?;
        }
        if !pending_repair.writes_index {
            return Ok(());
        }
        if let Some(data) = &self.data {
            self.disk.sync("data", data)?;
        }
        let index = self.ids.base_bytes().clone();
        self.disk.replace("index", self.meta()?, INDEX, |write| write(&index))?;
        self.disk_index = DiskIndex::Other(IndexMark::of(&index));
        for id in &pending_repair.removed {
            self.remove_document(id)?;
        }
        self.unlist_removed()?;
        if pending_repair.has_dead_last_line {
            // The next flush will append the last document again. Until then keep the journal, so that the repair starts over after a crash.
            self.is_changed = true;
            if let Some(transaction) = &mut self.transaction {
                transaction.mark_changed();
            }
            return Ok(());
        }
        self.disk.remove("journal", self.meta()?, JOURNAL)
    }

    /// Reloads the ids from the index just written.
    pub(crate) fn read_index(&mut self, mark: IndexMark) -> Result<()> {
        let index = self.read_file(INDEX)?;
        let table = Table::build(index.read(0..index.len())?, self.shared.options.threads)?;
        self.ids = Ids::new(table);
        self.disk_index = DiskIndex::Other(mark);
        Ok(())
    }

    /// Opens a file of `meta` for reading.
    pub(crate) fn read_file(&self, name: &str) -> Result<Source> {
        let placed = |error: Error| error.in_file(self.path.join(META).join(name).display().to_string());
        let missing = || placed(Error::io("cannot open", std::io::ErrorKind::NotFound.into()));
        let file = self.meta()?.open(name, Mode::Read)?.ok_or_else(missing)?;
        Source::from_file(file).map_err(placed)
    }

    /// Determines whether the last document's line ends the data.
    fn check_last_line(&mut self) -> Result<()> {
        let tail = self.source.read(self.lines_end..self.written.max(self.lines_end).min(self.lines_end + 3))?;
        let mark: &[u8] = if self.lines_end == 0 { BYTE_ORDER_MARK } else { b"" };
        self.is_last_line_live = matches!(&*tail, b"" | b"\n" | b"\r\n") || *tail == *mark && self.written <= 3;
        self.needs_feed = self.written > 0 && self.source.read(self.written - 1..self.written)?[..] != *b"\n";
        Ok(())
    }

    /// The state the collection was found in. The first change or flush repairs what [`Condition::notes`] lists.
    #[must_use]
    pub fn recovered(&self) -> &Condition {
        &self.recovered
    }

    /// The process that opened the collection. A forked child can drop the writer, which then changes nothing, but not use it.
    #[must_use]
    pub fn owner(&self) -> Owner {
        self.shared.owner
    }

    /// The collection's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of documents, including unflushed ones and those in files of their own.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.ids.len() + self.docs.unshadowed.len() as u64
    }

    /// Whether there are no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is a document with this id.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        self.ids.find(id.as_bytes()).is_some() || self.docs.unshadowed.contains(id)
    }

    /// The JSON of a document, as it was put or stored; `None` if there is none.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); [`Invalid`](container_core::ErrorKind::Invalid) if the index entry does not point at a line.
    pub fn get(&self, id: &str) -> Result<Option<Vec<u8>>> {
        let named = |error: Error| error.in_key(id.to_owned()).in_format(crate::FORMAT_NAME);
        let Some(entry) = self.ids.find(id.as_bytes()) else {
            let paths = CollectionPaths::Folder(self.path.clone());
            let bytes =
                if self.docs.unshadowed.contains(id) { paths.document(id, &OpenOptions::default()) } else { Ok(None) };
            return bytes.map(|bytes| bytes.map(|bytes| bytes.to_vec())).map_err(named);
        };
        self.line(entry.offset, entry.length).map(Some).map_err(named)
    }

    /// A line, without its line ending, from the file or the buffer.
    pub(crate) fn line(&self, offset: u64, length: u32) -> Result<Vec<u8>> {
        let in_data = |error: Error| error.in_file(format!("{META}/{DATA}"));
        if let Some(start) = offset.checked_sub(self.written) {
            let bytes = usize::try_from(start).ok().and_then(|start| self.buffer.get(start..));
            let bytes = bytes.and_then(|bytes| bytes.get(..usize::try_from(length).ok()?.checked_sub(1)?));
            let bytes = bytes.ok_or_else(|| in_data(Error::invalid("the line is missing").at(offset)))?;
            return Ok(bytes.strip_suffix(b"\r").unwrap_or(bytes).to_vec());
        }
        let reopened;
        let mut source = &self.source;
        if offset.saturating_add(length.into()) > source.len() {
            let file = self.data()?.try_clone().map_err(|cause| in_data(Error::io("cannot read", cause)))?;
            reopened = Source::from_file(file).map_err(in_data)?;
            source = &reopened;
        }
        line(source, offset, length).map(|bytes| bytes.to_vec()).map_err(in_data)
    }

    /// The directory `meta`, once the collection is prepared.
    pub(crate) fn meta(&self) -> Result<&Folder> {
        self.folders.as_ref().map(|folders| &folders.meta).ok_or_else(not_prepared)
    }

    /// The data file, once the collection is prepared.
    pub(crate) fn data(&self) -> Result<&File> {
        self.data.as_ref().ok_or_else(not_prepared)
    }

    /// Removes the file of a document.
    pub(crate) fn remove_document(&mut self, id: &str) -> Result<()> {
        let docs = self.folders.as_ref().map(|folders| folders.collection.folder(DOCS)).transpose()?.flatten();
        if let Some(docs) = docs {
            self.disk.remove("document", &docs, &format!("{id}{}", crate::layout::DOCUMENT))?;
        }
        self.docs.removed.insert(id.to_owned());
        Ok(())
    }

    pub(crate) fn write_manifest(&mut self) -> Result<()> {
        match (&mut self.manifest, &self.folders) {
            (Some(manifest), Some(folders)) => manifest.write(&self.disk, &folders.meta, MANIFEST),
            _ => Ok(()),
        }
    }

    /// Offset of the next line.
    pub(crate) fn end(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Fails if a write has failed before.
    pub(crate) fn ready(&self) -> Result<()> {
        match self.has_failed {
            true => Err(Error::usage("a write failed before: reopen the collection")),
            false => Ok(()),
        }
    }

    /// Handles an error of a change: rolls the transaction back if there is one, otherwise refuses further writes.
    pub(crate) fn roll_back_on_error<T>(&mut self, result: Result<T>) -> Result<T> {
        result.map_err(|error| {
            if self.transaction.is_none() {
                self.has_failed = true;
                return error;
            }
            match self.try_roll_back() {
                Ok(()) => error,
                Err(second) => {
                    let detail = format!(
                        "the rollback failed ({second}): the changes are rolled back when the collection is opened next"
                    );
                    Error::new(error.kind(), detail).caused_by(error)
                }
            }
        })
    }
}

/// Whether a file is a temporary one of a writer. No other writer can have any while we hold the lock.
pub(crate) fn is_stale(name: &str) -> bool {
    name == STAGED_DATA || name.starts_with(".wharf-") && name.ends_with(".tmp")
}

/// Encodes an index of a table's documents, in the order of their lines and without duplicates.
fn in_order(table: &Table) -> Result<Bytes> {
    let lines = line_refs(table)?;
    let mut index = Vec::with_capacity(table.bytes().len().max(HEADER_LEN));
    index.extend_from_slice(&header(lines.len() as u64));
    for entry in lines.iter().filter_map(|line| table.entry(line.position)) {
        put(&entry, &mut index)?;
    }
    Ok(index.into())
}

#[cold]
pub(crate) fn not_prepared() -> Error {
    Error::usage("the collection does not exist yet")
}

impl Drop for CollectionWriter {
    fn drop(&mut self) {
        if !self.shared.owner.is_current() {
            return;
        }
        if self.transaction.is_some() && !self.has_failed {
            // If this fails, the next opening rolls back.

            let _ = self.try_roll_back();
        }
        self.shared.release_collection(&self.name);
    }
}
