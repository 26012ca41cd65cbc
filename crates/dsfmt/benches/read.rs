//! Measures reading of values, on one thread unless feature `parallel` is on.
//!
//! ```text
//! cargo bench -p dsfmt --bench read -- [--folder DIR] [--repeat N] [--elements N]
//! ```
//!
//! Files are written to `--folder` (in memory, to exclude the disk) and removed. Each line is the best repetition; `copy` is the same bytes
//! copied by the standard library into new memory and into reused memory.

// Benchmarks may panic: their user reads the message.
#![expect(clippy::unwrap_used, clippy::cast_precision_loss, reason = "a benchmark that fails is to stop")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use container_core::HugePageVec;
use dsfmt::{Array, Builder, Endian, Field, Mask, OutputOptions, Overwrite, Reader, Select, Selection, Values};

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
    println!("{what:<44} {:>10.3} ms {:>7.2} GB/s", seconds * 1e3, bytes as f64 / seconds / 1e9);
}

fn write(folder: &Path, name: &str, fields: Vec<(&str, Field<'_>)>) -> PathBuf {
    let path = folder.join(name);
    let mut builder = Builder::new();
    for (name, field) in fields {
        builder.field(name, field);
    }
    builder.write(&path, OutputOptions::default().with_overwrite(Overwrite::Replace)).unwrap();
    path
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut folder, mut repeat, mut count) = (std::env::temp_dir(), 5, 16usize << 20);
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
    let shape = [count as u64 / 1024, 1024];
    let numbers: Vec<f64> = (0..count).map(|n| n as f64).collect();
    let half = Mask::from_bools((0..count as u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1));
    let sea = Mask::from_bools((0..count).map(|n| n / 200 % 2 == 1));
    let bools: Vec<bool> = (0..count).map(|n| n % 3 == 0).collect();
    let array = |values: Values<'static>| Field::new(Array::new(shape, values).unwrap()).with_dimensions(["y", "x"]);
    let masked = |mask: &Mask<'static>| {
        let array = Array::new(shape, numbers.clone()).unwrap().with_mask(mask.clone()).unwrap();
        Field::new(array).with_dimensions(["y", "x"])
    };
    let path = write(
        folder.path(),
        "big.ds",
        vec![
            ("big", array(numbers.clone().into()).with_endian(Endian::Big)),
            ("bool", array(bools.into())),
            ("half", masked(&half)),
            ("sea", masked(&sea)),
        ],
    );
    let reader = mapped(&path);
    let bytes = count * 8;
    let big = reader.variable("big").unwrap();
    line("copy, new memory", best(repeat, || numbers.clone()), bytes);
    line("big endian, new memory", best(repeat, || big.read().unwrap()), bytes);
    let mut used = vec![0.0f64; count];
    line("copy, used memory", best(repeat, || used.copy_from_slice(&numbers)), bytes);
    line("big endian, used memory", best(repeat, || big.read_into(0..shape[0], 0.0, &mut used).unwrap()), bytes);
    assert!(used == numbers);
    line(
        "big endian, large pages",
        best(repeat, || {
            let mut pages: HugePageVec<f64> = HugePageVec::zeroed(count);
            big.read_into(0..shape[0], 0.0, &mut pages).unwrap();
            pages
        }),
        bytes,
    );
    for name in ["half", "sea"] {
        let variable = reader.variable(name).unwrap();
        line(&format!("{name} of it missing, new memory"), best(repeat, || variable.read().unwrap()), bytes);
        line(
            &format!("{name} of it missing, used memory"),
            best(repeat, || variable.read_into(0..shape[0], 0.0, &mut used).unwrap()),
            bytes,
        );
    }
    line("bools, new memory", best(repeat, || reader.variable("bool").unwrap().read().unwrap()), count);
    let column = Selection::new().with("x", Select::Index(7));
    line("one column", best(repeat, || big.select(&column).unwrap()), bytes / 1024);
    let every = Selection::new().with("x", Select::Range { start: None, stop: None, step: Some(2) });
    line("every second column", best(repeat, || big.select(&every).unwrap()), bytes / 2);
    let slab = Selection::new().with("x", Select::range(100, 900));
    line("a wide slab", best(repeat, || big.select(&slab).unwrap()), bytes / 1024 * 800);
    line(
        "a wide slab, half of it missing",
        best(repeat, || reader.variable("half").unwrap().select(&slab).unwrap()),
        bytes / 1024 * 800,
    );
    let small = Field::new(Array::new([1000], (0..1000i64).collect::<Vec<_>>()).unwrap()).with_dimensions(["n"]);
    let small = write(folder.path(), "small.ds", vec![("x", small)]);
    let each = best(repeat, || {
        for _ in 0..1000 {
            let reader = mapped(&small);
            black_box(reader.variable("x").unwrap().read().unwrap().len());
        }
    });
    line("1000 int64: open and read", each / 1000.0, 8000);
}

/// Opens a file as the command does.
fn mapped(path: impl AsRef<std::path::Path>) -> Reader {
    Reader::open_with(path, container_core::OpenOptions::default().with_access(container_core::testkit::mapped()))
        .unwrap()
}
