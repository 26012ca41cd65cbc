//! Zarr (feature `zarr`, needs Rust 1.91): reads stores of version 3 and 2 as [NetCDF](crate::netcdf), whose model is the same, and writes version 3,
//! both with the crate `zarrs`.
//!
//! ```
//! # fn main() -> dsfmt::Result<()> {
//! use dsfmt::{Array, Builder, Field, OutputOptions, zarr};
//! # let folder = tempfile::tempdir().unwrap();
//! # let (ds, store) = (folder.path().join("a.ds"), folder.path().join("a.zarr"));
//! let mut builder = Builder::new();
//! builder.field("height", Field::new(Array::new([3], vec![0.5f32, 1.0, 2.0])?).with_dimensions(["time"]));
//! builder.write(&ds, OutputOptions::default())?;
//!
//! let conversion = zarr::from_ds(&dsfmt::Reader::open(&ds)?, &store, &zarr::WriteOptions::default())?;
//! assert!(conversion.losses.is_empty());
//! let reader = zarr::open(&store, Default::default())?;
//! let height = &reader.variables()[0];
//! assert_eq!(reader.read(height, 1..3, &Default::default())?.values().as_slice::<f32>(), Some(&[1.0, 2.0][..]));
//! # Ok(())
//! # }
//! ```
//!
//! # Reading
//!
//! A group is a dataset: its arrays are variables, with dimensions by `dimension_names`. Names in groups within it have a path, `group/variable`.
//! What is missing is what the attributes say, as in [NetCDF](crate::netcdf), but no value is missing by default: the `fill_value` of version 3 is
//! that of chunks that were not written. In version 2 it is also what is missing, of numbers and of texts that are not empty, unless there is a
//! `_FillValue`. A `_FillValue` of floats in the
//! encoding of xarray is decoded.
//!
//! | Zarr | ds |
//! |---|---|
//! | `bool`, integers, `float32`, `float64` | the same type |
//! | `float16` | `float32` |
//! | `string`, `fixed_length_utf32` | `unicode` |
//! | `bytes`, `null_terminated_bytes`, `raw_bytes`, `r*` | `str` |
//! | `numpy.datetime64`, `numpy.timedelta64` | `int64` with `units` and `calendar`, `NaT` is missing |
//! | other types, codecs and grids | unreadable, named in the error |
//!
//! Only the chunks that hold requested elements are decoded, of shards only the chunks in them; the latest 128 MiB are kept. Sizes are checked
//! against the [limits](container_core::Limits) before anything is allocated, and decompression stops at the size of a chunk. A panic of `zarrs`
//! becomes an error, as [those](crate::netcdf::is_guarded) of the HDF5 reader do.
//!
//! # Writing
//!
//! Names with a slash become groups. Attributes stay JSON. Missing elements become the variable's `_FillValue`, `missing_value` or a value that no
//! element has, and its `_FillValue` is declared, for floats in the encoding of xarray; of texts and bytes a `missing_value`, because xarray opens no
//! store with a `_FillValue` of these. Chunks of nothing but the fill value are not written. The
//! metadata of all nodes are also in that of the root, as `consolidated_metadata`. The folder appears whole, or not at all.

mod blosc;
mod codecs;
mod describe;
mod fill;
mod format;
mod grid;
mod metadata;
mod read;
mod store;
mod types;
mod version2;
mod write;

use std::path::Path;

use container_core::{OpenOptions, Result};

pub use format::FORMAT;
pub use write::{Compression, WriteOptions, from_ds};

use crate::netcdf::Reader;

/// The format's name in errors and in the registry.
pub const FORMAT_NAME: &str = "zarr";

/// Opens a store in a folder. Metadata are loaded; chunks are untouched.
///
/// # Errors
/// [`Io`](container_core::ErrorKind::Io); [`Invalid`](container_core::ErrorKind::Invalid) for a folder that is no group or array, and for invalid JSON;
/// [`Limit`](container_core::ErrorKind::Limit) for excessive sizes. An array that cannot be read has a
/// [`problem`](crate::netcdf::Variable::problem).
pub fn open(path: impl AsRef<Path>, options: OpenOptions) -> Result<Reader> {
    let (described, arrays) = describe::describe(path.as_ref(), options)?;
    Ok(Reader::from_store(described, Box::new(arrays), options.limits))
}
