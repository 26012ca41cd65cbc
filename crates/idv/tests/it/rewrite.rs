//! Rewriting files of ML.NET.

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use container_core::{Scan, Source, VerifyOptions};
use idv::{Compression, OpenOptions, Reader, Writer, WriterOptions};

use crate::support::cells::vector_block;
use crate::support::forge::{Codec, Column, DEFLATE, Forge, NONE};

/// The one file that does not round-trip: its texts split surrogate pairs, whose halves read as U+FFFD.
const HALF_PAIRS: &str = "text-split-pair";

fn goldens() -> Vec<PathBuf> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/idv");
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "idv"));
    files.sort();
    assert!(files.len() > 60, "{} files in {directory}", files.len());
    files
}

fn opened(bytes: &[u8]) -> Reader {
    Reader::from_source(Source::from(bytes.to_vec()), OpenOptions::default()).unwrap()
}

/// The options the file was probably written with.
fn options(reader: &Reader) -> WriterOptions {
    let rows = reader.columns().first().map_or(1, |column| column.rows_per_block());
    WriterOptions::default().with_rows_per_block(rows.max(1))
}

fn rewritten(reader: &Reader, options: WriterOptions) -> Vec<u8> {
    let mut writer = Writer::new(Cursor::new(Vec::new()), reader.schema(None).unwrap(), options).unwrap();
    let rows = writer.append_reader(reader, &Scan::default()).unwrap();
    assert_eq!(rows, reader.row_count());
    writer.into_inner().unwrap().into_inner()
}

fn lines(reader: &Reader) -> Vec<String> {
    let mut rows = reader.rows(&Scan::default()).unwrap();
    let mut lines = Vec::new();
    while let Some(row) = rows.try_next().unwrap() {
        let mut line = Vec::new();
        row.json(&mut line).unwrap();
        lines.push(String::from_utf8(line).unwrap());
    }
    lines
}

/// The content of a file, without offsets.
fn findings(reader: &Reader) -> Vec<String> {
    let mut findings = Vec::new();
    reader.verify(&VerifyOptions::default(), &mut |finding| findings.push(finding.error.detail().to_owned())).unwrap();
    findings
}

#[test]
fn rewrites_every_golden_file() {
    let mut same_bytes = 0;
    for path in goldens() {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let bytes = fs::read(&path).unwrap();
        let reader = opened(&bytes);
        let again = rewritten(&reader, options(&reader));
        let other = opened(&again);
        assert_eq!(lines(&other), lines(&reader), "{name}");
        assert!(other.schema(None).unwrap() == reader.schema(None).unwrap(), "{name}");
        assert_eq!(findings(&other), findings(&reader), "{name}");
        assert_eq!(rewritten(&other, options(&other)), again, "{name}: written, read and written again");
        // Without compression nothing is left to choose: the bytes are ML.NET's.
        let plain = reader.columns().iter().all(|column| column.compression() == Some(Compression::None));
        if plain && name != HALF_PAIRS {
            assert!(again == bytes, "{name}: other bytes than ML.NET's");
            same_bytes += 1;
        }
    }
    assert!(same_bytes >= 26, "{same_bytes} files without compression");
}

#[test]
fn compression_and_block_size_do_not_change_values() {
    for path in goldens() {
        let reader = opened(&fs::read(&path).unwrap());
        let expected = lines(&reader);
        for compression in [Compression::None, Compression::Deflate, Compression::Zlib] {
            for rows in [1, 7, 8192] {
                let mut schema = reader.schema(None).unwrap();
                schema.columns.iter_mut().for_each(|column| column.compression = None);
                let options = WriterOptions::default().with_rows_per_block(rows).with_compression(compression);
                let mut writer = Writer::new(Cursor::new(Vec::new()), schema, options).unwrap();
                writer.append_reader(&reader, &Scan::default()).unwrap();
                let other = opened(&writer.into_inner().unwrap().into_inner());
                assert_eq!(lines(&other), expected, "{} {compression} {rows}", path.display());
                assert!(other.columns().iter().all(|column| column.compression() == Some(compression)));
            }
        }
    }
}

/// Invalid values that are copied are reported with count and first position.
#[test]
fn reports_invalid_values() {
    let keys = Codec::key("Byte", 3);
    let vectors = vector_block(5, 2, &[], &[-1; 5], 0, &[], &[1, 2, 3, 4, 5, 6, 0, 0, 0, 0]);
    let times: Vec<u8> = [0i64, i64::MIN, 7, -1, 1].iter().flat_map(|ticks| ticks.to_le_bytes()).collect();
    let mut key = Column::new("key", keys.clone(), DEFLATE, 2);
    key.blocks = [vec![1, 2], vec![7, 3], vec![9]].map(Into::into).to_vec();
    let file = Forge::new(6, 5)
        .column(key)
        .column(Column::new("keys", Codec::vector(&keys, &[2]), NONE, 5).block(vectors))
        .column(Column::new("time", Codec::plain("DateTime"), NONE, 5).block(times))
        .column(Column::new("sound", Codec::plain("Byte"), NONE, 5).block(vec![9; 5]));
    let reader = opened(&file.bytes());
    let schema = reader.schema(None).unwrap();
    let mut writer = Writer::new(Cursor::new(Vec::new()), schema, WriterOptions::default()).unwrap();
    for _ in 0..2 {
        writer.append_reader(&reader, &Scan::default()).unwrap();
        let losses: Vec<String> = writer.take_losses().iter().map(ToString::to_string).collect();
        assert_eq!(
            losses,
            [
                "invalid value kept (key 7 is above its key count 3) (2 times, first row 2, column \"key\")",
                "invalid value kept (slot 1: key 4 is above its key count 3) (3 times, first row 1, column \
                 \"keys\")",
                "invalid value kept (time of -1 ticks is not between 0 and 3155378975999999999) (row 3, \
                 column \"time\")",
            ]
        );
    }
    let copy = opened(&writer.into_inner().unwrap().into_inner());
    let mut rejected = Vec::new();
    copy.verify(&VerifyOptions::default(), &mut |finding| rejected.push(finding.error.to_string())).unwrap();
    assert_eq!(rejected.len(), 3, "{rejected:?}");
    let mut writer =
        Writer::new(Cursor::new(Vec::new()), reader.schema(Some(&[3])).unwrap(), WriterOptions::default()).unwrap();
    writer.append_reader(&reader, &Scan::default().with_columns([3])).unwrap();
    assert!(writer.take_losses().is_empty());
}
