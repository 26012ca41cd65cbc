use std::fmt;
use std::sync::Arc;

use container_core::{Error, Limits, Progress, Result};

use crate::FORMAT_NAME;
use crate::wire::Compression;

/// Rows of a block at most, unless more are asked for.
pub(super) const DEFAULT_ROWS_PER_BLOCK: u64 = 8192;

/// Bytes that the blocks of the same rows take over all columns at most, unless more are asked for.
pub(super) const DEFAULT_GROUP_BYTES: u64 = 80 << 20;

/// How a file is written. The defaults are what ML.NET does: DEFLATE, 8192 rows per block or as many as 80 MiB hold.
#[derive(Clone)]
#[non_exhaustive]
pub struct WriterOptions {
    /// How blocks are compressed, of columns that do not say it themselves. Default DEFLATE. ML.NET does not read zlib.
    pub compression: Compression,
    /// How much work goes into compression: 0 (none: stored) to 9 (smallest). Default 6.
    pub level: u8,
    /// Rows of a block at most, for all columns. `None`: 8192, or with [`bytes_per_block`](Self::bytes_per_block) as
    /// many as that allows.
    pub rows_per_block: Option<u64>,
    /// Bytes before compression, of the blocks of all columns for the same rows, at most; the first rows decide it. `None`: 80 MiB,
    /// or with [`rows_per_block`](Self::rows_per_block) what the limits allow: a quarter of [`Limits::memory_bytes`].
    pub bytes_per_block: Option<u64>,
    /// Threads that may encode and compress at once (feature `parallel`); 0 for as many as the machine has. The file is
    /// the same for any number.
    pub threads: usize,
    /// What the blocks of a file may take: the writer refuses what a reader with these limits would.
    pub limits: Limits,
    /// Who listens: rows appended.
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

    /// Fails for values that no file can be written with.
    pub(super) fn check(&self) -> Result<()> {
        let detail = match self {
            Self { level: 10.., .. } => format!("compression level {} is not between 0 and 9", self.level),
            Self { rows_per_block: Some(0), .. } => "rows per block are 0; the least is 1".to_owned(),
            Self { bytes_per_block: Some(0), .. } => "bytes per block are 0; the least is 1".to_owned(),
            Self { rows_per_block: Some(rows), .. } if i32::try_from(*rows).is_err() => {
                format!("{rows} rows per block exceed 2147483647, the most ML.NET reads")
            }
            _ => return Ok(()),
        };
        Err(Error::usage(detail).in_format(FORMAT_NAME))
    }

    /// Bytes of a block at most, whatever is asked for: what its lookup entry can say and its readers take.
    pub(super) fn max_block_bytes(&self) -> u64 {
        self.limits.block_bytes.min(0x7FFF_FFFF)
    }

    /// The most rows a block may have.
    pub(super) fn max_rows(&self) -> u64 {
        match (self.rows_per_block, self.bytes_per_block) {
            (Some(rows), _) => rows,
            (None, Some(_)) => 0x7FFF_FFFF,
            (None, None) => DEFAULT_ROWS_PER_BLOCK,
        }
    }

    /// The most bytes that the blocks for the same rows may take over all columns.
    pub(super) fn max_group_bytes(&self) -> u64 {
        /// The part of a reader's memory: it holds values and what they are decoded from, of some types as a multiple.
        const READER_PART: u64 = 4;
        let most = self.limits.memory_bytes / READER_PART;
        match (self.bytes_per_block, self.rows_per_block) {
            (Some(bytes), _) => bytes.min(most),
            (None, Some(_)) => most,
            (None, None) => DEFAULT_GROUP_BYTES.min(most),
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
