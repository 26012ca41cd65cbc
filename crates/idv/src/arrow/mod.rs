//! Arrow record batches: reading with [`Reader::record_batches`](crate::Reader::record_batches), writing with [`ArrowWriter`].
//!
//! # Type mapping, IDV to Arrow
//!
//! | IDV | Arrow | note |
//! |---|---|---|
//! | `SByte` to `UInt64` | `Int8` to `UInt64` | not nullable; with `missing_as_null` the minimum of a signed type is null in files up to 1.1.1.5 |
//! | `Single`, `Double` | `Float32`, `Float64` | not nullable; with `missing_as_null` NaN is null |
//! | `Boolean`, `DvBool` | `Boolean` | missing `DvBool` is null |
//! | `Text` | `Utf8` | missing is null |
//! | `TimeSpan`, `DvTimeSpan` | `Duration(us)` | with `Times` also nanoseconds, or ticks of 100 ns as `Int64`; missing is null |
//! | `DateTime`, `DvDateTime` | `Timestamp(us)` without time zone | as above |
//! | `DateTimeOffset`, `DvDateTimeZone` | struct of `time`: `Timestamp(us, UTC)`, the instant, and `offset`: `Int16`, minutes | as above; local time is the instant plus the offset |
//! | `DataViewRowId` | `FixedSizeBinary(16)` | the file's bytes: low half first, each little-endian |
//! | keys with a label for every value | `Dictionary` with the narrowest of `UInt8` to `UInt64` as keys and `Utf8` or the labels' number type as values | missing is null; so is a number above the key count, counted as a loss |
//! | other keys | the unsigned storage type | the key value from 0; nulls as above |
//! | vectors of known size | `FixedSizeList` | numbers with several dimensions: `arrow.fixed_shape_tensor` |
//! | vectors of unknown size | `List` | |
//! | sparse vectors | as above, dense | with `Sparse::Structs` all vectors become structs of `length`, `indices` (null if dense) and `values` |
//!
//! The field's metadata have the column as JSON under the key `idv`, as [`Schema::from_json`](crate::Schema::from_json) reads it: its name
//! in the file (the field name has `#2` appended to a repeated one), type, labels, slot names and other metadata. An unreadable column is
//! left out and counted as a loss, unless it was selected.
//!
//! # Type mapping, Arrow to IDV
//!
//! A field with `idv` metadata becomes the same column again, with type, key count, dimensions and metadata. Its array type may differ from
//! the table above: labels as plain values (from a format without dictionaries), vectors of known size as lists, times in any unit. If the
//! array type is incompatible, for example after a cast, the metadata are ignored, counted as a loss. The order of metadata and the payload
//! of NaN are not preserved.
//!
//! Without metadata:
//!
//! | Arrow | IDV | note |
//! |---|---|---|
//! | `Int8` to `UInt64` | the same | a null is an error; with [`NullIntegers::Double`] nullable columns become `Double` |
//! | `Float16`, `Float32`; `Float64` | `Single`; `Double` | null becomes NaN, counted as a loss except with [`ArrowOptions::untyped`] |
//! | `Decimal32` to `Decimal128` | `Double` | more than 15 digits are an error; null as above |
//! | `Boolean` | `Boolean`, or `DvBool` where nullable | ML.NET reads a missing one as false |
//! | `Utf8`, `LargeUtf8`, `Utf8View`, `Null` | `Text` | null is missing, which ML.NET reads as empty |
//! | `Date32`, `Date64`, `Timestamp` without zone | `DateTime` | years 1 to 9999; finer than 100 ns is an error, or rounded down with [`ArrowOptions::times`] |
//! | `Timestamp` with time zone | `DateTimeOffset` | with the offset of a zone such as `+05:30`, otherwise 0; other zone names are lost and reported |
//! | struct of `time` and `offset` as above | `DateTimeOffset` | |
//! | `Duration`, `Time32`, `Time64` | `TimeSpan`, or `DvTimeSpan` where nullable | |
//! | `FixedSizeBinary(16)` | `DataViewRowId` | |
//! | `Dictionary` of texts | `Key` stored as `UInt32`, with labels | the labels of all batches in order of appearance, used or not |
//! | `Dictionary` of anything else | as its values | |
//! | `FixedSizeList` | vector of known size | with the dimensions of an `arrow.fixed_shape_tensor`, which must not be permuted; a null row is an error |
//! | `List`, `LargeList` | vector of unknown size | a null row becomes an empty vector, counted as a loss |
//! | struct of `length`, `indices` and `values` as above | vector of unknown size, sparse | |
//! | all others, lists of lists | | rejected, with column and type |
//!
//! With [`ArrowOptions::untyped`], a `Utf8` column may have metadata of another type: its text is parsed as values of that type, so that CSV
//! or JSON can fill columns of any type.
//!
//! # Zero-copy
//!
//! Numbers, row ids and Booleans of uncompressed blocks share the memory of a mapped file if aligned; those of compressed blocks share the
//! inflated buffer. Text is moved, not copied. Times, keys and sparse vectors are converted.

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
