//! A collection that is written: how it is opened, and put right where that is needed.

use std::collections::HashSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use container_core::{Error, OpenOptions, Result, Source};
use serde_json::{Value, json};

use crate::journal::IndexMark;
use crate::layout::{COLLECTIONS, DATA, DOCS, INDEX, JOURNAL, MANIFEST, META};
use crate::read::home::Home;
use crate::read::line::line;
use crate::read::places::places;
use crate::read::resolve::{Found, resolve};
use crate::read::table::Table;
use crate::read::{Collection, Condition, IndexState};
use crate::wire::lines::BYTE_ORDER_MARK;
use crate::write::disk::Disk;
use crate::write::ids::Ids;
use crate::write::metadata::Metadata;
use crate::write::schema::Schema;
use crate::write::store::Shared;
use crate::write::time::rfc3339;

/// A collection that is written.
///
/// What is put is appended to the data, in large pieces; the index is written by [`flush`](Self::flush), [`compact`](Self::compact) and
/// [`finish`](Self::finish), and after each of them every reader sees all of it. **Dropping it writes nothing**: of what was put and
/// deleted since the last of them, the part that has reached the files by then is there when the collection is opened next, and the rest
/// is lost. After a write that failed it does nothing more but say so; what the files hold is whole, and opening it anew goes on from there.
#[derive(Debug)]
#[must_use = "without flush() or finish() what is put is not sure to be there"]
pub struct CollectionWriter {
    pub(crate) shared: Arc<Shared>,
    pub(crate) name: String,
    /// The folder of the collection.
    pub(crate) folder: PathBuf,
    pub(crate) disk: Disk,
    pub(crate) data: File,
    /// The data as they were when they were looked at last.
    pub(crate) source: Source,
    /// Bytes of data in the file.
    pub(crate) written: u64,
    /// Whole lines that are to follow them.
    pub(crate) buffer: Vec<u8>,
    /// Lines of the journal that are to be written before.
    pub(crate) deletions: Vec<u8>,
    /// There is one from the first change after an index on.
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
    pub(crate) loose: Loose,
    pub(crate) manifest: Option<Metadata>,
    /// All documents have to have one schema.
    pub(crate) strict: Option<Strict>,
    pub(crate) recovered: Condition,
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
    /// That of the first one; none as long as there is none.
    pub(crate) schema: Option<Schema>,
}

impl CollectionWriter {
    pub(crate) fn open(shared: Arc<Shared>, name: &str) -> Result<Self> {
        let options = shared.options.clone();
        let disk = options.disk();
        let folder = shared.root.join(COLLECTIONS).join(name);
        let is_new = !folder.is_dir();
        if is_new && !options.create {
            return Err(Error::usage(format!("there is no collection {name:?}, and none is to be made")));
        }
        disk.folder(&folder.join(META))?;
        let manifest = folder.join(META).join(MANIFEST);
        let mut manifest_found = Metadata::read(&manifest)?;
        if manifest_found.is_none() && is_new {
            let made = Metadata::new(&[
                ("version", json!("0.1.0")),
                ("collection", json!(name)),
                ("strict", json!(options.strict)),
                ("created_at", json!(rfc3339(options.now()))),
                ("doc_count", json!(0)),
                ("schema_count", json!(0)),
            ]);
            manifest_found.insert(made).write(&disk, &manifest)?;
        }

        let read = Collection::open_in(name.to_owned(), Home::Folder(folder.clone()), OpenOptions::default())?;
        let has_journal = read.found.journal.is_some();
        let has_index = read.found.index.is_some();
        let found = match options.rebuild {
            true => Found { index: None, is_older: false, journal: None },
            false => read.found.clone(),
        };
        let source = read.data.clone().unwrap_or_else(|| Source::from(Vec::new()));
        let in_data = |error: Error| error.in_file(format!("{META}/{DATA}"));
        let (table, condition) = resolve(&source, &found, options.threads, read.options.limits).map_err(in_data)?;
        let is_clean = match condition.index {
            IndexState::Valid => condition.superseded == 0,
            IndexState::NoData => !has_index,
            _ => false,
        };
        let written = source.len();
        if table.seen.covered > written {
            let detail = format!(
                "the index names lines up to byte {} of the data: they end before; an index of what is there can be made anew",
                table.seen.covered
            );
            return Err(in_data(Error::invalid(detail).at(written)));
        }
        if table.seen.ids == 0 && condition.passed_over > 0 {
            let detail = "no line of the data is a document";
            let error = Error::invalid(detail);
            return Err(in_data(match &condition.first_passed_over {
                Some(first) => error.caused_by(Arc::clone(first)),
                None => error,
            }));
        }

        let path = folder.join(META).join(DATA);
        let opened = File::options().read(true).append(true).create(true).open(&path);
        let data = opened.map_err(|cause| Error::io("cannot open", cause).in_file(path.display().to_string()))?;
        let mut loose = Loose::default();
        if read.home.has_documents() {
            for id in read.home.documents()? {
                let has_line = table.find(id.as_bytes()).is_some();
                if has_line { &mut loose.shadowed } else { &mut loose.seen }.insert(id);
            }
        }
        let covered = table.seen.covered;
        let torn = condition.torn;
        let mut writer = Self {
            shared,
            name: name.to_owned(),
            disk,
            data,
            source,
            written,
            buffer: Vec::new(),
            deletions: Vec::new(),
            journal: None,
            on_disk: if has_index { OnDisk::Base } else { OnDisk::Nothing },
            ids: Ids::new(empty_table()?),
            covered,
            is_tail_alive: true,
            needs_feed: false,
            is_changed: false,
            is_broken: false,
            loose,
            strict: None,
            manifest: manifest_found,
            recovered: condition,
            folder,
        };
        if is_clean && !has_journal && !options.rebuild {
            writer.ids = Ids::new(table);
            writer.look_at_the_end()?;
        } else {
            writer.put_right(&table, torn)?;
        }
        let said = writer.manifest.as_ref().and_then(|manifest| manifest.get("strict"));
        if options.strict || said == Some(Value::Bool(true)) {
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

    /// Cuts off what is torn, and writes an index of what was found.
    fn put_right(&mut self, table: &Table, torn: Option<u64>) -> Result<()> {
        if let Some(torn) = torn {
            self.disk.cut("data", &self.data, torn)?;
            self.written = torn;
            self.source = Source::open(self.meta(DATA))?;
        }
        self.disk.sync("data", &self.data)?;
        let found = places(table)?;
        let mark = self.write_index(found.len() as u64, |put| {
            found.iter().filter_map(|place| table.entry(place.position)).try_for_each(put)
        })?;
        self.read_index(mark)?;
        self.look_at_the_end()?;
        if self.is_tail_alive {
            return self.disk.remove("journal", &self.meta(JOURNAL));
        }
        // The journal, though it is of another index, stays until this is done, so that who finds it half done does it again.
        self.is_changed = true;
        self.flush_all()
    }

    /// Begins anew with the index that was just written.
    pub(crate) fn read_index(&mut self, mark: IndexMark) -> Result<()> {
        let index = Source::open(self.meta(INDEX))?;
        let table = Table::build(index.read(0..index.len())?, self.shared.options.threads)?;
        self.ids = Ids::new(table);
        self.on_disk = OnDisk::Other(mark);
        Ok(())
    }

    /// Does the line of the last document end the data?
    fn look_at_the_end(&mut self) -> Result<()> {
        let behind = self.source.read(self.covered..self.written.max(self.covered).min(self.covered + 3))?;
        let mark: &[u8] = if self.covered == 0 { BYTE_ORDER_MARK } else { b"" };
        self.is_tail_alive = matches!(&*behind, b"" | b"\n" | b"\r\n") || *behind == *mark && self.written <= 3;
        self.needs_feed = self.written > 0 && self.source.read(self.written - 1..self.written)?[..] != *b"\n";
        Ok(())
    }

    /// In what state it was found when it was opened: what was not as it should be has been put right.
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
            let home = Home::Folder(self.folder.clone());
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
            let file = self.data.try_clone().map_err(|cause| in_data(Error::io("cannot read", cause)))?;
            now = Source::from_file(file).map_err(in_data)?;
            source = &now;
        }
        line(source, offset, length).map(|bytes| bytes.to_vec()).map_err(in_data)
    }

    /// The path of a file of the folder `meta`.
    pub(crate) fn meta(&self, name: &str) -> PathBuf {
        self.folder.join(META).join(name)
    }

    /// The path of a document's own file.
    pub(crate) fn document_file(&self, id: &str) -> PathBuf {
        self.folder.join(DOCS).join(format!("{id}{}", crate::layout::DOCUMENT))
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

    /// After an error in `done` nothing more is written.
    pub(crate) fn guarded<T>(&mut self, done: Result<T>) -> Result<T> {
        self.is_broken |= done.is_err();
        done
    }
}

fn empty_table() -> Result<Table> {
    Table::build(crate::wire::index::head(0).to_vec().into(), 1)
}

impl Drop for CollectionWriter {
    fn drop(&mut self) {
        self.shared.closed(&self.name);
    }
}
