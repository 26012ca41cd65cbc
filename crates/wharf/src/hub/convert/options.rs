//! What may be asked of a conversion, by input and output.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_arrow::{OnMismatch, Sparse, Times};

use super::super::Bar;
use crate::Registry;

/// What inputs are, where neither content nor extension tells, or against it.
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

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputForm {
    /// JSON lines: one object per row.
    Jsonl,
    /// Comma-separated values.
    Csv,
    /// Tab-separated values.
    Tsv,
    /// IDV, the format of ML.NET.
    Idv,
    /// datadings, samples of msgpack with an index.
    Datadings,
    /// ds, n-dimensional arrays.
    Ds,
    /// NetCDF.
    Netcdf,
    /// ZDS, JSON documents with an index.
    Zds,
    /// Parquet.
    Parquet,
    /// Arrow IPC, a file.
    Arrow,
    /// Arrow IPC, a stream.
    Arrows,
    /// A format of the registry that is none of these, by its name.
    Other(&'static str),
}

impl OutputForm {
    /// Those that are ours, and what they are.
    pub const ALL: [(Self, &'static str); 11] = [
        (Self::Jsonl, "JSON lines: one object per row"),
        (Self::Csv, "Comma-separated values"),
        (Self::Tsv, "Tab-separated values"),
        (Self::Idv, "IDV, the format of ML.NET"),
        (Self::Datadings, "datadings, samples of msgpack with an index"),
        (Self::Ds, "ds, n-dimensional arrays"),
        (Self::Netcdf, "NetCDF"),
        (Self::Zds, "ZDS, JSON documents with an index"),
        (Self::Parquet, "Parquet"),
        (Self::Arrow, "Arrow IPC, a file"),
        (Self::Arrows, "Arrow IPC, a stream"),
    ];

    /// The one of ours that has this [name](Self::name).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().map(|(form, _)| *form).find(|form| form.name() == name)
    }

    /// Its name, which reports use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Idv => "idv",
            Self::Datadings => "datadings",
            Self::Ds => "ds",
            Self::Netcdf => "netcdf",
            Self::Zds => "zds",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Arrows => "arrows",
            Self::Other(name) => name,
        }
    }

    /// What the extension of a path stands for, in any case: `parquet` and `pq`, `arrow`, `feather` and `ipc`, `json` and so on; else the first
    /// format of the registry that has it.
    #[must_use]
    pub fn of_path(path: &Path, registry: &Registry) -> Option<Self> {
        let extension = path.extension()?.to_string_lossy().to_ascii_lowercase();
        Some(match extension.as_str() {
            "jsonl" | "ndjson" | "json" => Self::Jsonl,
            "csv" => Self::Csv,
            "tsv" => Self::Tsv,
            "idv" => Self::Idv,
            "msgpack" => Self::Datadings,
            "ds" => Self::Ds,
            "nc" => Self::Netcdf,
            "zds" => Self::Zds,
            "parquet" | "pq" => Self::Parquet,
            "arrow" | "feather" | "ipc" => Self::Arrow,
            "arrows" => Self::Arrows,
            other => {
                let format = registry.formats().iter().find(|format| format.extensions().contains(&other))?;
                Self::Other(format.name())
            }
        })
    }
}

/// How inputs of text are read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TextInput {
    /// What the inputs are; `None` for what content and extension tell.
    pub from: Option<InputForm>,
    /// CSV and TSV have no line of names: columns are called `c0`, `c1` and so on.
    pub no_header: bool,
    /// What separates cells of CSV: an ASCII character.
    pub delimiter: Option<char>,
    /// The types of columns of inputs without a schema: a file that has them, or JSON such as `{"age": "Single"}`. `None`: inferred from all
    /// rows.
    pub schema: Option<PathBuf>,
}

/// The output IDV.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct IdvOutput {
    /// Columns of integers that may be missing become Double, where NaN is missing. Otherwise a missing integer is an error.
    pub missing_as_double: bool,
    /// How blocks are compressed; `None` for what the input has, or deflate.
    pub compression: Option<idv::Compression>,
    /// How hard, 0 to 9.
    pub level: Option<u8>,
    /// Rows of a block at most.
    pub rows_per_block: Option<u64>,
    /// Bytes that the blocks of the same rows take at most, before compression.
    pub bytes_per_block: Option<u64>,
}

impl IdvOutput {
    /// The options for the writer.
    pub(in crate::hub) fn writer_options(&self, threads: usize, progress: Arc<Bar>) -> idv::WriterOptions {
        let mut options = idv::WriterOptions::default().with_threads(threads).with_progress(progress);
        options.compression = self.compression.unwrap_or(options.compression);
        options.level = self.level.unwrap_or(options.level);
        options.rows_per_block = self.rows_per_block;
        options.bytes_per_block = self.bytes_per_block;
        options
    }

    /// Says for all columns what was asked for; otherwise each keeps what its file has.
    pub(in crate::hub) fn compress(&self, schema: &mut idv::Schema) {
        if let Some(compression) = self.compression {
            schema.columns.iter_mut().for_each(|column| column.compression = Some(compression));
        }
    }
}

/// The output datadings.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DatadingsOutput {
    /// Where the keys of samples come from.
    pub keys: crate::convert::import::Keys,
    /// Cells of CSV and TSV stay text.
    pub text: bool,
    /// Write no `.md5`.
    pub no_md5: bool,
    /// Samples that are files of folders and ZIP archives.
    pub files: crate::convert::import::FileOptions,
}

/// The output ds.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DsOutput {
    /// The dimension along which rows lie; `None` for `row`, or the only one of a ds file.
    pub dim: Option<String>,
    /// Apply `scale_factor` and `add_offset` of NetCDF; otherwise they stay attributes.
    pub scaled: bool,
    /// What becomes of lists of different lengths; an error unless given.
    pub ragged: Option<dsfmt::arrow::Ragged>,
    /// What becomes of structs; an error unless given.
    pub structs: Option<dsfmt::arrow::Structs>,
}

/// The output NetCDF.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct NetcdfOutput {
    /// The kind of file; `None` for the first of the classic ones that holds the data.
    pub kind: Option<dsfmt::netcdf::Kind>,
    /// The dimension that may grow later.
    pub unlimited: Option<String>,
    /// Compression of values of NetCDF-4, 1 to 9.
    pub deflate: Option<u8>,
}

/// The output ZDS.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ZdsOutput {
    /// The member that is the id, a path with dots; `None` for `_id`, and the number of the row in ten digits where there is none.
    pub id: Option<String>,
    /// The name of the collection; `None` for that of the input.
    pub collection: Option<String>,
}

/// Outputs of columns with types: Parquet and Arrow IPC, in part IDV and ds.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ColumnarOutput {
    /// The codec and its level, such as `zstd:3`.
    pub compression: Option<String>,
    /// Rows of a row group of Parquet at most.
    pub row_group: Option<u64>,
    /// Rows of a batch of Arrow IPC at most, and of what is read at once.
    pub batch_rows: Option<u64>,
    /// What becomes of times that are finer than microseconds (100 ns in IDV); an error unless given.
    pub times: Option<Times>,
    /// What becomes of sparse vectors; lists unless given.
    pub sparse: Option<Sparse>,
    /// What becomes of a value that its column's type cannot hold, where the input has no schema; an error unless given.
    pub on_mismatch: Option<OnMismatch>,
}
