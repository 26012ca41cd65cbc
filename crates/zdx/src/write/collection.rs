//! A collection that is written: how it is opened, and how it is prepared for its first change.

use std::collections::HashSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use container_core::{Bytes, Error, OpenOptions, Result, Source};
use serde_json::{Value, json};

use crate::journal::IndexMark;
use crate::layout::{COLLECTIONS, DATA, DOCS, DOCUMENT_LIST, INDEX, JOURNAL, MANIFEST, META, ORDER};
use crate::read::home::Home;
use crate::read::line::line;
use crate::read::places::places;
use crate::read::resolve::{Found, resolve};
use crate::read::table::Table;
use crate::read::{Collection, Condition, IndexState};
use crate::wire::index::{HEAD, head, put};
use crate::wire::lines::BYTE_ORDER_MARK;
use crate::write::disk::Disk;
use crate::write::folder::{Folder, Mode};
use crate::write::ids::Ids;
use crate::write::metadata::Metadata;
use crate::write::schema::Schema;
use crate::write::shared::Shared;
use crate::write::staging::{STAGED_DATA, Transaction};
use crate::write::time::rfc3339;

/// A collection that is written.
///
/// What is put is appended to the data, in large pieces; the index is written by [`flush`](Self::flush), [`compact`](Self::compact) and
/// [`finish`](Self::finish), and after each of them every reader sees all of it. **Dropping it writes nothing**: of what was put and
/// deleted since the last of them, the part that has reached the files by then is there when the collection is opened next, and the rest
/// is lost. Where that must not happen, [`begin`](Self::begin) makes all changes up to the next of them one transaction: all or none.
///
/// After a write that failed outside of a transaction it refuses to go on; what the files hold is whole, and a new writer goes on from there.
#[derive(Debug)]
#[must_use = "without flush() or finish() what is put is not sure to be there"]
pub struct CollectionWriter {
    pub(crate) shared: Arc<Shared>,
    pub(crate) name: String,
    /// The path of its folder, for reading and for messages.
    pub(crate) path: PathBuf,
    pub(crate) disk: Disk,
    /// The open folders; `None` as long as the collection does not exist.
    pub(crate) folders: Option<Folders>,
    /// The open data; `None` as long as there are none.
    pub(crate) data: Option<File>,
    /// What the first change has to do before, until it is done.
    pub(crate) to_prepare: Option<Preparation>,
    /// The data as they were when they were looked at last.
    pub(crate) source: Source,
    /// Bytes of data in the file.
    pub(crate) written: u64,
    /// Whole lines that are to follow them.
    pub(crate) buffer: Vec<u8>,
    /// Lines of the journal that are to be written before.
    pub(crate) deletions: Vec<u8>,
    /// Open from the first change after an index on.
    pub(crate) journal: Option<File>,
    /// The index on the disk.
    pub(crate) on_disk: OnDisk,
    pub(crate) ids: Ids,
    /// Where the line of the last document ends, and whether it is still one: what stands behind it is no document.
    pub(crate) covered: u64,
    pub(crate) is_tail_alive: bool,
    /// The last line has no line feed.
    pub(crate) needs_feed: bool,
    pub(crate) is_changed: bool,
    pub(crate) is_broken: bool,
    pub(crate) transaction: Option<Transaction>,
    pub(crate) loose: Loose,
    pub(crate) manifest: Option<Metadata>,
    /// All documents have to have one schema.
    pub(crate) strict: Option<Strict>,
    pub(crate) recovered: Condition,
}

/// The folder of a collection, and its folder `meta`.
#[derive(Debug)]
pub(crate) struct Folders {
    pub(crate) collection: Folder,
    pub(crate) meta: Folder,
}

/// What has to be done before the first change.
#[derive(Debug, Default)]
pub(crate) struct Preparation {
    /// The collection does not exist yet.
    pub(crate) is_new: bool,
    /// The length that the data are cut to: a torn line stands behind, or a transaction that was not ended.
    cut: Option<u64>,
    /// A new index of what was found is written: the one in [`CollectionWriter::ids`].
    writes_index: bool,
    /// The last line of the data is no document, and could be taken for one.
    has_dead_tail: bool,
    /// Files of documents that an ended transaction has deleted.
    removed: Vec<String>,
}

/// What index is on the disk.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OnDisk {
    Nothing,
    /// The one that [`Ids`] began with.
    Base,
    Other(IndexMark),
}

/// Documents in files of their own.
#[derive(Debug, Default)]
pub(crate) struct Loose {
    /// Those without a line.
    pub(crate) seen: HashSet<String>,
    /// Those with one, which is what holds.
    pub(crate) shadowed: HashSet<String>,
    /// Those that were removed since the order was written.
    pub(crate) removed: HashSet<String>,
}

/// That all documents have to have one schema.
#[derive(Debug, Default)]
pub(crate) struct Strict {
    /// That of the first document.
    pub(crate) schema: Option<Schema>,
}

impl Preparation {
    /// That of a collection that does not exist.
    pub(crate) fn of_new() -> Self {
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
            return Err(Error::usage(format!("there is no collection {name:?}, and none is to be made")));
        }
        let meta = collection.as_ref().map(|folder| folder.folder(META)).transpose()?.flatten();
        // What is no file is found before anything is changed.
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

        let read = Collection::open_in(name.to_owned(), Home::Folder(path.clone()), OpenOptions::default())?;
        let data = meta.as_ref().map(|meta| meta.open(DATA, Mode::Append)).transpose()?.flatten();
        let has_journal = meta.as_ref().map(|meta| meta.contains(JOURNAL)).transpose()? == Some(true);
        let has_index = read.found.index.is_some();
        let found = match options.rebuild {
            true => Found { index: None, is_older: false, journal: None, removed: read.found.removed.clone() },
            false => read.found.clone(),
        };
        let mut source = read.data.clone().unwrap_or_else(|| Source::from(Vec::new()));
        let in_data = |error: Error| error.in_file(format!("{META}/{DATA}"));
        let (table, condition) = resolve(&source, &found, options.threads, read.options.limits).map_err(in_data)?;
        let is_clean = match condition.index {
            IndexState::Valid => condition.superseded == 0,
            IndexState::NoData => !has_index,
            _ => false,
        };
        if let Some(end) = condition.data_end_before {
            let detail = format!(
                "the index names lines up to byte {end} of the data: they end before; an index of what is there can be made anew",
            );
            return Err(in_data(Error::invalid(detail).at(source.len())));
        }
        if table.seen.ids == 0 && condition.passed_over > 0 {
            let detail = "no line of the data is a document";
            let error = Error::invalid(detail);
            return Err(in_data(match &condition.first_passed_over {
                Some(first) => error.caused_by(Arc::clone(first)),
                None => error,
            }));
        }

        let in_file = match &data {
            Some(data) => data.metadata().map_err(|cause| in_data(Error::io("cannot open", cause)))?.len(),
            None => 0,
        };
        if let Some(torn) = condition.torn {
            source = source.slice(0..torn)?;
        }
        let written = source.len();
        let mut to_prepare = Preparation {
            is_new,
            cut: (written < in_file).then_some(written),
            writes_index: !is_clean || has_journal || options.rebuild,
            has_dead_tail: false,
            removed: read.found.removed.iter().cloned().collect(),
        };
        let mut loose = Loose::default();
        if read.home.has_documents() {
            for id in read.home.documents()?.into_iter().filter(|id| !read.found.removed.contains(id)) {
                let has_line = table.find(id.as_bytes()).is_some();
                if has_line { &mut loose.shadowed } else { &mut loose.seen }.insert(id);
            }
        }
        let covered = table.seen.covered;
        let table = match to_prepare.writes_index {
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
            to_prepare: None,
            source,
            written,
            buffer: Vec::new(),
            deletions: Vec::new(),
            journal: None,
            on_disk: if has_index { OnDisk::Base } else { OnDisk::Nothing },
            ids: Ids::new(table),
            covered,
            is_tail_alive: true,
            needs_feed: false,
            is_changed: false,
            is_broken: false,
            transaction: None,
            loose,
            strict: None,
            manifest,
            recovered: condition,
        };
        writer.look_at_the_end()?;
        to_prepare.has_dead_tail = !writer.is_tail_alive;
        writer.to_prepare = Some(to_prepare);
        let of_manifest = writer.manifest.as_ref().and_then(|manifest| manifest.get("strict"));
        if options.strict || of_manifest == Some(Value::Bool(true)) {
            writer.strict = Some(Strict { schema: writer.first_schema()? });
        }
        Ok(writer)
    }

    /// That of the first document: of the first line, or else of the first file.
    fn first_schema(&self) -> Result<Option<Schema>> {
        let first = match self.ids.first() {
            Some((offset, length)) => Some(self.line(offset, length)?),
            None => match self.loose.seen.iter().min() {
                Some(id) => self.get(id)?,
                None => None,
            },
        };
        first.map(|document| Schema::of(&document)).transpose()
    }

    /// Makes what is missing and repairs what was found, before the first change.
    pub(crate) fn prepare(&mut self) -> Result<()> {
        if self.to_prepare.is_none() {
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
        let Some(to_prepare) = self.to_prepare.take() else { return Ok(()) };
        let repaired = self.repair(&to_prepare);
        if repaired.is_err() {
            // All of it can be done again.
            self.to_prepare = Some(to_prepare);
        }
        repaired
    }

    fn make_folders(&mut self) -> Result<Folders> {
        let collection = match self.transaction.as_mut().and_then(Transaction::unseen) {
            Some(unseen) => {
                let (folder, _) = unseen.insert(self.shared.make_unseen()?);
                self.disk.folder(folder, &self.name)?
            }
            None => {
                let missing = || Error::usage("there is no folder of collections");
                self.disk.folder(&self.shared.collections(true)?.ok_or_else(missing)?, &self.name)?
            }
        };
        let meta = self.disk.folder(&collection, META)?;
        Ok(Folders { collection, meta })
    }

    fn repair(&mut self, to_prepare: &Preparation) -> Result<()> {
        // What a writer that was killed has left behind.
        let meta = self.meta()?;
        for stale in meta.names("")?.iter().filter(|name| is_stale(name)) {
            meta.remove(stale)?;
        }
        if let Some(len) = to_prepare.cut {
            self.disk.cut("data", self.data()?, len)?;
        }
        if !to_prepare.writes_index {
            return Ok(());
        }
        if let Some(data) = &self.data {
            self.disk.sync("data", data)?;
        }
        let index = self.ids.base_bytes().clone();
        self.disk.replace("index", self.meta()?, INDEX, |write| write(&index))?;
        self.on_disk = OnDisk::Other(IndexMark::of(&index));
        for id in &to_prepare.removed {
            self.remove_document(id)?;
        }
        self.forget_removed()?;
        if to_prepare.has_dead_tail {
            // The journal, though it is of another index, stays until the next flush, so that who finds it half done does it again.
            self.is_changed = true;
            if let Some(transaction) = &mut self.transaction {
                transaction.found_changes();
            }
            return Ok(());
        }
        self.disk.remove("journal", self.meta()?, JOURNAL)
    }

    /// Begins anew with the index that was just written.
    pub(crate) fn read_index(&mut self, mark: IndexMark) -> Result<()> {
        let index = self.read_file(INDEX)?;
        let table = Table::build(index.read(0..index.len())?, self.shared.options.threads)?;
        self.ids = Ids::new(table);
        self.on_disk = OnDisk::Other(mark);
        Ok(())
    }

    /// A file of the folder `meta`, to be read.
    pub(crate) fn read_file(&self, name: &str) -> Result<Source> {
        let placed = |error: Error| error.in_file(self.path.join(META).join(name).display().to_string());
        let missing = || placed(Error::io("cannot open", std::io::ErrorKind::NotFound.into()));
        let file = self.meta()?.open(name, Mode::Read)?.ok_or_else(missing)?;
        Source::from_file(file).map_err(placed)
    }

    /// Does the line of the last document end the data?
    fn look_at_the_end(&mut self) -> Result<()> {
        let behind = self.source.read(self.covered..self.written.max(self.covered).min(self.covered + 3))?;
        let mark: &[u8] = if self.covered == 0 { BYTE_ORDER_MARK } else { b"" };
        self.is_tail_alive = matches!(&*behind, b"" | b"\n" | b"\r\n") || *behind == *mark && self.written <= 3;
        self.needs_feed = self.written > 0 && self.source.read(self.written - 1..self.written)?[..] != *b"\n";
        Ok(())
    }

    /// In what state it was found when it was opened. The first change or flush repairs what [`Condition::notes`] names.
    #[must_use]
    pub fn recovered(&self) -> &Condition {
        &self.recovered
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many documents there are, with those that were put and not flushed, and those in files of their own.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.ids.len() + self.loose.seen.len() as u64
    }

    /// Is there no document?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Is there a document of this id?
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        self.ids.find(id.as_bytes()).is_some() || self.loose.seen.contains(id)
    }

    /// The JSON of a document, as it was put or stands in its file; `None` where there is none.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); [`Invalid`](container_core::ErrorKind::Invalid) where the index names what is no line.
    pub fn get(&self, id: &str) -> Result<Option<Vec<u8>>> {
        let named = |error: Error| error.in_key(id.to_owned()).in_format(crate::FORMAT_NAME);
        let Some(entry) = self.ids.find(id.as_bytes()) else {
            let home = Home::Folder(self.path.clone());
            let found =
                if self.loose.seen.contains(id) { home.document(id, &OpenOptions::default()) } else { Ok(None) };
            return found.map(|found| found.map(|bytes| bytes.to_vec())).map_err(named);
        };
        self.line(entry.offset, entry.length).map(Some).map_err(named)
    }

    /// A line, without its end, wherever it is by now.
    pub(crate) fn line(&self, offset: u64, length: u32) -> Result<Vec<u8>> {
        let in_data = |error: Error| error.in_file(format!("{META}/{DATA}"));
        if let Some(start) = offset.checked_sub(self.written) {
            let bytes = usize::try_from(start).ok().and_then(|start| self.buffer.get(start..));
            let bytes = bytes.and_then(|bytes| bytes.get(..usize::try_from(length).ok()?.checked_sub(1)?));
            let bytes = bytes.ok_or_else(|| in_data(Error::invalid("the line is not there").at(offset)))?;
            return Ok(bytes.strip_suffix(b"\r").unwrap_or(bytes).to_vec());
        }
        let now;
        let mut source = &self.source;
        if offset.saturating_add(length.into()) > source.len() {
            let file = self.data()?.try_clone().map_err(|cause| in_data(Error::io("cannot read", cause)))?;
            now = Source::from_file(file).map_err(in_data)?;
            source = &now;
        }
        line(source, offset, length).map(|bytes| bytes.to_vec()).map_err(in_data)
    }

    /// The folder `meta`, once the collection is prepared.
    pub(crate) fn meta(&self) -> Result<&Folder> {
        self.folders.as_ref().map(|folders| &folders.meta).ok_or_else(unprepared)
    }

    /// The data, once the collection is prepared.
    pub(crate) fn data(&self) -> Result<&File> {
        self.data.as_ref().ok_or_else(unprepared)
    }

    /// Removes a document's own file.
    pub(crate) fn remove_document(&mut self, id: &str) -> Result<()> {
        let docs = self.folders.as_ref().map(|folders| folders.collection.folder(DOCS)).transpose()?.flatten();
        if let Some(docs) = docs {
            self.disk.remove("document", &docs, &format!("{id}{}", crate::layout::DOCUMENT))?;
        }
        self.loose.removed.insert(id.to_owned());
        Ok(())
    }

    pub(crate) fn write_manifest(&mut self) -> Result<()> {
        match (&mut self.manifest, &self.folders) {
            (Some(manifest), Some(folders)) => manifest.write(&self.disk, &folders.meta, MANIFEST),
            _ => Ok(()),
        }
    }

    /// Where the next line begins.
    pub(crate) fn end(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Fails once a write has failed.
    pub(crate) fn ready(&self) -> Result<()> {
        match self.is_broken {
            true => Err(Error::usage("a write failed before: the collection has to be opened anew")),
            false => Ok(()),
        }
    }

    /// After an error in `done` the transaction is rolled back; without one nothing more is written.
    pub(crate) fn guarded<T>(&mut self, done: Result<T>) -> Result<T> {
        done.map_err(|error| {
            if self.transaction.is_none() {
                self.is_broken = true;
                return error;
            }
            match self.undo() {
                Ok(()) => error,
                Err(second) => {
                    let detail = format!(
                        "the changes are rolled back when the collection is opened next: doing it now failed ({second})"
                    );
                    Error::new(error.kind(), detail).caused_by(error)
                }
            }
        })
    }
}

/// Is it a temporary file of a writer? Nobody else has one while we hold the lock.
pub(crate) fn is_stale(name: &str) -> bool {
    name == STAGED_DATA || name.starts_with(".wharf-") && name.ends_with(".tmp")
}

/// An index of the documents of a table, in the order of their lines and each once.
fn in_order(table: &Table) -> Result<Bytes> {
    let found = places(table)?;
    let mut index = Vec::with_capacity(table.bytes().len().max(HEAD));
    index.extend_from_slice(&head(found.len() as u64));
    for entry in found.iter().filter_map(|place| table.entry(place.position)) {
        put(&entry, &mut index)?;
    }
    Ok(index.into())
}

#[cold]
pub(crate) fn unprepared() -> Error {
    Error::usage("the collection has no files yet")
}

impl Drop for CollectionWriter {
    fn drop(&mut self) {
        if self.transaction.is_some() && !self.is_broken {
            // If it fails, the next opening does it.
            let _ = self.undo();
        }
        self.shared.closed(&self.name);
    }
}
