//! Stand-ins without the feature `arrow`: times are text, arrays and objects are any JSON.

use container_core::Limits;

use super::kind::ColumnKind;
use crate::text::values::nested;

/// Parses JSON cells.
pub(in crate::text) struct Reader;

impl Reader {
    pub(super) const fn new(_: &Limits) -> Self {
        Self
    }
}

/// The profile of arrays and objects.
#[derive(Debug, Clone)]
pub(in crate::text) struct NestedProfile;

impl NestedProfile {
    pub(super) const fn new(_: &Limits) -> Self {
        Self
    }

    /// Adds a cell. False if it is neither an array nor an object.
    pub(super) fn observe(&self, text: &str, _: u64, _: &mut Reader) -> bool {
        nested(text).is_some()
    }

    /// Adds the profile of other cells.
    pub(super) const fn merge(&mut self, _: Self) -> bool {
        true
    }

    /// Whether one column type holds all values.
    pub(super) const fn is_column(&self) -> bool {
        true
    }
}

/// The profile of rows.
#[derive(Debug)]
pub(in crate::text) enum RowProfile {}

/// Date and time types.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::text) struct TimeTypes;

impl TimeTypes {
    pub(super) const fn are_none(self) -> bool {
        true
    }

    pub(super) const fn kind(self) -> ColumnKind {
        ColumnKind::Text
    }

    pub(super) const fn observe(&self, _: &str) {}

    pub(super) const fn merge(&self, _: Self) {}
}
