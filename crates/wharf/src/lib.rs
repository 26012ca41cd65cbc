//! Opens, queries and converts dataset containers of any supported format.
//!
//! | you want to | use |
//! |---|---|
//! | open a file of any format | [`open`], [`open_with`] |
//! | inspect it | [`Container::tables`], [`Table::columns`], [`Container::details`] |
//! | iterate over rows, with a projection and a row range | [`Table::rows`], [`Scan`] |
//! | convert between formats | `Convert` |
//! | rename, drop, cast, expand, concatenate columns on the way | `Changes`, `Convert::with_changes` |
//! | merge files of one format | `Merge` |
//! | recover intact records of a damaged file | `Recover` |
//! | rebuild an index | `Reindex` |
//! | split, sample or shuffle a dataset | `Split`, `Sample`, `Shuffle` |
//! | compute statistics, count rows | `Stats`, `Count` |
//! | compare two inputs of any formats | `Diff` |
//! | write fields of rows into files | `Extract` |
//! | write rows as JSON lines or CSV | [`convert::JsonLines`], [`convert::Csv`], [`convert::copy`] |
//! | import text, rows or files into datadings | `convert::import` |
//! | read any container as Arrow record batches | `Table::arrow`, `OwnedBatches` |
//! | convert record batches of another library | `BatchContainer`, `Convert::of` |
//! | read and write Parquet, Arrow IPC | `parquet`, `ipc` |
//! | verify a file | [`Container::verify`] |
//! | list the formats, or add your own | [`Registry`] |
//!
//! Rows are [`serde::Serialize`]: there is no value type to learn. For a single format, use its crate, which has typed access and fewer
//! dependencies.
//!
//! # A first program
//!
//! Print the columns of a file, and its first row:
//!
//! ```no_run
//! let container = wharf::open("adult.idv")?;
//! println!("{} {}", container.format(), container.version());
//! for table in container.tables() {
//!     for column in table.columns() {
//!         println!("{}: {}", column.name, column.kind);
//!     }
//!     let mut rows = table.rows(&wharf::Scan::default().with_rows(0..1))?;
//!     while rows.advance()? {
//!         println!("{}", serde_json::to_value(rows.row()).expect("a row is a map of plain values"));
//!     }
//! }
//! # Ok::<(), wharf::Error>(())
//! ```
//!
//! # One to write
//!
//! Write two columns of a table as CSV, with an atomic replace of the output:
//!
//! ```no_run
//! use wharf::convert::{Csv, copy};
//! use wharf::{Output, OutputOptions, Scan};
//!
//! let container = wharf::open("adult.idv")?;
//! let tables = container.tables();
//! let scan = Scan::default().with_columns([0, 2]);
//! let mut csv = Csv::new(Output::create("adult.csv", OutputOptions::default())?);
//! let copied = copy(tables[0], &scan, &mut csv)?;
//! csv.finish()?.finish()?;
//! for loss in &copied.losses {
//!     eprintln!("{loss}");
//! }
//! # Ok::<(), wharf::Error>(())
//! ```
//!
//! # Features
//!
//! | feature | enables |
//! |---|---|
//! | `convert` (default) | `Convert`, `Merge`, `Recover`, and `convert::import`; enables all formats |
//! | `parallel` (default) | decoding and encoding on all cores |
//! | `datadings` (default) | [datadings](mod@datadings), datasets of msgpack samples |
//! | `ds` (default) | [ds](dsfmt), n-dimensional arrays with metadata |
//! | `arrow` (default) | tables as Arrow record batches; Arrow IPC files and streams |
//! | `parquet` (default) | Parquet files; enables `arrow` |
//! | `netcdf` | NetCDF files, and NetCDF from ds files |
//! | `zds` (default) | [ZDS](zdx), collections of JSON documents with an index |
//! | `idv` (default) | [IDV](::idv), the format of ML.NET |
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(feature = "convert"), allow(dead_code, unused_imports, reason = "conversions use all of the crate"))]

#[cfg(feature = "arrow")]
mod batches;
pub mod convert;
#[cfg(feature = "convert")]
#[doc(hidden)]
pub mod hub;
#[cfg(feature = "arrow")]
#[cfg_attr(docsrs, doc(cfg(feature = "arrow")))]
pub mod ipc;
#[cfg(feature = "parquet")]
#[cfg_attr(docsrs, doc(cfg(feature = "parquet")))]
pub mod parquet;
mod registry;
#[cfg_attr(not(unix), path = "sys/other.rs")]
mod sys;
pub mod text;
mod workers;

pub use container_core::{
    Access, ColumnInfo, Container, Error, ErrorKind, Finding, Format, Input, Limits, Loss, OpenOptions, Output,
    OutputOptions, Overwrite, Position, Probe, Progress, Recognition, RecoverReport, Result, Rows, Scan, Severity,
    Source, SyncPolicy, Table, Unit, VerifyOptions,
};
pub use registry::{Registry, open, open_with};
#[cfg(feature = "arrow")]
#[cfg_attr(docsrs, doc(cfg(feature = "arrow")))]
pub use {
    batches::{BatchContainer, BoxedBatches, is_guarded},
    container_arrow::{ArrowTable, BatchReader, BatchScan, BatchWriter},
};
#[cfg(feature = "convert")]
#[cfg_attr(docsrs, doc(cfg(feature = "convert")))]
pub use {
    container_arrow::{Filter, Predicate},
    hub::{
        Lost, OwnedBatches,
        convert::{Convert, Report},
        extract::{self, Extract},
        merge,
        merge::Merge,
        query::count::{Count, Group},
        query::diff::{self, Diff},
        query::stats::{self, Stats},
        recover,
        recover::Recover,
        reindex,
        reindex::Reindex,
        subset,
        subset::{Sample, Shuffle, Split},
        view::{
            change::{Changes, FloatWidth},
            filter::FilteredContainer,
        },
    },
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
