//! Reads and writes Arrow IPC: files (`.arrow`, also Feather version 2) and streams (`.arrows`).
//!
//! A file is a [`Container`](crate::Container) with one table, `rows`; [`Writer`] writes record batches. All Arrow types are preserved.
//! Uncompressed buffers are zero-copy if the source is mapped and the buffers are aligned.
//!
//! | what | read | written |
//! |---|---|---|
//! | files with a footer, streams with or without an end marker, old streams without continuation markers | yes | files and streams of version 5 |
//! | LZ4 and Zstandard compression | yes, up to [`Limits::block_bytes`](crate::Limits::block_bytes) per message | yes, none by default |
//! | delta dictionaries | yes | yes |
//! | replacement dictionaries | in streams, the only place where they are valid | unchanged in streams; in files they are joined into one that grows, rejected if its indexes cannot address all labels |
//! | duplicate column names | with `#2` appended | yes |
//! | Feather version 1, files of the other byte order | rejected | |
//! | dictionaries of dictionaries | rejected | rejected |
//!
//! All message headers of a stream are read when it is opened, so that rows are counted and randomly accessible.

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
pub use write::{Compression, Layout, Writer, WriterOptions, read_back};

/// The name of the format.
pub const FORMAT_NAME: &str = "arrow";
