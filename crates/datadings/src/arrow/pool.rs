//! Work side by side, in order.

use container_core::{Result, parallel};

/// Pieces of work that are done at once, at most: each holds a batch.
const MOST: usize = 8;

/// The threads of a walk: those of a pool, or the calling one.
pub(super) struct Pool(Option<parallel::Pool>);

impl Pool {
    /// This number of threads; 0 for those that the process shares.
    pub(super) fn new(threads: usize) -> Result<Self> {
        let pool = (threads != 1).then(|| parallel::Pool::new(threads)).transpose();
        pool.map(Self).map_err(|error| error.in_format(crate::FORMAT_NAME))
    }

    /// How many pieces to give it at once.
    pub(super) fn ahead(&self) -> usize {
        self.0.as_ref().map_or(1, |pool| pool.threads().min(MOST))
    }

    /// What comes of each piece.
    pub(super) fn side_by_side<T: Send, R: Send>(&self, pieces: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
        match &self.0 {
            Some(pool) if pieces.len() > 1 => pool.install(|| parallel::map(pieces, work)),
            _ => pieces.into_iter().map(work).collect(),
        }
    }
}
