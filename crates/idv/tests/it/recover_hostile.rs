//! Recovery of files crafted to be expensive, and close choices between rows and columns.

#![allow(clippy::single_range_in_vec_init, reason = "lists of ranges")]

use std::io::Cursor;
use std::time::{Duration, Instant};

use container_core::{Loss, Source};
use idv::{OpenOptions, Reader, RecoverOptions, Recovery, Value, WriterOptions};

use crate::support;
use crate::support::forge::{Codec, Column, DEFLATE, Forge, Meta, NONE};

fn survey(bytes: Vec<u8>) -> Recovery {
    Recovery::survey(Source::from(bytes), &RecoverOptions::default()).unwrap()
}

fn written(recovery: &Recovery) -> (Reader, Vec<String>) {
    let (out, losses) = recovery.write(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let reader = Reader::from_source(Source::from(out.into_inner()), OpenOptions::default()).unwrap();
    (reader, losses.iter().map(Loss::to_string).collect())
}

fn bytes_of(reader: &Reader, column: usize) -> Vec<u8> {
    let mut all = Vec::new();
    let mut rows = reader.rows(&container_core::Scan::default()).unwrap();
    while let Some(row) = rows.try_next().unwrap() {
        let Value::Byte(n) = row.get(column).unwrap() else { panic!("no byte") };
        all.push(n);
    }
    all
}

/// A column of bytes 0, 1, 2... with some damaged blocks.
fn column(name: &str, rows: usize, per_block: usize, damaged: impl Fn(usize) -> bool) -> Column {
    let all: Vec<u8> = (0..rows).map(|n| (n % 251) as u8).collect();
    let column = Column::new(name, Codec::plain("Byte"), DEFLATE, per_block as u64);
    all.chunks(per_block).enumerate().fold(column, |column, (block, values)| {
        // A byte less than the rows.
        column.block(if damaged(block) { values[1..].to_vec() } else { values.to_vec() })
    })
}

/// Every other one-row block of one column is damaged; the single large block of another column is decoded once.
#[test]
fn blocks_of_different_lengths_are_decoded_once() {
    let rows = 20_000;
    let mut forge = Forge::new(6, rows as i64).column(column("one", rows, 1, |block| block % 2 == 1));
    forge = forge.column(column("all", rows, rows, |_| false));
    let names = ["one", "all"];
    let options = RecoverOptions::default().with_columns(names);
    let recovery = Recovery::survey(Source::from(forge.bytes()), &options).unwrap();
    assert_eq!((recovery.rows().len(), recovery.row_count()), (rows / 2, rows as u64 / 2));
    let start = Instant::now();
    let (reader, losses) = written(&recovery);
    // Decoding the large block for each row takes minutes.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!(losses.len(), 1, "{losses:?}");
    let expected: Vec<u8> = (0..rows).step_by(2).map(|n| (n % 251) as u8).collect();
    assert!(bytes_of(&reader, 0) == expected && bytes_of(&reader, 1) == expected);
}

/// Blocks of 2 and 3 rows: ranges start within blocks.
#[test]
fn ranges_may_begin_within_blocks() {
    let forge =
        Forge::new(6, 17)
            .column(column("two", 17, 2, |block| block == 2))
            .column(column("three", 17, 3, |block| block == 3));
    let options = RecoverOptions::default().with_columns(["three", "two"]);
    let recovery = Recovery::survey(Source::from(forge.bytes()), &options).unwrap();
    assert_eq!(recovery.rows(), [0..4, 6..9, 12..17]);
    let (reader, losses) = written(&recovery);
    assert_eq!(bytes_of(&reader, 0), [0, 1, 2, 3, 6, 7, 8, 12, 13, 14, 15, 16]);
    assert_eq!(bytes_of(&reader, 1), bytes_of(&reader, 0));
    assert!(losses[0].contains("2 times, first row 4"), "{losses:?}");
}

/// Columns sharing a lookup table are decoded until they exceed the file length.
#[test]
fn overlapping_blocks_take_bounded_time() {
    let rows = 4000;
    let mut forge = Forge::new(6, rows as i64).column(column("0", rows, 1, |_| false));
    for n in 1..2000 {
        forge = forge.column(Column::new(&n.to_string(), Codec::plain("Byte"), DEFLATE, 1));
    }
    // Columns without blocks of their own take the first one's table.
    let forged = forge.build();
    let mut bytes = forged.bytes.clone();
    let table = forged.columns[0].lookup_entry(0);
    share(&mut bytes, table as i64);
    let start = Instant::now();
    let recovery = survey(bytes);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    let names = recovery.column_names().len();
    assert!((1..50).contains(&names), "{names}");
    let (_, losses) = written(&recovery);
    assert!(losses.last().unwrap().contains("its blocks overlap others"), "{:?}", losses.last());
}

/// Gives every column the same lookup table.
fn share(bytes: &mut [u8], table: i64) {
    let number = |at: usize| usize::try_from(i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).unwrap();
    let (mut at, tail) = (number(24), number(32));
    while at < tail {
        let name = 1 + usize::from(bytes[at]);
        let codec = 1 + usize::from(bytes[at + name]);
        // Parameters of no length, compression, rows per block.
        let place = at + name + codec + 3;
        bytes[place..place + 8].copy_from_slice(&table.to_le_bytes());
        at = place + 16;
    }
}

/// On a tie between a column and rows, the column is kept; columns stay in file order.
#[test]
fn chooses_between_close_selections() {
    // 10 rows of two columns, half of the second damaged: 10 values either way.
    let forge =
        Forge::new(6, 10).column(column("half", 10, 5, |block| block == 0)).column(column("whole", 10, 5, |_| false));
    let recovery = survey(forge.bytes());
    assert_eq!(recovery.column_names(), ["half", "whole"]);
    assert_eq!((recovery.rows(), recovery.row_count()), ([5..10].as_slice(), 5));
    let (reader, _) = written(&recovery);
    assert_eq!(bytes_of(&reader, 1), [5, 6, 7, 8, 9]);
}

#[test]
fn duplicate_metadata_are_lost_once() {
    let meta = |value: u8| Meta::new("m", Codec::plain("Byte"), NONE, vec![value]);
    let forge = Forge::new(6, 3).column(column("n", 3, 3, |_| false).meta(meta(1)).meta(meta(2)));
    let (reader, losses) = written(&survey(forge.bytes()));
    assert_eq!(reader.metadata(0).unwrap().len(), 1);
    assert_eq!(losses.len(), 1);
    assert!(losses[0].contains("metadata \"m\" lost: duplicate or empty kind"), "{losses:?}");
}

/// Metadata items sharing one block could exhaust memory.
#[test]
fn total_metadata_are_bounded() {
    let text = Codec::plain("TextSpan");
    let raw = support::cells::text_block(1, &[10_000], &[b'a'; 10_000]);
    let all = (0..10).fold(column("n", 3, 3, |_| false), |column, kind| {
        column.meta(Meta::new(&kind.to_string(), text.clone(), DEFLATE, raw.clone()))
    });
    let bytes = Forge::new(6, 3).column(all).bytes();
    let limits = container_core::Limits::default().with_memory_bytes(72_000);
    let options = OpenOptions::default().with_limits(limits);
    let reader = Reader::from_source(Source::from(bytes.clone()), options).unwrap();
    let error = reader.schema(None).unwrap_err().to_string();
    assert!(
        error.starts_with("idv: metadata \"4\": memory for metadata 85110 exceeds the limit 72000 (byte "),
        "{error}"
    );
    let mut options = RecoverOptions::default();
    options.open = options.open.with_limits(limits);
    let recovery = Recovery::survey(Source::from(bytes), &options).unwrap();
    let (reader, losses) = written(&recovery);
    assert_eq!((reader.metadata(0).unwrap().len(), losses.len()), (4, 6), "{losses:?}");
    assert!(losses[0].contains("metadata lost (metadata \"4\": memory for metadata"), "{losses:?}");
}

/// Without a table of contents the file is read about once, however small its blocks.
#[test]
fn small_blocks_read_the_file_once() {
    for (compression, codec) in [(DEFLATE, "Byte"), (NONE, "TextSpan")] {
        let rows = 3000;
        let mut whole = Column::new("n", Codec::plain(codec), compression, 1);
        for _ in 0..rows {
            let raw = if codec == "Byte" { vec![7] } else { support::cells::text_block(1, &[2], b"ab") };
            whole = whole.block(raw);
        }
        let bytes = Forge::new(6, rows).column(whole).bytes();
        let sound = Reader::from_source(Source::from(bytes.clone()), OpenOptions::default()).unwrap();
        let schema = sound.schema(None).unwrap();
        let toc = usize::try_from(sound.header().toc_offset).unwrap();
        let (source, log) = support::source::Watched::over(bytes[..toc].to_vec());
        let recovery = Recovery::survey(source, &RecoverOptions::default().with_schema(schema)).unwrap();
        assert_eq!(recovery.row_count(), 3000);
        let read: u64 = log.take().iter().map(|range| range.end - range.start).sum();
        assert!(read < 6 * toc as u64, "{read} bytes of {toc}");
    }
}
