//! Forked processes.

use std::sync::OnceLock;

/// The process that loaded the module.
static LOADED_BY: OnceLock<u32> = OnceLock::new();

/// Remembers the current process.
pub(crate) fn remember() {
    LOADED_BY.get_or_init(std::process::id);
}

/// The number of threads to work with: `asked`, where 0 stands for all cores. After a fork it is 1, as the threads of the pool are not there.
pub(crate) fn threads(asked: usize) -> usize {
    if *LOADED_BY.get_or_init(std::process::id) == std::process::id() { asked } else { 1 }
}
