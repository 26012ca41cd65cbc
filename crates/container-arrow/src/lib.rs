//! Conversions between rows and Arrow record batches, for formats without native Arrow types.
//!
//! # Where to start
//!
//! | to | use |
//! |---|---|
//! | read a table as record batches, write a file from them | [`ArrowTable`], [`BatchReader`], [`BatchWriter`], re-exported from [`container_core::arrow`] |
//! | infer the schema of rows without one | [`Observation`], then [`resolve_schema`]; the [rules](resolve) |
//! | build columns value by value | [`Columns`], [`Slot`] |
//! | do both from JSON text | [`Json`] |
//! | convert batches to rows or JSON lines | [`BatchRows`], [`JsonRows`] |
//! | use bytes of a file as Arrow buffers | [`numbers`], zero-copy if aligned |
//! | slice batches | [`BatchSlices`] |
//! | use a batch as a [`Table`](container_core::Table) | [`BatchTable`] |
//! | implement [`BatchReader`] | [`BatchSteps`], [`StepReader`] |
//! | filter batches by a condition in SQL syntax | [`Predicate`] (feature `predicate`) |
//! | read and write dates and times as text, and write decimals | [`parse_time`], [`write_time`], [`decimal_text`] |
//!
//! # Example
//!
//! Two JSON documents as a record batch:
//!
//! ```
//! use std::sync::Arc;
//! use container_arrow::{BatchScan, Columns, Json, Observation, resolve_schema};
//! use container_core::Limits;
//!
//! let (limits, scan) = (Limits::default(), BatchScan::default());
//! let texts = [r#"{"a":1,"b":["x"]}"#, r#"{"a":2.5}"#];
//! let mut json = Json::new(&limits);
//! let mut observation = Observation::new(limits);
//! for (row, text) in (0..).zip(texts) {
//!     json.observe(text.as_bytes(), observation.row(row))?;
//! }
//! let schema = resolve_schema(&observation, &scan.mapping)?;
//! let mut columns = Columns::new(Arc::new(schema), &scan, &limits)?;
//! for (row, text) in (0..).zip(texts) {
//!     let mut object = columns.row(row);
//!     json.append(text.as_bytes(), &mut object)?;
//!     object.end();
//! }
//! assert_eq!(columns.finish()?.num_rows(), 2);
//! # Ok::<(), container_core::Error>(())
//! ```

// Inline string views and packed booleans of arrow-rs 59 have wrong values there, without an error.
const _: () = assert!(u16::from_le(1) == 1, "container-arrow supports little-endian targets only");

mod batch_slices;
mod batch_table;
mod build;
mod decimals;
mod json;
mod names;
mod observe;
#[cfg(feature = "predicate")]
#[cfg_attr(docsrs, doc(cfg(feature = "predicate")))]
pub mod predicate;
mod resolve;
mod rows;
mod steps;
mod tensor;
mod times;
mod zero_copy;

#[cfg(test)]
mod tests;

pub use batch_slices::BatchSlices;
pub use batch_table::BatchTable;
pub use build::{Columns, ListSlot, ObjectSlot, RowBlock, Slot, SlotEncoding, Tensor, add_losses};
pub use container_core::arrow::{
    ArrowTable, BatchReader, BatchScan, BatchWriter, ColumnBounds, Mapping, OnMismatch, Sparse, Times, from_arrow,
    to_arrow,
};
pub use decimals::decimal_text;
pub use json::Json;
pub use names::{listed, unknown_column, unknown_name};
pub use observe::{Class, ColumnProfile, Element, ListObserver, ObjectObserver, Observation, TypeObserver};
#[cfg(feature = "predicate")]
#[cfg_attr(docsrs, doc(cfg(feature = "predicate")))]
pub use predicate::{Filter, Predicate};
pub use resolve::{ENCODING, SPARSE, infer_from_sample, narrow_field, resolve, resolve_member, resolve_schema};
pub use rows::{BatchRows, JsonRows};
pub use steps::{BatchSteps, StepReader};
pub use tensor::PermutedTensor;
pub use times::{parse as parse_time, write as write_time};
pub use zero_copy::{booleans, numbers};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
