use crate::Text;
use crate::error::{Error, Result};

/// What a reader may spend on what a file merely declares. Part of every reader's options.
///
/// Lengths that are backed by bytes of the file need no limit: they are checked against the file. These limits bound
/// what can be larger than the file (decompressed data), what recursion costs, and what is held for the whole file.
///
/// ```
/// use container_core::Limits;
/// let limits = Limits::default().with_block_bytes(1 << 20);
/// assert!(limits.check_block("block length", 1 << 21).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one block, message or document once decompressed. Default 1 GiB.
    pub block_bytes: u64,
    /// Bytes that one operation (a scan, a conversion, a verification) holds decoded at a time, over all columns. What is
    /// written from them may take a multiple, so a part of this bounds a single row. Default 384 MiB.
    pub memory_bytes: u64,
    /// Bytes of one metadata item once decompressed, and of a text header. Default 256 MiB.
    pub metadata_bytes: u64,
    /// Columns (variables, members) of one table. Default 1,048,576.
    pub columns: u64,
    /// Nesting of values. Default 128.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { block_bytes: 1 << 30, memory_bytes: 384 << 20, metadata_bytes: 256 << 20, columns: 1 << 20, depth: 128 }
    }
}

impl Limits {
    /// Replaces [`block_bytes`](Self::block_bytes).
    #[must_use]
    pub const fn with_block_bytes(mut self, bytes: u64) -> Self {
        self.block_bytes = bytes;
        self
    }

    /// Replaces [`memory_bytes`](Self::memory_bytes).
    #[must_use]
    pub const fn with_memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// Replaces [`metadata_bytes`](Self::metadata_bytes).
    #[must_use]
    pub const fn with_metadata_bytes(mut self, bytes: u64) -> Self {
        self.metadata_bytes = bytes;
        self
    }

    /// Replaces [`columns`](Self::columns).
    #[must_use]
    pub const fn with_columns(mut self, columns: u64) -> Self {
        self.columns = columns;
        self
    }

    /// Replaces [`depth`](Self::depth).
    #[must_use]
    pub const fn with_depth(mut self, depth: u32) -> Self {
        self.depth = depth;
        self
    }

    /// Fails when a block of `asked` bytes is too large.
    ///
    /// # Errors
    /// [`Limit`](crate::ErrorKind::Limit).
    pub fn check_block(&self, what: impl Into<Text>, asked: u64) -> Result<()> {
        check(what, asked, self.block_bytes)
    }

    /// Fails when an operation would hold `asked` bytes decoded at a time and that is too much.
    ///
    /// # Errors
    /// [`Limit`](crate::ErrorKind::Limit).
    pub fn check_memory(&self, what: impl Into<Text>, asked: u64) -> Result<()> {
        check(what, asked, self.memory_bytes)
    }

    /// Fails when a metadata item of `asked` bytes is too large.
    ///
    /// # Errors
    /// [`Limit`](crate::ErrorKind::Limit).
    pub fn check_metadata(&self, what: impl Into<Text>, asked: u64) -> Result<()> {
        check(what, asked, self.metadata_bytes)
    }

    /// Fails when a table of `asked` columns is too wide.
    ///
    /// # Errors
    /// [`Limit`](crate::ErrorKind::Limit).
    pub fn check_columns(&self, what: impl Into<Text>, asked: u64) -> Result<()> {
        check(what, asked, self.columns)
    }
}

fn check(what: impl Into<Text>, asked: u64, limit: u64) -> Result<()> {
    if asked <= limit { Ok(()) } else { Err(Error::limit(what, asked, limit)) }
}
