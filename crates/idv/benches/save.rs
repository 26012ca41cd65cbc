//! Measures writing IDV files. `cargo xtask bench idv` runs this and ML.NET's saver and prints a table.
//!
//! ```text
//! cargo bench -p idv --bench save --features parallel -- save FILE OUT [--compression none|deflate] [--level N] [--threads N] [--repeat N]
//! cargo bench -p idv --bench save --features parallel -- split FILE DIRECTORY
//! cargo bench -p idv --bench save --features parallel -- merge OUT FILE... [--sync] [--repeat N]
//! ```
//!
//! | work | one repetition |
//! |---|---|
//! | `save` | writes preloaded columns of a file to another file |
//! | `split` | not measured: splits a file into four files of complete blocks, `part-N.idv`, and their rows in one file, `whole.idv` |
//! | `merge` | opens files and copies their blocks into one |
//!
//! Every repetition prints a line of JSON. Without arguments, saves a small test file once. 0 threads uses all. Syncs to disk only with
//! `--sync`.

// A benchmark may panic.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark that fails is to stop")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use container_core::{Access, OutputOptions, Overwrite, Scan, SyncPolicy};
use idv::{ColumnSlice, Compression, OpenOptions, Reader, Schema, Values, Writer, WriterOptions};

/// Default rows per block.
const BLOCK: u64 = 8192;

/// Number of files to split into, if there are enough blocks.
const PARTS: u64 = 4;

struct Task {
    work: String,
    files: Vec<PathBuf>,
    options: WriterOptions,
    sync: SyncPolicy,
    repeat: usize,
}

fn main() {
    // Cargo adds this word.
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let Some(work) = words.next() else { return demonstrate() };
    let (options, sync) = (WriterOptions::default(), SyncPolicy::Never);
    let mut task = Task { work, files: Vec::new(), options, sync, repeat: 1 };
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| usage(&format!("{word} wants a value")));
        let number = |value: String| value.parse::<u16>().unwrap_or_else(|_| usage(&format!("{word} wants a number")));
        match word.as_str() {
            "--compression" => {
                task.options.compression = match value().as_str() {
                    "none" => Compression::None,
                    "deflate" => Compression::Deflate,
                    other => usage(&format!("--compression is none or deflate, not {other}")),
                };
            }
            "--level" => task.options.level = u8::try_from(number(value())).unwrap_or(u8::MAX),
            "--threads" => task.options.threads = number(value()).into(),
            "--repeat" => task.repeat = number(value()).into(),
            "--sync" => task.sync = SyncPolicy::Disk,
            other if other.starts_with("--") => usage(&format!("unknown option {other}")),
            file => task.files.push(file.into()),
        }
    }
    task.run();
}

fn usage(problem: &str) -> ! {
    eprintln!("{problem}\nusage: save FILE OUT | split FILE DIRECTORY | merge OUT FILE..., and options");
    std::process::exit(2)
}

/// A small run for plain `cargo bench`.
fn demonstrate() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/idv/real-adult.idv");
    let directory = tempfile::tempdir().unwrap();
    let files = vec![golden, directory.path().join("saved.idv")];
    Task { work: "save".to_owned(), files, options: WriterOptions::default(), sync: SyncPolicy::Never, repeat: 1 }
        .run();
}

impl Task {
    fn run(&self) {
        match (self.work.as_str(), &self.files[..]) {
            ("save", [file, out]) => self.save(file, out),
            ("split", [file, directory]) => split(file, directory),
            ("merge", [out, files @ ..]) if !files.is_empty() => (0..self.repeat).for_each(|_| self.merge(out, files)),
            _ => usage("another number of files"),
        }
    }

    fn output(&self) -> OutputOptions {
        OutputOptions::default().with_overwrite(Overwrite::Replace).with_sync(self.sync)
    }

    fn save(&self, file: &Path, out: &Path) {
        let (schema, columns) = load(file);
        for _ in 0..self.repeat {
            let start = Instant::now();
            let mut writer = Writer::create(out, self.output(), schema.clone(), self.options.clone()).unwrap();
            let slices: Vec<_> = columns.iter().map(ColumnSlice::from).collect();
            writer.append_columns(&slices).unwrap();
            let rows = writer.row_count();
            writer.into_inner().unwrap().finish().unwrap();
            report(start.elapsed().as_secs_f64(), &[("rows", rows), ("bytes", len(out)), ("peak_kb", peak_kb())]);
        }
    }

    fn merge(&self, out: &Path, files: &[PathBuf]) {
        let start = Instant::now();
        let open = |file| Reader::open_with(file, OpenOptions::default().with_access(Access::Positional)).unwrap();
        let first = open(&files[0]);
        let schema = first.schema(None).unwrap();
        let mut writer = Writer::create(out, self.output(), schema, self.options.clone()).unwrap();
        let (mut copied_blocks, mut encoded) = (0, 0);
        for file in files {
            let copied = writer.append_blocks(&open(file), None).unwrap();
            copied_blocks += copied.copied;
            encoded += copied.reencoded;
        }
        let rows = writer.row_count();
        writer.into_inner().unwrap().finish().unwrap();
        let seconds = start.elapsed().as_secs_f64();
        report(seconds, &[("rows", rows), ("bytes", len(out)), ("copied_blocks", copied_blocks), ("encoded", encoded)]);
    }
}

/// All columns of a file, unchunked, and their schema.
fn load(file: &Path) -> (Schema, Vec<Values>) {
    // Pages of a mapped file would count as memory.
    let reader = Reader::open_with(file, OpenOptions::default().with_access(Access::Positional)).unwrap();
    let mut schema = reader.schema(None).unwrap();
    schema.columns.iter_mut().for_each(|column| column.compression = None);
    let mut columns: Vec<_> = schema.columns.iter().map(|column| Values::of(&column.kind)).collect();
    let mut batches = reader.batches(&Scan::default()).unwrap();
    while let Some(batch) = batches.try_next().unwrap() {
        for (index, column) in columns.iter_mut().enumerate() {
            let slice = batch.column(index).unwrap();
            column.extend_from(slice.values, slice.range).unwrap();
        }
    }
    (schema, columns)
}

fn split(file: &Path, directory: &Path) {
    let reader = mapped(file);
    let parts = PARTS.min(reader.row_count() / BLOCK);
    let rows = (reader.row_count() / parts.max(1)) / BLOCK * BLOCK;
    let write = |name: String, rows| {
        let output = OutputOptions::default().with_overwrite(Overwrite::Replace).with_sync(SyncPolicy::Never);
        let (schema, options) = (reader.schema(None).unwrap(), WriterOptions::default().with_rows_per_block(BLOCK));
        let mut writer = Writer::create(directory.join(name), output, schema, options).unwrap();
        writer.append_reader(&reader, &Scan::default().with_rows(rows)).unwrap();
        writer.into_inner().unwrap().finish().unwrap();
    };
    (0..parts).for_each(|part| write(format!("part-{part}.idv"), part * rows..(part + 1) * rows));
    write("whole.idv".to_owned(), 0..parts * rows);
}

fn len(file: &Path) -> u64 {
    fs::metadata(file).unwrap().len()
}

fn report(seconds: f64, fields: &[(&str, u64)]) {
    let fields: String = fields.iter().map(|(name, value)| format!(",\"{name}\":{value}")).collect();
    println!("{{\"seconds\":{seconds:.9}{fields}}}");
}

/// Peak resident memory of this process in KiB, on Linux; 0 elsewhere.
fn peak_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}

/// Opens a file like the command does.
fn mapped(path: impl AsRef<std::path::Path>) -> Reader {
    Reader::open_with(path, idv::OpenOptions::default().with_access(container_core::testkit::mapped())).unwrap()
}
