//! A table made from choices, written in every way, and read back.

use std::io::Cursor;
use std::ops::Range;

use container_core::{ErrorKind, Scan};
use idv::{ColumnSchema, ColumnSlice, Compression, Reader, Schema, Values, Writer, WriterOptions};

use super::cells::Cell;
use super::choices::Choices;
use super::forged::{kind, row};
use super::reader::open;
use super::table::{Table, TableColumn};
use super::values::{type_of, values_of, written_cell, written_kind};

const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::Deflate, Compression::Zlib];

/// A written table reads back, and has the same bytes for any number of threads, any split into calls, and when written again.
pub fn idv_written(data: &[u8]) {
    let mut choices = Choices::new(data);
    let mut options =
        WriterOptions::default().with_compression(choices.pick(&COMPRESSIONS)).with_level(choices.byte() % 10);
    match choices.below(4) {
        0 => options = options.with_rows_per_block(1 + choices.number() % 64),
        1 => options = options.with_bytes_per_block(1 + u64::from(choices.byte()) * 8),
        2 => options = options.with_bytes_per_block(1 + choices.number() % 0x1_0000_0000).with_rows_per_block(5),
        _ => {}
    }
    let input = Input::new(&mut choices);
    input.check_rejections(&mut choices, &options);

    let bytes = input.written(&options.clone().with_threads(1), 0..input.table.rows, 0..0);
    let reader = input.check(&bytes, &options);
    assert!(again(&reader, &options) == bytes, "bytes differ when written again");
    let cut = choices.below(input.table.rows + 1);
    let pieces = input.written(&options.clone().with_threads(3), 0..cut, cut..input.table.rows);
    assert!(pieces == bytes, "bytes differ when written in pieces");
    input.check(&input.by_columns(&mut choices, &options), &options);
    input.check(&joined(&input, &mut choices, &options), &options);
}

/// The table to write.
struct Input {
    table: Table,
    schema: Schema,
    values: Vec<Values>,
}

impl Input {
    fn new(choices: &mut Choices<'_>) -> Self {
        let rows = choices.below(40);
        let (mut columns, mut schemas, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..1 + choices.below(4) {
            let kind = written_kind(&kind(choices));
            let cells: Vec<Cell> = (0..rows).map(|_| written_cell(kind.item(), &row(choices, &kind, 6))).collect();
            let name = choices.pick(&["x", "x#2", "é", "label"]);
            let mut schema = ColumnSchema::new(name, type_of(&kind));
            if choices.byte() & 1 == 1 {
                schema = schema.with_compression(choices.pick(&COMPRESSIONS));
            }
            for name in ["Labels", "SlotNames", "IsNormalized"].into_iter().take(choices.below(4)) {
                let kind = written_kind(&super::forged::kind(choices));
                let cell = written_cell(kind.item(), &row(choices, &kind, 6));
                schema = schema.with_metadata(name, type_of(&kind), values_of(&kind, &[cell]));
            }
            values.push(values_of(&kind, &cells));
            schemas.push(schema);
            columns.push(TableColumn::new(name, kind, 0, 1, cells));
        }
        Self { table: Table { last: 6, rows, columns }, schema: Schema::new(schemas), values }
    }

    fn writer(&self, options: &WriterOptions) -> Writer<Cursor<Vec<u8>>> {
        Writer::new(Cursor::new(Vec::new()), self.schema.clone(), options.clone()).unwrap()
    }

    fn slices(&self, rows: Range<usize>) -> Vec<ColumnSlice<'_>> {
        self.values.iter().map(|values| ColumnSlice::new(values, rows.clone())).collect()
    }

    fn written(&self, options: &WriterOptions, first: Range<usize>, then: Range<usize>) -> Vec<u8> {
        let mut writer = self.writer(options);
        writer.append_columns(&self.slices(first)).unwrap();
        writer.append_columns(&self.slices(then)).unwrap();
        writer.into_inner().unwrap().into_inner()
    }

    /// Invalid values are rejected as a whole, and valid ones can follow.
    fn check_rejections(&self, choices: &mut Choices<'_>, options: &WriterOptions) {
        let others: Vec<Values> = self
            .table
            .columns
            .iter()
            .map(|column| values_of(&column.kind, &[row(choices, &column.kind, 6), row(choices, &column.kind, 6)]))
            .collect();
        let mut writer = self.writer(options);
        let slices: Vec<_> = others.iter().map(ColumnSlice::from).collect();
        match writer.append_columns(&slices) {
            Ok(()) => assert_eq!(writer.row_count(), 2),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
                assert!(
                    error.position().row.is_some_and(|row| row < 2) && error.position().column.is_some(),
                    "{error}"
                );
                writer.append_columns(&self.slices(0..self.table.rows)).unwrap();
                self.check(&writer.into_inner().unwrap().into_inner(), options);
            }
        }
    }

    /// Writes one column at a time, each in two pieces that end at different rows.
    fn by_columns(&self, choices: &mut Choices<'_>, options: &WriterOptions) -> Vec<u8> {
        let mut writer = self.writer(options);
        let cuts: Vec<usize> = self.values.iter().map(|_| choices.below(self.table.rows + 1)).collect();
        for (index, (values, &cut)) in self.values.iter().zip(&cuts).enumerate() {
            writer.append_column(index, &ColumnSlice::new(values, 0..cut)).unwrap();
        }
        for (index, (values, &cut)) in self.values.iter().zip(&cuts).enumerate() {
            writer.append_column(index, &ColumnSlice::new(values, cut..self.table.rows)).unwrap();
        }
        writer.into_inner().unwrap().into_inner()
    }

    /// Checks that the file has the input.
    fn check(&self, bytes: &[u8], options: &WriterOptions) -> Reader {
        let reader = open(bytes.to_vec()).expect("the written file opens");
        let mut table = self.table.clone();
        let rows = reader.columns()[0].rows_per_block();
        table.columns.iter_mut().for_each(|column| column.rows_per_block = rows);
        table.check(&reader);
        let mut schema = self.schema.clone();
        for column in &mut schema.columns {
            column.compression.get_or_insert(options.compression);
        }
        assert!(reader.schema(None).unwrap() == schema, "schema differs");
        reader
    }
}

fn again(reader: &Reader, options: &WriterOptions) -> Vec<u8> {
    let mut writer =
        Writer::new(Cursor::new(Vec::new()), reader.schema(None).unwrap(), options.clone().with_threads(2)).unwrap();
    writer.append_reader(reader, &Scan::default()).unwrap();
    writer.into_inner().unwrap().into_inner()
}

/// Joins two files with the rows; blocks are copied or re-encoded.
fn joined(input: &Input, choices: &mut Choices<'_>, options: &WriterOptions) -> Vec<u8> {
    let cut = choices.below(input.table.rows + 1);
    let mut writer = input.writer(options);
    for rows in [0..cut, cut..input.table.rows] {
        let per_block = 1 + choices.below(8) as u64;
        let part = options.clone().with_rows_per_block(per_block).with_threads(1);
        let part = open(input.written(&part, rows, 0..0)).expect("a part opens");
        writer.append_blocks(&part, None).unwrap();
    }
    writer.into_inner().unwrap().into_inner()
}
