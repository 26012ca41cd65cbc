//! Arrow record batches from tables, and files from record batches.
//!
//! # Reading: types of variables
//!
//! | type | Arrow type | note |
//! |---|---|---|
//! | `float32` `float64`, `int8` to `int64`, `uint8` to `uint64` | the same | zero-copy from a mapped file if aligned, in native byte order and without missing elements; otherwise one pass |
//! | `bool` | Boolean | |
//! | `str` | Binary | LargeBinary for a variable of more than 2 GiB; bytes are zero-copy |
//! | `unicode` | Utf8 | LargeUtf8 for a variable of more than 2 GiB; bytes are zero-copy |
//! | masked | the same, nullable | missing elements are null, also in lists, which are never null themselves |
//! | more than one dimension | FixedSizeList with extension `arrow.fixed_shape_tensor` | shape and dimension names in the metadata; up to 2,147,483,647 elements per row |
//! | compound, of NetCDF | Struct of the members; of lists, if the variable has more than one dimension |
//! | empty | its type, nullable; Null without a type | one null in the table of scalars |
//! | times, [`TimeForm::Iso`](crate::container::TimeForm) | Timestamp(us) without a zone, in UTC | if every time in the row range converts back to its number and the calendar is real; otherwise numbers, and a loss says why. [`Times`](container_arrow::Times) selects truncation to microseconds, nanoseconds, or numbers |
//! | times, [`TimeForm::Julian`](crate::container::TimeForm) | Float64, nullable | Julian dates |
//!
//! With [`Mapping::narrow`](container_arrow::Mapping) a masked variable is nullable only if an element of the row range is missing.
//!
//! With [`Scan::missing_as_null`](container_core::Scan) a NaN is null.
//!
//! Field metadata has a JSON object under `ds`: `type`, `endian` (`b` or `l`), `dimensions` (names, that of the rows first), `attributes`, and if
//! true `masked`, `time` (Julian dates), `empty`. Schema metadata has the `attributes` of the dataset. An attribute that plain JSON cannot hold,
//! such as NaN, is `{"$ds": text}` with its text in the file.
//!
//! Batches hold up to [`batch_rows`](container_arrow::BatchScan::batch_rows) rows and
//! [`batch_bytes`](container_arrow::BatchScan::batch_bytes) bytes, including those of strings. Rows and lists without elements are limited as in
//! [`DsContainer`](crate::container::DsContainer). Feature `parallel` builds columns concurrently.
//!
//! # Writing: types of columns
//!
//! | Arrow type | type | note |
//! |---|---|---|
//! | Boolean, Int8 to Int64, UInt8 to UInt64, Float32, Float64 | the same | |
//! | Float16 | `float32` | |
//! | Utf8, LargeUtf8, Utf8View | `unicode` | |
//! | Binary, LargeBinary, BinaryView, FixedSizeBinary | `str` | |
//! | Timestamp | `int64` with the attributes `units` (such as `microseconds since 1970-01-01`) and `calendar` | nanoseconds become microseconds, or an error if finer; the original number if the metadata `ds` has units, or an error if there is none |
//! | Date32, Date64 | `int32`, `int64` with `units` and `calendar` | |
//! | Time32, Time64, Duration | `int32`, `int64` with `units` | |
//! | Decimal | `float64` | an error if the float does not convert back to the digits |
//! | Null | `float64`, all missing; an empty variable if the metadata says so | |
//! | Dictionary | the type of its values | |
//! | FixedSizeList, List, LargeList, also nested | the type of the items, with more dimensions | lists of different lengths: an error with column, row and both lengths, or [padded with missing elements](Ragged::Pad). `arrow.fixed_shape_tensor` keeps shape and names; permutations are rejected |
//! | Struct | rejected; with [`Structs::Flatten`] one variable `a.b` per member | |
//! | Interval, Map, Union, list views, run-end encoded | rejected | |
//! | nulls | missing elements | values under a null are not written |
//!
//! Dimensions without a name in the metadata are named after the column with `_2`, `_3`... appended.

mod batches;
mod bits;
mod build;
mod meta;
mod plan;
mod structs;
mod times;
mod write;

use arrow_schema::SchemaRef;
use container_arrow::{ArrowTable, BatchReader, BatchScan, StepReader};
use container_core::Result;

use crate::container::DsTable;

pub use meta::FieldMetadata;
pub use write::{ArrowWriter, Ragged, Structs, WriterOptions};

impl ArrowTable for DsTable {
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        Ok(plan::Plan::new(self, scan)?.schema)
    }

    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        Ok(Box::new(StepReader::new(batches::DsBatches::new(self, scan)?)))
    }
}
