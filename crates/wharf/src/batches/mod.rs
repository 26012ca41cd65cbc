//! Record batches: containers of them, and what the readers and writers of Parquet and Arrow IPC share.

pub(crate) mod columns;
mod container;
mod dictionaries;
mod guard;
pub(crate) mod hidden;
#[cfg(test)]
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "values are small")]
pub(crate) mod samples;
pub(crate) mod size;

pub(crate) use columns::{
    Projection, describe, json_or_text, metadata, name, project, rows, rows_of, same_columns, summary,
};
pub use container::{BatchContainer, BoxedBatches};
pub(crate) use dictionaries::{Dictionaries, has_dictionary};
pub(crate) use guard::guarded;
pub use guard::is_guarded;
pub(crate) use size::batch_slices;
