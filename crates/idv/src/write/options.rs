use std::fmt;
use std::sync::Arc;

use container_core::{Error, Limits, Progress, Result};

use crate::FORMAT_NAME;
use crate::wire::Compression;

/// Default maximum rows per block.
pub(super) const DEFAULT_ROWS_PER_BLOCK: u64 = 8192;

/// Default maximum bytes of the blocks of all columns for the same rows.
pub(super) const DEFAULT_GROUP_BYTES: u64 = 80 << 20;

/// Options of a [`Writer`](crate::Writer). The defaults are ML.NET's: DEFLATE, 8192 rows per block, fewer if they exceed 80 MiB.
#[derive(Clone)]
#[non_exhaustive]
pub struct WriterOptions {
    /// Block compression for columns without their own. Default: DEFLATE. ML.NET does not read zlib.
    pub compression: Compression,
    /// Compression level: 0 (stored) to 9 (smallest). Default: 6.
    pub level: u8,
    /// Maximum rows per block, for all columns. `None`: 8192, or unlimited if [`bytes_per_block`](Self::bytes_per_block) is set.
    pub rows_per_block: Option<u64>,
    /// Maximum uncompressed bytes of the blocks of all columns for the same rows, judged by the first rows. `None`: 80 MiB, or if
    /// [`rows_per_block`](Self::rows_per_block) is set, a quarter of [`Limits::memory_bytes`].
    pub bytes_per_block: Option<u64>,
    /// Threads for encoding and compression (feature `parallel`); 0 uses all. The output does not depend on it.
    pub threads: usize,
    /// The writer rejects files that a reader with these limits would reject.
    pub limits: Limits,
    /// Receives progress in rows appended.
    pub progress: Option<Arc<dyn Progress>>,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            compression: Compression::Deflate,
            level: 6,
            rows_per_block: None,
            bytes_per_block: None,
            threads: 0,
            limits: Limits::default(),
            progress: None,
        }
    }
}

impl WriterOptions {
    /// Replaces [`compression`](Self::compression).
    #[must_use]
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Replaces [`level`](Self::level).
    #[must_use]
    pub fn with_level(mut self, level: u8) -> Self {
        self.level = level;
        self
    }

    /// Replaces [`rows_per_block`](Self::rows_per_block).
    #[must_use]
    pub fn with_rows_per_block(mut self, rows: u64) -> Self {
        self.rows_per_block = Some(rows);
        self
    }

    /// Replaces [`bytes_per_block`](Self::bytes_per_block).
    #[must_use]
    pub fn with_bytes_per_block(mut self, bytes: u64) -> Self {
        self.bytes_per_block = Some(bytes);
        self
    }

    /// Replaces [`threads`](Self::threads).
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Replaces [`limits`](Self::limits).
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Replaces [`progress`](Self::progress).
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Fails for invalid options.
    pub(super) fn check(&self) -> Result<()> {
        let detail = match self {
            Self { level: 10.., .. } => format!("compression level {} is not between 0 and 9", self.level),
            Self { rows_per_block: Some(0), .. } => "rows per block: expected at least 1, found 0".to_owned(),
            Self { bytes_per_block: Some(0), .. } => "bytes per block: expected at least 1, found 0".to_owned(),
            Self { rows_per_block: Some(rows), .. } if i32::try_from(*rows).is_err() => {
                format!("rows per block: expected at most 2147483647 (the limit of ML.NET), found {rows}")
            }
            _ => return Ok(()),
        };
        Err(Error::usage(detail).in_format(FORMAT_NAME))
    }

    /// Hard maximum of a block in bytes, by the lookup entry and the limits.
    pub(super) fn max_block_bytes(&self) -> u64 {
        self.limits.block_bytes.min(0x7FFF_FFFF)
    }

    /// Maximum rows per block.
    pub(super) fn max_rows(&self) -> u64 {
        match (self.rows_per_block, self.bytes_per_block) {
            (Some(rows), _) => rows,
            (None, Some(_)) => 0x7FFF_FFFF,
            (None, None) => DEFAULT_ROWS_PER_BLOCK,
        }
    }

    /// Maximum bytes of the blocks of all columns for the same rows.
    pub(super) fn max_group_bytes(&self) -> u64 {
        /// Divisor of a reader's memory, which holds values, their encoded bytes and, for some types, multiples of them.
        const READER_PART: u64 = 4;
        let limit = self.limits.memory_bytes / READER_PART;
        match (self.bytes_per_block, self.rows_per_block) {
            (Some(bytes), _) => bytes.min(limit),
            (None, Some(_)) => limit,
            (None, None) => DEFAULT_GROUP_BYTES.min(limit),
        }
    }
}

impl fmt::Debug for WriterOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriterOptions")
            .field("compression", &self.compression)
            .field("level", &self.level)
            .field("rows_per_block", &self.rows_per_block)
            .field("bytes_per_block", &self.bytes_per_block)
            .field("threads", &self.threads)
            .field("limits", &self.limits)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}
