//! Opening a file, and everything that is read from it later.

mod batches;
mod beginning;
mod block;
mod budget;
mod metadata;
mod open;
mod rows;
mod salvage;
mod schema;
mod typed;
mod verify;
mod walk;

pub use batches::{Batch, Batches, ColumnSlice};
pub(crate) use beginning::Beginning;
pub use block::Scratch;
#[cfg(feature = "arrow")]
pub(crate) use block::Scratches;
pub(crate) use block::each_block;
#[cfg(feature = "arrow")]
pub(crate) use budget::{Budget, Cost};
pub use metadata::Metadata;
pub(crate) use open::unique_names;
pub use open::{Column, Reader, Unreadable};
pub(crate) use rows::shown_metadata;
pub use rows::{Row, Rows};
#[cfg(feature = "arrow")]
pub(crate) use walk::{BlockMaker, Slot, Walk};
pub(crate) use walk::{Place, SAME_ROWS};

#[cfg(all(test, feature = "parallel"))]
#[allow(clippy::unwrap_used, reason = "tests, and what they share")]
mod tests;
