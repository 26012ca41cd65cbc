//! The files beside the data, as far as they were opened.

use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, OnceLock};

use container_core::{Bytes, Error};
use simplebloom::BloomFilter;

use crate::index::{KeyHashes, KeyList, KeyTable};

/// What was opened so far.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) keys: OnceLock<Option<KeyList>>,
    pub(crate) hashes: OnceLock<Option<KeyHashes>>,
    pub(crate) filter: OnceLock<Option<BloomFilter<Bytes>>>,
    pub(super) table: OnceLock<KeyTable>,
    /// Why there is no table and never will be: said again at every look-up, without building it again.
    pub(crate) damage: OnceLock<Error>,
    /// Held by the one thread that builds the table. Nobody waits for it.
    pub(super) building: Mutex<()>,
    pub(super) scans: AtomicU32,
}
