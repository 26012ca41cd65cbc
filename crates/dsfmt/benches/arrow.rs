//! Measures conversion from tables to record batches and back, on one thread unless feature `parallel` is on.
//!
//! ```text
//! cargo bench -p dsfmt --features arrow --bench arrow -- [--folder DIR] [--repeat N] [--elements N]
//! ```
//!
//! Files are written to `--folder` (in memory, to exclude the disk) and removed. Each line is the best repetition; only the first and last
//! value of each batch are read, so that shared buffers stay untouched.

// Benchmarks may panic: their user reads the message.
#![expect(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    reason = "a benchmark that fails is to stop"
)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;
use container_arrow::{BatchScan, BatchWriter};
use container_core::{Container, OpenOptions};
use dsfmt::arrow::{ArrowWriter, WriterOptions};
use dsfmt::container::DsContainer;
use dsfmt::{Array, Builder, Endian, Field, Mask, OutputOptions, Overwrite, Reader, Values};

/// The best repetition, in seconds.
fn best<T>(repeat: usize, mut run: impl FnMut() -> T) -> f64 {
    let once = |run: &mut dyn FnMut() -> T| {
        let start = Instant::now();
        let result = run();
        let seconds = start.elapsed().as_secs_f64();
        drop(black_box(result));
        seconds
    };
    (0..repeat).map(|_| once(&mut run)).fold(f64::MAX, f64::min)
}

fn line(what: &str, seconds: f64, bytes: usize) {
    println!("{what:<44} {:>10.3} ms {:>9.2} GB/s", seconds * 1e3, bytes as f64 / seconds / 1e9);
}

/// A file with one variable whose body starts at this offset modulo 64.
fn write(folder: &Path, name: &str, field: Field<'_>, behind: usize) -> PathBuf {
    let mut builder = Builder::new();
    builder.field("x", field);
    let mut file = Vec::new();
    builder.write_to(&mut file).unwrap();
    let header = file.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0;
    let blanks = (header + 1).next_multiple_of(64) + behind - header - 1;
    let path = folder.join(name);
    // Trailing spaces in the header only move the body.
    std::fs::write(&path, [&file[..header], &vec![b' '; blanks], &file[header..]].concat()).unwrap();
    path
}

fn all(container: &DsContainer) -> (usize, f32) {
    let table = container.tables()[0].arrow().unwrap();
    let (mut rows, mut sum) = (0, 0.0);
    for batch in table.batches(&BatchScan::default()).unwrap() {
        let batch = batch.unwrap();
        rows += batch.num_rows();
        if let Some(numbers) = batch.column(0).as_primitive_opt::<Float32Type>() {
            sum += numbers.value(0) + numbers.value(numbers.len() - 1);
        }
    }
    (rows, sum)
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut folder, mut repeat, mut count) = (std::env::temp_dir(), 5, 20_000_000usize);
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match name.as_str() {
            "--folder" => folder = value.into(),
            "--repeat" => repeat = value.parse().unwrap(),
            "--elements" => count = value.parse().unwrap(),
            other => println!("{other} is not known"),
        }
    }
    let folder = tempfile::tempdir_in(folder).unwrap();
    let shape = [count as u64];
    let numbers: Vec<f32> = (0..count).map(|n| n as f32).collect();
    let half = Mask::from_bools((0..count as u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1));
    let sea = Mask::from_bools((0..count).map(|n| n / 200 % 2 == 1));
    let array = |values: Values<'static>| Array::new(shape, values).unwrap();
    let field = |array: Array<'static>| Field::new(array).with_dimensions(["i"]);
    let texts: Values<'static> = (0..count / 4).map(|n| if n % 2 == 0 { "a few words" } else { "" }).collect();
    let bools: Vec<bool> = (0..count).map(|n| n % 3 == 0).collect();
    let bytes = count * 4;
    line("copy, new memory", best(repeat, || numbers.clone()), bytes);
    let floats = || array(numbers.clone().into());
    let files = [
        ("native, aligned", bytes, field(floats()), 0),
        ("native, one byte off", bytes, field(floats()), 1),
        ("big endian", bytes, field(floats()).with_endian(Endian::Big), 0),
        ("half of it missing, at random", bytes, field(floats().with_mask(half).unwrap()), 0),
        ("half of it missing, in runs", bytes, field(floats().with_mask(sea).unwrap()), 0),
        ("bools", count, field(array(bools.into())), 0),
        ("texts", count / 4 * 13, field(Array::new([count as u64 / 4], texts).unwrap()), 0),
    ];
    for (name, bytes, field, behind) in files {
        let path = write(folder.path(), "x.ds", field, behind);
        let open =
            || Reader::open_with(&path, OpenOptions::default().with_access(container_core::testkit::mapped())).unwrap();
        let (rows, _) = all(&DsContainer::new(open()));
        assert!(rows == count || rows == count / 4);
        line(&format!("to Arrow: {name}"), best(repeat, || all(&DsContainer::new(open()))), bytes);
        let container = DsContainer::new(open());
        let batches: Vec<RecordBatch> = container.tables()[0]
            .arrow()
            .unwrap()
            .batches(&BatchScan::default())
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let options = OutputOptions::default().with_overwrite(Overwrite::Replace).with_sync(dsfmt::SyncPolicy::Never);
        let options = WriterOptions::default().with_output(options);
        let written = best(repeat, || {
            let out = folder.path().join("y.ds");
            let mut writer = Box::new(ArrowWriter::create(&out, batches[0].schema(), options.clone()).unwrap());
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
            assert!(writer.finish().unwrap().is_empty());
        });
        line(&format!("from Arrow: {name}"), written, bytes);
    }
}
