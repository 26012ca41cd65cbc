//! Measures reading a collection as record batches and loading them, with one thread and with all.
//!
//! ```text
//! cargo bench -p zdx --features arrow --bench arrow -- STORE [--repeat N]
//! ```
//!
//! Prints the best time of the repetitions in seconds. The store is reopened for each.

// Benchmarks may panic.
#![expect(clippy::unwrap_used, reason = "a benchmark that fails is to stop")]

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use container_arrow::{BatchScan, BatchWriter, JsonRows};
use container_core::{Container, Input, OpenOptions, Scan};
use zdx::arrow::{ArrowWriter, IdSource};
use zdx::{StoreWriter, WriterOptions, ZdsContainer};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let Some(store) = arguments.iter().find(|argument| Path::new(argument.as_str()).exists()) else {
        println!("give a store: a folder or an archive");
        return;
    };
    let repeat = arguments.iter().skip_while(|argument| *argument != "--repeat").nth(1);
    let repeat: usize = repeat.map_or(3, |number| number.parse().unwrap());
    for threads in [1, 0] {
        let scan = BatchScan::from(Scan::default().with_threads(threads));
        let (mut observe, mut build, mut text, mut load) = (f64::MAX, f64::MAX, f64::MAX, f64::MAX);
        let mut rows = 0;
        for _ in 0..repeat {
            let input = Input::open(Path::new(store), container_core::testkit::mapped()).unwrap();
            let container =
                ZdsContainer::open(&input, &OpenOptions::default().with_access(container_core::testkit::mapped()))
                    .unwrap();
            let tables = container.tables();
            let table = tables.first().unwrap();
            table.len(); // the index is read
            let arrow = table.arrow().unwrap();
            let start = Instant::now();
            let schema = arrow.schema(&scan).unwrap();
            observe = observe.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            let mut reader = arrow.batches(&scan).unwrap();
            let mut batches = Vec::new();
            rows = 0;
            while let Some(batch) = reader.try_next().unwrap() {
                rows += batch.num_rows();
                if threads == 1 {
                    batches.push(batch);
                }
            }
            build = build.min(start.elapsed().as_secs_f64());
            if threads != 1 {
                continue;
            }
            let start = Instant::now();
            let mut out = Vec::new();
            for batch in &batches {
                out.clear();
                JsonRows::new(batch).unwrap().write_lines(&mut out).unwrap();
                black_box(&out);
            }
            text = text.min(start.elapsed().as_secs_f64());
            let folder = tempfile::tempdir().unwrap();
            let start = Instant::now();
            let root = StoreWriter::open(folder.path().join("s"), WriterOptions::default()).unwrap();
            let mut writer = root.collection("rows").unwrap();
            let mut loader = Box::new(ArrowWriter::new(&mut writer, schema, IdSource::IdColumn).unwrap());
            batches.iter().for_each(|batch| loader.write(batch).unwrap());
            loader.finish().unwrap();
            writer.finish().unwrap();
            root.finish().unwrap();
            load = load.min(start.elapsed().as_secs_f64());
        }
        let threads = if threads == 1 { "one thread" } else { "all threads" };
        println!("{threads}: {rows} rows; types {observe:.3} s, batches {build:.3} s");
        if text < f64::MAX {
            println!("  batches to JSON lines {text:.3} s, to a store {load:.3} s");
        }
    }
}
