//! What is registered. `without_convert.rs` has formats only.

use container_core::Format;

use super::Registry;
use crate::convert::{Target, import};
use crate::merge::Merger;
use crate::recover::Recoverer;
use crate::reindex::Reindexer;

/// For folders and archives that no other format recognizes.
pub(super) const FILES: &[&dyn Format] = &[import::FOLDER, import::ZIP, import::TAR];

#[derive(Clone)]
pub(crate) struct Entries {
    pub(super) formats: Vec<&'static dyn Format>,
    pub(crate) targets: Vec<fn() -> Box<dyn Target>>,
    pub(crate) mergers: Vec<fn() -> Box<dyn Merger>>,
    pub(crate) recoverers: Vec<fn() -> Box<dyn Recoverer>>,
    pub(crate) reindexers: Vec<fn() -> Box<dyn Reindexer>>,
}

impl Entries {
    pub(super) const EMPTY: Self = Self {
        formats: Vec::new(),
        targets: Vec::new(),
        mergers: Vec::new(),
        recoverers: Vec::new(),
        reindexers: Vec::new(),
    };
}

impl Registry {
    /// Adds a target, which takes precedence over others of the same name or extension. Its options become flags of the command.
    #[cfg_attr(docsrs, doc(cfg(feature = "convert")))]
    #[must_use]
    pub fn with_target(mut self, new: fn() -> Box<dyn Target>) -> Self {
        self.entries.targets.push(new);
        self
    }

    /// Adds a merger, which takes precedence over others for its format. Formats without one are merged by rows.
    #[cfg_attr(docsrs, doc(cfg(feature = "convert")))]
    #[must_use]
    pub fn with_merger(mut self, new: fn() -> Box<dyn Merger>) -> Self {
        self.entries.mergers.push(new);
        self
    }

    /// Adds a recoverer, which takes precedence over others for its format. Of formats without one, readable ranges of rows are recovered.
    #[cfg_attr(docsrs, doc(cfg(feature = "convert")))]
    #[must_use]
    pub fn with_recoverer(mut self, new: fn() -> Box<dyn Recoverer>) -> Self {
        self.entries.recoverers.push(new);
        self
    }

    /// Adds a reindexer, which takes precedence over others for its format.
    #[cfg_attr(docsrs, doc(cfg(feature = "convert")))]
    #[must_use]
    pub fn with_reindexer(mut self, new: fn() -> Box<dyn Reindexer>) -> Self {
        self.entries.reindexers.push(new);
        self
    }
}
