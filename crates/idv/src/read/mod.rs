//! Opening a file, and everything that is read from it later.

mod batches;
mod beginning;
pub(crate) mod block;
pub(crate) mod budget;
mod metadata;
mod open;
mod place;
mod rows;
mod salvage;
mod schema;
mod typed;
mod verify;
pub(crate) mod walk;

pub use batches::{Batch, Batches, ColumnSlice};
pub(crate) use beginning::Beginning;
pub use block::Scratch;
pub(crate) use block::each_block;
pub use metadata::Metadata;
pub(crate) use open::unique_names;
pub use open::{Column, Reader, Unreadable};
pub(crate) use place::Place;
pub(crate) use rows::shown_metadata;
pub use rows::{Row, Rows};
pub(crate) use walk::SAME_ROWS;

#[cfg(all(test, feature = "parallel"))]
#[allow(clippy::unwrap_used, reason = "tests, and what they share")]
mod tests;
