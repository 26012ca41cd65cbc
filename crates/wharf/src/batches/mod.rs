//! What the readers and writers of record batches share.

mod columns;
mod guard;
#[cfg(test)]
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "values are small")]
pub(crate) mod samples;
mod size;
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "Parquet alone is written ahead"))]
mod workers;

pub(crate) use columns::{Chosen, choose, describe, json_or_text, metadata, rows, same_columns};
pub(crate) use guard::guarded;
pub use guard::is_guarded;
#[cfg(feature = "parquet")]
pub(crate) use size::bytes_of;
pub(crate) use size::pieces;
pub(crate) use workers::Workers;
#[cfg(feature = "parquet")]
pub(crate) use workers::{Task, groups};
