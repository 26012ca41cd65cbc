use std::sync::Arc;

use arrow_schema::SchemaRef;

use crate::{Progress, Scan, Watch};

/// Selects rows and columns for [`ArrowTable::batches`](crate::arrow::ArrowTable::batches), and how to read them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchScan {
    /// Projection, row range and threads.
    pub scan: Scan,
    /// Maximum rows per batch, at least 1. Default: 65,536.
    pub batch_rows: usize,
    /// Approximate maximum bytes per batch, including memory shared with a mapped file. A batch has at least one row. Default: 32 MiB.
    pub batch_bytes: usize,
    /// How to map values without a unique Arrow type.
    pub mapping: Mapping,
    /// Declared schema, for formats without one: replaces inference. Its fields select columns by name, and [`Scan::columns`] is ignored. A
    /// column the table does not have is null.
    pub schema: Option<SchemaRef>,
    /// [`schema`](Self::schema) was [inferred from a sample](crate::arrow::ArrowTable::infer_from_sample), and contradicting rows are errors.
    /// Default: false.
    pub is_sampled: bool,
    /// Receives the progress of inferring a schema from all rows.
    pub watch: Watch,
}

impl Default for BatchScan {
    fn default() -> Self {
        let (scan, mapping, watch) = (Scan::default(), Mapping::default(), Watch::default());
        Self { scan, batch_rows: 1 << 16, batch_bytes: 32 << 20, mapping, schema: None, is_sampled: false, watch }
    }
}

impl From<Scan> for BatchScan {
    fn from(scan: Scan) -> Self {
        Self { scan, ..Self::default() }
    }
}

impl BatchScan {
    /// Replaces [`batch_rows`](Self::batch_rows); 0 counts as 1.
    #[must_use]
    pub fn with_batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = rows.max(1);
        self
    }

    /// Replaces [`batch_bytes`](Self::batch_bytes).
    #[must_use]
    pub fn with_batch_bytes(mut self, bytes: usize) -> Self {
        self.batch_bytes = bytes;
        self
    }

    /// Replaces [`mapping`](Self::mapping).
    #[must_use]
    pub fn with_mapping(mut self, mapping: Mapping) -> Self {
        self.mapping = mapping;
        self
    }

    /// Replaces [`watch`](Self::watch).
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.watch = Watch::new(progress);
        self
    }

    /// Replaces [`schema`](Self::schema).
    #[must_use]
    pub fn with_schema(mut self, schema: SchemaRef) -> Self {
        self.schema = Some(schema);
        self.is_sampled = false;
        self
    }

    /// Sets the schema returned by [`ArrowTable::infer_from_sample`](crate::arrow::ArrowTable::infer_from_sample) for the same scan.
    #[must_use]
    pub fn with_sampled_schema(mut self, schema: SchemaRef) -> Self {
        self.schema = Some(schema);
        self.is_sampled = true;
        self
    }

    /// The number of rows per batch for rows of `row_bytes` bytes; at least 1.
    #[must_use]
    pub fn rows_per_batch(&self, row_bytes: usize) -> usize {
        let max_rows = self.batch_bytes.checked_div(row_bytes).unwrap_or(usize::MAX);
        max_rows.min(self.batch_rows).max(1)
    }
}

/// How to map values that have several representations in Arrow, or no lossless one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Mapping {
    /// Timestamps finer than a microsecond.
    pub times: Times,
    /// Sparse vectors.
    pub sparse: Sparse,
    /// Values that do not fit their column's type, in formats without a schema.
    pub on_mismatch: OnMismatch,
    /// Infer the narrowest types: a column without missing values is not nullable, if that is known without a scan. In formats without a
    /// schema, lists of equal length become fixed-size lists, and integers mixed with missing values `Float64`, which must represent them exactly.
    /// For target formats that distinguish these.
    pub narrow: bool,
}

impl Mapping {
    /// Replaces [`times`](Self::times).
    #[must_use]
    pub const fn with_times(mut self, times: Times) -> Self {
        self.times = times;
        self
    }

    /// Replaces [`sparse`](Self::sparse).
    #[must_use]
    pub const fn with_sparse(mut self, sparse: Sparse) -> Self {
        self.sparse = sparse;
        self
    }

    /// Replaces [`on_mismatch`](Self::on_mismatch).
    #[must_use]
    pub const fn with_on_mismatch(mut self, on_mismatch: OnMismatch) -> Self {
        self.on_mismatch = on_mismatch;
        self
    }

    /// Replaces [`narrow`](Self::narrow).
    #[must_use]
    pub const fn with_narrow(mut self, narrow: bool) -> Self {
        self.narrow = narrow;
        self
    }
}

/// How to map timestamps in ticks of 100 ns. Arrow has microseconds, which cover years 1 to 9999 and more, and nanoseconds, which cover 1677 to
/// 2262.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Times {
    /// Microseconds. A finer timestamp is an error.
    #[default]
    Exact,
    /// Microseconds, rounded down (also before 1970). A finer timestamp counts as a loss.
    Floor,
    /// Nanoseconds. A timestamp out of range is an error.
    Nanoseconds,
    /// Ticks, as 64-bit integers.
    Ticks,
}

/// How to map sparse vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Sparse {
    /// Dense lists, including zeros.
    #[default]
    Lists,
    /// Structs of the length and the lists `indices` and `values` of the explicit elements.
    Structs,
}

/// What to do with a value that does not fit its column's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum OnMismatch {
    /// Fail with column and row.
    #[default]
    Error,
    /// Replace it by null and count a loss.
    Null,
    /// Read the whole column as JSON text.
    Json,
    /// Read the whole column as binary msgpack.
    Msgpack,
}
