//! Tables as Arrow record batches, and files made from them.
//!
//! # Out: what a variable becomes
//!
//! | type | Arrow type | note |
//! |---|---|---|
//! | `float32` `float64`, `int8` to `int64`, `uint8` to `uint64` | the same | on the memory of the mapped file where it lies aligned, in this machine's byte order and nothing is missing; else one pass |
//! | `bool` | Boolean | |
//! | `str` | Binary | LargeBinary where the variable takes more than 2 GiB; bytes on the memory of the file |
//! | `unicode` | Utf8 | LargeUtf8 where the variable takes more than 2 GiB; bytes on the memory of the file |
//! | masked | the same, nullable | a missing element is null, in lists, too: these are never null themselves |
//! | more than one dimension | FixedSizeList of what the others hold, with the extension `arrow.fixed_shape_tensor` | its shape and the names of its dimensions; up to 2,147,483,647 elements in a row |
//! | empty (without values) | its type, nullable; Null if it has none | one null in the table of the scalars |
//! | numbers that are times, [`TimeForm::Iso`](crate::container::TimeForm) | Timestamp(us) without a zone, in UTC | if each time of the rows in question leads back to its number, and the calendar has real days; else numbers, and a note tells why. By [`Times`](container_arrow::Times): cut off to microseconds and counted, nanoseconds, numbers |
//! | numbers that are times, [`TimeForm::Julian`](crate::container::TimeForm) | Float64, nullable | Julian dates |
//!
//! By [`Mapping::narrow`](container_arrow::Mapping) a masked variable is nullable only where an element of the rows in question is missing.
//!
//! With [`Scan::missing_as_null`](container_core::Scan) a NaN is null.
//!
//! The metadata of a field has under `ds` a JSON object: `type`, `endian` (`b` or `l`), `dimensions` (names, that of the rows first),
//! `attributes`, and where they hold `masked`, `time` (Julian dates), `empty`. That of the schema has the `attributes` of the dataset. An
//! attribute that plain JSON cannot hold, such as NaN, is `{"$ds": text}` with its text in the file.
//!
//! Batches hold up to [`batch_rows`](container_arrow::BatchScan::batch_rows) rows and
//! [`batch_bytes`](container_arrow::BatchScan::batch_bytes) bytes, those of strings counted. Of rows and lists without elements as
//! many can be read as [`DsContainer`](crate::container::DsContainer) shows. With feature `parallel` columns are made side by side.
//!
//! # In: what a column becomes
//!
//! | Arrow type | type | note |
//! |---|---|---|
//! | Boolean, Int8 to Int64, UInt8 to UInt64, Float32, Float64 | the same | |
//! | Float16 | `float32` | |
//! | Utf8, LargeUtf8, Utf8View | `unicode` | |
//! | Binary, LargeBinary, BinaryView, FixedSizeBinary | `str` | |
//! | Timestamp | `int64` with the attributes `units` (such as `microseconds since 1970-01-01`) and `calendar` | nanoseconds as microseconds, or an error for one that is finer; the number that it was where the metadata `ds` tells the units, or an error for a time that it cannot be |
//! | Date32, Date64 | `int32`, `int64` with `units` and `calendar` | |
//! | Time32, Time64, Duration | `int32`, `int64` with `units` | |
//! | Decimal | `float64` | an error for one whose digits the float does not lead back to |
//! | Null | `float64`, all missing; the empty variable that it was | |
//! | Dictionary | what its values become | |
//! | FixedSizeList, List, LargeList, nested ones, too | what the items become, with more dimensions | lists of different lengths: an error that names column, row and both lengths, or [filled up with missing elements](Ragged::Pad). `arrow.fixed_shape_tensor` has its shape and names; a permutation is refused |
//! | Struct | refused; with [`Structs::Flatten`] a variable `a.b` for each member | |
//! | Interval, Map, Union, views of lists, run ends | refused | |
//! | nulls | missing elements | the values under a null are not written |
//!
//! Dimensions without a name in the metadata are called after the column, with `_2`, `_3`... behind, as `wharf` names them.

mod batches;
mod bits;
mod build;
mod meta;
mod plan;
mod times;
mod write;

use arrow_schema::SchemaRef;
use container_arrow::{ArrowTable, BatchReader, BatchScan};
use container_core::Result;

use crate::container::DsTable;

pub use meta::FieldMetadata;
pub use write::{ArrowWriter, Ragged, Structs, WriterOptions};

impl ArrowTable for DsTable {
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        Ok(plan::Plan::new(self, scan)?.schema)
    }

    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        Ok(Box::new(batches::DsBatches::new(self, scan)?))
    }
}
