//! Measures reading IDV files. `cargo xtask bench idv` generates the files, runs this and ML.NET and prints a table.
//!
//! ```text
//! cargo bench -p idv --bench scan --features parallel -- WORK FILE [--columns a,b] [--threads N] [--positional] [--repeat N]
//! ```
//!
//! | work | one repetition |
//! |---|---|
//! | `read` | opens the file, scans the columns in batches, and checksums every value as ML.NET's driver does |
//! | `inflate` | opens the file and only inflates every block: the upper bound for any reader |
//! | `fixed` | scans one uncompressed fixed-width column, against a plain copy of the same bytes, block by block |
//!
//! Every repetition prints a line of JSON; the first is a warm-up. Without arguments, runs each work once on a small test file. 0 threads
//! uses all.

// A benchmark may panic.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a benchmark that fails is to stop")]

#[path = "scan/fold.rs"]
mod fold;
#[path = "scan/layout.rs"]
mod layout;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use container_core::{Access, Bytes, Scan, Source};
use flate2::{Decompress, FlushDecompress, Status};
use idv::{OpenOptions, Reader};

struct Task {
    work: String,
    file: PathBuf,
    columns: Option<Vec<String>>,
    threads: usize,
    access: Access,
    repeat: usize,
}

fn main() {
    // Cargo adds this word.
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench").peekable();
    if words.peek().is_none() {
        return demonstrate();
    }
    let mut task = Task {
        work: words.next().unwrap(),
        file: words.next().unwrap_or_else(|| usage("FILE is missing")).into(),
        columns: None,
        threads: 0,
        access: container_core::testkit::mapped(),
        repeat: 1,
    };
    while let Some(option) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| usage(&format!("{option} wants a value")));
        match option.as_str() {
            "--columns" => task.columns = Some(value().split(',').map(str::to_owned).collect()),
            "--threads" => task.threads = value().parse().unwrap_or_else(|_| usage("--threads wants a number")),
            "--repeat" => task.repeat = value().parse().unwrap_or_else(|_| usage("--repeat wants a number")),
            "--positional" => task.access = Access::Positional,
            other => usage(&format!("unknown option {other}")),
        }
    }
    task.run();
}

fn usage(problem: &str) -> ! {
    eprintln!("{problem}\nusage: read|inflate|fixed FILE [--columns a,b] [--threads N] [--positional] [--repeat N]");
    std::process::exit(2)
}

/// Each work once on a small file, for plain `cargo bench`.
fn demonstrate() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/idv");
    for (work, file, columns) in [
        ("read", "real-adult.idv", None),
        ("inflate", "real-adult.idv", None),
        ("fixed", "scalar-integers-none.idv", Some(vec!["Int64".to_owned()])),
    ] {
        let (work, file) = (work.to_owned(), golden.join(file));
        Task { work, file, columns, threads: 0, access: container_core::testkit::mapped(), repeat: 1 }.run();
    }
}

impl Task {
    fn run(&self) {
        match self.work.as_str() {
            "read" => (0..self.repeat).for_each(|_| self.read()),
            "inflate" => (0..self.repeat).for_each(|_| self.inflate()),
            "fixed" => self.fixed(),
            other => usage(&format!("unknown work {other}")),
        }
    }

    fn open(&self) -> Reader {
        Reader::open_with(&self.file, OpenOptions::default().with_access(self.access)).unwrap()
    }

    /// The selected columns, or all.
    fn projection(&self, reader: &Reader) -> Vec<usize> {
        let Some(names) = &self.columns else {
            return (0..reader.columns().len()).collect();
        };
        let find = |name: &String| {
            let column = reader.columns().iter().find(|column| column.unique_name() == name);
            column.unwrap_or_else(|| usage(&format!("no column {name}"))).index()
        };
        names.iter().map(find).collect()
    }

    fn read(&self) {
        let start = Instant::now();
        let reader = self.open();
        let scan = Scan::default().with_columns(self.projection(&reader)).with_threads(self.threads);
        let mut batches = reader.batches(&scan).unwrap();
        let (mut rows, mut checksum) = (0, 0_u64);
        while let Some(batch) = batches.try_next().unwrap() {
            for column in 0..batch.column_count() {
                let slice = batch.column(column).unwrap();
                checksum = checksum.wrapping_add(fold::weighted(slice.values, slice.range, batch.rows().start));
            }
            rows += batch.row_count();
        }
        let seconds = start.elapsed().as_secs_f64();
        report(seconds, &[("rows", rows as u64), ("checksum", checksum), ("peak_kb", peak_kb())]);
    }

    fn inflate(&self) {
        let start = Instant::now();
        let source = Source::open_with(&self.file, self.access).unwrap();
        let blocks = layout::blocks(&source, self.columns.as_deref());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if self.threads == 0 { cores } else { self.threads };
        let next = AtomicUsize::new(0);
        let work = || {
            let (mut state, mut out) = (Decompress::new(false), Vec::new());
            while let Some(block) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
                let packed = source.read(block.place.clone()).unwrap();
                if !block.deflated {
                    black_box(packed);
                    continue;
                }
                if out.len() < block.raw_len {
                    out.resize(block.raw_len, 0);
                }
                state.reset(false);
                let status = state.decompress(&packed, &mut out[..block.raw_len], FlushDecompress::Finish).unwrap();
                assert_eq!((status, state.total_out()), (Status::StreamEnd, block.raw_len as u64));
                black_box(&out);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        let seconds = start.elapsed().as_secs_f64();
        let raw = blocks.iter().map(|block| block.raw_len as u64).sum();
        let packed = blocks.iter().map(|block| block.place.end - block.place.start).sum();
        report(seconds, &[("bytes", raw), ("packed", packed), ("blocks", blocks.len() as u64)]);
    }

    /// Alternates reading and copying on an open file, single-threaded by default.
    fn fixed(&self) {
        let reader = self.open();
        let columns = self.projection(&reader);
        let column = match columns[..] {
            [column] => column,
            _ => usage("fixed wants one column"),
        };
        let blocks: Vec<Bytes> = (0..reader.columns()[column].block_count())
            .map(|block| reader.block_bytes(column, block).unwrap())
            .collect();
        let bytes: usize = blocks.iter().map(|block| block.len()).sum();
        let rows = usize::try_from(reader.row_count()).unwrap();
        let scan = Scan::default().with_columns(columns).with_threads(self.threads);
        let mut copy = Vec::new();
        for _ in 0..self.repeat {
            let start = Instant::now();
            let mut batches = reader.batches(&scan).unwrap();
            let mut seen = 0;
            while let Some(batch) = batches.try_next().unwrap() {
                let slice = batch.column(0).unwrap();
                black_box(slice.values);
                seen += slice.range.len();
            }
            let seconds = start.elapsed().as_secs_f64();
            assert_eq!(seen, rows);

            let start = Instant::now();
            for block in &blocks {
                if copy.len() < block.len() {
                    copy.resize(block.len(), 0);
                }
                copy[..block.len()].copy_from_slice(block);
                black_box(&copy);
            }
            let copying = start.elapsed().as_secs_f64();
            println!("{{\"seconds\":{seconds:.9},\"copy_seconds\":{copying:.9},\"bytes\":{bytes},\"rows\":{rows}}}");
        }
    }
}

fn report(seconds: f64, fields: &[(&str, u64)]) {
    let fields: String = fields.iter().map(|(name, value)| format!(",\"{name}\":{value}")).collect();
    println!("{{\"seconds\":{seconds:.9}{fields}}}");
}

/// Peak resident memory of this process in KiB, on Linux; 0 elsewhere.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}
