//! Opening and reading files.

mod batches;
mod preview;
pub(crate) mod block;
pub(crate) mod budget;
mod metadata;
mod open;
mod block_request;
mod rows;
mod salvage;
mod schema;
mod typed;
mod verify;
pub(crate) mod block_scan;

pub use batches::{Batch, Batches, ColumnSlice};
pub(crate) use preview::Preview;
pub use block::Scratch;
pub(crate) use block::each_block;
pub use metadata::Metadata;
pub(crate) use open::unique_names;
pub use open::{Column, Reader, Unreadable};
pub(crate) use block_request::BlockRequest;
pub(crate) use rows::metadata_as_value;
pub use rows::{Row, Rows};
pub(crate) use block_scan::SAME_ROWS;

#[cfg(all(test, feature = "parallel"))]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
