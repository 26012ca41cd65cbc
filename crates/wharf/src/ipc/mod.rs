//! Arrow IPC, read and written: files (`.arrow`, also Feather of version 2) and streams (`.arrows`).
//!
//! A file is a [`Container`](crate::Container) with one table, `rows`; [`Writer`] makes one of record batches. Every type of Arrow is kept as
//! it is. Buffers that are not compressed are those of the source: nothing is copied from a mapped file that has them aligned.
//!
//! | what | read | written |
//! |---|---|---|
//! | files with a footer, streams with or without a mark at the end, old streams without marks | yes | files and streams of version 5 |
//! | buffers compressed by LZ4 and Zstandard | yes, up to [`Limits::block_bytes`](crate::Limits::block_bytes) of a message | yes, none by default |
//! | dictionaries that grow (deltas) | yes | yes |
//! | dictionaries that change from batch to batch | in streams, which alone may have them | streams as they are; in a file they are joined to one that grows, refused where its indexes cannot count the labels |
//! | two columns of one name | with `#2` appended | yes |
//! | Feather of version 1, files of the other byte order | refused | |
//! | dictionaries of dictionaries | refused | refused |
//!
//! All headers of a stream are read when it is opened, so that its rows are counted and any of them is found.

mod container;
mod read;
mod wire;
mod write;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;

pub use container::{FORMAT, IpcContainer};
pub use read::{Batches, Reader};
pub use write::{Compression, Form, Writer, WriterOptions, read_back};

/// The name of the format.
pub const FORMAT_NAME: &str = "arrow";
