//! Forked processes.

use container_core::parallel;

/// Remembers the current process as the one that has threads.
pub(crate) fn remember() {
    let _ = parallel::has_threads(); // the first process that asks owns them
}

/// The number of threads to work with: `asked`, where 0 stands for all cores. After a fork it is 1, as the threads of the pool are not there.
pub(crate) fn threads(asked: usize) -> usize {
    if parallel::has_threads() { asked } else { 1 }
}
