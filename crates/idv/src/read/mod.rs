//! Opening and reading files.

mod batches;
pub(crate) mod block;
mod block_request;
pub(crate) mod block_scan;
pub(crate) mod budget;
mod metadata;
mod open;
mod preview;
mod rows;
mod salvage;
mod schema;
mod typed;
mod verify;

pub use batches::{Batch, Batches, ColumnSlice};
pub use block::Scratch;
pub(crate) use block::each_block;
pub(crate) use block_request::BlockRequest;
pub(crate) use block_scan::SAME_ROWS;
pub use metadata::Metadata;
pub(crate) use open::unique_names;
pub use open::{Column, Reader, Unreadable};
pub(crate) use preview::Preview;
pub(crate) use rows::metadata_as_value;
pub use rows::{Row, Rows};

#[cfg(all(test, feature = "parallel"))]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
