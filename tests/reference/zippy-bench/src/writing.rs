//! Write benchmarks, without syncing, as the reference never does.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use container_core::Source;
use serde_json::{Value, json};
use zdx::{CollectionWriter, Durability, LoadOptions, StoreWriter, WriterOptions};
use zippy_data::{FastStore, OpenMode};

use crate::documents::{COLLECTION, document, id};
use crate::{Clock, OURS, THEIRS, reading};

/// Documents per batch: the reference writes its index after each; they are created outside the measurement.
const BATCH: usize = 1000;

/// Writes a new store; returns the seconds, and the number of documents and bytes written.
fn write_store(path: &Path, write: impl FnOnce(&Path) -> Duration) -> (f64, Value) {
    if path.exists() {
        // Left by an interrupted run.
        fs::remove_dir_all(path).expect("the store goes away");
    }
    let took = write(path).as_secs_f64();
    let made = reading::ours(path);
    let lines = made.documents().expect("documents");
    let bytes: usize = lines.map(|document| document.expect("a document").bytes().len()).sum();
    let result = json!([made.len().expect("their number"), bytes]);
    drop(made);
    fs::remove_dir_all(path).expect("the store goes away");
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

/// Calls `put` for every document, and measures without creating the documents.
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
pub(crate) fn put(clock: &Clock) {
    let count = reading::ours(&clock.path("ordered")).len().expect("their number") as usize;
    let path = clock.path("written");
    for _ in 0..if clock.is_selected(OURS) { clock.repeat } else { 0 } {
        let (seconds, result) = write_store(&path, |path| {
            let (store, mut writer) = ours(path);
            let took = timed(count, |id, document| writer.put(&id, &document).expect("a document"));
            and_then(took, || {
                writer.finish().expect("the collection");
                store.finish().expect("the store");
            })
        });
        clock.print(OURS, clock.work, seconds, &result);
    }
    if clock.is_selected(THEIRS) {
        let (seconds, result) = write_store(&path, |path| {
            let mut store = theirs(path);
            let took = timed(count, |id, document| store.put(id, document).expect("a document"));
            // Dropping it writes the index once more, which is not counted.
            let took = and_then(took, || store.flush().expect("the store"));
            drop(store);
            took
        });
        clock.print(THEIRS, clock.work, seconds, &result);
    }
}

/// Loads JSON lines from memory. The reference also gets the IDs, and only searches for line ends.
pub(crate) fn load(clock: &Clock) {
    let meta = clock.path("ordered").join("collections").join(COLLECTION).join("meta");
    let lines = container_core::Bytes::from(fs::read(meta.join("data.jsonl")).expect("the data"));
    let path = clock.path("written");
    let default = LoadOptions::default();
    let ways = [
        ("load", default.clone().with_validate(false)),
        ("load, 1 thread", default.clone().with_validate(false).with_threads(1)),
        ("load, validated", default.clone()),
        ("load, validated, 1 thread", default.with_threads(1)),
    ];
    for (work, options) in ways {
        for _ in 0..if clock.is_selected(OURS) { clock.repeat } else { 0 } {
            let (seconds, result) = write_store(&path, |path| {
                let (store, mut writer) = ours(path);
                let source = Source::from(lines.clone());
                and_then(Duration::ZERO, || {
                    writer.load(&source, &options).expect("all lines");
                    writer.finish().expect("the collection");
                    store.finish().expect("the store");
                })
            });
            clock.print(OURS, work, seconds, &result);
        }
    }
    if clock.is_selected(THEIRS) {
        let count = reading::ours(&clock.path("ordered")).len().expect("their number") as usize;
        let ids: Vec<_> = (0..count).map(id).collect();
        let (seconds, result) = write_store(&path, |path| {
            let mut store = theirs(path);
            let took = and_then(Duration::ZERO, || {
                store.write_jsonl_blob(&lines, &ids).expect("all lines");
                store.flush().expect("the store");
            });
            drop(store);
            took
        });
        clock.print(THEIRS, clock.work, seconds, &result);
    }
}
