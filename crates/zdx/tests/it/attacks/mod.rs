//! Hostile and unusual stores, each with the exact result expected.

mod bulk;
#[cfg(unix)]
mod files;
mod index;
mod journal;
mod json;

use std::fs;
use std::path::{Path, PathBuf};

use container_core::{Access, OpenOptions};
use zdx::wire::index::{Entry, header, put};
use zdx::{Collection, Store};

/// A handmade store with one collection, `c`.
pub(crate) struct TestStore {
    folder: tempfile::TempDir,
    /// Files of its archive.
    beside: tempfile::TempDir,
}

impl TestStore {
    pub(crate) fn new(data: &[u8]) -> Self {
        let test_store = Self { folder: tempfile::tempdir().unwrap(), beside: tempfile::tempdir().unwrap() };
        fs::create_dir_all(test_store.meta()).unwrap();
        fs::write(test_store.meta().join("data.jsonl"), data).unwrap();
        test_store
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn meta(&self) -> PathBuf {
        self.root().join("collections/c/meta")
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.meta().join(name), bytes).unwrap();
    }

    pub(crate) fn index(&self, entries: &[(&[u8], u64, u32)]) -> Vec<u8> {
        let mut bytes = header(entries.len() as u64).to_vec();
        for (id, offset, length) in entries {
            put(&Entry { id, offset: *offset, length: *length }, &mut bytes).unwrap();
        }
        self.put("index.bin", &bytes);
        bytes
    }

    pub(crate) fn open(&self) -> Collection {
        Store::open(self.root()).unwrap().collection("c").unwrap()
    }

    /// The collection mapped and by positional reads, from the directory and from an archive.
    pub(crate) fn each(&self) -> Vec<Collection> {
        let packed = self.beside.path().join("packed.zds");
        let _ = fs::remove_file(&packed);
        zdx::archive::pack(self.root(), &packed, &zdx::archive::PackOptions::default()).unwrap();
        let mut all = Vec::new();
        for path in [self.root(), &packed] {
            for access in [container_core::testkit::mapped(), Access::Auto, Access::Positional] {
                let store = Store::open_with(path, OpenOptions::default().with_access(access)).unwrap();
                all.push(store.collection("c").unwrap());
            }
        }
        all
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.open().condition().unwrap().notes()
    }
}

/// The ids of a collection, in order.
pub(crate) fn ids(collection: &Collection) -> Vec<String> {
    collection.ids().unwrap().map(str::to_owned).collect()
}

/// The error that ends iteration, and the number of documents before it.
pub(crate) fn iterate(collection: &Collection) -> (usize, String) {
    let mut count = 0;
    for document in collection.documents().unwrap() {
        match document {
            Ok(_) => count += 1,
            Err(error) => return (count, error.to_string()),
        }
    }
    (count, String::new())
}
