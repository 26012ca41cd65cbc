//! Which byte ranges are read from the source: only those needed.

use std::ops::Range;

use container_core::{Scan, Source};
use idv::{OpenOptions, Reader, Scratch, Values};

use crate::support;
use crate::support::cells::{Cell, Item, Kind};
use crate::support::forge::{Codec, DEFLATE, Forge, Forged, HEADER, Meta, NONE, TAIL, leb};
use crate::support::source::{Broken, Log, Watched};
use crate::support::table::{Table, TableColumn};

/// Three columns with blocks of 10, 7 and 100 rows of 95, in mixed order, with gaps, and metadata.
fn file() -> (Table, Forged) {
    let cells = |seed: i128| (0..95).map(|i| Cell::Int((i * 31 + seed) % 200)).collect();
    let columns = vec![
        TableColumn::new("a", Kind::Item(Item::Byte), DEFLATE, 10, cells(1)),
        TableColumn::new("b", Kind::Item(Item::Int32), NONE, 7, cells(2)),
        TableColumn::new("c", Kind::Item(Item::Int64), DEFLATE, 100, cells(3)),
    ];
    let table = Table::new(6, columns);
    let mut forge = table.forge();
    forge.order = support::forge::Order::Mixed;
    forge.gap = 3;
    forge.columns[1].metadata = vec![
        Meta::new("M", Codec::plain("Byte"), NONE, vec![1]),
        Meta::new("N", Codec::plain("Byte"), DEFLATE, vec![2]),
    ];
    (table, forge.build())
}

fn opened(file: &Forged) -> (Reader, Log) {
    let (source, log) = Watched::over(file.bytes.clone());
    (Reader::from_source(source, OpenOptions::default()).unwrap(), log)
}

fn bytes(range: &Range<usize>) -> Range<u64> {
    range.start as u64..range.end as u64
}

/// The lookup entries and blocks of a column's rows.
fn needed(file: &Forged, column: usize, per_block: u64, rows: Range<u64>) -> Vec<Range<u64>> {
    let mut ranges = Vec::new();
    if rows.is_empty() {
        return ranges;
    }
    for block in rows.start / per_block..=(rows.end - 1) / per_block {
        let placed = &file.columns[column];
        let entry = placed.lookup_entry(block as usize);
        ranges.push(bytes(&(entry..entry + 16)));
        ranges.push(bytes(&placed.blocks[block as usize]));
    }
    ranges
}

fn sorted(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    ranges.dedup();
    ranges
}

#[test]
fn opening_reads_header_tail_and_table_of_contents() {
    let (_, file) = file();
    let (_, log) = opened(&file);
    let (toc, tail) = (file.toc as u64, file.tail as u64);
    assert_eq!(log.take(), [0..256, tail..tail + 8, toc..tail]);
}

#[test]
fn reads_only_the_requested_block() {
    let (_, file) = file();
    let (reader, log) = opened(&file);
    log.take();
    let (mut values, mut scratch) = (Values::default(), Scratch::default());
    for (column, per_block) in [(0, 10), (1, 7), (2, 100)] {
        for block in (0..reader.columns()[column].block_count()).rev() {
            let rows = reader.read_block(column, block, &mut values, &mut scratch).unwrap();
            assert_eq!(log.take(), needed(&file, column, per_block, rows.clone()));
            reader.block_bytes(column, block).unwrap();
            assert_eq!(log.take(), needed(&file, column, per_block, rows));
        }
    }
}

/// A projection over a range of rows touches the blocks of those rows and columns: with any number of threads, which must
/// not read ahead beyond the range either.
#[test]
fn unselected_rows_and_columns_are_not_read() {
    let (table, file) = file();
    let per_block = [10, 7, 100];
    for threads in [1, 0, 2, 16] {
        let (reader, log) = opened(&file);
        for columns in [vec![], vec![0], vec![1], vec![2], vec![1, 0], vec![0, 1, 2]] {
            for rows in [0..95, 0..1, 94..95, 9..11, 20..30, 13..14, 40..40, 50..200] {
                log.take();
                let scan = Scan::default().with_threads(threads).with_columns(columns.clone()).with_rows(rows.clone());
                let end = rows.end.min(95);
                table.check_rows(&reader, &scan, &columns, rows.start as usize..end as usize);
                let expected = columns.iter().flat_map(|&c| needed(&file, c, per_block[c], rows.start..end)).collect();
                let (found, expected) = (sorted(log.take()), sorted(expected));
                let starts = |ranges: &[Range<u64>]| ranges.iter().map(|range| range.start).collect::<Vec<_>>();
                assert_eq!(starts(&found), starts(&expected), "{columns:?} {rows:?} {threads} threads");
                // The last block of an uncompressed column may be read only up to the requested rows.
                let shorter = found.iter().zip(&expected).filter(|(found, expected)| found.end < expected.end).count();
                assert!(shorter <= usize::from(columns.contains(&1)), "{found:?}, {expected:?}");
                assert!(found.iter().zip(&expected).all(|(found, expected)| found.end <= expected.end));
            }
        }
    }
}

#[test]
fn metadata_are_read_on_demand() {
    let (_, file) = file();
    let (reader, log) = opened(&file);
    log.take();
    for column in [0, 2] {
        assert!(reader.metadata(column).unwrap().is_empty());
        assert!(log.take().is_empty());
    }
    let metadata = reader.metadata(1).unwrap();
    let placed = &file.columns[1];
    assert_eq!(log.take(), vec![bytes(&(placed.metadata_toc..file.tail))]);
    for (item, place) in metadata.iter().zip(&placed.metadata) {
        reader.metadata_value(1, item).unwrap();
        assert_eq!(log.take(), [bytes(&place.block)]);
    }
}

/// A table of contents in front of a terabyte: what it needs is read, not the terabyte.
#[test]
fn table_of_contents_far_from_the_tail() {
    let len = 1u64 << 40;
    let file = support::three_numbers().build();
    let tail = (len - 8) as i64;
    let mut head = file.bytes[..file.tail].to_vec();
    head[32..40].copy_from_slice(&tail.to_le_bytes());
    let (source, log) = Watched::sparse(head.clone(), TAIL.to_vec(), len);
    let reader = Reader::from_source(source, OpenOptions::default()).unwrap();
    assert_eq!(support::block(&reader, 0, 0).unwrap().as_slice::<i32>().unwrap(), [1, 2, 3]);
    assert!(log.take().iter().all(|range| range.end - range.start <= 64 << 10));

    // A name that claims half of it: no more is read than the limits allow for what describes a file.
    let name = leb(1 << 39);
    head[file.toc..file.toc + name.len()].copy_from_slice(&name);
    let (source, log) = Watched::sparse(head, TAIL.to_vec(), len);
    let limits = container_core::Limits::default().with_metadata_bytes(1 << 20);
    let error = Reader::from_source(source, OpenOptions::default().with_limits(limits)).unwrap_err();
    support::says(
        &error,
        "limit",
        &format!(
            r##"idv: bytes up to the end of column name {} exceeds the limit 1048576 (byte {}, column "#0")"##,
            (1u64 << 39) + 6,
            file.toc + 6
        ),
    );
    assert!(log.take().iter().all(|range| range.end - range.start <= 1 << 20));
}

/// The same for the table of a column's metadata.
#[test]
fn metadata_table_far_from_the_tail() {
    let len = 1u64 << 40;
    let mut forge = support::three_numbers();
    forge.columns[0].metadata = vec![Meta::new("M", Codec::plain("Byte"), NONE, vec![1])];
    forge.columns[0].metadata_count = Some(leb(1 << 50));
    let file = forge.build();
    let mut head = file.bytes[..file.tail].to_vec();
    head[32..40].copy_from_slice(&((len - 8) as i64).to_le_bytes());
    let (source, log) = Watched::sparse(head, TAIL.to_vec(), len);
    let limits = container_core::Limits::default().with_metadata_bytes(1 << 20).with_columns(1000);
    let reader = Reader::from_source(source, OpenOptions::default().with_limits(limits)).unwrap();
    let error = reader.metadata(0).unwrap_err();
    assert_eq!(error.kind().name(), "limit", "{error}");
    assert!(log.take().iter().all(|range| range.end - range.start <= 1 << 20));
}

#[test]
fn io_errors_are_passed_on() {
    let (_, file) = file();
    let broken = |range: Range<usize>| {
        let source = Source::new(Broken { bytes: file.bytes.clone(), broken: bytes(&range) });
        Reader::from_source(source, OpenOptions::default())
    };
    for part in [0..HEADER, file.toc..file.tail, file.tail..file.tail + 8] {
        let error = broken(part.clone()).unwrap_err();
        assert_eq!(error.kind().name(), "io", "{error}");
        assert_eq!(error.to_string(), format!("idv: cannot read: bad sector (byte {})", part.start));
    }
    let place = file.columns[1].blocks[2].clone();
    let reader = broken(place.clone()).unwrap();
    let error = support::block(&reader, 1, 2).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("idv: cannot read: bad sector (byte {}, block 2, column \"b\")", place.start)
    );
    assert!(support::block(&reader, 1, 1).is_ok());
    // Verify stops: it can say nothing about the file.
    let error = reader.verify(&Default::default(), &mut |_| {}).unwrap_err();
    assert_eq!(error.kind().name(), "io", "{error}");
}

/// Forge what the reader must not assume: an empty table, a table without rows per block.
#[test]
fn tables_without_rows_read_no_block() {
    let table = Table::new(6, vec![TableColumn::new("a", Kind::Item(Item::Text), DEFLATE, 0, Vec::new())]);
    let (reader, log) = opened(&table.forge().build());
    log.take();
    table.check(&reader);
    assert!(log.take().is_empty());
    let none = Forge::new(6, 0).build();
    let (reader, log) = opened(&none);
    log.take();
    assert!(reader.batches(&Scan::default()).unwrap().try_next().unwrap().is_none());
    assert!(log.take().is_empty());
}
