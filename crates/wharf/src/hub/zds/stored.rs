//! Stores that are read, or written in place.

use std::ops::Range;
use std::path::Path;

use container_arrow::Predicate;
use container_core::{Error, Format, Input, Loss, OpenOptions, Position, Result};
use zdx::{Collection, CollectionWriter, Store, StoreWriter, WriterOptions};

use super::super::env::Opener;
use super::super::inputs::Location;
use super::super::select::Reading;
use super::super::{Bar, Lost, tick};
use super::NAME;

/// Adds the full path of a collection's file to an error.
pub fn located(error: Error, location: &Location, collection: &str) -> Error {
    let Location::Path(path) = location else { return error.in_format(NAME).in_file(location.name()) };
    let is_root = path.is_file() && zdx::archive::Archive::open(path, &OpenOptions::default()).is_ok()
        || path.join(zdx::layout::COLLECTIONS).is_dir();
    let folder = if is_root { path.join(zdx::layout::COLLECTIONS).join(collection) } else { path.clone() };
    zdx::container::located(error, &folder.display().to_string())
}

/// Whether the input is a store, or a path inside of one.
pub fn is_store(input: &Input, opener: &Opener<'_>) -> bool {
    is_of(opener.registry.detect(input).ok().map(Format::name))
}

/// As [`is_store`], for an input whose format has been detected.
pub(in crate::hub) fn is_of(format: Option<&str>) -> bool {
    format == Some(NAME)
}

/// An opened collection.
pub struct Stored {
    pub location: Location,
    pub collection: Collection,
}

impl Stored {
    /// Opens the store of an input.
    pub fn store(location: &Location, input: &Input, opener: &Opener<'_>) -> Result<Store> {
        let options = OpenOptions::default().with_access(opener.access);
        let store = match input {
            Input::Stream(source) => Store::from_source(source.clone(), None, options),
            Input::File { path, .. } | Input::Directory(path) => Store::open_with(path, options),
            _ => Err(Error::unsupported("it is neither a folder nor a file")),
        };
        store.map_err(|error| error.in_file(location.name()))
    }

    /// Opens a collection of an input: the one with this name, or the only one.
    pub fn open(location: &Location, input: &Input, opener: &Opener<'_>, table: Option<&str>) -> Result<Self> {
        let store = Self::store(location, input, opener)?;
        let collection = match (table, store.names().map_err(|error| error.in_file(location.name()))?.as_slice()) {
            (Some(name), _) => store.collection(name),
            (None, [name]) => store.collection(name),
            (None, names) => {
                let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                Err(Error::usage(format!("the input has several tables: {names}")).advising("{table} selects one"))
            }
        };
        let collection = collection.map_err(|error| error.in_file(location.name()))?;
        Ok(Self { location: location.clone(), collection })
    }

    /// The number of its documents.
    pub fn count(&self) -> Result<u64> {
        self.collection.len().map_err(|error| self.named(error))
    }

    /// Adds the location to an error.
    pub fn named(&self, error: Error) -> Error {
        located(error, &self.location, self.collection.name())
    }

    /// Copies a range of documents.
    pub fn copy(&self, rows: Range<u64>, writer: &mut CollectionWriter, bar: &Bar) -> Result<()> {
        let mut documents = self.collection.documents_in(rows).map_err(|error| self.named(error))?;
        let mut done = 0;
        while let Some(document) = documents.try_next().map_err(|error| self.named(error))? {
            self.put(&document, writer)?;
            done += 1;
            tick(bar, done)?;
        }
        Ok(())
    }

    /// Copies the documents with these numbers, in this order.
    pub fn copy_rows(&self, rows: impl Iterator<Item = u64>, writer: &mut CollectionWriter, bar: &Bar) -> Result<()> {
        for (done, row) in (1..).zip(rows) {
            let document = self.collection.document(row).map_err(|error| self.named(error))?;
            self.put(&document, writer)?;
            tick(bar, done)?;
        }
        Ok(())
    }

    /// Writes a document unchanged, or with its id added if it has none.
    pub fn put(&self, document: &zdx::Document<'_>, writer: &mut CollectionWriter) -> Result<()> {
        let line = document.line_with_id().map_err(|error| self.named(error))?;
        writer.put_raw(document.id(), &line).map_err(|error| self.named(error))
    }
}

/// The ids of the documents for which a condition holds.
pub fn matching_ids(
    location: &Location,
    table: Option<&str>,
    condition: &Predicate,
    opener: &mut Opener<'_>,
) -> Result<Vec<String>> {
    let named = |error: Error| error.in_file(location.name());
    let input = location.input(opener).map_err(named)?;
    let stored = Stored::open(location, &input, opener, table)?;
    let reading = Reading::new(Some(stored.collection.name().to_owned()), 0, false);
    let matches = opener.matching_rows(&input, &reading, condition).map_err(named)?;
    let id = |row: u64| stored.collection.document(row).map(|document| document.id().to_owned());
    matches.rows.into_iter().map(id).collect::<Result<_>>().map_err(|error| stored.named(error))
}

/// The collections that a verb works on: the one with this name, or all.
pub fn tables(location: &Location, table: Option<&str>, opener: &mut Opener<'_>) -> Result<Vec<String>> {
    let named = |error: Error| error.in_file(location.name());
    let input = location.input(opener).map_err(named)?;
    if !is_store(&input, opener) {
        return Err(named(Error::unsupported("it is no ZDS store")));
    }
    let store = Stored::store(location, &input, opener)?;
    match table {
        // The error for a missing collection lists the existing ones.
        Some(name) => store.collection(name).map(|_| vec![name.to_owned()]).map_err(named),
        None => store.names().map_err(named),
    }
}

/// Options for writing a store in place.
pub fn writer_options(create: bool) -> WriterOptions {
    WriterOptions::default().with_create(create)
}

/// Defects that the writer found, and repairs with its first change.
pub fn repaired(writer: &CollectionWriter, location: &Location) -> Vec<Lost> {
    let note = |what| Lost { file: Some(location.name()), loss: Loss::new(what, 0, Position::default()) };
    let notes = writer.recovered().notes().into_iter();
    notes.map(|what| note(format!("table {}, repaired before it was changed: {what}", writer.name()))).collect()
}

/// Fails for an archive, which cannot be changed in place.
pub fn refuse_archive(location: &Location, verb: &str) -> Result<()> {
    match location {
        Location::Path(path) if path.is_file() && !leads_to_collection(path) => {
            let detail = format!("{verb} changes a store in place: expected the folder of a store, found a file");
            Err(Error::usage(detail).in_file(location.name()))
        }
        _ => Ok(()),
    }
}

/// Opens a store, or the folder of one of its collections, for writing. Returns the store and the name of the collection.
pub fn open_writer(
    location: &Location,
    table: Option<&str>,
    options: WriterOptions,
    verb: &str,
) -> Result<(StoreWriter, String)> {
    let Location::Path(path) = location else {
        return Err(Error::usage(format!("{verb} writes a store in place, which standard input is not")));
    };
    let named = |error: Error| error.in_file(location.name());
    let create = options.create;
    refuse_archive(location, verb)?;
    let (root, own) = root_of(path);
    let known = match Store::open(&root) {
        Ok(store) => store.names().map_err(named)?,
        Err(_) if create => Vec::new(),
        Err(error) => return Err(named(error)),
    };
    let name = match (table, own, known.as_slice()) {
        (Some(name), None, _) => name.to_owned(),
        (Some(name), Some(own), _) if name == own => own,
        (Some(name), Some(own), _) => {
            return Err(named(
                Error::usage(format!("is {name:?}, but the path is that of the collection {own:?}")).in_option("table"),
            ));
        }
        (None, Some(own), _) => own,
        (None, None, [only]) => only.clone(),
        (None, None, []) => {
            return Err(named(Error::usage("the store has no collection").advising("{table} names one")));
        }
        (None, None, several) => {
            let names: Vec<_> = several.iter().map(|name| format!("{name:?}")).collect();
            let names = names.join(", ");
            return Err(named(
                Error::usage(format!("the input has several tables: {names}")).advising("{table} selects one"),
            ));
        }
    };
    if !create && !known.contains(&name) {
        let names: Vec<_> = known.iter().map(|name| format!("{name:?}")).collect();
        let detail = format!("no table {name:?}; the tables are {}", names.join(", "));
        return Err(named(Error::usage(detail)));
    }
    Ok((StoreWriter::open(&root, options).map_err(named)?, name))
}

fn leads_to_collection(path: &Path) -> bool {
    Store::open(path).is_ok_and(|store| store.archive().is_none())
}

/// The root of the store that a path leads to, and the collection that it names.
fn root_of(path: &Path) -> (std::path::PathBuf, Option<String>) {
    let store = Store::open(path).ok();
    let Some(folder) = store.as_ref().and_then(Store::folder) else { return (path.to_owned(), None) };
    if folder.join(zdx::layout::COLLECTIONS).is_dir() {
        return (folder.to_owned(), None);
    }
    // The folder of a collection: the root is two levels up.
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = whole.file_name().map(|name| name.to_string_lossy().into_owned());
    let collections = whole.parent();
    let is_in = collections.and_then(Path::file_name).is_some_and(|name| name == zdx::layout::COLLECTIONS);
    match collections.and_then(Path::parent) {
        Some(root) if is_in => (root.to_owned(), name),
        _ => (path.to_owned(), None),
    }
}
