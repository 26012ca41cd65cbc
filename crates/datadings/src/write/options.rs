//! How a dataset is written.

use container_core::{Limits, OutputOptions};

/// How a [`Writer`](crate::Writer) works.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriterOptions {
    /// Whether an existing dataset is replaced, and whether to wait for the disk.
    pub output: OutputOptions,
    /// Threads that may work at once; 0 for as many as the machine has. With one, the sum of new data is not computed beside writing;
    /// that of data that grow always is.
    pub threads: usize,
    /// Compute the MD5 sums and write `.md5`. Appending without it saves reading the old data once, and removes the file.
    pub md5: bool,
    /// Take any msgpack message with any key: also one that is no map, or has another key or none, as Python's `RawWriter` does.
    /// For copies of datasets that have such samples; `verify` reports them.
    pub any_message: bool,
    /// What samples may be: nesting, and their length (messages above [`Limits::block_bytes`] are refused).
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
