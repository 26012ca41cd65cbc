//! Detection of cells with dedicated Arrow types: dates, times, arrays and objects.

mod ticks;

use std::sync::LazyLock;

use arrow_schema::{DataType, TimeUnit};
use container_arrow::{ColumnProfile, Json, Mapping, Observation, parse_time, resolve};
use container_core::Limits;

use super::CellProfile;
use super::kind::ColumnKind;
pub(in crate::text) use crate::text::arrow::row_profile::RowProfile;
use ticks::TickTypes;

/// Parses JSON cells.
pub(in crate::text) type Reader = Json;

impl CellProfile {
    /// The kind for a format with non-nullable integers and times in ticks of 100 ns, and whether the column is nullable.
    pub(in crate::text) fn narrow_kind(&self) -> (ColumnKind, bool) {
        match self.kind_with(TimeTypes::kind_in_ticks) {
            ColumnKind::Text => (ColumnKind::Text, self.nulls > 0),
            // `""` is an empty string in text columns only.
            kind => match (kind, self.nulls + self.empties > 0) {
                (ColumnKind::Integer | ColumnKind::Unsigned, true) if self.inexact => {
                    (ColumnKind::Text, self.nulls > 0)
                }
                (ColumnKind::Integer | ColumnKind::Unsigned, true) => (ColumnKind::Float, true),
                other => other,
            },
        }
    }
}

/// The profile of the values in arrays and objects.
#[derive(Debug, Clone)]
pub(in crate::text) struct NestedProfile(Observation);

impl NestedProfile {
    pub(super) fn new(limits: &Limits) -> Self {
        Self(Observation::new(*limits))
    }

    /// Adds a cell. False if it is neither an array nor an object.
    pub(super) fn observe(&mut self, text: &str, row: u64, reader: &mut Reader) -> bool {
        reader.observe(text.as_bytes(), self.0.row(row)).is_ok()
    }

    /// Adds the profile of other cells. False if there are too many columns.
    pub(super) fn merge(&mut self, other: Self) -> bool {
        self.0.merge(other.0).is_ok()
    }

    /// Whether one column type holds all values.
    pub(super) fn is_column(&self) -> bool {
        resolve("", self.observed(), &Mapping::default()).is_ok()
    }

    pub(in crate::text) fn observed(&self) -> &ColumnProfile {
        self.0.profile()
    }
}

/// The date and time types that all cells have in common: a bit each, and the types in ticks of 100 ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::text) struct TimeTypes(u8, TickTypes);

impl Default for TimeTypes {
    fn default() -> Self {
        Self(Self::ALL, TickTypes::default())
    }
}

impl TimeTypes {
    const ALL: u8 = 0x7f;
    const KINDS: [(u8, ColumnKind); 7] = [
        (1, ColumnKind::Date),
        (2, ColumnKind::Time(false)),
        (4, ColumnKind::Time(true)),
        (8, ColumnKind::Stamp(false, false)),
        (16, ColumnKind::Stamp(true, false)),
        (32, ColumnKind::Stamp(false, true)),
        (64, ColumnKind::Stamp(true, true)),
    ];

    pub(super) fn kind(self) -> ColumnKind {
        Self::KINDS.iter().find(|(bit, _)| self.0 & bit != 0).map_or(ColumnKind::Text, |(_, kind)| *kind)
    }

    /// The kind for a format that counts ticks of 100 ns in the years 1 to 9999.
    pub(super) const fn kind_in_ticks(self) -> ColumnKind {
        self.1.kind()
    }

    /// Whether the cells have no type in common.
    pub(super) const fn are_none(self) -> bool {
        self.0 == 0 && self.1.are_none()
    }

    /// Intersects with the types of other cells.
    pub(super) const fn merge(&mut self, other: Self) {
        self.0 &= other.0;
        self.1.merge(other.1);
    }

    /// The Arrow types of `KINDS`.
    fn types() -> &'static [DataType; 7] {
        static TYPES: LazyLock<[DataType; 7]> = LazyLock::new(|| TimeTypes::KINDS.map(|(_, kind)| data_type(kind, 0)));
        &TYPES
    }

    pub(super) fn observe(&mut self, text: &str) {
        self.1.observe(text);
        if self.0 == 0 {
            return;
        }
        let bytes = text.as_bytes();
        let may_be_time = bytes.len() <= 64 && matches!(bytes.get(2), Some(b':'))
            || bytes.iter().skip(4).take(7).any(|byte| *byte == b'-');
        if !may_be_time {
            self.0 = 0;
            return;
        }
        // Parsing as one type decides the others, which is faster than parsing once per type.
        let own = self.0;
        let value = |bit: u8| match own & bit {
            0 => None,
            _ => Self::types().get(bit.trailing_zeros() as usize).and_then(|data_type| parse_time(data_type, text)),
        };
        let fits = |bit: u8, value: i64, units: i64| if value.checked_mul(units).is_some() { bit } else { 0 };
        if let Some(days) = value(1) {
            self.0 &= 1 | fits(8, days, 86_400_000_000) | fits(16, days, 86_400_000_000_000);
        } else if value(2).is_some() {
            self.0 &= 2 | 4;
        } else if let Some(stamp) = value(8) {
            self.0 &= 8 | fits(16, stamp, 1000);
        } else if let Some(stamp) = value(32) {
            self.0 &= 32 | fits(64, stamp, 1000);
        } else {
            self.0 = [4, 16, 64].into_iter().filter(|bit| value(*bit).is_some()).sum();
        }
    }
}

/// Columns with longer cells get 64-bit offsets.
const MAX_UTF8_CELL: usize = 1 << 30;

/// The Arrow type of a column whose longest cell has `longest` bytes.
pub(in crate::text) fn data_type(kind: ColumnKind, longest: usize) -> DataType {
    let unit = |fine: bool| if fine { TimeUnit::Nanosecond } else { TimeUnit::Microsecond };
    match kind {
        ColumnKind::Null => DataType::Null,
        ColumnKind::Bool => DataType::Boolean,
        ColumnKind::Integer => DataType::Int64,
        ColumnKind::Unsigned => DataType::UInt64,
        ColumnKind::Float => DataType::Float64,
        ColumnKind::Date => DataType::Date32,
        ColumnKind::Time(fine) => DataType::Time64(unit(fine)),
        ColumnKind::Stamp(fine, zoned) => DataType::Timestamp(unit(fine), zoned.then(|| "UTC".into())),
        ColumnKind::Text | ColumnKind::Nested if longest > MAX_UTF8_CELL => DataType::LargeUtf8,
        ColumnKind::Text | ColumnKind::Nested => DataType::Utf8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells that have some of the types and lack others.
    const TEXTS: [&str; 20] = [
        "2024-05-01",
        "-0001-03-01",
        "2500-01-01",
        "+300000-01-01",
        "2023-02-29",
        "12:30",
        "12:30:00.000001000",
        "12:30:00.0000001",
        "25:00",
        "2024-05-01T12:30:00",
        "2024-05-01 12:30:00.25",
        "2024-05-01T12:30:00.123456789",
        "0001-01-01T00:00:00",
        "0001-01-01T00:00:00.123456789",
        "+300000-01-01T00:00:00",
        "2024-05-01T12:30:00Z",
        "2024-05-01T12:30:00.0000001+02:00",
        "0001-01-01T00:00:00Z",
        "2024-05-01T25:00",
        "text",
    ];

    #[test]
    fn deduced_types_match_parsing_every_type() {
        let parse_each = |text: &str| {
            let bits = TimeTypes::KINDS.iter().zip(TimeTypes::types());
            bits.filter(|(_, data_type)| parse_time(data_type, text).is_some()).map(|((bit, _), _)| bit).sum::<u8>()
        };
        for one in TEXTS {
            for two in TEXTS {
                for three in TEXTS {
                    let mut times = TimeTypes::default();
                    [one, two, three].iter().for_each(|text| times.observe(text));
                    assert_eq!(times.0, parse_each(one) & parse_each(two) & parse_each(three), "{one} {two} {three}");
                }
            }
        }
    }
}
