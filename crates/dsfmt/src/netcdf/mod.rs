//! NetCDF (feature `netcdf`): reads CDF-1, CDF-2, CDF-5 and NetCDF-4 files as [arrays](Reader) and [tables](NetcdfContainer), and converts them
//! to and from ds.
//!
//! ```
//! # fn main() -> dsfmt::Result<()> {
//! use dsfmt::netcdf::{ReadOptions, Reader, WriteOptions, from_ds, to_ds};
//! use dsfmt::{Array, Builder, Field, OutputOptions};
//! # let folder = tempfile::tempdir().unwrap();
//! # let (ds, nc, again) = (folder.path().join("a.ds"), folder.path().join("a.nc"), folder.path().join("b.ds"));
//! let mut builder = Builder::new();
//! builder.field("height", Field::new(Array::new([3], vec![0.5f32, 1.0, 2.0])?).with_dimensions(["time"]));
//! builder.write(&ds, OutputOptions::default())?;
//!
//! let conversion = from_ds(&dsfmt::Reader::open(&ds)?, &nc, &WriteOptions::default())?;
//! assert!(conversion.losses.is_empty());
//! let reader = Reader::open(&nc)?;
//! assert_eq!(reader.variables()[0].shape, [3]);
//! to_ds(&reader, &again, &ReadOptions::default(), OutputOptions::default())?;
//! assert_eq!(std::fs::read(&ds).unwrap(), std::fs::read(&again).unwrap());
//! # Ok(())
//! # }
//! ```
//!
//! # Reading
//!
//! | NetCDF | ds |
//! |---|---|
//! | numbers | the same type |
//! | `char` | `str`, one string per byte; with `_Encoding`, or on request, strings along the last dimension |
//! | `string` | `unicode` |
//! | enumeration | its integers, the names are a loss; as tables its names, see [`ReadOptions::names`] |
//! | variables, dimensions and attributes in groups | the same, with the path of the group in the name: `group/variable` |
//! | compound | as tables a struct; in ds nothing, which is reported in [losses](Reader::losses) |
//! | opaque, variable-length lists | nothing: each is reported |
//! | attribute of one number, of several | a number, a list; `f32` with the digits of the equal `f64` |
//! | attribute of text, of several strings | a string, a list |
//!
//! Missing elements are those that Python's `netCDF4`, and so ds-format, masks: `missing_value`, `_FillValue` or by default NetCDF's fill value
//! of the type, values outside `valid_range` or `valid_min` and `valid_max`. That includes bytes, although by the NetCDF specification bytes
//! have no default fill value: a byte of 255 without a `_FillValue` is masked, as in ds-format. A missing scalar becomes an empty variable.
//! Masked characters and `_Encoding`, on which ds-format fails, are read. Integers that `_Unsigned` declares are compared as unsigned, also when
//! they stay packed, where ds-format compares them as signed and loses values.
//!
//! Packed values stay packed: `scale_factor`, `add_offset` and `_Unsigned` stay attributes unless [`ReadOptions::scaled`] applies them, as
//! the [format](FORMAT) does for tables. ds-format
//! always applies them and keeps the attributes, so that the next reader applies them again.
//!
//! # Writing
//!
//! Uses the first of CDF-1, CDF-2 and CDF-5 that holds the data, or the requested kind. Missing elements become the variable's `_FillValue` or
//! `missing_value`, or NetCDF's fill value of the type, which is then declared by an attribute; never a value that another element has. `bool`
//! becomes bytes; `str` and `unicode` become characters along an additional dimension (with `_Encoding` for `unicode`), in NetCDF-4 `unicode`
//! becomes `string`. Integers of attributes get 32 bits, 64 if necessary, and the variable's type if they describe its values; what comes from
//! NetCDF by [`ds_view`] keeps the types that it has there, if the kind of the file has them. ds has no unlimited dimensions:
//! [`WriteOptions::unlimited`] names one.
//!
//! # Unsupported data
//!
//! The following are errors before a byte is written. In CDF-1 and CDF-2: 64-bit and unsigned integers, and what exceeds 32 bits (a variable of
//! more than 4 GiB that is not the last, dimensions beyond 2^31, in CDF-1 a variable that begins beyond 2 GiB). In all classic kinds: a second
//! dimension that is unlimited or empty. In NetCDF-4: an attribute of more than 64 KiB of numbers, more than 32 dimensions of a variable, and a
//! single string beyond 4 GiB. Names of variables and dimensions that NetCDF does not allow; for attributes they are a loss.
//!
//! # Implementation
//!
//! The classic kinds are read and written here: a header, then runs of bytes. NetCDF-4 is HDF5, and is written here too: first the values, then
//! headers, with dimension scales and attributes in creation order, as the C library expects. Values are contiguous, or chunked by 1 MiB if
//! they may grow or are compressed. Reading uses the pure-Rust crates `netcdf-reader` and `hdf5-reader`, which support every type, filter
//! (deflate, shuffle, Fletcher-32, szip) and layout that the C library writes; no C compiler is needed.
//!
//! Reading holds the requested rows in memory, writing a chunk, whatever the file size and kind; but strings and enumerations of NetCDF-4 are read
//! whole, up to [`block_bytes`](container_core::Limits::block_bytes). Before the libraries read a NetCDF-4 file, its objects are visited, each
//! once: cyclic links, groups nested deeper than 64, and headers, attributes or links that share their bytes beyond what the file size
//! justifies are errors with offset and limit. If a damaged file makes these libraries panic, the panic becomes an error; the process's panic
//! hook still prints it, unless the hook checks [`is_guarded`].

mod attributes;
mod classic;
mod container;
mod display;
mod from_ds;
mod guard;
mod hdf5;
mod mask;
mod model;
mod number;
mod reader;
mod scale;
mod to_ds;
mod view;

pub use container::{FORMAT, NetcdfContainer};
pub use from_ds::{WriteOptions, from_ds};
pub use guard::is_guarded;
pub use model::{Attribute, AttributeValue, Dimension, Kind, Member, NcType, Variable};
pub use reader::{Characters, ReadOptions, Reader};
pub use to_ds::{Converted, to_ds};
pub use view::{as_ds, ds_view};

pub(crate) use {
    attributes::attribute,
    from_ds::{Fill, JULIAN, choose_fill, for_each_source_chunk},
    guard::catch_panics,
    mask::exact_numbers,
    model::{Described, Location, product},
    number::{exact, with_number},
    reader::Store,
    to_ds::loss,
};

/// The format's name in errors and in the registry.
pub const FORMAT_NAME: &str = "netcdf";
