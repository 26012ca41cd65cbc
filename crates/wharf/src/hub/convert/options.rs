//! How the inputs of a conversion are read, whatever is written.

use std::path::PathBuf;

use container_arrow::{Mapping, OnMismatch, Sparse, Times};

use crate::convert::import::ZIP;

/// The format of inputs, where neither content nor extension shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputForm {
    /// JSON lines, or one array of objects.
    Jsonl,
    /// Comma-separated values.
    Csv,
    /// Tab-separated values.
    Tsv,
    /// IDV.
    Idv,
    /// datadings.
    Datadings,
    /// A ZIP archive of files.
    Zip,
}

impl InputForm {
    const ALL: [Self; 6] = [Self::Jsonl, Self::Csv, Self::Tsv, Self::Idv, Self::Datadings, Self::Zip];

    /// The name of the format.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Jsonl => crate::text::JSON_LINES.name(),
            Self::Csv => crate::text::CSV.name(),
            Self::Tsv => crate::text::TSV.name(),
            Self::Idv => idv::FORMAT.name(),
            Self::Datadings => datadings::FORMAT.name(),
            Self::Zip => ZIP.name(),
        }
    }

    /// The form of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }
}

/// How text inputs are read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TextInput {
    /// The format of the inputs; `None` to detect it.
    pub from: Option<InputForm>,
    /// CSV and TSV have no header line: columns are called `c0`, `c1` and so on.
    pub no_header: bool,
    /// The character between two cells of CSV, which must be ASCII.
    pub delimiter: Option<char>,
    /// A file with the types of columns of inputs without a schema, or JSON such as `{"age": "Single"}`. `None`: inferred from all rows.
    pub schema: Option<PathBuf>,
}

/// How values are mapped to typed columns, for targets that have types.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ColumnMapping {
    /// Maximum rows of a record batch; `None` for 65,536, or as many as fit into 32 MiB.
    pub batch_rows: Option<u64>,
    /// What becomes of times finer than microseconds (100 ns in IDV); `None` for an error.
    pub times: Option<Times>,
    /// What becomes of sparse vectors; `None` for lists.
    pub sparse: Option<Sparse>,
    /// What becomes of a value that its column's type cannot hold, for inputs without a schema; `None` for an error.
    pub on_mismatch: Option<OnMismatch>,
}

impl ColumnMapping {
    /// The mapping, with defaults for what is not set.
    pub(super) fn plain(&self) -> Mapping {
        let mapping = Mapping::default();
        mapping
            .with_times(self.times.unwrap_or(mapping.times))
            .with_sparse(self.sparse.unwrap_or(mapping.sparse))
            .with_on_mismatch(self.on_mismatch.unwrap_or(mapping.on_mismatch))
    }
}
