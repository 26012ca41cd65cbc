//! Read benchmarks.

use std::fs;
use std::hint::black_box;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zdx::{Collection, Document, Store};
use zippy_data::{FastStore, OpenMode};

use crate::Clock;
use crate::documents::{COLLECTION, id};

/// Look-ups per run.
const GETS: usize = 200_000;

pub(crate) fn ours(path: &Path) -> Collection {
    Store::open(path).expect("a store").collection(COLLECTION).expect("a collection")
}

pub(crate) fn theirs(path: &Path) -> Theirs {
    let store = FastStore::open_with_mode(path, COLLECTION, 1000, OpenMode::Read).expect("a store");
    Theirs { store: Some(store), path: path.to_owned() }
}

/// A store of the reference. Dropping it rewrites its index, even if it was opened for reading; so the directory is renamed meanwhile.
pub(crate) struct Theirs {
    store: Option<FastStore>,
    path: PathBuf,
}

impl Deref for Theirs {
    type Target = FastStore;

    fn deref(&self) -> &FastStore {
        self.store.as_ref().expect("it is there until the end")
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let away = self.path.with_extension("away");
        fs::rename(&self.path, &away).expect("a new name");
        drop(self.store.take());
        fs::rename(away, &self.path).expect("the old name");
    }
}

/// The numeric member `id` of a document.
fn number(value: &Value) -> u64 {
    value["id"].as_u64().expect("a number")
}

/// Opens a store with its index, and does a few look-ups.
pub(crate) fn open(clock: &Clock, store: &str) {
    let path = clock.path(store);
    let ids = [id(3), id(1), id(2)];
    clock.ours(|| {
        let collection = ours(&path);
        let documents = ids.each_ref().map(|id| collection.get(id).expect("it is read").expect("it is there").value());
        let sum: u64 = documents.into_iter().map(|value| number(&value.expect("an object"))).sum();
        (json!([collection.len().expect("their number"), sum]), collection)
    });
    clock.theirs(|| {
        let collection = theirs(&path);
        let sum: u64 = ids.iter().map(|id| number(&collection.get(id).expect("it is there"))).sum();
        (json!([collection.len(), sum]), collection)
    });
}

/// Opens a store and reads one document.
pub(crate) fn first_get(clock: &Clock, store: &str) {
    let path = clock.path(store);
    let id = id(7);
    clock.ours(|| {
        let collection = ours(&path);
        let value = collection.get(&id).expect("it is read").expect("it is there").value().expect("an object");
        (number(&value).into(), collection)
    });
    clock.theirs(|| {
        let collection = theirs(&path);
        (number(&collection.get(&id).expect("it is there")).into(), collection)
    });
}

/// Random IDs, the same in every run.
fn some_ids(count: usize) -> Vec<String> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..GETS).map(|_| id((next() % count as u64) as usize)).collect()
}

/// Reads the bytes of documents by ID, which the reference cannot do.
pub(crate) fn get_raw(clock: &Clock, store: &str) {
    let collection = ours(&clock.path(store));
    let ids = some_ids(collection.len().expect("their number") as usize);
    let all = || {
        let bytes = |id: &String| collection.get(id).expect("it is read").expect("it is there").bytes().len();
        (ids.iter().map(bytes).sum::<usize>().into(), ())
    };
    all(); // loads all pages
    clock.ours(all);
    let many = clock.work.replace("get raw", "get many raw");
    clock.time(crate::OURS, &many, clock.repeat, || {
        let bytes =
            |found: zdx::Result<Option<Document<'_>>>| found.expect("it is read").expect("it is there").bytes().len();
        (collection.get_many(&ids).map(bytes).sum::<usize>().into(), ())
    });
}

pub(crate) fn get(clock: &Clock, store: &str) {
    let path = clock.path(store);
    let collection = ours(&path);
    let ids = some_ids(collection.len().expect("their number") as usize);
    let all = || {
        let value = |id: &String| collection.get(id).expect("it is read").expect("it is there").value();
        (ids.iter().map(|id| number(&value(id).expect("an object"))).sum::<u64>().into(), ())
    };
    all();
    clock.ours(all);
    if clock.is_selected(crate::THEIRS) {
        let collection = theirs(&path);
        let all = || {
            let value = |id: &String| number(&collection.get(id).expect("it is there"));
            (ids.iter().map(value).sum::<u64>().into(), ())
        };
        all();
        clock.theirs(all);
    }
}

/// Reads all lines and returns the number of bytes.
fn bytes(collection: &Collection) -> Value {
    let documents = collection.documents().expect("documents");
    documents.map(|document| black_box(document.expect("a document").bytes()).len()).sum::<usize>().into()
}

/// Reads all lines of a collection that was read before.
pub(crate) fn scan_raw(clock: &Clock, store: &str) {
    let path = clock.path(store);
    let collection = ours(&path);
    bytes(&collection);
    clock.ours(|| (bytes(&collection), ()));
    if clock.is_selected(crate::THEIRS) {
        let collection = theirs(&path);
        drop(collection.scan_raw());
        clock.theirs(|| {
            let lines = collection.scan_raw().expect("all lines");
            (lines.iter().map(Vec::len).sum::<usize>().into(), lines)
        });
    }
}

pub(crate) fn open_and_scan_raw(clock: &Clock, store: &str) {
    let path = clock.path(store);
    clock.ours(|| {
        let collection = ours(&path);
        (bytes(&collection), collection)
    });
    clock.theirs(|| {
        let collection = theirs(&path);
        let lines = collection.scan_raw().expect("all lines");
        (lines.iter().map(Vec::len).sum::<usize>().into(), (lines, collection))
    });
}

/// Parses all documents one by one; the reference returns them all at once and uses threads.
pub(crate) fn scan(clock: &Clock) {
    let path = clock.path("ordered");
    let collection = ours(&path);
    bytes(&collection);
    clock.ours(|| {
        let documents = collection.documents().expect("documents");
        let value = |document: Document<'_>| document.value().expect("an object");
        (documents.map(|document| number(&value(document.expect("a document")))).sum::<u64>().into(), ())
    });
    if clock.is_selected(crate::THEIRS) {
        let collection = theirs(&path);
        drop(collection.scan_raw());
        clock.theirs(|| {
            let values = collection.scan().expect("all documents");
            (values.iter().map(number).sum::<u64>().into(), values)
        });
        clock.time(crate::THEIRS, "scan and free", 1, || {
            let values = collection.scan().expect("all documents");
            (values.into_iter().map(|value| number(&value)).sum::<u64>().into(), ())
        });
    }
}

/// The same with four threads; also with all values passed to one thread in order.
pub(crate) fn scan_by_threads(clock: &Clock) {
    let collection = ours(&clock.path("ordered"));
    bytes(&collection);
    clock.ours(|| {
        let mut sum = 0;
        let each = |number: u64| {
            sum += number;
            Ok(())
        };
        let work = |document: Document<'_>| document.value().map(|value| number(&value));
        collection.map_documents(0..u64::MAX, 4, work, each).expect("all documents");
        (sum.into(), ())
    });
    clock.time(crate::OURS, "scan, 4 threads, handed over", clock.repeat, || {
        let mut sum = 0;
        let each = |value: Value| {
            sum += number(&value);
            Ok(())
        };
        collection.map_documents(0..u64::MAX, 4, |document| document.value(), each).expect("all documents");
        (sum.into(), ())
    });
}

/// Opens a store without an index, which rebuilds it.
pub(crate) fn rebuild(clock: &Clock) {
    let path = clock.path("bare");
    for (threads, work) in [(1, "rebuild, 1 thread"), (4, "rebuild, 4 threads")] {
        clock.time(crate::OURS, work, clock.repeat, || {
            let collection = ours(&path).with_threads(threads);
            (collection.len().expect("their number").into(), collection)
        });
    }
    clock.theirs(|| {
        let collection = theirs(&path);
        (collection.len().into(), collection)
    });
}
