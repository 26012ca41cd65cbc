//! NetCDF in and out (feature `netcdf`): CDF-1, CDF-2, CDF-5 and NetCDF-4 files are read, as [arrays](Reader) and as [tables](NetcdfContainer),
//! converted to ds, and written from ds.
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
//! let done = from_ds(&dsfmt::Reader::open(&ds)?, &nc, &WriteOptions::default())?;
//! assert!(done.losses.is_empty());
//! let reader = Reader::open(&nc)?;
//! assert_eq!(reader.variables()[0].shape, [3]);
//! to_ds(&reader, &again, &ReadOptions::default(), OutputOptions::default())?;
//! assert_eq!(std::fs::read(&ds).unwrap(), std::fs::read(&again).unwrap());
//! # Ok(())
//! # }
//! ```
//!
//! # What is read
//!
//! | NetCDF | ds |
//! |---|---|
//! | numbers | the same type |
//! | `char` | `str`, a string of one byte for each; with `_Encoding`, or on request, texts along the last dimension |
//! | `string` | `unicode` |
//! | enumeration | its integers; the names are a loss |
//! | compound, opaque, lists of any length, groups | nothing: each is named among the [losses](Reader::losses) |
//! | attribute of one number, of several | a number, a list; 32 bits of a float with the digits of 64 |
//! | attribute of text, of several texts | a text, a list |
//!
//! Missing is what Python's `netCDF4` masks, and so ds-format: `missing_value`, `_FillValue` or else NetCDF's fill value of the type,
//! values outside `valid_range` or `valid_min` and `valid_max`. That holds for bytes, too, although NetCDF says that bytes have no fill
//! value unless one is stated: a byte of 255 without a `_FillValue` is masked, as ds-format masks it. A scalar that is missing becomes a
//! variable without values. Where ds-format fails, on masked characters and on `_Encoding`, this reads.
//!
//! `scale_factor`, `add_offset` and `_Unsigned` stay attributes unless [`ReadOptions::scaled`] asks for them to be applied; ds-format always
//! applies them, and leaves the attributes, so that the next reader applies them again.
//!
//! # What is written
//!
//! The first of CDF-1, CDF-2 and CDF-5 that holds the data, or the kind that is asked for. Missing elements become the variable's own
//! `_FillValue` or `missing_value`, or NetCDF's fill value for the type, which is then said by an attribute; never a value that another
//! element has. `bool` becomes bytes, `str` and `unicode` characters along a dimension more (with `_Encoding` for `unicode`), in NetCDF-4
//! `unicode` becomes `string`. Whole numbers of attributes get 32 bits, 64 where they need them, and the type of the variable where they are
//! about its values. ds does not know which dimension was unlimited: [`WriteOptions::unlimited`] names it.
//!
//! # What is refused
//!
//! With an error, before a byte is written: in CDF-1 and CDF-2 integers of 64 bits or without sign, and what their 32 bits cannot state (a
//! variable of more than 4 GiB that is not the last, dimensions beyond 2^31, in CDF-1 a variable that begins beyond 2 GiB); in all classic
//! kinds a second dimension that is unlimited or of no size; in NetCDF-4 an attribute of more than 64 KiB of numbers, more than 32 dimensions
//! of one variable, and a single text beyond 4 GiB. Names that NetCDF does not allow, of variables and dimensions; of attributes they are a loss.
//!
//! # By what means
//!
//! The classic kinds are read and written here: a header, then runs of bytes. NetCDF-4 is HDF5; it is written here, too: values first, then
//! headers in which dimensions are scales and attributes keep their order, as the C library wants it. Values lie in one run, or, where they
//! may grow or are compressed, in pieces of a MiB. Reading goes through the pure-Rust crates `netcdf-reader` and `hdf5-reader`, which read
//! every type, filter (deflate, shuffle, Fletcher-32, also szip) and layout that the C library was seen to write; nothing needs a C compiler.
//!
//! Reading takes memory for the rows that are asked for, writing for a piece, whatever the size of the file and its kind; but texts and
//! enumerations of NetCDF-4 are read whole, and refused beyond [`block_bytes`](container_core::Limits::block_bytes). Before those libraries
//! read a NetCDF-4 file, its objects are walked, each once: links in circles, groups nested deeper than 64, and headers, attributes or links
//! that share their bytes beyond what the file justifies are an error that names the place and the limit. A panic in those
//! libraries, should a damaged file cause one, becomes an error; what the process does with panics, its hook, prints it all the same,
//! unless [`is_guarded`] tells the hook not to.

mod attributes;
mod classic;
mod container;
mod from_ds;
mod hdf5;
mod mask;
mod model;
mod number;
mod reader;
mod scale;
mod shown;
mod to_ds;

pub use container::{FORMAT, NetcdfContainer, as_ds};
pub use from_ds::{WriteOptions, from_ds};
pub use hdf5::is_guarded;
pub use model::{Attribute, AttributeValue, Dimension, Kind, NcType, Variable};
pub use reader::{Characters, ReadOptions, Reader};
pub use to_ds::{Converted, to_ds};

/// What the format is called in errors.
pub const FORMAT_NAME: &str = "netcdf";
