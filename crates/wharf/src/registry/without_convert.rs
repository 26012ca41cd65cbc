//! What is registered without the feature `convert`.

use container_core::Format;

pub(super) const FILES: &[&dyn Format] = &[];

#[derive(Clone)]
pub(crate) struct Entries {
    pub(super) formats: Vec<&'static dyn Format>,
}

impl Entries {
    pub(super) const EMPTY: Self = Self { formats: Vec::new() };
}
