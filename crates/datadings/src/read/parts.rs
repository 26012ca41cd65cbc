//! The files beside the data, opened on first use.

use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, OnceLock};

use container_core::{Bytes, Error};
use simplebloom::BloomFilter;

use crate::index::{KeyHashes, KeyList, KeyTable};

/// The companion files opened so far, and what was computed from them.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) keys: OnceLock<Option<KeyList>>,
    pub(crate) hashes: OnceLock<Option<KeyHashes>>,
    pub(crate) filter: OnceLock<Option<BloomFilter<Bytes>>>,
    pub(super) table: OnceLock<KeyTable>,
    /// Why no table can be built; returned by every later look-up.
    pub(crate) damage: OnceLock<Error>,
    /// Locked by the thread that builds the table. Other threads scan instead of waiting.
    pub(super) building: Mutex<()>,
    pub(super) scans: AtomicU32,
}
