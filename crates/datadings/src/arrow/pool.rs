//! Work side by side, in order.

use container_core::Result;

/// Pieces of work that are done at once, at most: each holds a batch.
#[cfg(feature = "parallel")]
const MOST: usize = 8;

/// The threads of a walk.
pub(super) struct Pool {
    #[cfg(feature = "parallel")]
    threads: usize,
    /// Nothing for one thread, and for those that all share.
    #[cfg(feature = "parallel")]
    own: Option<rayon::ThreadPool>,
}

impl Pool {
    /// So many threads; 0 for those that all share.
    #[cfg(feature = "parallel")]
    pub(super) fn new(threads: usize) -> Result<Self> {
        let own = match threads {
            0 | 1 => None,
            _ => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                Some(pool.map_err(|cause| {
                    container_core::Error::io("cannot start threads", std::io::Error::other(cause))
                        .in_format(crate::FORMAT_NAME)
                })?)
            }
        };
        let threads = if threads == 0 { rayon::current_num_threads() } else { threads };
        Ok(Self { threads, own })
    }

    #[cfg(not(feature = "parallel"))]
    #[allow(clippy::unnecessary_wraps, reason = "with feature parallel threads may not start")]
    pub(super) fn new(_: usize) -> Result<Self> {
        Ok(Self {})
    }

    /// How many pieces to give it at once.
    pub(super) fn ahead(&self) -> usize {
        #[cfg(feature = "parallel")]
        return self.threads.clamp(1, MOST);
        #[cfg(not(feature = "parallel"))]
        1
    }

    /// What comes of each piece.
    pub(super) fn side_by_side<T: Send, R: Send>(&self, pieces: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
        #[cfg(feature = "parallel")]
        if self.threads > 1 && pieces.len() > 1 {
            use rayon::iter::{IntoParallelIterator, ParallelIterator};
            let all = || pieces.into_par_iter().map(work).collect();
            return match &self.own {
                Some(own) => own.install(all),
                None => all(),
            };
        }
        pieces.into_iter().map(work).collect()
    }
}
