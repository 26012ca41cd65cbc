//! Options of the writer.

use container_core::{Limits, OutputOptions};

/// Options of a [`Writer`](crate::Writer).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriterOptions {
    /// Whether an existing dataset is replaced, and whether to wait for the disk.
    pub output: OutputOptions,
    /// Maximum number of threads; 0 for as many as the machine has. With one, the sum of a new file is computed by the writing thread, which
    /// also records the keys of record batches; the sum of a file appended to always uses a separate thread.
    pub threads: usize,
    /// Compute the MD5 sums and write `.md5`. Appending without it avoids reading the old data, and removes the file.
    pub md5: bool,
    /// Accept any msgpack message under any key: even one that is not a map, or stores another key or none, as Python's `RawWriter` does.
    /// Meant for copying datasets with such samples; `verify` reports them.
    pub any_message: bool,
    /// Limits of samples: nesting, and length (longer messages than [`Limits::block_bytes`] are rejected).
    pub limits: Limits,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self { output: OutputOptions::default(), threads: 0, md5: true, any_message: false, limits: Limits::default() }
    }
}

impl WriterOptions {
    /// Replaces [`output`](Self::output).
    #[must_use]
    pub fn with_output(mut self, output: OutputOptions) -> Self {
        self.output = output;
        self
    }

    /// Replaces [`threads`](Self::threads).
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Replaces [`md5`](Self::md5).
    #[must_use]
    pub fn with_md5(mut self, md5: bool) -> Self {
        self.md5 = md5;
        self
    }

    /// Replaces [`any_message`](Self::any_message).
    #[must_use]
    pub fn with_any_message(mut self, any: bool) -> Self {
        self.any_message = any;
        self
    }

    /// Replaces [`limits`](Self::limits).
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}
