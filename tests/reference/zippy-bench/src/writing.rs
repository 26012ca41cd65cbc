//! Writing benchmarks. Nothing is synced, as the reference never does.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use container_core::Source;
use serde_json::{Value, json};
use zdx::{CollectionWriter, Durability, LoadOptions, StoreWriter, WriterOptions};
use zippy_data::{FastStore, OpenMode};

use crate::documents::{COLLECTION, document, id};
use crate::{Bench, OURS, THEIRS, reading};

/// Documents after which the reference writes its index; they are created outside of the measurement.
const BATCH: usize = 1000;

/// Writes a new store; returns the seconds, and the number of documents and the bytes of their lines.
fn measure(path: &Path, write: impl FnOnce(&Path) -> Duration) -> (f64, Value) {
    if path.exists() {
        // Left by an interrupted run.
        fs::remove_dir_all(path).expect("the store is removed");
    }
    let took = write(path).as_secs_f64();
    let made = reading::ours(path);
    let lines = made.documents().expect("documents");
    let bytes: usize = lines.map(|document| document.expect("a document").bytes().len()).sum();
    let result = json!([made.len().expect("length"), bytes]);
    drop(made);
    fs::remove_dir_all(path).expect("the store is removed");
    (took, result)
}

fn ours(path: &Path) -> (StoreWriter, CollectionWriter) {
    let options = WriterOptions::default().with_durability(Durability::None);
    let store = StoreWriter::open(path, options).expect("a store");
    let writer = store.collection(COLLECTION).expect("a collection");
    (store, writer)
}

fn theirs(path: &Path) -> FastStore {
    FastStore::open_with_mode(path, COLLECTION, BATCH, OpenMode::ReadWrite).expect("a store")
}

/// Calls `put` for all documents, and measures only that.
fn timed(count: usize, mut put: impl FnMut(String, Value)) -> Duration {
    let mut took = Duration::ZERO;
    for start in (0..count).step_by(BATCH) {
        let batch: Vec<_> = (start..count.min(start + BATCH)).map(|number| (id(number), document(number))).collect();
        let begin = Instant::now();
        batch.into_iter().for_each(|(id, document)| put(id, document));
        took += begin.elapsed();
    }
    took
}

fn and_then(took: Duration, end: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    end();
    took + begin.elapsed()
}

/// Puts documents one by one.
pub(crate) fn put(bench: &Bench) {
    let count = reading::ours(&bench.path("ordered")).len().expect("length") as usize;
    let path = bench.path("written");
    for _ in 0..if bench.runs(OURS) { bench.repeat } else { 0 } {
        let (seconds, result) = measure(&path, |path| {
            let (store, mut writer) = ours(path);
            let took = timed(count, |id, document| writer.put(&id, &document).expect("a document"));
            and_then(took, || {
                writer.finish().expect("the collection");
                store.finish().expect("the store");
            })
        });
        bench.report(OURS, bench.work, seconds, &result);
    }
    if bench.runs(THEIRS) {
        let (seconds, result) = measure(&path, |path| {
            let mut store = theirs(path);
            let took = timed(count, |id, document| store.put(id, document).expect("a document"));
            // It writes its index again when dropped, which is not measured.
            let took = and_then(took, || store.flush().expect("the store"));
            drop(store);
            took
        });
        bench.report(THEIRS, bench.work, seconds, &result);
    }
}

/// Loads JSON lines from memory. The reference is given the ids, too, and does not examine the lines.
pub(crate) fn load(bench: &Bench) {
    let meta = bench.path("ordered").join("collections").join(COLLECTION).join("meta");
    let lines = container_core::Bytes::from(fs::read(meta.join("data.jsonl")).expect("the data"));
    let path = bench.path("written");
    let default = LoadOptions::default();
    let ways = [
        ("load", default.clone().with_validate(false)),
        ("load, 1 thread", default.clone().with_validate(false).with_threads(1)),
        ("load, validated", default.clone()),
        ("load, validated, 1 thread", default.with_threads(1)),
    ];
    for (work, options) in ways {
        for _ in 0..if bench.runs(OURS) { bench.repeat } else { 0 } {
            let (seconds, result) = measure(&path, |path| {
                let (store, mut writer) = ours(path);
                let source = Source::from(lines.clone());
                and_then(Duration::ZERO, || {
                    writer.load(&source, &options).expect("all lines");
                    writer.finish().expect("the collection");
                    store.finish().expect("the store");
                })
            });
            bench.report(OURS, work, seconds, &result);
        }
    }
    if bench.runs(THEIRS) {
        let count = reading::ours(&bench.path("ordered")).len().expect("length") as usize;
        let ids: Vec<_> = (0..count).map(id).collect();
        let (seconds, result) = measure(&path, |path| {
            let mut store = theirs(path);
            let took = and_then(Duration::ZERO, || {
                store.write_jsonl_blob(&lines, &ids).expect("all lines");
                store.flush().expect("the store");
            });
            drop(store);
            took
        });
        bench.report(THEIRS, bench.work, seconds, &result);
    }
}
