use arrow_schema::SchemaRef;

use crate::Scan;

/// Which rows and columns to read as batches, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchScan {
    /// Columns, rows, threads.
    pub scan: Scan,
    /// Rows of a batch at most; at least 1. Default 65,536.
    pub batch_rows: usize,
    /// Bytes of a batch, about: it ends before the row that would pass them, but has one row at least. What is shared with a mapped file
    /// counts, too. Default 32 MiB.
    pub batch_bytes: usize,
    /// How values that Arrow has no type for are mapped.
    pub mapping: Mapping,
    /// The columns and their types, declared instead of found by looking at all rows: for formats without a schema. Columns are those of
    /// its fields, by name, and [`Scan::columns`] is not looked at; one that the table does not have is null everywhere.
    pub schema: Option<SchemaRef>,
    /// The schema is not declared, but [inferred from a sample](crate::arrow::ArrowTable::infer_from_sample). Default no.
    pub is_sampled: bool,
}

impl Default for BatchScan {
    fn default() -> Self {
        let (scan, mapping) = (Scan::default(), Mapping::default());
        Self { scan, batch_rows: 1 << 16, batch_bytes: 32 << 20, mapping, schema: None, is_sampled: false }
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

    /// Declares the [`schema`](Self::schema).
    #[must_use]
    pub fn with_schema(mut self, schema: SchemaRef) -> Self {
        self.schema = Some(schema);
        self.is_sampled = false;
        self
    }

    /// Takes the schema that [`ArrowTable::infer_from_sample`](crate::arrow::ArrowTable::infer_from_sample) returned for the same scan.
    #[must_use]
    pub fn with_sampled_schema(mut self, schema: SchemaRef) -> Self {
        self.schema = Some(schema);
        self.is_sampled = true;
        self
    }

    /// Rows of a batch whose rows have so many bytes each: 1 at least.
    #[must_use]
    pub fn rows_per_batch(&self, row_bytes: usize) -> usize {
        let fit = self.batch_bytes.checked_div(row_bytes).unwrap_or(usize::MAX);
        fit.min(self.batch_rows).max(1)
    }
}

/// How values are mapped that have more than one form in Arrow, or none that keeps them whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Mapping {
    /// Times that are finer than a microsecond.
    pub times: Times,
    /// Sparse vectors.
    pub sparse: Sparse,
    /// Values that their column's type cannot hold, in formats without a schema.
    pub on_mismatch: OnMismatch,
    /// Types as narrow as the values: a column without missing values is not nullable, where that costs no walk over them. In formats without a
    /// schema lists of one length are of a fixed size, integers beside missing ones are `Float64`, which has to hold them exactly. For formats that keep these apart.
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

/// How times in ticks of 100 ns become Arrow's, which has microseconds (of the years 1 to 9999 and more) and nanoseconds (of 1677 to 2262).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Times {
    /// Microseconds; one that is finer is an error.
    #[default]
    Exact,
    /// The microsecond at or before the time, also before 1970; a time that is finer is counted as a loss.
    Floor,
    /// Nanoseconds; one that is out of their range is an error.
    Nanoseconds,
    /// The ticks as they are, 64-bit integers.
    Ticks,
}

/// How sparse vectors become Arrow's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Sparse {
    /// Lists with all elements, the zeros, too.
    #[default]
    Lists,
    /// A struct of the length and the lists `indices` and `values` of what is not left out.
    Structs,
}

/// What becomes of a value that fits its column's type in no way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum OnMismatch {
    /// An error that names column and row.
    #[default]
    Error,
    /// Null, counted as a loss.
    Null,
    /// The column becomes text: all its values as JSON.
    Json,
    /// The column becomes binary: all its values as msgpack.
    Msgpack,
}
