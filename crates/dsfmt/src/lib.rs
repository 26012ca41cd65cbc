//! ds, the n-dimensional array format of the Python package `ds-format` (`.ds`): read where it lies, selected by the byte runs that are wanted,
//! written byte for byte as Python does.
//!
//! # How a file is laid out
//!
//! | bytes | what they MUST be |
//! |---|---|
//! | `ds-1.0` and a line feed | the version |
//! | one line | a JSON object in Python's dialect (see [`Json`]): a member for each variable, and `"."` for the attributes of the dataset |
//! | the rest | the body: for each variable its mask, if it has one, and its elements that are not missing |
//!
//! A variable's member says its dimensions, sizes, type, byte order and place in the body beside its attributes. Numbers lie in C order (the
//! last index runs fastest), in either byte order; truth values and masks as bits, the most significant first; strings as their lengths and
//! then their bytes.
//!
//! # A first program
//!
//! ```
//! # fn main() -> dsfmt::Result<()> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/numbers-little.ds");
//! use dsfmt::Reader;
//!
//! let reader = Reader::open(path)?; // the header, and nothing else
//! for variable in reader.variables() {
//!     println!("{} {:?} {:?}", variable.name(), variable.dimensions(), variable.data_type());
//!     for (name, value) in variable.attributes() {
//!         println!("  {name} = {}", value.as_text());
//!     }
//!     if variable.shape().is_some() {
//!         let array = variable.read()?; // borrowed where the file is mapped or in memory
//!         println!("  {} elements, {} missing", array.len(), array.missing());
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # A first file
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
//! builder.write(&path, OutputOptions::default())?; // whole, or not at all
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
//! | you want | take | cost |
//! |---|---|---|
//! | all of a variable | [`Variable::read`], in your type [`Variable::values`], [`Variable::filled`] | nothing, or one pass |
//! | numbers where they lie, at any address and in any byte order | [`Variable::view`] | what you look at |
//! | rows, one slab after the other | [`Variable::read_rows`] | their bytes |
//! | some of it along any dimension: index, list, range, nearest value, range of values | [`Variable::select`], [`Selection`] | its byte runs; for masked variables and strings once a pass over mask or lengths |
//! | count, mean, median, percentiles | [`Variable::stats`] | one pass, and one for the median |
//! | a file from arrays; one larger than memory | [`Builder::write`]; [`Builder::begin`] | the bytes |
//! | files joined along a dimension; names and attributes changed | [`merge`](merge()); [`Edit`] | the bytes |
//! | times of the CF conventions as dates | [`time`] | |
//! | record batches, and files from them | `arrow` (feature) | nothing, or one pass; the bytes, twice |
//! | NetCDF in and out | `netcdf` (feature) | |
//!
//! # Where Python differs
//!
//! Python's reader fails on truth values whose number is no multiple of 8, takes a variable of zero elements for one without values, and does
//! not look at the lengths in the header. Its writer states masked texts too long by two bytes for each missing one and misplaces what
//! follows: of such a file the texts are read here, and `verify` names what cannot be. What is written here has the right lengths.
//!
//! # Features
//!
//! | feature | what |
//! |---|---|
//! | `nom` | `time::nom`: units and dates as parsers of nom 8 |
//! | `arrow` | tables as Arrow record batches, on the file's own memory where that goes; files from batches |
//! | `netcdf` | NetCDF read and written: classic, 64-bit offset, CDF-5, NetCDF-4 (which pure-Rust crates for HDF5 read) |
//! | `ndarray` | arrays and views of the crate `ndarray` |
//! | `parallel` | large variables are read, and their statistics taken, by all cores |
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
mod edit;
mod json;
mod kernel;
mod merge;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "netcdf")]
pub mod netcdf;
mod read;
mod stats;
pub mod time;
mod types;
mod verify;
mod wire;
mod write;

pub use array::{Array, Mask, Strings, Values};
pub use container::FORMAT;
#[doc(no_inline)]
pub use container_core::{
    Access, Bytes, Error, ErrorKind, Finding, Limits, Loss, Map, OpenOptions, OutputOptions, Overwrite, Position,
    Progress, ReadAt, Result, Scan, Severity, Source, SyncPolicy, Unit, VerifyOptions,
};
pub use edit::Edit;
pub use json::{Items, Json, JsonBuf, JsonKind, Members};
pub use merge::{Merge, MergeOptions, merge};
pub use read::{Attributes, Dimension, Reader, Select, Selection, Variable, View};
pub use stats::{Number, Stats};
pub use types::{DataType, Element, Endian};
pub use write::{Builder, Field, Writer, Written};

/// What the format is called in errors and in `wharf`.
pub const FORMAT_NAME: &str = "ds";

/// Attributes that give values their meaning. Variables that differ in one of them cannot be joined value by value.
pub const MEANING_ATTRIBUTES: [&str; 7] =
    ["units", "calendar", "scale_factor", "add_offset", "flag_values", "flag_meanings", "SlotNames"];
