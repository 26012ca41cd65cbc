//! Measures reading a file as record batches against reading the same blocks as values.
//!
//! ```text
//! cargo bench -p idv --bench arrow --features arrow,parallel -- FILE [--threads N] [--repeat N]
//! ```
//!
//! `values` reads all columns in batches, `arrow` in record batches; both touch the first byte of each. They alternate; every repetition
//! prints a line of JSON with the seconds of both; the first is a warm-up. Without arguments, generates files of 1,000,000 rows and 31
//! values (three columns and a vector of 28) in a temporary directory, compressed and uncompressed.

// A benchmark may panic.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark that fails is to stop")]

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use container_arrow::{BatchReader, BatchScan};
use container_core::Scan;
use idv::{
    ColumnSchema, ColumnSlice, Compression, ItemType, KeyType, KeyWidth, Reader, Schema, Type, Values, Vectors, Writer,
    WriterOptions,
};

const ROWS: u32 = 1_000_000;
const SLOTS: u32 = 28;

fn main() {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let (mut file, mut threads, mut repeat) = (None, 0, 8);
    while let Some(word) = words.next() {
        let mut number =
            || words.next().and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{word} wants a number"));
        match word.as_str() {
            "--threads" => threads = number(),
            "--repeat" => repeat = number(),
            _ => file = Some(word),
        }
    }
    if let Some(file) = file {
        return compare("file", Path::new(&file), threads, repeat);
    }
    let directory = tempfile::tempdir().unwrap();
    for compression in [Compression::Deflate, Compression::None] {
        let path = directory.path().join(format!("{compression}.idv"));
        make(&path, compression);
        for threads in [1, 0] {
            compare(&format!("{compression}, {threads} threads"), &path, threads, repeat);
        }
    }
}

fn compare(name: &str, path: &Path, threads: usize, repeat: usize) {
    let reader = mapped(path);
    let scan = Scan::default().with_threads(threads);
    let (mut best_values, mut best_arrow) = (f64::INFINITY, f64::INFINITY);
    for turn in 0..=repeat {
        let values = values(&reader, &scan);
        let arrow = arrow(&reader, &scan);
        println!("{{\"name\":\"{name}\",\"values\":{values:.6},\"arrow\":{arrow:.6}}}");
        if turn > 0 {
            (best_values, best_arrow) = (best_values.min(values), best_arrow.min(arrow));
        }
    }
    let ratio = best_arrow / best_values;
    println!(
        "{{\"name\":\"{name}\",\"best_values\":{best_values:.6},\"best_arrow\":{best_arrow:.6},\"ratio\":{ratio:.3}}}"
    );
}

fn values(reader: &Reader, scan: &Scan) -> f64 {
    let start = Instant::now();
    let mut batches = reader.batches(scan).unwrap();
    let mut rows = 0;
    while let Some(batch) = batches.try_next().unwrap() {
        for column in 0..batch.column_count() {
            black_box(batch.column(column).unwrap().values);
        }
        rows += batch.row_count() as u64;
    }
    assert_eq!(rows, reader.row_count());
    start.elapsed().as_secs_f64()
}

fn arrow(reader: &Reader, scan: &Scan) -> f64 {
    let start = Instant::now();
    let mut batches = reader.record_batches(&BatchScan::from(scan.clone())).unwrap();
    let mut rows = 0;
    while let Some(batch) = batches.try_next().unwrap() {
        rows += batch.num_rows() as u64;
        black_box(batch);
    }
    assert_eq!(rows, reader.row_count());
    start.elapsed().as_secs_f64()
}

/// Text, a key with labels, a nullable Boolean, and 28 numbers per row.
fn make(path: &Path, compression: Compression) {
    let key = KeyType::new(KeyWidth::UInt32, 5).unwrap();
    let schema = Schema::new([
        ColumnSchema::new("label", Type::Item(ItemType::Boolean)),
        ColumnSchema::new("name", Type::Item(ItemType::Text)),
        ColumnSchema::new("kind", Type::Item(ItemType::Key(key))).with_key_values(["a", "b", "c", "d", "e"]).unwrap(),
        ColumnSchema::new("features", Type::Vector { item: ItemType::Single, dimensions: vec![SLOTS] }),
    ]);
    let options = WriterOptions::default().with_compression(compression).with_level(1);
    let file = std::fs::File::create(path).unwrap();
    let mut writer = Writer::new(file, schema, options).unwrap();
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    for _ in 0..ROWS / 10_000 {
        let (mut bools, mut names, mut kinds) = (Vec::new(), idv::Texts::default(), Vec::new());
        let mut vectors = Vectors::of(ItemType::Single);
        for _ in 0..10_000 {
            bools.push(next() % 3 == 0);
            names.push(&format!("name {}", next() % 1000)).unwrap();
            kinds.push(next() % 6);
            if let Values::Single(items) = vectors.items_mut() {
                // Numbers of few digits, as most are.
                items.extend((0..SLOTS).map(|_| f32::from(u16::try_from(next() % 1000).unwrap()) / 8.0));
            }
            vectors.close_dense().unwrap();
        }
        let columns =
            [Values::Boolean(bools), Values::Text(names), Values::UInt32(kinds), Values::Vector(Box::new(vectors))];
        writer.append_columns(&columns.each_ref().map(ColumnSlice::from)).unwrap();
    }
    writer.into_inner().unwrap();
}

/// Opens a file like the command does.
fn mapped(path: impl AsRef<std::path::Path>) -> Reader {
    Reader::open_with(path, idv::OpenOptions::default().with_access(container_core::testkit::mapped())).unwrap()
}
