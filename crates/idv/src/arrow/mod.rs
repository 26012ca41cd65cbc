//! Record batches of Arrow: files read as such by [`Reader::record_batches`](crate::Reader::record_batches), and written from them by
//! [`ArrowWriter`].
//!
//! # What a type becomes
//!
//! | IDV | Arrow | note |
//! |---|---|---|
//! | `SByte` to `UInt64` | `Int8` to `UInt64` | not nullable; with `missing_as_null` the least number of a signed type is null in files up to 1.1.1.5 |
//! | `Single`, `Double` | `Float32`, `Float64` | not nullable; with `missing_as_null` NaN is null |
//! | `Boolean`, `DvBool` | `Boolean` | of `DvBool` missing is null |
//! | `Text` | `Utf8` | missing is null |
//! | `TimeSpan`, `DvTimeSpan` | `Duration(us)` | by `Times` also nanoseconds, or the ticks of 100 ns as `Int64`; missing is null |
//! | `DateTime`, `DvDateTime` | `Timestamp(us)` without zone | the same |
//! | `DateTimeOffset`, `DvDateTimeZone` | struct of `time`: `Timestamp(us, UTC)`, the moment, and `offset`: `Int16`, minutes | the same; the local clock showed the moment plus the offset |
//! | `DataViewRowId` | `FixedSizeBinary(16)` | the bytes of the file: low half first, each little-endian |
//! | keys whose values all have labels | `Dictionary` of the narrowest of `UInt8` to `UInt64`, of `Utf8` or the numbers that the labels are | missing is null, and so is a number above the count, counted as a loss |
//! | other keys | the unsigned integer they are stored as | the value from 0; nulls as above |
//! | vectors of known size | `FixedSizeList` | of more than one dimension and of numbers: `arrow.fixed_shape_tensor` |
//! | vectors of unknown size | `List` | |
//! | sparse vectors | as above, with all slots | by `Sparse::Structs` all vectors become structs of `length`, `indices` (null for a dense one) and `values` |
//!
//! Under `idv` in the field's metadata stands the column as JSON, in the form that [`Schema::from_json`](crate::Schema::from_json) reads:
//! its name in the file (the field has `#2` behind a repeated one), its type, labels, slot names and all else that is said of it.
//! A column that cannot be read is left out and counted, unless it was asked for.
//!
//! # What comes back
//!
//! A field with such metadata becomes the same column again: type, key count, dimensions, labels and all. It need not come in the very form
//! above: labels may come as plain values (as through a file that has no dictionaries), vectors of known size as lists, times in any unit. Where
//! the metadata are of a column of another type, because somebody cast it, they are left out, which is counted. What JSON does not keep of
//! metadata is lost: their order, and what NaN carries beside being one.
//!
//! Without metadata:
//!
//! | Arrow | IDV | note |
//! |---|---|---|
//! | `Int8` to `UInt64` | the same | a null is an error, or by [`NullIntegers::Double`] nullable ones become `Double` |
//! | `Float16`, `Float32`; `Float64` | `Single`; `Double` | null becomes NaN, counted as a loss but with [`ArrowOptions::untyped`] |
//! | `Decimal32` to `Decimal128` | `Double` | more than 15 digits are an error; null as above |
//! | `Boolean` | `Boolean`, or `DvBool` where nullable | ML.NET reads a missing one as false |
//! | `Utf8`, `LargeUtf8`, `Utf8View`, `Null` | `Text` | null is missing, which ML.NET reads as empty |
//! | `Date32`, `Date64`, `Timestamp` without zone | `DateTime` | of the years 1 to 9999; finer than 100 ns is an error, or cut off by [`ArrowOptions::times`] |
//! | `Timestamp` with a zone | `DateTimeOffset` | of offset 0, or that of a zone such as `+05:30`; the name of another zone is lost and told |
//! | struct of `time` and `offset` as above | `DateTimeOffset` | |
//! | `Duration`, `Time32`, `Time64` | `TimeSpan`, or `DvTimeSpan` where nullable | |
//! | `FixedSizeBinary(16)` | `DataViewRowId` | |
//! | `Dictionary` of texts | `Key` stored as `UInt32`, with labels | those of all batches in the order in which they came, used or not |
//! | `Dictionary` of anything else | as its values | |
//! | `FixedSizeList` | vector of known size | with the dimensions of an `arrow.fixed_shape_tensor`; a null row is an error |
//! | `List`, `LargeList` | vector of unknown size | a null row becomes an empty vector, counted as a loss |
//! | struct of `length`, `indices` and `values` as above | vector of unknown size, sparse | |
//! | all others, lists of lists | | refused, with column and type |
//!
//! With [`ArrowOptions::untyped`] a `Utf8` column may have metadata of another type: its texts are read as values of that type, so that rows of CSV
//! or JSON fill columns of any type.
//!
//! # Without copies
//!
//! Numbers, row ids and bools of an uncompressed block are the same memory as a mapped file where they lie aligned; of a compressed one they
//! are inflated into the memory that the batch has. Texts are handed over. Times, keys and sparse vectors are made anew.

mod array;
mod items;
mod lists;
mod measure;
mod plan;
mod read;
mod tally;
mod times;
mod write;

pub use read::RecordBatches;
pub use write::{ArrowOptions, ArrowWriter, NullIntegers};
