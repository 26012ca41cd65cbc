//! Converts samples to Arrow record batches and back.
//!
//! # Reading: how fields become columns
//!
//! A dataset has no schema: it is inferred from all samples of the row range, unless [`BatchScan::schema`] declares one. Columns are in order
//! of first appearance and nullable: nil and missing fields are null. Types follow from all values of a column, regardless of order, by the
//! rules of [`resolve`](container_arrow::resolve()).
//!
//! | value | Arrow type | note |
//! |---|---|---|
//! | bool, int, 32-bit and 64-bit float | Boolean, Int64 or UInt64, Float32, Float64 | integers and floats in one column: Float64, if it represents all integers exactly |
//! | str | Utf8 | invalid UTF-8 is an error with its byte, as in rows |
//! | bin | Binary | |
//! | array | List of its items' type | |
//! | map | Struct of its members' types | a key that is not a str becomes its JSON, as in rows; of duplicate keys the first value is taken, the others are counted as losses |
//! | map that is a sparse vector (see [`json`](crate::json)) | List of all its elements | a Struct if declared |
//! | numpy scalar of a bool, an integer, a float | Boolean, Int64 or UInt64, Float16, Float32, Float64 | |
//! | of a string, of bytes | Utf8, Binary | |
//! | of a structure, of plain bytes, of a float beyond 64 bits | Binary | its bytes, as in rows |
//! | datetimes, timedeltas | Timestamp, Duration, if all values of a column are scalars of one unit out of s, ms, us, ns; else Int64, counted as a loss | NaT becomes null, counted as a loss |
//! | numpy array without dimensions | as the scalar | |
//! | of bools, integers, floats up to 64 bits, datetimes and timedeltas (as Int64) | FixedSizeList, `arrow.fixed_shape_tensor`, if all have one shape | any byte order; times are counted as losses, and NaT, which is the smallest integer |
//! | the same, of one dimension and several lengths | List | |
//! | the same, of other shapes | `arrow.variable_shape_tensor`; Struct of the lists `data` and `shape` for several numbers of dimensions | |
//! | of bytes or strings, in one dimension | List of Binary, of Utf8 | |
//! | complex numbers; arrays of them, of structures, of objects, of longer floats, of strings in more dimensions or with invalid code points; ext (including msgpack timestamps) | | unsupported |
//!
//! Unsupported values are handled by [`Mapping::on_mismatch`](container_arrow::Mapping). `Json` is the text of rows, `Msgpack` the encoded
//! bytes: both are lossless. A sample that is not a map is an error, or with any other `on_mismatch` a row of nulls, counted as a loss.
//! Samples need no key.
//!
//! If all non-null values of a column are numpy scalars or arrays of one dtype, the field's metadata has under `datadings` a JSON object with
//! `numpy` (`scalar`, `array`, or `point` for arrays without dimensions) and `dtype`, from which the same values are written again.
//!
//! Columns of a declared schema are matched by name, and values must be represented exactly: an integer goes into any type that holds it, an
//! array into nested lists, a datetime into every unit that represents it, text into dates and times if it is ISO 8601.
//!
//! Batches end when messages and columns exceed [`BatchScan::batch_bytes`]; where they end depends on the samples only. With feature
//! `parallel`, all threads of the scan infer the schema, and make up to eight batches ahead.
//!
//! # Writing: how columns become fields
//!
//! | Arrow type | value | note |
//! |---|---|---|
//! | Null, and every null | nil | |
//! | Boolean, Int8 to Int64, UInt8 to UInt64 | bool, int in its shortest encoding | |
//! | Float16 | numpy scalar `<f2` | msgpack has no such float |
//! | Float32, Float64 | 32-bit, 64-bit float | |
//! | Utf8, LargeUtf8, Utf8View | str | with the extension `arrow.json` the value it describes, see [`json`](crate::json) |
//! | Binary, LargeBinary, BinaryView, FixedSizeBinary | bin | with the metadata `encoding: msgpack` the value it encodes, validated |
//! | Date32, Date64, Time32, Time64, Timestamp | str, ISO 8601 with all digits | with a zone the offset from UTC, `Z` for a named zone |
//! | Duration | numpy scalar `<m8[..]` | |
//! | Decimal | str with all digits | counted as a loss |
//! | List, LargeList, FixedSizeList | array | |
//! | `arrow.fixed_shape_tensor`, `arrow.variable_shape_tensor` of bools and numbers | numpy array, little-endian | dimension names are counted as losses; permuted dimensions are unsupported; a null element is an error |
//! | Struct | map | unsupported if its members would be read as a numpy value |
//! | Map | map | keys as they are |
//! | Dictionary | its values | |
//! | Interval, Union, list views, run ends | unsupported | |
//!
//! If a field has the metadata described above, numbers become numpy scalars of that dtype (those it cannot represent remain plain), times
//! become datetimes and timedeltas, and lists of numbers arrays.
//!
//! Each sample has a unique string `key`; [`Keys`] says where it comes from.

mod append;
mod batches;
mod lookup;
mod numpy_type;
mod observe;
mod plan;
mod pool;
mod value;
mod write;

use arrow_schema::SchemaRef;
use container_arrow::{ArrowTable, BatchReader, BatchScan, StepReader};
use container_core::Result;

pub use self::write::{ArrowWriter, Keys, WriterOptions};

use crate::container::DatadingsContainer;

impl ArrowTable for DatadingsContainer {
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        batches::SampleBatches::new(self, scan).map(batches::SampleBatches::into_schema)
    }

    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        Ok(Box::new(StepReader::new(batches::SampleBatches::new(self, scan)?)))
    }
}
