//! Readers concurrent with a writer see a consistent snapshot.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use zdx::{Durability, Store, StoreWriter, WriterOptions};

/// Documents per generation, which are replaced one by one.
const MANY: u64 = 60;

#[test]
fn readers_see_a_consistent_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let root = StoreWriter::open(&path, WriterOptions::default().with_durability(Durability::None)).unwrap();
    let mut writer = root.collection("c").unwrap();
    let is_done = AtomicBool::new(false);
    let mut write = |generation: u64| {
        for n in 0..MANY {
            // Occasionally deleted for a while.
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
                    // In line order: remaining older ones, then newer ones.
                    assert!(generations.is_sorted(), "{generations:?}");
                    let (first, newest) = (generations[0], generations[generations.len() - 1]);
                    assert!(newest - first <= 1 && first >= last, "{first} {newest} {last}");
                    // One may be deleted but not put again yet.
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
