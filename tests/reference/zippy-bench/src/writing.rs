//! Writing.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zdx::{Durability, StoreWriter, WriterOptions};
use zippy_data::{FastStore, OpenMode};

use crate::documents::{COLLECTION, document, id};
use crate::{Clock, OURS, THEIRS, reading};

/// Documents after which the reference writes its index, and which are made before the clock runs.
const BATCH: usize = 1000;

/// A new store, and what there is in the end: how many documents, and the bytes of their lines.
fn written(path: &Path, write: impl FnOnce(&Path) -> Duration) -> (f64, Value) {
    if path.exists() {
        // Somebody was interrupted here.
        fs::remove_dir_all(path).expect("the store goes away");
    }
    let took = write(path).as_secs_f64();
    let made = reading::ours(path);
    let lines = made.documents().expect("a walk");
    let bytes: usize = lines.map(|document| document.expect("a document").bytes().len()).sum();
    let result = json!([made.len().expect("their number"), bytes]);
    drop(made);
    fs::remove_dir_all(path).expect("the store goes away");
    (took, result)
}

/// Calls for each batch, made before, with the clock running.
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

/// Puts documents one by one. Neither waits for a disk: the reference never does.
pub(crate) fn put(clock: &Clock) {
    let count = reading::ours(&clock.path("ordered")).len().expect("their number") as usize;
    let path = clock.path("written");
    for _ in 0..if clock.is_wanted(OURS) { clock.repeat } else { 0 } {
        let (seconds, result) = written(&path, |path| {
            let options = WriterOptions::default().with_durability(Durability::None);
            let store = StoreWriter::open(path, options).expect("a store");
            let mut writer = store.collection(COLLECTION).expect("a collection");
            let took = timed(count, |id, document| writer.put(&id, &document).expect("a document"));
            and_then(took, || {
                writer.finish().expect("the collection");
                store.finish().expect("the store");
            })
        });
        clock.took(OURS, clock.work, seconds, &result);
    }
    if clock.is_wanted(THEIRS) {
        let (seconds, result) = written(&path, |path| {
            let open = FastStore::open_with_mode(path, COLLECTION, BATCH, OpenMode::ReadWrite);
            let mut store = open.expect("a store");
            let took = timed(count, |id, document| store.put(id, document).expect("a document"));
            // It writes its index once more when it goes away: that is not counted.
            let took = and_then(took, || store.flush().expect("the store"));
            drop(store);
            took
        });
        clock.took(THEIRS, clock.work, seconds, &result);
    }
}
