//! Readers that open a collection while a writer is at work: each sees what there was at one moment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use zdx::{Durability, Store, StoreWriter, WriterOptions};

/// Documents of one generation, which are replaced one after another.
const MANY: u64 = 60;

#[test]
fn readers_see_one_moment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let root = StoreWriter::open(&path, WriterOptions::default().with_durability(Durability::None)).unwrap();
    let mut writer = root.collection("c").unwrap();
    let is_done = AtomicBool::new(false);
    let mut write = |generation: u64| {
        for n in 0..MANY {
            // Now and then it is gone for a while.
            if (n + generation).is_multiple_of(7) {
                writer.delete(&format!("id-{n}")).unwrap();
            }
            writer.put(&format!("id-{n}"), &json!({"g": generation, "text": "x".repeat(400)})).unwrap();
        }
        match generation % 3 {
            0 => drop(writer.compact().unwrap().after),
            _ => writer.flush().unwrap(),
        }
    };
    write(1);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (mut opened, mut last) = (0, 0);
                while !is_done.load(Ordering::Relaxed) || opened < 20 {
                    let collection = Store::open(&path).unwrap().collection("c").unwrap();
                    let generations: Vec<u64> = collection
                        .documents()
                        .unwrap()
                        .map(|document| document.unwrap().value().unwrap()["g"].as_u64().unwrap())
                        .collect();
                    // In the order of the lines: the older ones that are left, then the newer ones.
                    assert!(generations.is_sorted(), "{generations:?}");
                    let (first, newest) = (generations[0], generations[generations.len() - 1]);
                    assert!(newest - first <= 1 && first >= last, "{first} {newest} {last}");
                    // One may be deleted and not put again yet.
                    assert!(generations.len() as u64 + 1 >= MANY, "{}", generations.len());
                    last = first;
                    opened += 1;
                }
            });
        }
        let begin = Instant::now();
        let mut generation = 1;
        while begin.elapsed() < Duration::from_millis(1500) {
            generation += 1;
            write(generation);
        }
        is_done.store(true, Ordering::Relaxed);
    });
}
