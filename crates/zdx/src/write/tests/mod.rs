mod crash;
mod load;
mod model;
mod open;
mod transaction;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use crate::wire::index::Index;
use crate::write::disk::Hook;
use crate::{Store, StoreWriter, WriterOptions};

impl Hook {
    /// Calls `intercept` before each file operation.
    pub(crate) fn new(intercept: impl Fn(&'static str, usize) -> io::Result<usize> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(intercept)))
    }
}

/// Lines of documents by id.
pub(super) type Documents = BTreeMap<String, String>;

pub(super) fn options() -> WriterOptions {
    WriterOptions::default().with_durability(crate::Durability::None).with_threads(1)
}

/// What a reader sees.
pub(super) fn read(root: &Path) -> Documents {
    let collection = Store::open(root).unwrap().collection("c").unwrap();
    let mut all = Documents::new();
    for document in collection.documents().unwrap() {
        let document = document.unwrap();
        let text = String::from_utf8(document.line().unwrap().into_owned()).unwrap();
        assert!(all.insert(document.id().to_owned(), text).is_none(), "{} twice", document.id());
    }
    assert_eq!(collection.len().unwrap(), all.len() as u64);
    all
}

/// What a writer sees after repairing the store.
pub(super) fn recover(root: &Path) -> Documents {
    let store = StoreWriter::open(root, options()).unwrap();
    let writer = store.collection("c").unwrap();
    let len = writer.len();
    writer.finish().unwrap();
    store.finish().unwrap();
    let all = read(root);
    assert_eq!(all.len() as u64, len);
    let collection = Store::open(root).unwrap().collection("c").unwrap();
    let mut notes = collection.condition().unwrap().notes();
    notes.retain(|note| !note.contains("in docs: data.jsonl has a line with the same id"));
    assert_eq!(notes, [""; 0]);
    check_tidy(root);
    all
}

/// Checks that there is no journal, and that the index is in data order and covers all data.
pub(super) fn check_tidy(root: &Path) {
    let meta = root.join("collections/c/meta");
    assert!(!meta.join("wharf.journal").exists());
    let (index, data) =
        (fs::read(meta.join("index.bin")).unwrap(), fs::metadata(meta.join("data.jsonl")).unwrap().len());
    let mut end = 0;
    let mut ids = std::collections::HashSet::new();
    for entry in Index::parse(&index).unwrap().entries() {
        let entry = entry.unwrap();
        assert!(entry.offset >= end && ids.insert(entry.id));
        end = entry.offset + u64::from(entry.length);
    }
    assert_eq!(end, data);
}

pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            let time = entry.metadata().unwrap().modified().unwrap();
            fs::File::options().write(true).open(&target).unwrap().set_modified(time).unwrap();
        }
    }
}
