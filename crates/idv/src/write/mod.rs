//! Writing a file: values are gathered into blocks, blocks encoded and compressed by all threads, tables written last.

mod cell;
mod copy;
mod finish;
mod fits;
mod layout;
mod merge;
mod options;
mod pipeline;
mod row;
mod writer;

#[cfg(feature = "arrow")]
pub(crate) use cell::text_of;
pub use cell::{Cell, KeyLabels};
pub use copy::Copied;
pub use merge::merge;
pub use options::WriterOptions;
pub use writer::Writer;
