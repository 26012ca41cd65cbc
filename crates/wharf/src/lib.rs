//! Open any dataset container, whatever its format, and convert it.
//!
//! | you want to | take |
//! |---|---|
//! | open a file whose format you do not know (or do) | [`open`], [`open_with`] |
//! | see what is in it | [`Container::tables`], [`Table::columns`], [`Container::details`] |
//! | walk over rows, some columns of them, a range of them | [`Table::rows`], [`Scan`] |
//! | bring anything into any other format | `Convert` |
//! | join files of one format into one | `Merge` |
//! | save what is whole out of a damaged file | `Recover` |
//! | make a lost index anew | `Reindex` |
//! | cut a dataset into several, choose some of its samples, shuffle them | `Split`, `Sample`, `Shuffle` |
//! | write rows as JSON lines or CSV | [`convert::JsonLines`], [`convert::Csv`], [`convert::copy`] |
//! | write text, rows or files into a container | `convert::import` |
//! | columns of any container as Arrow record batches | `Table::arrow` |
//! | read and write Parquet, Arrow IPC | `parquet`, `ipc` |
//! | check a file | [`Container::verify`] |
//! | know the formats, add your own | [`Registry`] |
//!
//! Rows are anything [`serde::Serialize`]: there is no value type of ours to learn. Who works with one format alone takes
//! that format's crate, which has typed access and fewer dependencies.
//!
//! # A first program
//!
//! What is in a file, and its first row:
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
//! Two columns of a table as CSV, into a file that appears whole or not at all:
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
//! | feature | brings |
//! |---|---|
//! | `convert` (default) | `Convert`, `Merge`, `Recover`: any container into any other, joined, saved; with it `convert::import`: text, rows and files into datadings; needs and brings all formats |
//! | `parallel` (default) | formats decode with all cores |
//! | `datadings` (default) | [datadings](mod@datadings), datasets of msgpack samples |
//! | `ds` (default) | [ds](dsfmt), n-dimensional arrays with metadata |
//! | `arrow` (default) | tables as Arrow record batches, and the formats of Arrow IPC: files and streams |
//! | `parquet` (default) | Parquet files; with it `arrow` |
//! | `netcdf` | NetCDF files, and NetCDF from ds files |
//! | `zds` (default) | [ZDS](zdx), collections of JSON documents with an index |
//! | `idv` (default) | [IDV](::idv), the format of ML.NET |
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

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
pub mod text;
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "Parquet alone is written ahead"))]
mod workers;

#[cfg(feature = "arrow")]
#[cfg_attr(docsrs, doc(cfg(feature = "arrow")))]
pub use batches::is_guarded;
pub use container_core::{
    Access, ColumnInfo, Container, Error, ErrorKind, Finding, Format, Input, Limits, Loss, OpenOptions, Output,
    OutputOptions, Overwrite, Position, Probe, Progress, Recognition, RecoverReport, Result, Rows, Scan, Severity,
    Source, SyncPolicy, Table, Unit, VerifyOptions,
};
#[cfg(feature = "convert")]
#[cfg_attr(docsrs, doc(cfg(feature = "convert")))]
pub use hub::{
    Lost,
    convert::{Convert, Report},
    merge,
    merge::Merge,
    recover,
    recover::Recover,
    reindex,
    reindex::Reindex,
    subset,
    subset::{Sample, Shuffle, Split},
};
pub use registry::{Registry, open, open_with};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
