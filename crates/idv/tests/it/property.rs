//! Random tables, encoded in every version and read in every way.

use container_core::{Scan, Source};
use idv::{OpenOptions, Reader};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support;
use crate::support::cells::{Cell, Item, Kind};
use crate::support::forge::Order;
use crate::support::strategies;
use crate::support::table::{Table, TableColumn, all};

fn reader(table: &Table, order: Order, gap: usize, tables_first: bool) -> Reader {
    let mut forge = table.forge();
    (forge.order, forge.gap, forge.tables_first, forge.stored) = (order, gap, tables_first, gap == 1);
    Reader::from_source(Source::from(forge.bytes()), OpenOptions::default()).unwrap()
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::Straight), Just(Order::Backwards), Just(Order::Mixed)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// All ways of reading return the written values, wherever the parts are in the file.
    #[test]
    fn every_table_round_trips(table in strategies::table(), order in order(), gap in 0..3usize, first: bool) {
        table.check(&reader(&table, order, gap, first));
    }

    /// Row ranges and projections, in any order and repeated, match the full scan.
    #[test]
    fn projections_and_ranges_match_the_full_scan(
        table in strategies::table(),
        picks in vec(any::<prop::sample::Index>(), 0..6),
        bounds in (0..40usize, 0..40usize),
        threads in 0..4usize,
    ) {
        let columns: Vec<usize> = picks.iter().map(|pick| pick.index(table.columns.len())).collect();
        let (start, end) = (bounds.0.min(bounds.1).min(table.rows), bounds.0.max(bounds.1));
        let scan = Scan::default().with_columns(columns.clone()).with_threads(threads);
        let scan = scan.with_rows(start as u64..end as u64);
        table.check_rows(&reader(&table, Order::Mixed, 0, false), &scan, &columns, start..end.min(table.rows).max(start));
    }

    /// A valid file has no findings except deliberate ones.
    #[test]
    fn verifies_valid_file(table in strategies::table(), order in order(), first: bool) {
        let reader = reader(&table, order, 0, first);
        for finding in support::findings(&reader, 0) {
            let allowed = ["is above its key count", "is not between 0 and", "is not between -840", "rows per block, but"];
            prop_assert!(allowed.iter().any(|text| finding.contains(text)), "{}", finding);
        }
    }

    /// Batches cover the rows without gap or overlap, and end where a block of some column ends.
    #[test]
    fn batches_cover_the_rows(table in strategies::table(), start in 0..30usize, threads in 0..4usize) {
        let reader = reader(&table, Order::Straight, 0, false);
        let start = start.min(table.rows) as u64;
        let scan = Scan::default().with_columns(all(table.columns.len())).with_threads(threads);
        let mut batches = reader.batches(&scan.with_rows(start..u64::MAX)).unwrap();
        let mut next = start;
        while let Some(batch) = batches.try_next().unwrap() {
            prop_assert_eq!(batch.rows().start, next);
            next = batch.rows().end;
            prop_assert!(batch.row_count() > 0 && batch.row_count() as u64 == next - batch.rows().start);
            let ends = table.columns.iter().any(|column| next.is_multiple_of(column.rows_per_block));
            prop_assert!(ends || next == table.rows as u64);
            for column in 0..table.columns.len() {
                prop_assert_eq!(batch.column(column).unwrap().range.len(), batch.row_count());
            }
        }
        prop_assert_eq!(next, table.rows as u64);
    }

    /// Every float round-trips through JSON.
    #[test]
    fn floats_are_written_exactly(singles in vec(any::<f32>(), 1..9), doubles in vec(any::<f64>(), 1..9)) {
        let single = singles.iter().map(|x| Cell::Single(x.to_bits())).collect();
        let double = doubles.iter().map(|x| Cell::Double(x.to_bits())).collect();
        for (kind, cells) in [(Item::Single, single), (Item::Double, double)] {
            let table = Table::new(6, vec![TableColumn::new("x", Kind::Item(kind), 0, 8, cells)]);
            let reader = table.reader();
            let mut rows = reader.rows(&Scan::default()).unwrap();
            for cell in &table.columns[0].cells {
                let mut line = Vec::new();
                rows.try_next().unwrap().unwrap().json(&mut line).unwrap();
                let line = String::from_utf8(line).unwrap();
                let text = line.strip_prefix("{\"x\":").and_then(|line| line.strip_suffix('}')).unwrap();
                let same = match cell {
                    Cell::Single(bits) => text.parse::<f32>().is_ok_and(|x| x.to_bits() == *bits),
                    Cell::Double(bits) => text.parse::<f64>().is_ok_and(|x| x.to_bits() == *bits),
                    _ => false,
                };
                prop_assert!(same || ["\"NaN\"", "\"Infinity\"", "\"-Infinity\""].contains(&text), "{}", line);
            }
        }
    }
}
