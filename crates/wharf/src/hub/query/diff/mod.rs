//! Differences between two inputs, of any formats.

mod cells;
mod json;
mod keyed;
mod position;
mod schema;
mod values;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use container_arrow::Times;
use container_core::{Error, ErrorKind, Result};

use super::super::convert::{Convert, OpenBatches, Report};
use super::super::env::Opener;
use super::stats::Scalar;
use crate::Registry;
pub use cells::Tolerance;
pub use schema::{ColumnDifference, ColumnDifferenceKind};
use values::Found;

/// Compares the rows of two inputs.
///
/// Columns are compared by name: types, nullability and metadata, then values by their meaning. The same values in other types are equal: texts in
/// any encoding, also in dictionaries; integers of any width, and floats that are integers; times in other units, dates at midnight, instants in
/// other time zones; lists of fixed and of variable size. A 32-bit float equals a 64-bit one that is the same number, or is written with the same
/// shortest digits. Null and NaN differ; NaN equals NaN.
///
/// Rows are compared by position, in constant memory, or by the values of a key column: then the rows of the other input are kept in memory.
///
/// ```no_run
/// use wharf::{Diff, Registry};
///
/// let differences = Diff::new("adult.idv", "adult.parquet").compare(&Registry::builtin())?;
/// assert!(differences.is_same());
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Diff {
    /// The first input, with the selected columns and rows.
    pub one: Convert,
    /// The other input.
    pub other: Convert,
    /// The column that identifies rows; `None` for their position.
    pub key: Option<String>,
    /// When floats are equal.
    pub tolerance: Tolerance,
    /// Other types are a difference, even if values are the same.
    pub exact_types: bool,
    /// Maximum number of values that are shown. Default: 10.
    pub limit: usize,
    /// Maximum bytes of the rows that are kept for a key. Default: 1 GiB.
    pub max_bytes: usize,
}

/// How two inputs differ. Serializes as `wharf diff --json` prints it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Differences {
    /// Differences of columns, and notes.
    pub columns: Vec<ColumnDifference>,
    /// The number of rows of each input.
    pub rows: [u64; 2],
    /// Rows that only one of the inputs has: those beyond the end of the other, or whose key the other lacks.
    pub only: [u64; 2],
    /// Rows of both inputs with at least one other value.
    pub differing_rows: u64,
    /// Columns with differing values, and in how many rows.
    pub counts: Vec<(String, u64)>,
    /// The first differing values; with a key also rows that only one input has.
    pub first: Vec<ValueDifference>,
}

/// A value that differs, or a row that only one input has.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ValueDifference {
    /// The row in each input, counted from 0; `None` for the input that lacks the row.
    pub rows: [Option<u64>; 2],
    /// The key of the row.
    pub key: Option<Scalar>,
    /// The column; `None` for a row that only one input has.
    pub column: Option<String>,
    /// Both values.
    pub values: [Option<Scalar>; 2],
}

impl Differences {
    /// Whether both are equal. Notes do not count.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.only == [0, 0] && self.differing_rows == 0 && self.columns.iter().all(|difference| difference.is_note)
    }
}

impl Diff {
    /// Compares two files.
    #[must_use]
    pub fn new(one: impl Into<PathBuf>, other: impl Into<PathBuf>) -> Self {
        Self::of(Convert::new([one]), Convert::new([other]))
    }

    /// Compares the selected columns and rows of two inputs.
    #[must_use]
    pub fn of(one: Convert, other: Convert) -> Self {
        Self {
            one,
            other,
            key: None,
            tolerance: Tolerance::default(),
            exact_types: false,
            limit: 10,
            max_bytes: 1 << 30,
        }
    }

    /// Compares the rows that have the same value in this column.
    #[must_use]
    pub fn with_key(mut self, column: impl Into<String>) -> Self {
        self.key = Some(column.into());
        self
    }

    /// Returns the differences.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn compare(&self, registry: &Registry) -> Result<Differences> {
        self.run(&mut Opener::new(registry.clone()), &mut [Report::default(), Report::default()])
    }

    /// Returns the differences. `reports` have the losses of reading each input.
    ///
    /// # Errors
    /// An input cannot be opened or read; a column is unknown; with a key: keys that are null or occur twice, and
    /// [`Limit`](crate::ErrorKind::Limit) when the rows of the other input exceed [`max_bytes`](Self::max_bytes).
    pub fn run(&self, opener: &mut Opener<'_>, reports: &mut [Report; 2]) -> Result<Differences> {
        let mut diff = self.clone();
        for side in [&mut diff.one, &mut diff.other] {
            super::accept_mixed_types(side);
        }
        match diff.run_once(opener, reports) {
            // Ticks of IDV are 100 ns in the years 1 to 9999: microseconds hold those years, nanoseconds hold the fraction.
            Err(error) if error.kind() == ErrorKind::Invalid => {
                for side in [&mut diff.one, &mut diff.other] {
                    side.mapping.times.get_or_insert(Times::Nanoseconds);
                }
                *reports = Default::default();
                diff.run_once(opener, reports).map_err(|_| error)
            }
            done => done,
        }
    }

    fn run_once(&self, opener: &mut Opener<'_>, reports: &mut [Report; 2]) -> Result<Differences> {
        let one = self.one.open_batches(opener)?;
        let other = self.other.open_batches(opener)?;
        let schemas = [one.schema(), other.schema()];
        let [left, right] = &schemas;
        let (pairs, columns) = schema::compare(left, right, self.exact_types);
        let key = match &self.key {
            None => None,
            Some(name) => Some(key_of(name, &schemas)?),
        };
        let threads = self.one.selection.reading.threads;
        let mut found = Found::new(pairs, self.tolerance, self.limit, threads);
        let start = |side: &Convert| side.selection.rows.as_ref().map_or(0, |range| range.rows.start);
        found.first_rows = [start(&self.one), start(&self.other)];
        let [first, second] = reports;
        std::thread::scope(|scope| {
            let (ones, others) = (spawn(scope, one, first), spawn(scope, other, second));
            match key {
                None => position::compare(ones, others, &mut found),
                Some(key) => keyed::compare(ones, others, key, self.max_bytes, &mut found),
            }
        })?;
        let mut differences = found.finish();
        differences.columns = columns;
        Ok(differences)
    }
}

/// The key column in each input.
fn key_of(name: &str, schemas: &[SchemaRef; 2]) -> Result<keyed::Key> {
    let [one, other] = schemas.each_ref().map(|schema| schema.index_of(name).ok());
    let missing = |which: &str| Error::usage(format!("no column {name:?} in the {which} input")).in_option("key");
    let indexes = [one.ok_or_else(|| missing("first"))?, other.ok_or_else(|| missing("other"))?];
    let class = |schema: &SchemaRef, index: usize| cells::Class::of(schema.field(index).data_type());
    let classes = [class(&schemas[0], indexes[0]), class(&schemas[1], indexes[1])];
    match &classes {
        [one, other] if !one.compares_with(other) => {
            Err(Error::usage("the keys of both inputs have types that cannot be equal")
                .in_option("key")
                .in_column(name.to_owned()))
        }
        [cells::Class::List(_) | cells::Class::Struct(_) | cells::Class::Other(_), _] => {
            Err(Error::usage("a key is a number, text, time or boolean").in_option("key").in_column(name.to_owned()))
        }
        _ => {
            let is_wide = |schema: &SchemaRef, index: usize| is_wide_float(schema.field(index).data_type());
            let floats = is_wide(&schemas[0], indexes[0]).zip(is_wide(&schemas[1], indexes[1]));
            Ok(keyed::Key { indexes, narrow: floats.is_some_and(|(one, other)| one != other) })
        }
    }
}

/// Whether floats are 64 bits wide; `None` for other types.
fn is_wide_float(data_type: &DataType) -> Option<bool> {
    match data_type {
        DataType::Dictionary(_, values) => is_wide_float(values),
        DataType::Float64 => Some(true),
        DataType::Float32 | DataType::Float16 => Some(false),
        _ => None,
    }
}

/// The batches of an input, which another thread reads.
type Batches = Receiver<Result<RecordBatch>>;

/// Batches that wait between reading and comparing.
const WAITING: usize = 2;

/// Reads an input on another thread, which ends when the receiver is dropped.
fn spawn<'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    input: OpenBatches<'scope>,
    report: &'scope mut Report,
) -> Batches {
    let (sender, receiver) = sync_channel(WAITING);
    scope.spawn(move || {
        let closed = || Error::invalid("the comparison has ended");
        let outcome = input.copy(report, &mut |batch| sender.send(Ok(batch.clone())).map_err(|_| closed()));
        if let Err(error) = outcome {
            let _ = sender.send(Err(error)); // nobody waits for it after an error of the other input
        }
    });
    receiver
}
