//! What `container-core` asks of a container.

pub(crate) mod columns;
mod details;
pub(crate) mod json;
mod located;
mod rows;
mod state;
pub(crate) mod table;
mod verify;

use std::path::Path;

use container_core::{
    Container, Error, ErrorKind, Finding, Format, Input, OpenOptions, Probe, Recognition, Result, Table, VerifyOptions,
};
use serde_json::{Map, Value};

use crate::FORMAT_NAME;
use crate::archive::Archive;
use crate::layout::{COLLECTIONS, DOCS, META, STORE_METADATA};
use crate::read::{Filter, Predicate, Store};
pub(crate) use json::{Shape, shape};
pub use located::located;
pub use state::losses;
use table::CollectionTable;

/// ZDS, for tools that open anything.
///
/// A store is one by its content: a folder with `collections` in it, the folder of a collection or a file in that, or a ZIP archive that
/// holds the paths of a store.
pub const FORMAT: &dyn Format = &Zds;

/// Collections that are looked at to know a store from any other folder.
const LOOKED_AT: usize = 16;

struct Zds;

impl Format for Zds {
    fn name(&self) -> &'static str {
        FORMAT_NAME
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["zds"]
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        if probe.directory {
            return probe.path.map_or(Recognition::No, folder);
        }
        let is_zip = probe.head.starts_with(b"PK\x03\x04") || probe.head.starts_with(b"PK\x05\x06");
        let named = probe.has_extension(self.extensions());
        // Of an archive of this name errors should tell what is wrong with it as such.
        let holds = || {
            let source = probe.source.cloned()?;
            let archive = Archive::from_source(source, None, &OpenOptions::default()).ok()?;
            (!archive.is_empty() || !archive.collections().is_empty()).then_some(())
        };
        if is_zip && (named || holds().is_some()) || !is_zip && probe.path.is_some_and(is_in_collection) {
            Recognition::Content
        } else if named {
            Recognition::Name
        } else {
            Recognition::No
        }
    }

    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        Ok(Box::new(ZdsContainer::open(input, options)?))
    }
}

fn folder(path: &Path) -> Recognition {
    let opened = Store::open(path).and_then(|store| Ok((store.names()?, store.folder().map(Path::to_owned))));
    let (names, root) = match opened {
        Ok((names, Some(root))) => (names, root),
        // It cannot be read, and opening it says why.
        Err(error) if error.kind() == ErrorKind::Io && path.join(COLLECTIONS).is_dir() => return Recognition::Content,
        _ => return Recognition::No,
    };
    let collections = root.join(COLLECTIONS);
    let is_collection = |name: &String| [META, DOCS].iter().any(|part| collections.join(name).join(part).is_dir());
    let sure = !collections.is_dir() // the folder of a collection
        || root.join(STORE_METADATA).is_file()
        || names.iter().take(LOOKED_AT).any(is_collection);
    if sure { Recognition::Content } else { Recognition::Name }
}

/// A file of a collection, which leads to the collection.
fn is_in_collection(path: &Path) -> bool {
    let folder = path.parent().and_then(Path::file_name);
    folder.is_some_and(|name| name == META || name == DOCS) && Store::open(path).is_ok()
}

/// Members of a document by their names, as they are written; of one that is there more than once the last.
///
/// # Errors
/// [`Invalid`](container_core::ErrorKind::Invalid) for what is no JSON object.
pub fn members<'d>(document: &'d str, names: &[String]) -> Result<Vec<(String, Option<&'d str>)>> {
    let keys: Vec<json::Key> = names.iter().map(|name| json::Key::Member(name.clone())).collect();
    let found = json::Wanted::new(&keys).of(document);
    let found = found.map_err(|cause| Error::invalid("the document is no JSON object").caused_by(cause))?;
    let values = found.into_iter().map(|value| value.map(serde_json::value::RawValue::get));
    Ok(names.iter().cloned().zip(values).collect())
}

/// A [`Store`] as a [`Container`] with a table for each collection.
#[derive(Debug)]
pub struct ZdsContainer {
    store: Store,
    tables: Vec<CollectionTable>,
}

impl ZdsContainer {
    /// Opens a folder, a file in it, or an archive.
    ///
    /// # Errors
    /// As [`Store::open_with`] and [`Store::collection`].
    pub fn open(input: &Input, options: &OpenOptions) -> Result<Self> {
        let store = match input {
            Input::Stream(source) => Store::from_source(source.clone(), None, *options)?,
            // A file that is no archive leads to its collection.
            Input::File { path, .. } | Input::Directory(path) => Store::open_with(path, *options)?,
            _ => return Err(Error::unsupported("it is neither a folder nor a file").in_format(FORMAT_NAME)),
        };
        Self::new(store, options)
    }

    /// The container of a store.
    ///
    /// # Errors
    /// As [`Store::names`] and [`Store::collection`].
    pub fn new(store: Store, options: &OpenOptions) -> Result<Self> {
        let table = |name: String| Ok(CollectionTable::new(&store, store.collection(&name)?, options.limits));
        let tables = store.names()?.into_iter().map(table).collect::<Result<_>>()?;
        Ok(Self { store, tables })
    }

    /// Tables show only documents for which this holds. How many they are is not known then; rows are counted among them, and keep the
    /// numbers that they have in the collection.
    #[must_use]
    pub fn with_filter(mut self, predicate: &Predicate) -> Self {
        let filter = Filter::new(predicate);
        self.tables.iter_mut().for_each(|table| table.filter = Some(filter.clone()));
        self
    }

    /// Columns that will be asked for, by name: of those with dots in them, also what stands at such a path is a column, if any document has
    /// it. It has the last name of the path, unless two of these would have the same, and tells the path in its details.
    #[must_use]
    pub fn with_columns(mut self, names: &[String]) -> Self {
        let leaf = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
        let paths: Vec<(String, String)> = names
            .iter()
            .filter(|name| name.contains('.'))
            .map(|path| {
                let alike = names.iter().filter(|other| leaf(other) == leaf(path)).count();
                (path.clone(), if alike == 1 { leaf(path) } else { path.clone() })
            })
            .collect();
        self.tables.iter_mut().for_each(|table| table.paths.clone_from(&paths));
        self
    }

    /// The store.
    #[must_use]
    pub const fn store(&self) -> &Store {
        &self.store
    }
}

impl Container for ZdsContainer {
    fn format(&self) -> &'static str {
        FORMAT_NAME
    }

    /// What `zds.json` states; where there is none, that.
    fn version(&self) -> String {
        let metadata = self.store.metadata().ok().flatten();
        let version = metadata.as_ref().and_then(|metadata| metadata.get("version")?.as_str());
        version.map_or_else(|| "without zds.json".to_owned(), str::to_owned)
    }

    fn details(&self) -> Map<String, Value> {
        details::details(&self.store, &self.tables)
    }

    fn tables(&self) -> Vec<&dyn Table> {
        self.tables.iter().map(|table| -> &dyn Table { table }).collect()
    }

    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        verify::store(&self.store, &self.tables, options, report)
    }
}

#[cfg(test)]
mod tests;
