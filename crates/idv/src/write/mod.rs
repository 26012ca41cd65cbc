//! Writing a file: values are gathered into blocks, blocks encoded and compressed by all threads, tables written last.

mod check;
mod copy;
mod finish;
mod layout;
mod options;
mod pipeline;
mod writer;

pub use copy::Copied;
pub use options::WriterOptions;
pub use writer::Writer;
