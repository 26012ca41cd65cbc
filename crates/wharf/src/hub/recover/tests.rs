//! Parquet and Arrow IPC with bytes that are overwritten, and a table with rows that cannot be read.
#![expect(clippy::single_range_in_vec_init, reason = "ranges that are lost")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use container_arrow::{ArrowTable, BatchReader, BatchScan, BatchSteps, BatchTable, BatchWriter, StepReader};
use serde_json::{Map, Value};
use tempfile::TempDir;

use super::*;
use crate::convert::{Convert, TextTarget};
use crate::{
    ColumnInfo, Container, ErrorKind, Finding, Format, Input, OpenOptions, OutputOptions, Probe, Recognition, Rows,
    Scan, Source, Table, VerifyOptions, ipc, parquet,
};

const ROWS: i64 = 5000;

fn batch(rows: Range<i64>) -> RecordBatch {
    let texts = rows.clone().map(|row| format!("text {row} of {}", row * row));
    RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from_iter_values(rows)) as _),
        ("text", Arc::new(StringArray::from_iter_values(texts)) as _),
    ])
    .unwrap()
}

/// Row groups of 1000 rows.
fn parquet_file(path: &Path) -> parquet::Reader {
    let options = parquet::WriterOptions::default().with_group_rows(1000);
    let mut writer = parquet::Writer::create(path, batch(0..1).schema(), options, OutputOptions::default()).unwrap();
    writer.write(&batch(0..ROWS)).unwrap();
    BatchWriter::finish(Box::new(writer)).unwrap();
    parquet::Reader::from_source(Source::open(path).unwrap(), OpenOptions::default()).unwrap()
}

/// Overwrites the values of a column in a row group.
fn damage(path: &Path, reader: &parquet::Reader, group: usize, column: usize) {
    let (start, len) = reader.metadata().row_group(group).column(column).byte_range();
    let mut bytes = fs::read(path).unwrap();
    let (start, len) = (usize::try_from(start).unwrap(), usize::try_from(len).unwrap());
    bytes[start + 4..start + len].fill(0xFF);
    fs::write(path, bytes).unwrap();
}

fn recover(folder: &TempDir, name: &str) -> Result<Report> {
    let (input, output) = (folder.path().join(name), folder.path().join("saved").with_extension(ext(name)));
    Recover::new(input).write(output, Overwrite::Replace, &Registry::builtin())
}

#[test]
fn an_unrecognized_stream_has_the_format_of_the_output() {
    let folder = tempfile::tempdir().unwrap();
    let recover = |bytes: &[u8], name: &str| {
        let (mut opener, mut report) = (Opener::new(Registry::builtin()).with_stdin(bytes), Report::default());
        let recover = Recover::of(Location::Stdin);
        recover.run(&folder.path().join(name), Overwrite::Refuse, &mut opener, &mut report)?;
        Ok::<_, Error>((report.format, report.rows))
    };
    assert_eq!(recover(b"", "empty.msgpack").unwrap(), ("datadings", 0));
    assert_eq!(recover(b"\xc1\x82\xa3key\xa1a\xa1x\x01", "sample.msgpack").unwrap(), ("datadings", 1));
    for name in ["out", "out.parquet"] {
        let error = recover(b"", name).unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported && error.detail().ends_with("empty file"), "{error}");
    }
}

fn ext(name: &str) -> &str {
    name.rsplit('.').next().unwrap()
}

/// The ids that were saved; the texts go with them.
fn saved(folder: &TempDir, name: &str) -> Vec<i64> {
    let mut out = Vec::new();
    let path = folder.path().join("saved").with_extension(ext(name));
    Convert::new([path]).stream(&TextTarget::JSON_LINES, &mut out, &Registry::builtin()).unwrap();
    let rows = String::from_utf8(out).unwrap();
    let row = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let id = row["id"].as_i64().unwrap();
        assert_eq!(row["text"], format!("text {id} of {}", id * id));
        id
    };
    rows.lines().map(row).collect()
}

#[test]
fn of_parquet_the_other_row_groups_are_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    for (damaged, lost) in [
        (&[][..], &[][..]),
        (&[(0, 0)], &[0..1000]),
        (&[(1, 1)], &[1000..2000]),
        (&[(4, 0)], &[4000..5000]),
        (&[(1, 0), (3, 1)], &[1000..2000, 3000..4000]),
        (&[(1, 1), (2, 0), (2, 1)], &[1000..3000]),
        // The ranges of a search that doubles would begin in the damaged ones only.
        (&[(0, 0), (1, 0), (2, 0), (4, 0)], &[0..3000, 4000..5000]),
    ] {
        let _ = fs::remove_file(&path);
        let reader = parquet_file(&path);
        damaged.iter().for_each(|&(group, column)| damage(&path, &reader, group, column));
        let report = recover(&folder, "a.parquet").unwrap();
        assert_eq!(report.lost_ranges, lost, "{damaged:?}");
        let all: Vec<u64> = (0..5000).filter(|row| !lost.iter().any(|lost| lost.contains(row))).collect();
        assert_eq!((report.format, report.rows, report.declared), ("parquet", all.len() as u64, Some(5000)));
        let ids: Vec<u64> = saved(&folder, "a.parquet").into_iter().map(|id| u64::try_from(id).unwrap()).collect();
        assert_eq!(ids, all, "{damaged:?}");
        assert_eq!(report.losses.len(), lost.len());
        for (Lost { file, loss }, range) in report.losses.iter().zip(lost) {
            assert_eq!(file.as_deref(), path.to_str());
            assert_eq!((loss.count, loss.first.row), (range.end - range.start, Some(range.start)));
            let which = format!("rows {} to {} are lost: ", range.start, range.end - 1);
            assert!(loss.what.starts_with(&which) && loss.what.len() > which.len() + 10, "{}", loss.what);
        }
    }
}

#[test]
fn where_no_row_can_be_read_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let reader = parquet_file(&path);
    (0..5).for_each(|group| damage(&path, &reader, group, 0));
    let mut report = Report::default();
    let (out, opener) = (folder.path().join("saved.parquet"), &mut Opener::new(Registry::builtin()));
    let error = Recover::new(&path).run(&out, Overwrite::Refuse, opener, &mut report).unwrap_err();
    assert!(error.to_string().contains("a.parquet: no row can be read: "), "{error}");
    assert_eq!((report.rows, &*report.lost_ranges, report.losses.len()), (0, &[0..5000][..], 1), "{report:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    fs::write(&path, &fs::read(&path).unwrap()[..20_000]).unwrap();
    assert_ne!(recover(&folder, "a.parquet").unwrap_err().kind(), ErrorKind::Usage, "the footer is lost");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn of_arrow_the_other_batches_are_saved() {
    let folder = tempfile::tempdir().unwrap();
    for (name, form) in [("a.arrow", ipc::Layout::File), ("a.arrows", ipc::Layout::Stream)] {
        let path = folder.path().join(name);
        let options = ipc::WriterOptions::default().with_layout(form).with_compression(ipc::Compression::Zstd(1));
        let mut writer = ipc::Writer::create(&path, batch(0..1).schema(), options, OutputOptions::default()).unwrap();
        for start in (0..ROWS).step_by(1000) {
            writer.write(&batch(start..start + 1000)).unwrap();
        }
        BatchWriter::finish(Box::new(writer)).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        // The third compressed text column: behind the third mark of Zstandard's frames that are long.
        let frames: Vec<_> = (0..bytes.len() - 4).filter(|&at| bytes[at..at + 4] == [0x28, 0xB5, 0x2F, 0xFD]).collect();
        let longest: Vec<_> = frames.windows(2).filter(|pair| pair[1] - pair[0] > 2000).collect();
        bytes[longest[2][0] + 8..longest[2][0] + 1000].fill(0xFF);
        fs::write(&path, bytes).unwrap();
        let report = recover(&folder, name).unwrap();
        let [lost] = &*report.lost_ranges else { panic!("{report:?}") };
        assert_eq!((lost.start % 1000, lost.end - lost.start), (0, 1000), "{name}");
        let kept: Vec<i64> = saved(&folder, name);
        let all: Vec<i64> = (0..ROWS).filter(|&row| !lost.contains(&u64::try_from(row).unwrap())).collect();
        assert_eq!(kept, all, "{name}");
    }
}

#[test]
fn what_cannot_be_recovered_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::builtin();
    for name in ["a.csv", "a.tsv", "a.jsonl"] {
        fs::write(folder.path().join(name), "{\"a\":1}\n").unwrap();
        let error = recover(&folder, name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(
            error.to_string().contains("recovery of text is not supported: where the next record begins"),
            "{error}"
        );
    }
    let convert = Convert::new([folder.path().join("a.jsonl")]);
    convert.write(folder.path().join("a.ds"), Overwrite::Refuse, &registry).unwrap();
    let error = recover(&folder, "a.ds").unwrap_err();
    let expected = "a.ds: files of this format cannot be recovered, only those of ";
    assert!(error.to_string().contains(expected), "{error}");
    for (name, is_listed) in [("idv", true), ("zds", true), ("parquet", true), ("netcdf", false), ("csv", false)] {
        assert_eq!(error.to_string().contains(name), is_listed, "{name}: {error}");
    }
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[test]
fn of_a_row_group_the_other_pages_are_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let (options, output) = (parquet::WriterOptions::default(), OutputOptions::default());
    let mut writer = parquet::Writer::create(&path, batch(0..1).schema(), options, output).unwrap();
    writer.write(&batch(0..100_000)).unwrap();
    BatchWriter::finish(Box::new(writer)).unwrap();
    let reader = parquet::Reader::from_source(Source::open(&path).unwrap(), OpenOptions::default()).unwrap();
    assert_eq!(reader.group_count(), 1);
    let (start, len) = reader.metadata().row_group(0).column(1).byte_range();
    let mut bytes = fs::read(&path).unwrap();
    let middle = usize::try_from(start + len / 2).unwrap();
    bytes[middle..middle + 200].fill(0xFF);
    fs::write(&path, bytes).unwrap();
    let report = recover(&folder, "a.parquet").unwrap();
    let [lost] = &*report.lost_ranges else { panic!("{report:?}") };
    assert!(lost.end - lost.start <= 20_480 && report.rows == 100_000 - (lost.end - lost.start), "{report:?}");
    let kept: Vec<i64> = saved(&folder, "a.parquet");
    let all: Vec<i64> = (0..100_000).filter(|&row| !lost.contains(&u64::try_from(row).unwrap())).collect();
    assert!(kept == all, "{lost:?}");
}

/// A format some rows of which cannot be read.
struct Holes;

struct HolesFile(BatchTable, Vec<u64>);

impl Format for Holes {
    fn name(&self) -> &'static str {
        "holes"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["holes"]
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        if probe.has_extension(self.extensions()) { Recognition::Content } else { Recognition::No }
    }

    /// The file lists the rows that cannot be read.
    fn open(&self, input: &Input, _: &OpenOptions) -> Result<Box<dyn Container>> {
        let source = input.source().unwrap();
        let rows = serde_json::from_slice(&source.read(0..source.len())?).unwrap();
        Ok(Box::new(HolesFile(BatchTable::new("rows", batch(0..100_000))?, rows)))
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn batch_writer(&self, path: &Path, schema: SchemaRef, output: OutputOptions) -> Result<Box<dyn BatchWriter>> {
        parquet::FORMAT.batch_writer(path, schema, output)
    }
}

impl Container for HolesFile {
    fn format(&self) -> &'static str {
        "holes"
    }

    fn version(&self) -> String {
        String::new()
    }

    fn details(&self) -> Map<String, Value> {
        Map::new()
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![self]
    }

    fn verify(&self, _: &VerifyOptions, _: &mut dyn FnMut(Finding)) -> Result<()> {
        Ok(())
    }
}

impl Table for HolesFile {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn columns(&self) -> &[ColumnInfo] {
        self.0.columns()
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        self.0.column_details(index)
    }

    fn len(&self) -> Option<u64> {
        self.0.len()
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        self.0.rows(scan)
    }

    fn find(&self, key: &str) -> Result<Option<u64>> {
        self.0.find(key)
    }

    fn arrow(&self) -> Option<&dyn ArrowTable> {
        Some(self)
    }
}

impl ArrowTable for HolesFile {
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        self.0.schema(scan)
    }

    /// Batches of 64 rows up to the first that has a row which cannot be read.
    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        let (start, end) = (scan.scan.rows.start, scan.scan.rows.end.min(100_000));
        let hole = self.1.iter().find(|row| (start..end).contains(row));
        let end = hole.map_or(end, |hole| start + (hole - start) / 64 * 64);
        let mut scan = scan.clone();
        scan.scan.rows = start..end;
        Ok(Box::new(StepReader::new(UpToHole(self.0.batches(&scan)?, hole.copied()))))
    }
}

struct UpToHole<'a>(Box<dyn BatchReader + 'a>, Option<u64>);

impl BatchSteps for UpToHole<'_> {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        match (self.0.try_next()?, self.1) {
            (None, Some(row)) => Err(Error::invalid("wrong").in_row(row)),
            (batch, _) => Ok(batch),
        }
    }

    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }
}

fn holes(folder: &TempDir, rows: &[u64]) -> Report {
    let path = folder.path().join("a.holes");
    fs::write(&path, serde_json::to_string(rows).unwrap()).unwrap();
    let registry = Registry::builtin().with(&Holes);
    Recover::new(path).write(folder.path().join("b.holes"), Overwrite::Replace, &registry).unwrap()
}

#[test]
fn rows_of_any_format_are_found_by_trying() {
    let folder = tempfile::tempdir().unwrap();
    for (rows, lost) in [
        (&[][..], &[][..]),
        (&[0], &[0..1]),
        (&[99_999], &[99_999..100_000]),
        (&[70, 71, 72], &[70..73]),
        (&[7, 9, 1000], &[7..8, 9..10, 1000..1001]),
    ] {
        let report = holes(&folder, rows);
        assert_eq!((&*report.lost_ranges, report.rows), (lost, 100_000 - rows.len() as u64), "{rows:?}");
    }
    // The end, and a range that is long.
    let rows: Vec<u64> = (300..40_000).chain(99_990..100_000).collect();
    assert_eq!(holes(&folder, &rows).lost_ranges, [300..40_000, 99_990..100_000]);
    let report = holes(&folder, &(0..50).map(|number| number * 100).collect::<Vec<_>>());
    assert_eq!((report.rows, report.lost_ranges.len(), report.losses.len()), (99_950, 50, 21));
    let last = &report.losses[20].loss;
    assert_eq!((&*last.what, last.count, last.first.row), ("rows are lost in 30 more places", 30, Some(2000)));
}

#[test]
fn what_is_damaged_everywhere_is_not_tried_forever() {
    let folder = tempfile::tempdir().unwrap();
    let report = holes(&folder, &(0..20_000).map(|number| number * 5).collect::<Vec<_>>());
    let lost: u64 = report.losses.iter().map(|lost| lost.loss.count).sum();
    assert_eq!(report.rows + lost, 100_000);
    assert!(report.rows > 1000, "{}", report.rows);
    let rest = report.losses.last().unwrap();
    assert!(rest.loss.what.contains("too many places to try them all"), "{rest:?}");
}
