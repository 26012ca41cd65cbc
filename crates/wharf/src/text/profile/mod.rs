//! Column profiles of CSV: counts and extremes gathered cell by cell, from which a column's type is inferred.

#[cfg_attr(not(feature = "arrow"), path = "without_arrow.rs")]
pub(super) mod arrow_types;
mod kind;

use container_core::Limits;

use super::scalar::{Scalar, may_be_nested};
use arrow_types::{NestedProfile, Reader, TimeTypes};
pub(crate) use kind::ColumnKind;

/// The profile of a CSV column. It does not depend on the order of cells, so chunks can be profiled in parallel and merged.
#[derive(Debug, Clone, Default)]
pub(crate) struct CellProfile {
    /// Empty cells without quotes, and `""`.
    nulls: u64,
    empties: u64,
    bools: u64,
    integers: u64,
    floats: u64,
    /// `NaN`, `Infinity`, `-Infinity`.
    non_finite: u64,
    /// JSON arrays and objects, and the profile of their values.
    nested: u64,
    pub(super) nested_profile: Option<Box<NestedProfile>>,
    texts: u64,
    /// The least integer or 0, and the greatest or 0, among those within 64 bits.
    min: i64,
    max: u64,
    /// Some integer exceeds 64 bits.
    large: bool,
    /// Some number is not exact as `f64`.
    inexact: bool,
    /// The date and time types that all text cells have in common.
    times: TimeTypes,
    /// Bytes of the longest cell.
    pub(super) longest: usize,
}

impl CellProfile {
    /// Adds a cell. Returns its scalar if it had to be parsed.
    #[inline]
    pub(crate) fn observe(&mut self, text: &str, quoted: bool, context: &mut CellContext) -> Option<Scalar> {
        if text.is_empty() {
            if quoted {
                self.empties += 1
            } else {
                self.add_null()
            }
            return None;
        }
        if self.is_text() {
            self.add_text(text.len());
            return None;
        }
        let scalar = Scalar::parse(text);
        if scalar == Scalar::Text && may_be_nested(text) && self.observe_nested(text, context) {
            self.nested += 1;
            self.longest = self.longest.max(text.len());
            return Some(scalar);
        }
        if scalar == Scalar::Text {
            self.times.observe(text);
        }
        self.add(scalar, text.len());
        Some(scalar)
    }

    /// Adds an empty cell without quotes.
    #[inline]
    pub(super) fn add_null(&mut self) {
        self.nulls += 1;
    }

    /// Whether some text is not a time. That makes this a text column, whatever else follows.
    #[inline]
    pub(super) fn is_text(&self) -> bool {
        self.texts > 0 && self.times.are_none()
    }

    /// Adds a cell of a [text column](Self::is_text), with this many bytes and without quotes.
    #[inline]
    pub(super) fn add_text(&mut self, len: usize) {
        self.longest = self.longest.max(len);
        self.texts += u64::from(len > 0);
        self.nulls += u64::from(len == 0);
    }

    /// Adds the scalar of a cell with this many bytes.
    #[inline]
    pub(super) fn add(&mut self, scalar: Scalar, len: usize) {
        self.longest = self.longest.max(len);
        match scalar {
            Scalar::Integer(value) => {
                self.integers += 1;
                match u64::try_from(value) {
                    Ok(value) => self.max = self.max.max(value),
                    Err(_) => self.min = self.min.min(value),
                }
                self.inexact |= value.unsigned_abs() > 1 << 53 && !is_exact(value.unsigned_abs());
            }
            Scalar::Large(value, exact) => {
                self.integers += 1;
                self.inexact |= !exact;
                match u64::try_from(value) {
                    Ok(value) => self.max = self.max.max(value),
                    Err(_) => self.large = true,
                }
            }
            Scalar::Float(_) => self.floats += 1,
            Scalar::Overflow => {
                self.integers += 1;
                (self.large, self.inexact) = (true, true);
            }
            Scalar::Bool(_) => self.bools += 1,
            Scalar::NonFinite => self.non_finite += 1,
            Scalar::Text => self.texts += 1,
        }
    }

    /// Profiles a cell that may be a JSON array or object. False if it is neither.
    fn observe_nested(&mut self, text: &str, context: &mut CellContext) -> bool {
        let nested_profile = self.nested_profile.get_or_insert_with(|| Box::new(NestedProfile::new(&context.limits)));
        // After a failure the column is text and the nested profile is not used.
        nested_profile.observe(text, context.row, &mut context.reader)
    }

    /// Empty cells without quotes.
    pub(super) const fn nulls(&self) -> u64 {
        self.nulls
    }

    /// Adds the profile of other cells of the column.
    pub(crate) fn merge(&mut self, other: Self) {
        self.nulls += other.nulls;
        self.empties += other.empties;
        self.bools += other.bools;
        self.integers += other.integers;
        self.floats += other.floats;
        self.non_finite += other.non_finite;
        self.nested += other.nested;
        match (&mut self.nested_profile, other.nested_profile) {
            // Nested values with too many columns are kept as text.
            (Some(own), Some(nested_profile)) => self.texts += u64::from(!own.merge(*nested_profile)),
            (own @ None, nested_profile) => *own = nested_profile,
            (Some(_), None) => {}
        }
        self.texts += other.texts;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.large |= other.large;
        self.inexact |= other.inexact;
        self.times.merge(other.times);
        self.longest = self.longest.max(other.longest);
    }

    /// The kind in rows. As in record batches, arrays and objects that do not fit one column type are text.
    pub(crate) fn row_kind(&self) -> ColumnKind {
        match (self.kind(), &self.nested_profile) {
            (ColumnKind::Nested, Some(nested_profile)) if !nested_profile.is_column() => ColumnKind::Text,
            (kind, _) => kind,
        }
    }

    /// The kind of the column.
    pub(super) fn kind(&self) -> ColumnKind {
        self.kind_with(TimeTypes::kind)
    }

    fn kind_with(&self, time_kind: impl Fn(TimeTypes) -> ColumnKind) -> ColumnKind {
        let numbers = self.integers + self.floats;
        match (self.bools, numbers, self.non_finite, self.texts) {
            (0, 0, 0, 0) if self.nested > 0 => ColumnKind::Nested,
            _ if self.nested > 0 => ColumnKind::Text,
            (0, 0, 0, 0) if self.empties == 0 => ColumnKind::Null,
            (1.., 0, 0, 0) => ColumnKind::Bool,
            (0, 1.., floats, 0) if floats > 0 || self.floats > 0 => {
                if self.inexact {
                    ColumnKind::Text
                } else {
                    ColumnKind::Float
                }
            }
            (0, 1.., _, 0) if !self.large && i64::try_from(self.max).is_ok() => ColumnKind::Integer,
            (0, 1.., _, 0) if !self.large && self.min == 0 => ColumnKind::Unsigned,
            (0, 1.., _, 0) if !self.inexact => ColumnKind::Float,
            (0, 0, 0, 1..) => time_kind(self.times),
            _ => ColumnKind::Text,
        }
    }
}

/// Whether an `f64` holds an integer of this magnitude exactly.
const fn is_exact(magnitude: u64) -> bool {
    magnitude == 0 || u64::BITS - magnitude.leading_zeros() - magnitude.trailing_zeros() <= f64::MANTISSA_DIGITS
}

/// State shared by the cells of a row while they are profiled.
pub(crate) struct CellContext {
    /// The row's number, from 0.
    pub(super) row: u64,
    limits: Limits,
    reader: Reader,
}

impl CellContext {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { row: 0, limits: *limits, reader: Reader::new(limits) }
    }
}
