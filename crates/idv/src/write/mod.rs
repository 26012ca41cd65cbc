//! Writing files: values are collected into blocks, which all threads encode and compress; the tables are written last.

mod block_rows;
pub(crate) mod cell;
mod copy;
mod finish;
mod keys;
mod layout;
mod merge;
mod options;
mod pipeline;
mod row;
mod validate;
mod writer;

pub use cell::{Cell, KeyLabels};
pub use copy::CopyStats;
pub use merge::merge;
pub use options::WriterOptions;
pub use writer::Writer;
