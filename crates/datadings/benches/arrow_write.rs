//! Measures writing tiny samples from record batches, beside the same samples from structs and the MD5 sum of their data, the lower bound.
//!
//! ```text
//! cargo bench -p datadings --features arrow,parallel --bench arrow_write -- [--rows N] [--batch N] [--repeat N] [--alone]
//! ```
//!
//! Both datasets must be the same; with `--alone`, for profilers, only the record batches are written. Writes to memory where there is `/dev/shm`. Prints milliseconds and millions of rows per second, the best of
//! the repetitions.

// A benchmark may panic: its user reads the message.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a failing benchmark should stop")]

#[allow(dead_code, unused_imports, reason = "its tests are compiled here but not run")]
#[path = "../src/md5/mod.rs"]
mod md5_stream;

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use datadings::arrow::{ArrowWriter, WriterOptions};
use serde::Serialize;

#[derive(Serialize)]
struct Tiny<'a> {
    key: &'a str,
    label: i64,
    x: f64,
}

fn main() {
    // Cargo adds `--bench`.
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let (mut rows, mut batch, mut repeat, mut alone) = (20_000, 65_536, 1, false);
    while let Some(word) = words.next() {
        if word == "--alone" {
            alone = true;
            continue;
        }
        let number =
            words.next().and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{word}: expected a number"));
        match word.as_str() {
            "--rows" => rows = number,
            "--batch" => batch = number,
            "--repeat" => repeat = number,
            _ => panic!("unknown option {word}"),
        }
    }
    let keys: Vec<String> = (0..rows).map(|row| format!("sample_{row:08}")).collect();
    let label = |row: usize| i64::try_from(row % 1000).unwrap();
    let x = |row: usize| f64::from(u32::try_from(row).unwrap()) / 7.0;
    let columns: [(&str, ArrayRef); 3] = [
        ("key", Arc::new(StringArray::from_iter_values(&keys))),
        ("label", Arc::new(Int64Array::from_iter_values((0..rows).map(label)))),
        ("x", Arc::new((0..rows).map(|row| Some(x(row))).collect::<Float64Array>())),
    ];
    let table = RecordBatch::try_from_iter(columns).unwrap();
    let from_batches = |path: &Path| {
        let mut writer = ArrowWriter::create(path, table.schema(), WriterOptions::default()).unwrap();
        for start in (0..rows).step_by(batch) {
            writer.write(&table.slice(start, batch.min(rows - start))).unwrap();
        }
        writer.finish().unwrap();
    };
    let from_structs = |path: &Path| {
        let mut writer = datadings::Writer::create(path, datadings::WriterOptions::default()).unwrap();
        for (row, key) in keys.iter().enumerate() {
            writer.append(&Tiny { key, label: label(row), x: x(row) }).unwrap();
        }
        writer.finish().unwrap();
    };
    let mut best = [f64::INFINITY; 3];
    let mut time = |index: usize, work: &dyn Fn()| {
        let begin = Instant::now();
        work();
        if let Some(best) = best.get_mut(index) {
            *best = best.min(begin.elapsed().as_secs_f64());
        }
    };
    // Alternate, so that all run under the same conditions.
    for _ in 0..repeat {
        let memory = Path::new("/dev/shm");
        let folder = match memory.is_dir() {
            true => tempfile::tempdir_in(memory),
            false => tempfile::tempdir(),
        }
        .unwrap();
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        let [one, other] = [one, other].map(|folder| {
            std::fs::create_dir(&folder).unwrap();
            folder.join("d.msgpack")
        });
        time(0, &|| from_batches(&one));
        if alone {
            continue;
        }
        time(1, &|| from_structs(&other));
        let data = std::fs::read(&one).unwrap();
        time(2, &|| {
            black_box(md5_stream::Md5::digest(&data));
        });
        let sums = |path: &Path| std::fs::read(path.with_extension("msgpack.md5")).unwrap();
        assert!(sums(&one) == sums(&other), "the sums differ");
    }
    let named = ["record batches", "structs", "MD5 of the data"].into_iter().zip(best);
    for (name, seconds) in named.filter(|(_, seconds)| seconds.is_finite()) {
        println!(
            "{name:16} {:10.2} ms {:8.2} million rows/s",
            seconds * 1e3,
            f64::from(u32::try_from(rows).unwrap()) / seconds / 1e6
        );
    }
}
