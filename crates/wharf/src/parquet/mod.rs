//! Parquet files, read and written as record batches of Arrow.
//!
//! A file is a [`Container`](crate::Container) with one table, `rows`; [`Writer`] makes one of record batches. Both go by way of Arrow: the
//! schema of Arrow is kept in the file (under `ARROW:schema`, as all writers of Arrow do), and reading gives it back, with the metadata of
//! fields and of the schema.
//!
//! | Arrow type | in Parquet | note |
//! |---|---|---|
//! | Boolean, integers, Float16, Float32, Float64 | the same | |
//! | Null | INT32, all null | |
//! | Utf8, LargeUtf8, Utf8View; Binary, LargeBinary, BinaryView | BYTE_ARRAY | |
//! | FixedSizeBinary, Decimal of all widths | the smallest that holds it | |
//! | Date32; Time, Timestamp of milli-, micro- and nanoseconds | the same | the zone by name is known to readers of Arrow only, others see UTC |
//! | Time, Timestamp of seconds | of milliseconds | of seconds again when it is read; a number that milliseconds do not hold is refused |
//! | Date64 | DATE | Date64 again when it is read; what is no whole day is refused |
//! | Duration | INT64 | plain numbers for readers that do not know Arrow |
//! | Interval of months, of days and milliseconds | FIXED_LEN_BYTE_ARRAY(12) | |
//! | List, LargeList, FixedSizeList and views, Map, Struct | groups | |
//! | Dictionary of plain values | its values | a dictionary again when it is read; dates of milliseconds and times of seconds in one are plain numbers for others |
//! | Interval of months, days and nanoseconds; Union; Struct without members, or with two of one name; Dictionary of nested values | refused | with the column's name |
//!
//! Two columns of one name are refused, too: columns of Parquet are known by their names. Names that differ in case only are kept, and
//! [`Writer::end`] notes that some readers take them for one. In a file of another writer, names that are there twice have `#2`, `#3` appended.
//! A file without columns has no rows.
//!
//! Reading a damaged file is an error that names row group and column, also where the library panics (see
//! [`is_guarded`](crate::is_guarded)). What the footer says is checked against the file before memory is reserved by it.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use arrow_array::{Int32Array, RecordBatch};
//! use wharf::parquet::{Compression, ParquetContainer, Reader, Writer, WriterOptions};
//! use wharf::{OpenOptions, Source, Table};
//!
//! let batch = RecordBatch::try_from_iter([("x", Arc::new(Int32Array::from(vec![1, 2, 3])) as _)])?;
//! let options = WriterOptions::default().with_compression(Compression::Zstd(3));
//! let mut writer = Writer::new(Vec::new(), batch.schema(), options)?;
//! writer.write(&batch)?;
//! let (bytes, _) = writer.end()?;
//!
//! let file = ParquetContainer::new(Reader::from_source(Source::from(bytes), OpenOptions::default())?);
//! let table = file.arrow().ok_or("it is one")?;
//! let mut batches = table.batches(&Default::default())?;
//! assert_eq!(batches.try_next()?, Some(batch));
//! # Ok(())
//! # }
//! ```

mod container;
mod describe;
mod distinct;
mod fit;
mod footer;
mod groups;
mod lane;
mod options;
mod pages;
mod read;
mod source;
mod units;
mod write;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod units_tests;

pub use container::{FORMAT, ParquetContainer};
pub use options::{Compression, WriterOptions};
pub use read::{Batches, Reader};
pub use write::{Writer, read_back};

/// The name of the format.
pub const FORMAT_NAME: &str = "parquet";
