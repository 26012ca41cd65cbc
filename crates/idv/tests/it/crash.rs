//! The writer interrupted at every call, or killed, leaves the old file or the new one, never a mixture.
//!
//! A killed process leaves its temporary file, `.wharf-*.tmp`, which can be deleted.

use std::fs::{self, File};
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use container_core::testkit::{FailingSink, every_write_may_fail};
use container_core::{ErrorKind, OutputOptions, Overwrite, Result, Scan, SyncPolicy};
use idv::{
    ColumnSchema, Compression, ItemType, KeyType, KeyWidth, Reader, Schema, Type, Values, Writer, WriterOptions,
};

use crate::support;

/// Numbers, texts and keys with their labels.
fn schema() -> Schema {
    let key = ItemType::Key(KeyType::new(KeyWidth::Byte, 3).unwrap());
    Schema::new([
        ColumnSchema::new("number", Type::Item(ItemType::Int64)),
        ColumnSchema::new("text", Type::Item(ItemType::Text)).with_compression(Compression::None),
        ColumnSchema::new("key", Type::Item(key)).with_key_values(["red", "green", "blue"]).unwrap(),
    ])
}

fn columns(rows: usize) -> [Values; 3] {
    let mut texts = Values::of(&Type::Item(ItemType::Text));
    if let Values::Text(texts) = &mut texts {
        (0..rows).for_each(|row| texts.push(&format!("text {row}")).unwrap());
    }
    [Values::Int64((0..rows as i64).collect()), texts, Values::Byte((0..rows).map(|row| (row % 4) as u8).collect())]
}

fn write_to<W: Write + Seek>(sink: W, threads: usize) -> Result<W> {
    let options = WriterOptions::default().with_rows_per_block(10).with_threads(threads);
    let mut writer = Writer::new(sink, schema(), options)?;
    let columns = columns(47);
    writer.append_columns(&[(&columns[0]).into(), (&columns[1]).into(), (&columns[2]).into()])?;
    writer.into_inner()
}

#[test]
fn every_failing_write_or_seek_is_reported() {
    for threads in [1, 0] {
        let calls = every_write_may_fail(|out| write_to(out, threads).map(drop));
        // The header's place, 15 blocks, 3 lookup tables, a value of metadata and its table, table of contents, tail, back, header, end.
        assert_eq!(calls, 26);
    }
}

#[test]
fn short_writes_are_completed() {
    let whole = write_to(Cursor::new(Vec::new()), 1).unwrap().into_inner();
    let pieces = write_to(FailingSink::new(Cursor::new(Vec::new()), usize::MAX, 7), 0).unwrap();
    assert_eq!(pieces.into_inner().into_inner(), whole);
}

#[test]
fn after_a_failure_every_call_fails() {
    let sink = FailingSink::new(Cursor::new(Vec::new()), 3, usize::MAX);
    let mut writer =
        Writer::new(sink, schema(), WriterOptions::default().with_rows_per_block(10).with_threads(1)).unwrap();
    let columns = columns(47);
    let slices = [(&columns[0]).into(), (&columns[1]).into(), (&columns[2]).into()];
    let error = writer.append_columns(&slices).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(error.to_string().contains("the sink is full (injected)"), "{error}");
    for error in [
        writer.append_columns(&slices).unwrap_err(),
        writer.append_column(0, &slices[0]).unwrap_err(),
        writer.append_row(&(1, "x", "red")).unwrap_err(),
        writer.into_inner().map(drop).unwrap_err(),
    ] {
        support::says(&error, "usage", "idv: the file is incomplete: an earlier write failed");
    }
}

/// The rows of a generation's file: the generation number, repeated.
fn rows_of(generation: i64) -> usize {
    400_000 + usize::try_from(generation % 1000).unwrap()
}

fn write_generation(path: &Path, generation: i64) {
    let output = OutputOptions::default().with_overwrite(Overwrite::Replace).with_sync(SyncPolicy::Never);
    let schema = Schema::new(["a", "b", "c"].map(|name| ColumnSchema::new(name, Type::Item(ItemType::Int64))));
    let options = WriterOptions::default().with_compression(Compression::None).with_rows_per_block(1000);
    let mut writer = Writer::create(path, output, schema, options).unwrap();
    let values = Values::Int64(vec![generation; rows_of(generation)]);
    writer.append_columns(&[(&values).into(), (&values).into(), (&values).into()]).unwrap();
    writer.finish().unwrap();
}

/// The generation of a file, which must be complete and of a single generation.
fn generation_of(path: &Path) -> Result<i64> {
    let reader = Reader::open(path)?;
    assert_eq!(support::findings(&reader, 0), Vec::<String>::new(), "{}", path.display());
    let mut generation = None;
    let mut batches = reader.batches(&Scan::default())?;
    while let Some(batch) = batches.try_next()? {
        for column in 0..3 {
            let slice = batch.column(column).unwrap();
            let numbers = &slice.values.as_slice::<i64>().unwrap()[slice.range];
            let generation = *generation.get_or_insert(numbers[0]);
            assert!(numbers.iter().all(|&number| number == generation), "a mixture in {}", path.display());
        }
    }
    let generation = generation.unwrap();
    assert_eq!(reader.row_count(), rows_of(generation) as u64, "{}", path.display());
    Ok(generation)
}

const CHILD: &str = "IDV_CRASH_CHILD";

/// Not a test by itself: the body of the process to kill.
#[test]
fn child_writes_until_killed() {
    let Some(path) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let first = generation_of(&path).unwrap() + 1;
    for generation in first.. {
        write_generation(&path, generation);
    }
}

#[cfg(unix)]
#[test]
fn killed_writer_leaves_old_or_new_file() {
    use std::os::unix::process::ExitStatusExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("table.idv");
    write_generation(&path, 0);
    let (mut before, mut replaced, mut broken_off) = (0, 0, 0);
    // Times that look random: a linear congruential generator.
    let mut state = 20_240_229_u32;
    // A busy machine needs more rounds, and longer ones, until both have occurred.
    for round in 0_u32..300 {
        if round >= 30 && replaced > 0 && broken_off > 0 {
            break;
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::child_writes_until_killed"])
            .env(CHILD, &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let time = Duration::from_millis(20) + Duration::from_micros(u64::from(state >> 16));
        std::thread::sleep(time * (1 + round / 30));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9), "the child ended by itself");

        let generation = generation_of(&path).unwrap();
        assert!(generation >= before, "generation {generation} after {before}");
        replaced += i64::from(generation > before);
        before = generation;
        for entry in fs::read_dir(directory.path()).unwrap() {
            let other = entry.unwrap().path();
            let name = other.file_name().unwrap().to_str().unwrap();
            if other == path {
                continue;
            }
            assert!(name.starts_with(".wharf-") && name.ends_with(".tmp"), "{name} is left");
            // Complete if killed just before the rename, otherwise invalid.
            match generation_of(&other) {
                Ok(whole) => assert_eq!(whole, generation + 1),
                Err(error) => {
                    assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Truncated { .. }), "{error}")
                }
            }
            broken_off += 1;
            fs::remove_file(&other).unwrap();
        }
    }
    assert!(replaced > 0 && broken_off > 0, "{replaced} times there was a new file, {broken_off} times half of one");
}

/// A sparse file.
struct Sparse(File);

impl Write for Sparse {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Pages of zeros are stepped over.
        let zeros = bytes.chunks_exact(4096).take_while(|page| is_zero(page)).count() * 4096;
        if zeros == 0 {
            let some = bytes.len().min(4096);
            return self.0.write(&bytes[..some]);
        }
        self.0.seek_relative(zeros as i64)?;
        Ok(zeros)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Seek for Sparse {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

fn is_zero(page: &[u8]) -> bool {
    page.chunks_exact(16).all(|chunk| u128::from_ne_bytes(chunk.try_into().unwrap()) == 0)
}

/// Offsets beyond 4 GiB are not truncated.
#[test]
fn offsets_above_4_gib() {
    const ROWS: usize = 4 << 20;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("large.idv");
    let schema = Schema::new(["zeros", "last"].map(|name| ColumnSchema::new(name, Type::Item(ItemType::Int64))));
    let options = WriterOptions::default().with_compression(Compression::None).with_rows_per_block(ROWS as u64);
    let mut writer = Writer::new(Sparse(File::create(&path).unwrap()), schema, options).unwrap();
    let (zeros, mut last) = (vec![0_i64; ROWS], vec![0_i64; ROWS]);
    for block in 0..70 {
        last[ROWS - 1] = block + 1;
        let columns = [Values::Int64(zeros.clone()), Values::Int64(last.clone())];
        writer.append_columns(&[(&columns[0]).into(), (&columns[1]).into()]).unwrap();
    }
    writer.into_inner().unwrap();
    let reader = Reader::open(&path).unwrap();
    assert!(reader.header().toc_offset > 4 << 30 && reader.row_count() == 70 * ROWS as u64);
    let (mut values, mut scratch) = (Values::default(), idv::Scratch::default());
    for block in 0..70 {
        reader.read_block(1, block, &mut values, &mut scratch).unwrap();
        assert_eq!(values.as_slice::<i64>().unwrap()[ROWS - 1], block as i64 + 1);
    }
}
