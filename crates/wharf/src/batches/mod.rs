//! What the readers and writers of record batches share.

pub(crate) mod columns;
mod dictionaries;
mod guard;
#[cfg(test)]
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "values are small")]
pub(crate) mod samples;
pub(crate) mod size;

pub(crate) use columns::{Chosen, choose, describe, json_or_text, metadata, name, rows, same_columns, summary};
pub(crate) use dictionaries::{Dictionaries, has_dictionary};
pub(crate) use guard::guarded;
pub use guard::is_guarded;
pub(crate) use size::pieces;
