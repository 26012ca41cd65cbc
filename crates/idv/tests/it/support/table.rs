//! A table as a test states it, the file it makes, and the check that a reader finds exactly it.

use container_core::{Scan, Source};
use idv::{OpenOptions, Reader, Scratch, Values};

use super::cells::{Cell, Kind, is_cell, is_json};
use super::forge::{Column, Forge};

#[derive(Debug, Clone)]
pub struct TableColumn {
    pub name: String,
    pub kind: Kind,
    pub compression: u8,
    pub rows_per_block: u64,
    pub cells: Vec<Cell>,
}

#[derive(Debug, Clone)]
pub struct Table {
    /// The last number of the version.
    pub last: u64,
    pub rows: usize,
    pub columns: Vec<TableColumn>,
}

impl TableColumn {
    pub fn new(name: &str, kind: Kind, compression: u8, rows_per_block: u64, cells: Vec<Cell>) -> Self {
        Self { name: name.to_owned(), kind, compression, rows_per_block, cells }
    }

    pub fn forge(&self) -> Column {
        let mut column = Column::new(&self.name, self.kind.codec(), self.compression, self.rows_per_block);
        let rows = usize::try_from(self.rows_per_block).unwrap_or(usize::MAX).max(1);
        column.blocks = self.cells.chunks(rows).map(|rows| self.kind.encode(rows).into()).collect();
        column
    }
}

impl Table {
    pub fn new(last: u64, columns: Vec<TableColumn>) -> Self {
        let rows = columns.first().map_or(0, |column| column.cells.len());
        assert!(columns.iter().all(|column| column.cells.len() == rows));
        Self { last, rows, columns }
    }

    pub fn forge(&self) -> Forge {
        let mut forge = Forge::new(self.last, self.rows as i64);
        forge.columns = self.columns.iter().map(TableColumn::forge).collect();
        forge
    }

    pub fn reader(&self) -> Reader {
        Reader::from_source(Source::from(self.forge().bytes()), OpenOptions::default()).unwrap()
    }

    /// Every way to read gives these values.
    pub fn check(&self, reader: &Reader) {
        assert_eq!(reader.row_count(), self.rows as u64);
        assert_eq!(reader.columns().len(), self.columns.len());
        let (mut values, mut scratch) = (Values::default(), Scratch::default());
        for (index, column) in self.columns.iter().enumerate() {
            let found = &reader.columns()[index];
            assert_eq!(found.name(), column.name);
            let blocks = if self.rows == 0 { 0 } else { (self.rows as u64).div_ceil(column.rows_per_block) };
            assert_eq!(found.block_count(), blocks, "blocks of {:?}", column.name);
            for block in 0..blocks {
                let rows = reader.read_block(index, block, &mut values, &mut scratch).unwrap();
                assert_eq!(values.len() as u64, rows.end - rows.start, "rows of block {block} of {:?}", column.name);
                let bytes = reader.block_bytes(index, block).unwrap();
                let cells = &column.cells[rows.start as usize..rows.end as usize];
                assert_eq!(bytes, column.kind.encode(cells), "bytes of block {block} of {:?}", column.name);
            }
        }
        for threads in [1, 0] {
            self.check_rows(reader, &Scan::default().with_threads(threads), &all(self.columns.len()), 0..self.rows);
        }
    }

    /// Scanning a row range and projection returns these values.
    pub fn check_rows(&self, reader: &Reader, scan: &Scan, columns: &[usize], range: std::ops::Range<usize>) {
        let mut rows = reader.rows(scan).unwrap();
        let mut line = Vec::new();
        for index in range {
            let row = rows.try_next().unwrap().unwrap_or_else(|| panic!("no row {index}"));
            assert_eq!((row.index(), row.len()), (index as u64, columns.len()));
            line.clear();
            row.json(&mut line).unwrap();
            let text = String::from_utf8(line.clone()).unwrap();
            assert_eq!(text, serde_json::to_string(&row).unwrap(), "the two ways to JSON");
            let object: serde_json::Value = serde_json::from_str(&text).unwrap();
            for (place, &column) in columns.iter().enumerate() {
                let column = &self.columns[column];
                let (cell, item) = (&column.cells[index], column.kind.item());
                let value = row.get(place).unwrap();
                assert!(is_cell(&value, cell, item), "row {index}, {:?}: {value:?} is not {cell:?}", column.name);
                let name = row.name(place).unwrap();
                if columns.iter().filter(|&&other| reader.columns()[other].unique_name() == name).count() == 1 {
                    let found = &object[name];
                    assert!(is_json(found, cell, item), "row {index}, {:?}: {found} is not {cell:?}", column.name);
                }
            }
        }
        assert!(rows.try_next().unwrap().is_none());
        assert!(rows.try_next().unwrap().is_none());
    }
}

/// `0..n` as a projection.
pub fn all(n: usize) -> Vec<usize> {
    (0..n).collect()
}
