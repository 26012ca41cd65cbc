//! A table made up from decisions, written in every way, and read back.

use std::io::Cursor;
use std::ops::Range;

use container_core::{ErrorKind, Scan};
use idv::{ColumnSchema, ColumnSlice, Compression, Reader, Schema, Values, Writer, WriterOptions};

use super::cells::Cell;
use super::dice::Dice;
use super::forged::{kind, row};
use super::reader::open;
use super::table::{Table, TableColumn};
use super::values::{type_of, values_of, written_cell, written_kind};

const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::Deflate, Compression::Zlib];

/// What is written is read; written again it has the same bytes, with any number of threads and however it is cut into calls.
pub fn idv_written(data: &[u8]) {
    let mut dice = Dice::new(data);
    let mut options = WriterOptions::default().with_compression(dice.pick(&COMPRESSIONS)).with_level(dice.byte() % 10);
    match dice.below(4) {
        0 => options = options.with_rows_per_block(1 + dice.number() % 64),
        1 => options = options.with_bytes_per_block(1 + u64::from(dice.byte()) * 8),
        2 => options = options.with_bytes_per_block(1 + dice.number() % 0x1_0000_0000).with_rows_per_block(5),
        _ => {}
    }
    let given = Given::new(&mut dice);
    given.refusals(&mut dice, &options);

    let bytes = given.written(&options.clone().with_threads(1), 0..given.table.rows, 0..0);
    let reader = given.check(&bytes, &options);
    assert!(again(&reader, &options) == bytes, "written again it has other bytes");
    let cut = dice.below(given.table.rows + 1);
    let pieces = given.written(&options.clone().with_threads(3), 0..cut, cut..given.table.rows);
    assert!(pieces == bytes, "in pieces it has other bytes");
    given.check(&given.by_columns(&mut dice, &options), &options);
    given.check(&joined(&given, &mut dice, &options), &options);
}

/// What is to be written.
struct Given {
    table: Table,
    schema: Schema,
    values: Vec<Values>,
}

impl Given {
    fn new(dice: &mut Dice<'_>) -> Self {
        let rows = dice.below(40);
        let (mut columns, mut schemas, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..1 + dice.below(4) {
            let kind = written_kind(&kind(dice));
            let cells: Vec<Cell> = (0..rows).map(|_| written_cell(kind.item(), &row(dice, &kind, 6))).collect();
            let name = dice.pick(&["x", "x#2", "é", "label"]);
            let mut schema = ColumnSchema::new(name, type_of(&kind));
            if dice.byte() & 1 == 1 {
                schema = schema.with_compression(dice.pick(&COMPRESSIONS));
            }
            for name in ["Labels", "SlotNames", "IsNormalized"].into_iter().take(dice.below(4)) {
                let kind = written_kind(&super::forged::kind(dice));
                let cell = written_cell(kind.item(), &row(dice, &kind, 6));
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
        writer.finish().unwrap().into_inner()
    }

    /// Values that mean nothing are refused, all or none, and sound ones may follow.
    fn refusals(&self, dice: &mut Dice<'_>, options: &WriterOptions) {
        let others: Vec<Values> = self
            .table
            .columns
            .iter()
            .map(|column| values_of(&column.kind, &[row(dice, &column.kind, 6), row(dice, &column.kind, 6)]))
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
                self.check(&writer.finish().unwrap().into_inner(), options);
            }
        }
    }

    /// Columns one at a time, in pieces that do not end together.
    fn by_columns(&self, dice: &mut Dice<'_>, options: &WriterOptions) -> Vec<u8> {
        let mut writer = self.writer(options);
        let cuts: Vec<usize> = self.values.iter().map(|_| dice.below(self.table.rows + 1)).collect();
        for (index, (values, &cut)) in self.values.iter().zip(&cuts).enumerate() {
            writer.append_column(index, &ColumnSlice::new(values, 0..cut)).unwrap();
        }
        for (index, (values, &cut)) in self.values.iter().zip(&cuts).enumerate() {
            writer.append_column(index, &ColumnSlice::new(values, cut..self.table.rows)).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    /// The file holds what was given.
    fn check(&self, bytes: &[u8], options: &WriterOptions) -> Reader {
        let reader = open(bytes.to_vec()).expect("what was written opens");
        let mut table = self.table.clone();
        let rows = reader.columns()[0].rows_per_block();
        table.columns.iter_mut().for_each(|column| column.rows_per_block = rows);
        table.check(&reader);
        let mut schema = self.schema.clone();
        for column in &mut schema.columns {
            column.compression.get_or_insert(options.compression);
        }
        assert!(reader.schema(None).unwrap() == schema, "another schema");
        reader
    }
}

fn again(reader: &Reader, options: &WriterOptions) -> Vec<u8> {
    let mut writer =
        Writer::new(Cursor::new(Vec::new()), reader.schema(None).unwrap(), options.clone().with_threads(2)).unwrap();
    writer.append_reader(reader, &Scan::default()).unwrap();
    writer.finish().unwrap().into_inner()
}

/// Two files with the rows between them, joined: blocks are carried over or not.
fn joined(given: &Given, dice: &mut Dice<'_>, options: &WriterOptions) -> Vec<u8> {
    let cut = dice.below(given.table.rows + 1);
    let mut writer = given.writer(options);
    for rows in [0..cut, cut..given.table.rows] {
        let per_block = 1 + dice.below(8) as u64;
        let part = options.clone().with_rows_per_block(per_block).with_threads(1);
        let part = open(given.written(&part, rows, 0..0)).expect("a part opens");
        writer.append_blocks(&part, None).unwrap();
    }
    writer.finish().unwrap().into_inner()
}
