//! A condition on one of 31 columns that 1 % of the rows meet, against decoding all columns and filtering: IDV and Parquet, in seconds.
//!
//! ```text
//! cargo bench -p wharf --bench filter -- [--rows N] [--repeat N]
//! ```
//!
//! Matching rows stand together, or are spread over all blocks. Both ways must find the same rows. Reports the median.

// A benchmark may panic.
#![expect(clippy::unwrap_used, clippy::panic, clippy::cast_precision_loss, reason = "a failing benchmark stops")]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, Float32Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::filter::filter_record_batch;
use wharf::{BatchContainer, BatchScan, Container, Convert, FilteredContainer, Overwrite, Predicate, Registry};

const COLUMNS: usize = 31;

/// Rows of a generated batch.
const BATCH: usize = 50_000;

/// The conditions: where the matching rows are.
const CONDITIONS: [(&str, &str); 2] = [("together", "c0 between 0.5 and 0.51"), ("spread", "c1 < 0.01")];

/// A number from 0 to 1 that looks random.
fn noise(row: usize, column: usize) -> f32 {
    let mixed = (row as u64 ^ (column as u64) << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((mixed >> 40) as f32) / (1_u64 << 24) as f32
}

fn table(rows: usize) -> BatchContainer {
    let fields: Vec<Field> =
        (0..COLUMNS).map(|column| Field::new(format!("c{column}"), DataType::Float32, false)).collect();
    let schema = Arc::new(Schema::new(fields));
    let batch = |first: usize| {
        let numbers = first..rows.min(first + BATCH);
        let column = |column: usize| -> ArrayRef {
            let value = |row: usize| match column {
                0 => row as f32 / rows as f32,
                1 => noise(row, 1),
                // Sensor-like values: some repeat.
                column => (noise(row / 3, column) * 1000.0).round() / 8.0,
            };
            Arc::new(Float32Array::from_iter_values(numbers.clone().map(value)))
        };
        RecordBatch::try_new(Arc::clone(&schema), (0..COLUMNS).map(column).collect()).unwrap()
    };
    BatchContainer::from_batches(Arc::clone(&schema), (0..rows).step_by(BATCH).map(batch).collect())
}

fn read(container: &dyn Container) -> usize {
    let tables = container.tables();
    let mut batches = tables.first().unwrap().arrow().unwrap().batches(&BatchScan::default()).unwrap();
    let mut rows = 0;
    while let Some(batch) = batches.try_next().unwrap() {
        rows += batch.num_rows();
    }
    rows
}

fn decode_and_filter(container: &dyn Container, predicate: &Predicate) -> usize {
    let tables = container.tables();
    let mut batches = tables.first().unwrap().arrow().unwrap().batches(&BatchScan::default()).unwrap();
    let filter = predicate.bind(&batches.schema()).unwrap();
    let mut rows = 0;
    while let Some(batch) = batches.try_next().unwrap() {
        rows += filter_record_batch(&batch, &filter.mask(&batch).unwrap()).unwrap().num_rows();
    }
    rows
}

/// The median time in seconds, and the result.
fn timed(repeat: usize, mut work: impl FnMut() -> usize) -> (f64, usize) {
    let mut rows = 0;
    let mut times: Vec<f64> = (0..repeat)
        .map(|_| {
            let start = Instant::now();
            rows = work();
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times.get(repeat / 2).copied().unwrap_or(f64::NAN), rows)
}

fn compare(path: &Path, repeat: usize) {
    let container: Arc<dyn Container> = wharf::open(path).unwrap().into();
    for (where_hits_are, condition) in CONDITIONS {
        let predicate = Predicate::parse(condition).unwrap();
        let filtered = FilteredContainer::new(Arc::clone(&container), predicate.clone());
        let (theirs, expected) = timed(repeat, || decode_and_filter(container.as_ref(), &predicate));
        let (ours, rows) = timed(repeat, || read(&filtered));
        assert_eq!(rows, expected, "{condition}");
        let format = container.format();
        println!(
            "{format:8} {where_hits_are:9} {rows:7} rows  all {theirs:.4} s  filtered {ours:.4} s  {:.1} times",
            theirs / ours
        );
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut rows, mut repeat) = (1_000_000, 5);
    while let Some(argument) = arguments.next() {
        let number = || panic!("{argument} needs a number");
        let value = arguments.next().and_then(|text| text.parse::<usize>().ok()).unwrap_or_else(number);
        match argument.as_str() {
            "--rows" => rows = value,
            "--repeat" => repeat = value.max(1),
            other => panic!("unknown argument {other}"),
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let table: Arc<dyn Container> = Arc::new(table(rows));
    for name in ["a.idv", "a.parquet"] {
        let path = folder.path().join(name);
        Convert::of("table", Arc::clone(&table)).write(&path, Overwrite::Refuse, &Registry::builtin()).unwrap();
        compare(&path, repeat);
    }
}
