//! Writing a file: values are gathered into blocks, blocks encoded and compressed by all threads, tables written last.

mod cell;
mod copy;
mod finish;
mod layout;
mod merge;
mod options;
mod pipeline;
#[cfg_attr(not(test), allow(dead_code, reason = "the writer takes rows through it"))]
mod row;
mod writer;

pub use cell::{Cell, KeyLabels};
pub use copy::Copied;
pub use merge::merge;
pub use options::WriterOptions;
#[allow(unused_imports, reason = "the writer takes rows through it")]
pub(crate) use row::RowBuffer;
pub use writer::Writer;
