//! Random tables, written in every way and read back.

use std::io::Cursor;

use container_core::{Scan, Source};
use idv::{ColumnSchema, ColumnSlice, Compression, OpenOptions, Reader, Schema, Values, Writer, WriterOptions};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support;
use crate::support::cells::{Cell, Item, Kind};
use crate::support::strategies;
use crate::support::table::{Table, TableColumn};
use crate::support::values::{type_of, values_of, written_cell, written_kind};

/// What is to be written.
#[derive(Debug, Clone)]
struct Given {
    /// As the reader should return it, except for rows per block.
    table: Table,
    schema: Schema,
    values: Vec<Values>,
}

/// A metadata item: kind, type and value.
type Said = (String, Kind, Cell);

fn metadata() -> impl Strategy<Value = Said> {
    (strategies::text(), strategies::column(1, 6)).prop_map(|(name, column)| {
        let kind = written_kind(&column.kind);
        let cell = written_cell(kind.item(), &column.cells[0]);
        (format!("m{name}"), kind, cell)
    })
}

fn given_rows(rows: impl Strategy<Value = usize>) -> impl Strategy<Value = Given> {
    rows.prop_flat_map(|rows| {
        let column = (strategies::column(rows, 6), vec(metadata(), 0..3), 0..12u8);
        vec(column, 1..5).prop_map(move |columns| given(rows, columns))
    })
}

fn given(rows: usize, columns: Vec<(TableColumn, Vec<Said>, u8)>) -> Given {
    let (mut table, mut schemas, mut values) = (Table { last: 6, rows, columns: Vec::new() }, Vec::new(), Vec::new());
    for (column, metadata, missing) in columns {
        let kind = written_kind(&column.kind);
        let mut cells: Vec<Cell> = column.cells.iter().map(|cell| written_cell(kind.item(), cell)).collect();
        if kind == Kind::Item(Item::Text) {
            // In this version text is missing only if explicitly written so.
            cells.iter_mut().skip(missing.into()).step_by(3).for_each(|cell| *cell = Cell::Missing);
        }
        let name = format!("c{}", column.name);
        let compression = [Compression::None, Compression::Deflate, Compression::Zlib][usize::from(column.compression)];
        let mut schema = ColumnSchema::new(&name, type_of(&kind)).with_compression(compression);
        for (name, kind, cell) in metadata {
            if schema.metadata.iter().all(|other| other.kind != name) {
                schema = schema.with_metadata(name, type_of(&kind), values_of(&kind, &[cell]));
            }
        }
        values.push(values_of(&kind, &cells));
        schemas.push(schema);
        table.columns.push(TableColumn { name, kind, cells, ..column });
    }
    Given { table, schema: Schema::new(schemas), values }
}

fn options() -> impl Strategy<Value = WriterOptions> {
    (0..=9u8, 0..4u8, 1..40u64, 0..4usize).prop_map(|(level, how, number, threads)| {
        let options = WriterOptions::default().with_level(level).with_threads(threads);
        match how {
            0 => options.with_rows_per_block(number),
            1 => options.with_bytes_per_block(number * 20),
            2 => options.with_bytes_per_block(number * 20).with_rows_per_block(7),
            _ => options,
        }
    })
}

impl Given {
    fn writer(&self, options: &WriterOptions) -> Writer<Cursor<Vec<u8>>> {
        Writer::new(Cursor::new(Vec::new()), self.schema.clone(), options.clone()).unwrap()
    }

    fn slices(&self, start: usize, end: usize) -> Vec<ColumnSlice<'_>> {
        self.values.iter().map(|values| ColumnSlice::new(values, start..end)).collect()
    }

    fn written(&self, options: &WriterOptions) -> Vec<u8> {
        let mut writer = self.writer(options);
        writer.append_columns(&self.slices(0, self.table.rows)).unwrap();
        writer.into_inner().unwrap().into_inner()
    }

    /// The file is valid and has exactly the written content.
    fn check(&self, bytes: &[u8]) -> Reader {
        let reader = opened(bytes);
        let mut table = self.table.clone();
        let rows = reader.columns()[0].rows_per_block();
        table.columns.iter_mut().for_each(|column| column.rows_per_block = rows);
        table.check(&reader);
        assert!(reader.schema(None).unwrap() == self.schema);
        let found = support::findings(&reader, 1);
        // Missing text in a version without it is a warning.
        assert!(found.iter().all(|finding| finding.starts_with("warning: ")), "{found:?}");
        reader
    }
}

fn opened(bytes: &[u8]) -> Reader {
    Reader::from_source(Source::from(bytes.to_vec()), OpenOptions::default()).unwrap()
}

fn rewritten(reader: &Reader, options: &WriterOptions) -> Vec<u8> {
    let schema = reader.schema(None).unwrap();
    let mut writer = Writer::new(Cursor::new(Vec::new()), schema, options.clone()).unwrap();
    writer.append_reader(reader, &Scan::default()).unwrap();
    writer.into_inner().unwrap().into_inner()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// All ways of reading return the written values; rewriting produces the same bytes.
    #[test]
    fn every_table_round_trips(given in given_rows(0..30usize), options in options()) {
        let bytes = given.written(&options);
        let reader = given.check(&bytes);
        prop_assert!(rewritten(&reader, &options) == bytes);
        // The chosen number is equivalent to the limits that led to it.
        let rows = reader.columns()[0].rows_per_block();
        let plain = WriterOptions::default().with_level(options.level).with_rows_per_block(rows);
        prop_assert!(rewritten(&reader, &plain) == bytes);
    }

    /// For any division into calls and any number of threads.
    #[test]
    fn chunks_and_threads_do_not_change_bytes(
        given in given_rows(0..60usize),
        options in options(),
        cuts in vec(0..60usize, 0..6),
    ) {
        let bytes = given.written(&options);
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(given.table.rows)).collect();
        cuts.extend([0, given.table.rows]);
        cuts.sort_unstable();
        for threads in [1, 2, 8] {
            let options = options.clone().with_threads(threads);
            prop_assert!(given.written(&options) == bytes, "{} threads", threads);
            let mut writer = given.writer(&options);
            for pair in cuts.windows(2) {
                writer.append_columns(&given.slices(pair[0], pair[1])).unwrap();
            }
            prop_assert!(writer.into_inner().unwrap().into_inner() == bytes, "{} threads, in pieces", threads);
        }
    }

    /// Rows round-trip through serde.
    #[test]
    fn appending_single_rows_does_not_change_bytes(given in given_rows(0..40usize), options in options()) {
        let bytes = given.written(&options);
        let reader = opened(&bytes);
        let mut writer = given.writer(&options);
        let mut rows = reader.rows(&Scan::default()).unwrap();
        while let Some(row) = rows.try_next().unwrap() {
            writer.append_row(&row).unwrap();
        }
        prop_assert!(writer.into_inner().unwrap().into_inner() == bytes);
    }

    /// Columns appended one at a time, whole or in chunks: different block offsets, same values.
    #[test]
    fn columns_can_be_appended_one_at_a_time(
        given in given_rows(0..60usize),
        options in options(),
        steps in vec((any::<prop::sample::Index>(), 1..30usize), 0..12),
        together in 0..60usize,
    ) {
        let mut writer = given.writer(&options);
        let mut done = vec![0; given.values.len()];
        let mut append = |writer: &mut Writer<_>, column: usize, rows: usize| {
            let end = done[column] + rows.min(given.table.rows - done[column]);
            writer.append_column(column, &ColumnSlice::new(&given.values[column], done[column]..end)).unwrap();
            done[column] = end;
            end
        };
        let mut most = 0;
        for (pick, rows) in steps {
            most = most.max(append(&mut writer, pick.index(given.values.len()), rows));
        }
        // Then some rows of all columns, which have different lengths so far.
        let rows = together.min(given.table.rows - most);
        let starts: Vec<_> = (0..given.values.len()).map(|column| append(&mut writer, column, 0)).collect();
        let slices: Vec<_> =
            given.values.iter().zip(&starts).map(|(values, &start)| ColumnSlice::new(values, start..start + rows)).collect();
        writer.append_columns(&slices).unwrap();
        for (column, start) in starts.into_iter().enumerate() {
            let rest = ColumnSlice::new(&given.values[column], start + rows..given.table.rows);
            writer.append_column(column, &rest).unwrap();
        }
        given.check(&writer.into_inner().unwrap().into_inner());
    }

    /// A file split in two and merged again, with or without copying blocks.
    #[test]
    fn merges_files(given in given_rows(1..60usize), cut in 0..60usize, first in 1..9u64, second in 1..9u64) {
        let cut = cut.min(given.table.rows);
        let part = |start, end, rows| {
            let mut writer = given.writer(&WriterOptions::default().with_rows_per_block(rows));
            writer.append_columns(&given.slices(start, end)).unwrap();
            opened(&writer.into_inner().unwrap().into_inner())
        };
        let parts = [part(0, cut, first), part(cut, given.table.rows, second)];
        let mut writer = given.writer(&WriterOptions::default());
        for part in &parts {
            writer.append_blocks(part, None).unwrap();
        }
        given.check(&writer.into_inner().unwrap().into_inner());
    }
}
