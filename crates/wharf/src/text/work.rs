//! Work that is done side by side.

#[cfg(feature = "parallel")]
use container_core::Error;
use container_core::Result;

/// So many threads as a scan allows.
#[derive(Debug)]
pub(super) struct Workers {
    /// One: the calling thread.
    alone: bool,
    /// `None` for those that all share.
    #[cfg(feature = "parallel")]
    pool: Option<rayon::ThreadPool>,
}

impl Workers {
    /// 0 for as many as the machine has.
    #[cfg_attr(not(feature = "parallel"), expect(clippy::unnecessary_wraps, reason = "threads may not start"))]
    pub(super) fn new(threads: usize) -> Result<Self> {
        #[cfg(feature = "parallel")]
        {
            let pool = match threads {
                0 | 1 => None,
                _ => {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                    Some(pool.map_err(|cause| Error::io("cannot start threads", std::io::Error::other(cause)))?)
                }
            };
            Ok(Self { alone: threads == 1, pool })
        }
        #[cfg(not(feature = "parallel"))]
        {
            let _ = threads;
            Ok(Self { alone: true })
        }
    }

    /// How many things are worth being done together.
    pub(super) fn width(&self) -> usize {
        #[cfg(feature = "parallel")]
        if !self.alone {
            return 2 * self
                .pool
                .as_ref()
                .map_or_else(rayon::current_num_threads, rayon::ThreadPool::current_num_threads);
        }
        1
    }

    /// What becomes of each item, in their order.
    pub(super) fn map<T: Send, U: Send>(&self, items: Vec<T>, work: impl Fn(T) -> U + Send + Sync) -> Vec<U> {
        #[cfg(feature = "parallel")]
        if !self.alone && items.len() > 1 {
            use rayon::iter::{IntoParallelIterator, ParallelIterator};
            return match &self.pool {
                Some(pool) => pool.install(|| items.into_par_iter().map(work).collect()),
                None => items.into_par_iter().map(work).collect(),
            };
        }
        debug_assert!(self.alone || items.len() <= 1);
        items.into_iter().map(work).collect()
    }
}
