//! Reads and writes Parquet files as Arrow record batches.
//!
//! A file is a [`Container`](crate::Container) with one table, `rows`; [`Writer`] writes record batches. The Arrow schema is stored in the file
//! (under `ARROW:schema`, as by all Arrow writers) and restored on reading, with the metadata of fields and of the schema.
//!
//! | Arrow type | in Parquet | note |
//! |---|---|---|
//! | Boolean, integers, Float16, Float32, Float64 | the same | |
//! | Null | INT32, all null | |
//! | Utf8, LargeUtf8, Utf8View; Binary, LargeBinary, BinaryView | BYTE_ARRAY | |
//! | FixedSizeBinary, Decimal of all widths | the smallest type that holds it | |
//! | Date32; Time, Timestamp of milli-, micro- and nanoseconds | the same | only Arrow readers see the name of the time zone, others UTC |
//! | Time, Timestamp of seconds | milliseconds | read back as seconds; values outside milliseconds are rejected |
//! | Date64 | DATE | read back as Date64; values that are not whole days are rejected |
//! | Duration | INT64 | numbers for readers without Arrow |
//! | Intervals | INTERVAL | months, days and whole milliseconds; other nanoseconds are rejected. Without an Arrow schema in the file, read as months, days and nanoseconds |
//! | List, LargeList, FixedSizeList and views, Map, Struct | groups | |
//! | Dictionary of primitive values | its values | read back as a dictionary; Date64 and times of seconds in it are numbers for readers without Arrow |
//! | Union; Struct without members, or with duplicate names; Dictionary of nested values | rejected | with the column's name |
//!
//! INT96 times of other writers are Timestamps of the unit in the stored Arrow schema, otherwise of microseconds in files of Spark and of
//! nanoseconds in others. One that the unit cannot hold is rejected, with its row.
//!
//! Duplicate column names are rejected as well: Parquet identifies columns by name. Names that differ only in case are kept, and [`Writer::end`]
//! warns that some readers treat them as one. In files of other writers, duplicate names get `#2`, `#3` appended. A file without columns has no
//! rows.
//!
//! Errors of damaged files name row group and column, even where the library panics (see [`is_guarded`](crate::is_guarded)). The footer is
//! checked against the file before memory is allocated for it.
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
//! let table = file.arrow().ok_or("no Arrow table")?;
//! let mut batches = table.batches(&Default::default())?;
//! assert_eq!(batches.try_next()?, Some(batch));
//! # Ok(())
//! # }
//! ```

mod bounds;
mod container;
mod describe;
mod distinct;
mod footer;
mod groups;
mod options;
mod pages;
mod raw;
mod read;
mod source;
mod supported_types;
mod units;
mod write;
mod writer_thread;

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
