//! What the readers and writers of record batches share.

mod columns;
mod dictionaries;
mod guard;
#[cfg(test)]
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "values are small")]
pub(crate) mod samples;
mod size;

#[cfg(feature = "parquet")]
pub(crate) use columns::sorted;
pub(crate) use columns::{Chosen, choose, describe, json_or_text, metadata, name, rows, same_columns, summary};
#[cfg(feature = "parquet")]
pub(crate) use dictionaries::narrow;
pub(crate) use dictionaries::{Dictionaries, has_dictionary};
pub(crate) use guard::guarded;
pub use guard::is_guarded;
pub(crate) use size::pieces;
#[cfg(feature = "parquet")]
pub(crate) use size::{array_bytes, bytes_of};
