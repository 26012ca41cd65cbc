//! Runs work in parallel, in order.

use container_core::{Result, parallel};

/// Maximum number of chunks processed at once; each holds a batch.
const MAX_CONCURRENT: usize = 8;

/// The threads of a scan: those of a pool, or the calling one.
pub(super) struct Pool(Option<parallel::Pool>);

impl Pool {
    /// Creates a pool of `threads` threads; 0 uses the process-wide pool.
    pub(super) fn new(threads: usize) -> Result<Self> {
        let pool = (threads != 1).then(|| parallel::Pool::new(threads)).transpose();
        pool.map(Self).map_err(|error| error.in_format(crate::FORMAT_NAME))
    }

    /// Number of chunks to process at once.
    pub(super) fn concurrency(&self) -> usize {
        self.0.as_ref().map_or(1, |pool| pool.threads().min(MAX_CONCURRENT))
    }

    /// Maps chunks in parallel, preserving their order.
    pub(super) fn map<T: Send, R: Send>(&self, chunks: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
        match &self.0 {
            Some(pool) if chunks.len() > 1 => pool.install(|| parallel::map(chunks, work)),
            _ => chunks.into_iter().map(work).collect(),
        }
    }
}
