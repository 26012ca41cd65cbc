//! Arrow for formats without Arrow's types: columns out of rows, rows out of record batches.
//!
//! # Where to start
//!
//! | you want to | take |
//! |---|---|
//! | read a table as record batches, write a file from them | [`ArrowTable`], [`BatchReader`], [`BatchWriter`]: the interface, from [`container_core::arrow`] |
//! | infer the schema of rows without one | [`Observation`], then [`resolve_schema`]; the [rules](resolve) |
//! | build columns value by value | [`Columns`], [`Slot`] |
//! | do both with JSON texts | [`Json`] |
//! | show batches as rows, or as JSON lines | [`BatchRows`], [`JsonRows`] |
//! | share bytes of a file with Arrow | [`numbers`], which copies only what is not aligned |
//! | slice batches | [`BatchSlices`] |
//! | show a batch as a table | [`BatchTable`] |
//! | read and write dates and times as text | [`parse_time`], [`write_time`] |
//!
//! # A first program
//!
//! The schema of two JSON documents, and their record batch:
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

mod batch_slices;
mod batch_table;
mod build;
mod json;
mod observe;
mod resolve;
mod rows;
mod times;
mod zero_copy;

#[cfg(test)]
mod tests;

pub use batch_slices::BatchSlices;
pub use batch_table::BatchTable;
pub use build::{Columns, ListSlot, ObjectSlot, Slot, SlotEncoding, Tensor, add_losses};
pub use container_core::arrow::{
    ArrowTable, BatchReader, BatchScan, BatchWriter, Mapping, OnMismatch, Sparse, Times, from_arrow, to_arrow,
};
pub use json::Json;
pub use observe::{Class, ColumnProfile, Element, ListObserver, ObjectObserver, Observation, TypeObserver};
pub use resolve::{ENCODING, SPARSE, infer_from_sample, narrow_field, resolve, resolve_member, resolve_schema};
pub use rows::{BatchRows, JsonRows};
pub use times::{parse as parse_time, write as write_time};
pub use zero_copy::{booleans, numbers};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
