//! Samples as record batches of Arrow, and datasets made from them.
//!
//! # Out: what fields become
//!
//! A dataset has no schema: all samples of the range are looked at, unless [`BatchScan::schema`] declares one. Fields stand in the order of
//! their first appearance, and all of them are nullable: nil, and a field that a sample does not have, is null. The types follow from all
//! values of a column, in whatever order they come, by the rules of [`resolve`](container_arrow::resolve()).
//!
//! | value | Arrow type | note |
//! |---|---|---|
//! | bool, int, float of 32 and of 64 bits | Boolean, Int64 or UInt64, Float32, Float64 | integers and floats in one column: Float64, if it holds all of the integers exactly |
//! | str | Utf8 | one that is not UTF-8 is an error with its byte, as in rows |
//! | bin | Binary | |
//! | array | List of what its items are | |
//! | map | Struct of what its members are | a name that is no str is its JSON, as in rows; of a name that comes again the first value is taken, and the others are counted as lost |
//! | numpy scalar of a bool, an integer, a float | Boolean, Int64 or UInt64, Float16, Float32, Float64 | |
//! | of text, of bytes | Utf8, Binary | |
//! | of a structure, of plain bytes, of a float beyond 64 bits | Binary | its bytes, as in rows |
//! | datetimes, timedeltas | Timestamp, Duration, where all of a column are scalars of the same unit: s, ms, us, ns; else Int64 | NaT is null, counted as lost |
//! | numpy array without dimensions | as the scalar | |
//! | of bools, integers, floats up to 64 bits, datetimes and timedeltas (as Int64) | FixedSizeList, `arrow.fixed_shape_tensor`, where all have one shape | any order of bytes |
//! | the same, of one dimension and several lengths | List | |
//! | the same, of other shapes | `arrow.variable_shape_tensor`; Struct of the lists `data` and `shape` for several numbers of dimensions | |
//! | of bytes or texts, in one dimension | List of Binary, of Utf8 | |
//! | complex numbers, arrays of them, of structures, of objects, of longer floats, of texts in more dimensions or with code points that are none; ext (and so timestamps of msgpack) | | they do not fit |
//!
//! What does not fit becomes what [`Mapping::on_mismatch`](container_arrow::Mapping) says. `Json` is the text that rows have, `Msgpack` the
//! bytes of the sample: both keep all there is. A sample that is no map is an error, or a row of nulls that is counted where `on_mismatch` says anything
//! else. Nothing has to be a key.
//!
//! Where all values of a column that are not null are scalars or arrays of numpy of one dtype, the metadata of the field has under `datadings` a
//! JSON object of `numpy` (`scalar`, `array`, or `point` for arrays without dimensions) and `dtype`, and the same values are made of it again.
//!
//! A schema that is declared is filled by name, exactly: an integer goes into any type that holds it, an array into lists of lists, a datetime into
//! every unit that can say it, text into dates and times if it is ISO 8601.
//!
//! Batches end where messages and columns pass [`BatchScan::batch_bytes`]; where, depends on the samples alone. With feature `parallel` samples are
//! looked at, and up to eight batches made ahead, by all threads of the scan.
//!
//! # In: what columns become
//!
//! | Arrow type | value | note |
//! |---|---|---|
//! | Null, and every null | nil | |
//! | Boolean, Int8 to Int64, UInt8 to UInt64 | bool, int in its shortest form | |
//! | Float16 | numpy scalar `<f2` | msgpack has no such float |
//! | Float32, Float64 | float of 32, of 64 bits | |
//! | Utf8, LargeUtf8, Utf8View | str | with the extension `arrow.json` the value that it is the text of, as [`json`](crate::json) says |
//! | Binary, LargeBinary, BinaryView, FixedSizeBinary | bin | with the metadata `encoding: msgpack` the value that it is, checked |
//! | Date32, Date64, Time32, Time64, Timestamp | str, ISO 8601 with all digits | with a zone the difference to UTC, `Z` for one by name |
//! | Duration | numpy scalar `<m8[..]` | |
//! | Decimal | str with all digits | counted as lost |
//! | List, LargeList, FixedSizeList | array | |
//! | `arrow.fixed_shape_tensor`, `arrow.variable_shape_tensor` of bools and numbers | numpy array, little-endian | names of dimensions are counted as lost; permuted ones are refused; an element that is null is an error |
//! | Struct | map | one whose members would be read as a value of numpy is refused |
//! | Map | map | keys as they are |
//! | Dictionary | its values | |
//! | Interval, Union, views of lists, run ends | refused | |
//!
//! Where a field has the metadata that the first part tells of, numbers become scalars of numpy of that dtype (one that it does not hold stays plain),
//! times datetimes and timedeltas, lists of numbers arrays.
//!
//! Each sample has a text `key`, and no two have the same: [`Keys`] says where it comes from.

mod append;
mod batches;
mod lookup;
mod mark;
mod observe;
mod plan;
mod pool;
mod value;
mod write;

use arrow_schema::SchemaRef;
use container_arrow::{ArrowTable, BatchReader, BatchScan};
use container_core::Result;

pub use self::write::{ArrowWriter, Keys, WriterOptions};

use crate::container::DatadingsContainer;

impl ArrowTable for DatadingsContainer {
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        batches::SampleBatches::new(self, scan).map(batches::SampleBatches::into_schema)
    }

    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        Ok(Box::new(batches::SampleBatches::new(self, scan)?))
    }
}
