//! Without Arrow: times are text, and arrays and objects are whatever JSON they are.

use container_core::Limits;

use super::kind::Kind;
use crate::text::values::nested;

/// Reads cells of JSON.
pub(in crate::text) struct Reader;

impl Reader {
    pub(super) const fn new(_: &Limits) -> Self {
        Self
    }
}

/// Of which values arrays and objects are made.
#[derive(Debug, Clone)]
pub(in crate::text) struct Shape;

impl Shape {
    pub(super) const fn new(_: &Limits) -> Self {
        Self
    }

    /// Looks at a cell; whether it is an array or an object.
    pub(super) fn see(&self, text: &str, _: u64, _: &mut Reader) -> bool {
        nested(text).is_some()
    }

    /// Adds what was seen elsewhere.
    pub(super) const fn merge(&mut self, _: Self) -> bool {
        true
    }

    /// Does a column hold all of them?
    pub(super) const fn is_column(&self) -> bool {
        true
    }
}

/// Types of dates and times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::text) struct Times;

impl Times {
    pub(super) const fn are_none(self) -> bool {
        true
    }

    pub(super) const fn kind(self) -> Kind {
        Kind::Text
    }

    pub(super) const fn see(&self, _: &str) {}

    pub(super) const fn merge(&self, _: Self) {}
}
