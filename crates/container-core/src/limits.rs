use crate::Text;
use crate::error::{Error, Result};

/// Bounds on the resources a reader spends on input it does not trust. Part of every reader's options.
///
/// Lengths backed by bytes of the file are checked against its size and need no limit. These limits bound what can exceed the file:
/// decompressed data, recursion depth, and state kept for the whole file. All are inclusive maxima.
///
/// ```
/// use container_core::Limits;
/// let limits = Limits::default().with_block_bytes(1 << 20);
/// assert!(limits.check_block("block length", 1 << 21).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Decompressed bytes of one block, message or document. Default: 1 GiB.
    pub block_bytes: u64,
    /// Decoded bytes one operation (a scan, a conversion, a verification) holds at a time, over all columns. Writing may need a multiple
    /// of it, so a single row is bounded by a fraction. Default: 384 MiB.
    pub memory_bytes: u64,
    /// Decompressed bytes of one metadata item, and bytes of a text header. Default: 256 MiB.
    pub metadata_bytes: u64,
    /// Columns (variables, members) of one table. Default: 1,048,576.
    pub columns: u64,
    /// Nesting depth of values. Default: 128.
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

    /// Checks the decompressed size of a block in bytes.
    ///
    /// # Errors
    /// [`Limit`](crate::ErrorKind::Limit) naming `what`.
    pub fn check_block(&self, what: impl Into<Text>, asked: u64) -> Result<()> {
        check(what, asked, self.block_bytes)
    }

    /// Checks the number of decoded bytes an operation holds at a time.
    ///
    /// # Errors
    /// [`Limit`](crate::ErrorKind::Limit) naming `what`.
    pub fn check_memory(&self, what: impl Into<Text>, asked: u64) -> Result<()> {
        check(what, asked, self.memory_bytes)
    }

    /// Checks the decompressed size of a metadata item in bytes.
    ///
    /// # Errors
    /// [`Limit`](crate::ErrorKind::Limit) naming `what`.
    pub fn check_metadata(&self, what: impl Into<Text>, asked: u64) -> Result<()> {
        check(what, asked, self.metadata_bytes)
    }

    /// Checks the number of columns of a table.
    ///
    /// # Errors
    /// [`Limit`](crate::ErrorKind::Limit) naming `what`.
    pub fn check_columns(&self, what: impl Into<Text>, asked: u64) -> Result<()> {
        check(what, asked, self.columns)
    }
}

fn check(what: impl Into<Text>, asked: u64, limit: u64) -> Result<()> {
    if asked <= limit { Ok(()) } else { Err(Error::limit(what, asked, limit)) }
}
