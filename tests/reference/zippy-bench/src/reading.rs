//! Reading benchmarks.

use std::fs;
use std::hint::black_box;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use container_core::OpenOptions;
use serde_json::{Value, json};
use zdx::{Collection, Document, Store};
use zippy_data::{FastStore, OpenMode};

use crate::Bench;
use crate::documents::{COLLECTION, id};

/// Look-ups per measurement.
const LOOKUPS: usize = 200_000;

/// Our collection, whose files are mapped, as the reference's are.
pub(crate) fn ours(path: &Path) -> Collection {
    let options = OpenOptions::default().with_access(container_core::testkit::mapped());
    Store::open_with(path, options).expect("a store").collection(COLLECTION).expect("a collection")
}

/// Our collection as the library opens it by default, with positional reads.
fn unmapped(path: &Path) -> Collection {
    Store::open(path).expect("a store").collection(COLLECTION).expect("a collection")
}

pub(crate) fn theirs(path: &Path) -> Theirs {
    let store = FastStore::open_with_mode(path, COLLECTION, 1000, OpenMode::Read).expect("a store");
    Theirs { store: Some(store), path: path.to_owned() }
}

/// A store of the reference, which rewrites its index when dropped, even if opened for reading: renaming the store makes that fail.
pub(crate) struct Theirs {
    store: Option<FastStore>,
    path: PathBuf,
}

impl Deref for Theirs {
    type Target = FastStore;

    fn deref(&self) -> &FastStore {
        self.store.as_ref().expect("present until dropped")
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

/// Opens with the index, until look-ups take constant time.
pub(crate) fn open(bench: &Bench, store: &str) {
    let path = bench.path(store);
    let ids = [id(3), id(1), id(2)];
    bench.ours(|| {
        let collection = ours(&path);
        let documents = ids.each_ref().map(|id| collection.get(id).expect("no error").expect("found").value());
        let sum: u64 = documents.into_iter().map(|value| number(&value.expect("an object"))).sum();
        (json!([collection.len().expect("length"), sum]), collection)
    });
    bench.theirs(|| {
        let collection = theirs(&path);
        let sum: u64 = ids.iter().map(|id| number(&collection.get(id).expect("found"))).sum();
        (json!([collection.len(), sum]), collection)
    });
}

/// Opens, and gets one document.
pub(crate) fn first_get(bench: &Bench, store: &str) {
    let path = bench.path(store);
    let id = id(7);
    first_get_of(bench, &id, || ours(&path));
    bench.theirs(|| {
        let collection = theirs(&path);
        (number(&collection.get(&id).expect("found")).into(), collection)
    });
}

/// Only ours.
pub(crate) fn first_get_unmapped(bench: &Bench) {
    let path = bench.path("ordered");
    first_get_of(bench, &id(7), || unmapped(&path));
}

fn first_get_of(bench: &Bench, id: &str, open: impl Fn() -> Collection) {
    bench.ours(|| {
        let collection = open();
        let value = collection.get(id).expect("no error").expect("found").value().expect("an object");
        (number(&value).into(), collection)
    });
}

/// Random ids, the same in every run.
fn random_ids(count: usize) -> Vec<String> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..LOOKUPS).map(|_| id((next() % count as u64) as usize)).collect()
}

/// Gets documents' bytes by id. The reference cannot.
pub(crate) fn get_raw(bench: &Bench, store: &str) {
    get_raw_of(bench, &ours(&bench.path(store)));
}

pub(crate) fn get_raw_unmapped(bench: &Bench) {
    get_raw_of(bench, &unmapped(&bench.path("ordered")));
}

fn get_raw_of(bench: &Bench, collection: &Collection) {
    let ids = random_ids(collection.len().expect("length") as usize);
    let all = || {
        let bytes = |id: &String| collection.get(id).expect("no error").expect("found").bytes().len();
        (ids.iter().map(bytes).sum::<usize>().into(), ())
    };
    all(); // touches all pages
    bench.ours(all);
    let many = bench.work.replace("get raw", "get many raw");
    bench.time(crate::OURS, &many, bench.repeat, || {
        let bytes = |found: zdx::Result<Option<Document<'_>>>| found.expect("no error").expect("found").bytes().len();
        (collection.get_many(&ids).map(bytes).sum::<usize>().into(), ())
    });
}

pub(crate) fn get(bench: &Bench, store: &str) {
    let path = bench.path(store);
    let collection = ours(&path);
    let ids = random_ids(collection.len().expect("length") as usize);
    let all = || {
        let value = |id: &String| collection.get(id).expect("no error").expect("found").value();
        (ids.iter().map(|id| number(&value(id).expect("an object"))).sum::<u64>().into(), ())
    };
    all();
    bench.ours(all);
    if bench.runs(crate::THEIRS) {
        let collection = theirs(&path);
        let all = || {
            let value = |id: &String| number(&collection.get(id).expect("found"));
            (ids.iter().map(value).sum::<u64>().into(), ())
        };
        all();
        bench.theirs(all);
    }
}

/// Reads all lines, and counts their bytes.
fn bytes(collection: &Collection) -> Value {
    let (mut documents, mut sum) = (collection.documents().expect("documents"), 0);
    while let Some(document) = documents.try_next().expect("a document") {
        sum += black_box(document.bytes()).len();
    }
    sum.into()
}

/// Reads all lines of a collection that is already in memory.
pub(crate) fn scan_raw(bench: &Bench, store: &str) {
    let path = bench.path(store);
    let collection = ours(&path);
    bytes(&collection);
    bench.ours(|| (bytes(&collection), ()));
    if bench.runs(crate::THEIRS) {
        let collection = theirs(&path);
        drop(collection.scan_raw());
        bench.theirs(|| {
            let lines = collection.scan_raw().expect("all lines");
            (lines.iter().map(Vec::len).sum::<usize>().into(), lines)
        });
    }
}

/// Only ours.
pub(crate) fn scan_raw_unmapped(bench: &Bench) {
    let collection = unmapped(&bench.path("ordered"));
    bytes(&collection);
    bench.ours(|| (bytes(&collection), ()));
}

pub(crate) fn open_and_scan_raw(bench: &Bench, store: &str) {
    let path = bench.path(store);
    bench.ours(|| {
        let collection = ours(&path);
        (bytes(&collection), collection)
    });
    bench.theirs(|| {
        let collection = theirs(&path);
        let lines = collection.scan_raw().expect("all lines");
        (lines.iter().map(Vec::len).sum::<usize>().into(), (lines, collection))
    });
}

/// Parses all documents of our collection, one after another.
fn parse(bench: &Bench, collection: &Collection) {
    bytes(collection);
    bench.ours(|| {
        let (mut documents, mut sum) = (collection.documents().expect("documents"), 0);
        while let Some(document) = documents.try_next().expect("a document") {
            sum += number(&document.value().expect("an object"));
        }
        (sum.into(), ())
    });
}

/// Only ours.
pub(crate) fn scan_unmapped(bench: &Bench) {
    parse(bench, &unmapped(&bench.path("ordered")));
}

/// The reference returns all documents at once, using several threads.
pub(crate) fn scan(bench: &Bench) {
    let path = bench.path("ordered");
    parse(bench, &ours(&path));
    if bench.runs(crate::THEIRS) {
        let collection = theirs(&path);
        drop(collection.scan_raw());
        bench.theirs(|| {
            let values = collection.scan().expect("all documents");
            (values.iter().map(number).sum::<u64>().into(), values)
        });
        bench.time(crate::THEIRS, "scan and free", 1, || {
            let values = collection.scan().expect("all documents");
            (values.into_iter().map(|value| number(&value)).sum::<u64>().into(), ())
        });
    }
}

/// Parses with four threads; then also hands the values over to a single thread.
pub(crate) fn scan_by_threads(bench: &Bench) {
    let collection = ours(&bench.path("ordered"));
    bytes(&collection);
    bench.ours(|| {
        let mut sum = 0;
        let each = |number: u64| {
            sum += number;
            Ok(())
        };
        let work = |document: Document<'_>| document.value().map(|value| number(&value));
        collection.map_documents(0..u64::MAX, 4, work, each).expect("all documents");
        (sum.into(), ())
    });
    bench.time(crate::OURS, "scan, 4 threads, handed over", bench.repeat, || {
        let mut sum = 0;
        let each = |value: Value| {
            sum += number(&value);
            Ok(())
        };
        collection.map_documents(0..u64::MAX, 4, |document| document.value(), each).expect("all documents");
        (sum.into(), ())
    });
}

/// Opens without an index and rebuilds it.
pub(crate) fn rebuild(bench: &Bench) {
    let path = bench.path("bare");
    for (threads, work) in [(1, "rebuild, 1 thread"), (4, "rebuild, 4 threads")] {
        bench.time(crate::OURS, work, bench.repeat, || {
            let collection = ours(&path).with_threads(threads);
            (collection.len().expect("length").into(), collection)
        });
    }
    bench.theirs(|| {
        let collection = theirs(&path);
        (collection.len().into(), collection)
    });
}
