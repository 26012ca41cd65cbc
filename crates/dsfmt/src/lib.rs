//! Reads and writes ds, the n-dimensional array format of the Python package `ds-format` (`.ds`): zero-copy reads, hyperslab selection that reads
//! only the bytes it needs, and output identical to Python's.
//!
//! # File layout
//!
//! | bytes | content |
//! |---|---|
//! | `ds-1.0` and a line feed | the version |
//! | one line | a JSON object in Python's dialect (see [`Json`]): one member per variable, and `"."` for the attributes of the dataset |
//! | the rest | the body: for each variable its mask, if any, and its elements that are not missing |
//!
//! A variable's member has its dimensions, sizes, type, byte order, offset and length in the body, and its attributes. Numbers are stored in C
//! order (the last index varies fastest), in either byte order; booleans and masks as bits, most significant first; strings as all lengths
//! followed by all bytes.
//!
//! # Reading
//!
//! ```
//! # fn main() -> dsfmt::Result<()> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/numbers-little.ds");
//! use dsfmt::Reader;
//!
//! let reader = Reader::open(path)?; // reads only the header
//! for variable in reader.variables() {
//!     println!("{} {:?} {:?}", variable.name(), variable.dimensions(), variable.data_type());
//!     for (name, value) in variable.attributes() {
//!         println!("  {name} = {}", value.as_text());
//!     }
//!     if variable.shape().is_some() {
//!         let array = variable.read()?; // borrowed if the file is mapped or in memory
//!         println!("  {} elements, {} missing", array.len(), array.missing());
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Writing
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("week.ds");
//! use dsfmt::{Array, Builder, Field, Mask, OutputOptions, Reader, Select, Selection};
//!
//! let temperature = Array::new([7], vec![16.5f32, 18.0, 21.25, 0.0, 19.5, 17.0, 15.0])?
//!     .with_mask(Mask::from_bools([false, false, false, true, false, false, false]))?; // Thursday is missing
//! let mut builder = Builder::new();
//! builder.attribute("title", "One week");
//! builder.field("day", Field::new(Array::new([7], (1..=7i64).collect::<Vec<_>>())?).with_dimensions(["day"]));
//! builder.field("temperature", Field::new(temperature).with_dimensions(["day"]).with_attribute("units", "celsius"));
//! builder.write(&path, OutputOptions::default())?; // atomic
//!
//! let reader = Reader::open(&path)?;
//! let weekend = Selection::new().with("day", Select::range(5, 7));
//! let array = reader.variable("temperature")?.select(&weekend)?;
//! assert_eq!(array.values().as_slice::<f32>(), Some(&[17.0, 15.0][..]));
//! # Ok(())
//! # }
//! ```
//!
//! # Where to start
//!
//! | task | item | cost |
//! |---|---|---|
//! | read a whole variable | [`Variable::read`], as a given type [`Variable::values`], [`Variable::filled`] | none, or one pass |
//! | view numbers zero-copy, at any alignment and in any byte order | [`Variable::view`] | the elements accessed |
//! | read row by row | [`Variable::read_rows`] | bytes of the rows |
//! | select along any dimension: index, list, range, nearest value, range of values | [`Variable::select`], [`Selection`] | bytes selected; once per masked variable or strings a pass over mask or lengths |
//! | cut a dataset by coordinates: dates, longitudes that wrap, names | [`Region`] | coordinates; then as for reading |
//! | turn n-dimensional variables into long rows | [`Tidy`] | as for reading |
//! | count, mean, median, percentiles | [`Variable::stats`] | one pass, and one for the median |
//! | write arrays; more than fits in memory | [`Builder::write`]; [`Builder::begin`] | bytes written |
//! | merge files along a dimension; change names and attributes | [`merge`](merge()); [`Edit`] | bytes written |
//! | convert CF times to dates | [`time`] | |
//! | read and write Arrow record batches | `arrow` (feature) | none, or one pass; writing: the bytes, twice |
//! | read and write NetCDF | `netcdf` (feature) | |
//! | read and write Zarr | `zarr` (feature) | |
//!
//! # Differences from Python
//!
//! Python's reader fails on booleans whose count is not a multiple of 8, reads a variable of zero elements as one without values, and ignores the
//! lengths in the header. Its writer declares masked strings two bytes too long per missing element, which displaces the variables after them:
//! such strings are read here, and `verify` reports what cannot be read. Files written here have correct lengths.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `nom` | `time::nom`: nom 8 parsers for units and dates |
//! | `arrow` | tables as Arrow record batches, zero-copy if possible; files from batches |
//! | `netcdf` | reads and writes NetCDF: classic, 64-bit offset, CDF-5, NetCDF-4 (read with pure-Rust HDF5 crates) |
//! | `zarr` | reads and writes Zarr, with the crate `zarrs`; needs Rust 1.91 |
//! | `ndarray` | arrays and views of the crate `ndarray` |
//! | `parallel` | reads large variables and computes statistics on all cores |
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used,
        reason = "tests make their data with casts and fail by panicking"
    )
)]

mod array;
#[cfg(feature = "arrow")]
#[cfg_attr(docsrs, doc(cfg(feature = "arrow")))]
pub mod arrow;
pub mod container;
mod derived;
mod edit;
mod json;
mod kernel;
mod merge;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "netcdf")]
#[cfg_attr(not(feature = "zarr"), allow(dead_code, unused_imports, reason = "Zarr uses all of it"))]
pub mod netcdf;
mod read;
mod stats;
pub mod time;
mod types;
mod verify;
mod wire;
mod write;
#[cfg(feature = "zarr")]
#[cfg_attr(docsrs, doc(cfg(feature = "zarr")))]
pub mod zarr;

pub use array::{Array, Mask, Strings, Values};
pub use container::FORMAT;
#[doc(no_inline)]
pub use container_core::{
    Access, Bytes, Error, ErrorKind, Finding, Limits, Loss, Map, OpenOptions, OutputOptions, Overwrite, Position,
    Progress, ReadAt, Result, Scan, Severity, Source, SyncPolicy, Unit, VerifyOptions,
};
pub use derived::{Coordinate, Region, Tidy};
pub use edit::Edit;
pub use json::{Items, Json, JsonBuf, JsonKind, Members};
pub use merge::{Merge, MergeOptions, merge};
pub use read::{Attributes, Dimension, Reader, Select, Selection, Variable, View};
pub use stats::{Number, Stats};
pub use types::{DataType, Element, Endian};
pub use write::{Builder, Field, Writer, Written};

/// The format's name in errors and in the registry.
pub const FORMAT_NAME: &str = "ds";

/// Attributes that define the meaning of values. Variables that differ in one of them cannot be merged.
pub const MEANING_ATTRIBUTES: [&str; 8] =
    ["units", "calendar", "scale_factor", "add_offset", "_Unsigned", "flag_values", "flag_meanings", "SlotNames"];
