//! The traits of `container-core`: ZDS as a format, stores as containers, collections as tables.

pub(crate) mod columns;
mod details;
pub(crate) mod json;
mod located;
mod matching;
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
pub(crate) use json::{Shape, classify};
pub use located::located;
pub use state::losses;
use table::CollectionTable;

/// The ZDS format, for generic tools.
///
/// Stores are recognized by content: a directory that contains `collections`, the directory of a collection or a file in it, or a ZIP archive
/// with the paths of a store.
pub const FORMAT: &dyn Format = &Zds;

/// Collections examined to tell a store from other directories.
const SAMPLED_COLLECTIONS: usize = 16;

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
        let has_extension = probe.has_extension(self.extensions());
        // With the extension, accept any ZIP file, so that errors say what is wrong with the archive.
        let contains_store = || {
            let source = probe.source.cloned()?;
            let archive = Archive::from_source(source, None, &OpenOptions::default()).ok()?;
            (!archive.is_empty() || !archive.collections().is_empty()).then_some(())
        };
        let is_content = is_zip && (has_extension || contains_store().is_some())
            || !is_zip && probe.path.is_some_and(is_in_collection);
        probe.by_content_or_name(is_content, self.extensions())
    }

    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        Ok(Box::new(ZdsContainer::open(input, options)?))
    }
}

fn folder(path: &Path) -> Recognition {
    let opened = Store::open(path).and_then(|store| Ok((store.names()?, store.folder().map(Path::to_owned))));
    let (names, root) = match opened {
        Ok((names, Some(root))) => (names, root),
        // Opening it will report the error.
        Err(error) if error.kind() == ErrorKind::Io && path.join(COLLECTIONS).is_dir() => return Recognition::Content,
        _ => return Recognition::No,
    };
    let collections = root.join(COLLECTIONS);
    let is_collection = |name: &String| [META, DOCS].iter().any(|part| collections.join(name).join(part).is_dir());
    let is_sure = !collections.is_dir() // the directory of a collection
        || root.join(STORE_METADATA).is_file()
        || names.iter().take(SAMPLED_COLLECTIONS).any(is_collection);
    if is_sure { Recognition::Content } else { Recognition::Name }
}

/// Whether a file belongs to a collection.
fn is_in_collection(path: &Path) -> bool {
    let folder = path.parent().and_then(Path::file_name);
    folder.is_some_and(|name| name == META || name == DOCS) && Store::open(path).is_ok()
}

/// The raw values of some members of a document; of duplicate members, the last one.
///
/// # Errors
/// [`Invalid`](container_core::ErrorKind::Invalid) if it is not a JSON object.
pub fn members<'d>(document: &'d str, names: &[String]) -> Result<Vec<(String, Option<&'d str>)>> {
    let keys: Vec<json::Key> = names.iter().map(|name| json::Key::Member(name.clone())).collect();
    let values = json::Projection::new(&keys).of(document);
    let values = values.map_err(|cause| Error::invalid("the document is not a JSON object").caused_by(cause))?;
    let values = values.into_iter().map(|value| value.map(serde_json::value::RawValue::get));
    Ok(names.iter().cloned().zip(values).collect())
}

/// A [`Store`] as a [`Container`] with one table per collection.
#[derive(Debug)]
pub struct ZdsContainer {
    store: Store,
    tables: Vec<CollectionTable>,
}

impl ZdsContainer {
    /// Opens a directory, a file in it, or an archive.
    ///
    /// # Errors
    /// As [`Store::open_with`] and [`Store::collection`].
    pub fn open(input: &Input, options: &OpenOptions) -> Result<Self> {
        let store = match input {
            Input::Stream(source) => Store::from_source(source.clone(), None, *options)?,
            // A file may also be one of a collection.
            Input::File { path, .. } | Input::Directory(path) => Store::open_with(path, *options)?,
            _ => return Err(Error::unsupported("neither a directory nor a file").in_format(FORMAT_NAME)),
        };
        Self::new(store, options)
    }

    /// Wraps a store.
    ///
    /// # Errors
    /// As [`Store::names`] and [`Store::collection`].
    pub fn new(store: Store, options: &OpenOptions) -> Result<Self> {
        let table = |name: String| Ok(CollectionTable::new(&store, store.collection(&name)?, options.limits));
        let tables = store.names()?.into_iter().map(table).collect::<Result<_>>()?;
        Ok(Self { store, tables })
    }

    /// Restricts tables to documents for which the predicate holds. Their number is then unknown; scanned row ranges count only these
    /// documents, but rows keep their numbers in the collection.
    ///
    /// Documents that cannot hold a string that the predicate asks for are passed over without being parsed, but for the first ones: what else
    /// is wrong with them is no error.
    #[must_use]
    pub fn with_filter(mut self, predicate: &Predicate) -> Self {
        let filter = Filter::new(predicate);
        self.tables.iter_mut().for_each(|table| table.filter = Some(filter.clone()));
        self
    }

    /// Announces columns that will be selected. Names with dots can also be paths, which become columns if any document has a value there. Such
    /// a column is named after the last name of the path, or the whole path if that is ambiguous; its details contain the path.
    #[must_use]
    pub fn with_columns(mut self, names: &[String]) -> Self {
        let leaf = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
        let paths: Vec<(String, String)> = names
            .iter()
            .filter(|name| name.contains('.'))
            .map(|path| {
                let same = names.iter().filter(|other| leaf(other) == leaf(path)).count();
                (path.clone(), if same == 1 { leaf(path) } else { path.clone() })
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

    /// The version in `zds.json`, or a note that there is none.
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
