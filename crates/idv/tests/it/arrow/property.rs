//! Random tables.

use container_arrow::Sparse;
use container_core::Scan;
use proptest::collection::vec;
use proptest::prelude::*;

use super::reading::ticks;
use super::show::same;
use super::writing::{again, equal};
use crate::support::cells::Item;
use crate::support::strategies;
use crate::support::values::{written_cell, written_kind};

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Every table of every version, whole and in parts, is the same by rows and by batches.
    #[test]
    fn batches_match_rows(
        mut table in strategies::table(),
        picks in proptest::option::of(vec(any::<prop::sample::Index>(), 0..6)),
        bounds in (0..40u64, 0..40u64),
        (threads, batch_rows, batch_bytes) in (0..4usize, 1..20usize, 0..2000usize),
        (missing, structs) in (any::<bool>(), any::<bool>()),
    ) {
        for column in &mut table.columns {
            let item = column.kind.item();
            // Others have no defined instant.
            if matches!(item, Item::DateTimeOffset | Item::DvDateTimeZone) {
                column.cells.iter_mut().for_each(|cell| *cell = written_cell(item, cell));
            }
        }
        let reader = table.reader();
        let sparse = if structs { Sparse::Structs } else { Sparse::Lists };
        let mut scan = ticks(sparse).with_batch_rows(batch_rows).with_batch_bytes(batch_bytes);
        let start = bounds.0.min(bounds.1).min(table.rows as u64);
        scan.scan = Scan::default().with_rows(start..bounds.0.max(bounds.1)).with_threads(threads);
        scan.scan = scan.scan.with_missing_as_null(missing);
        if let Some(picks) = picks {
            let columns: Vec<usize> = picks.iter().map(|pick| pick.index(table.columns.len())).collect();
            scan.scan = scan.scan.with_columns(columns);
        }
        same(&reader, &scan, !structs);
    }

    /// Every table that can be written is the same again by way of batches, in columns and values.
    #[test]
    fn batches_round_trip(
        mut table in strategies::table(),
        (batch_rows, structs) in (1..20usize, any::<bool>()),
    ) {
        for (index, column) in table.columns.iter_mut().enumerate() {
            // Empty names are rejected.
            column.name = format!("c{}{}", column.name, index % 2);
            column.kind = written_kind(&column.kind);
            let item = column.kind.item();
            column.cells.iter_mut().for_each(|cell| *cell = written_cell(item, cell));
        }
        let reader = table.reader();
        let sparse = if structs { Sparse::Structs } else { Sparse::Lists };
        equal(&again(&reader, &ticks(sparse).with_batch_rows(batch_rows)), &reader, !structs);
    }
}
