//! What Arrow has types for: dates, times, arrays and objects.

mod ticks;

use std::sync::LazyLock;

use arrow_schema::{DataType, TimeUnit};
use container_arrow::{ColumnProfile, Json, Mapping, Observation, parse_time, resolve};
use container_core::Limits;

use super::kind::Kind;
use ticks::Ticks;

/// Reads cells of JSON.
pub(in crate::text) type Reader = Json;

/// Of which values arrays and objects are made.
#[derive(Debug, Clone)]
pub(in crate::text) struct Shape(Observation);

impl Shape {
    pub(super) fn new(limits: &Limits) -> Self {
        Self(Observation::new(*limits))
    }

    /// Looks at a cell; whether it is an array or an object.
    pub(super) fn see(&mut self, text: &str, row: u64, reader: &mut Reader) -> bool {
        reader.observe(text.as_bytes(), self.0.row(row)).is_ok()
    }

    /// Adds what was seen elsewhere; not where there are too many columns.
    pub(super) fn merge(&mut self, other: Self) -> bool {
        self.0.merge(other.0).is_ok()
    }

    /// Does a column hold all of them?
    pub(super) fn is_column(&self) -> bool {
        resolve("", self.observed(), &Mapping::default()).is_ok()
    }

    pub(in crate::text) fn observed(&self) -> &ColumnProfile {
        self.0.profile()
    }
}

/// Types of dates and times, a bit each; and which they are in ticks of 100 ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::text) struct Times(u8, Ticks);

impl Default for Times {
    fn default() -> Self {
        Self(Self::ALL, Ticks::default())
    }
}

impl Times {
    const ALL: u8 = 0x7f;
    const KINDS: [(u8, Kind); 7] = [
        (1, Kind::Date),
        (2, Kind::Time(false)),
        (4, Kind::Time(true)),
        (8, Kind::Stamp(false, false)),
        (16, Kind::Stamp(true, false)),
        (32, Kind::Stamp(false, true)),
        (64, Kind::Stamp(true, true)),
    ];

    pub(super) fn kind(self) -> Kind {
        Self::KINDS.iter().find(|(bit, _)| self.0 & bit != 0).map_or(Kind::Text, |(_, kind)| *kind)
    }

    /// What they are for a format that counts in ticks of 100 ns from the year 1 to the year 9999.
    pub(super) const fn kind_in_ticks(self) -> Kind {
        self.1.kind()
    }

    /// No type has all texts.
    pub(super) const fn are_none(self) -> bool {
        self.0 == 0 && self.1.are_none()
    }

    /// Those that other texts have, too.
    pub(super) const fn merge(&mut self, other: Self) {
        self.0 &= other.0;
        self.1.merge(other.1);
    }

    /// The types of these kinds.
    fn types() -> &'static [DataType; 7] {
        static TYPES: LazyLock<[DataType; 7]> = LazyLock::new(|| Times::KINDS.map(|(_, kind)| data_type(kind, 0)));
        &TYPES
    }

    pub(super) fn see(&mut self, text: &str) {
        self.1.see(text);
        if self.0 == 0 {
            return;
        }
        let bytes = text.as_bytes();
        let is_maybe = bytes.len() <= 64 && matches!(bytes.get(2), Some(b':'))
            || bytes.iter().skip(4).take(7).any(|byte| *byte == b'-');
        if !is_maybe {
            self.0 = 0;
            return;
        }
        // Of what a text is as one type follows what it is as the others, which is faster than to look again.
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

/// Longer texts have offsets of 64 bits.
const LONG: usize = 1 << 30;

/// The type of cells of a kind, the longest of which has so many bytes.
pub(in crate::text) fn data_type(kind: Kind, longest: usize) -> DataType {
    let unit = |fine: bool| if fine { TimeUnit::Nanosecond } else { TimeUnit::Microsecond };
    match kind {
        Kind::Null => DataType::Null,
        Kind::Bool => DataType::Boolean,
        Kind::Integer => DataType::Int64,
        Kind::Unsigned => DataType::UInt64,
        Kind::Float => DataType::Float64,
        Kind::Date => DataType::Date32,
        Kind::Time(fine) => DataType::Time64(unit(fine)),
        Kind::Stamp(fine, zoned) => DataType::Timestamp(unit(fine), zoned.then(|| "UTC".into())),
        Kind::Text | Kind::Nested if longest > LONG => DataType::LargeUtf8,
        Kind::Text | Kind::Nested => DataType::Utf8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that are some types and not others.
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
    fn what_texts_are_follows_from_one_look() {
        let slowly = |text: &str| {
            let bits = Times::KINDS.iter().zip(Times::types());
            bits.filter(|(_, data_type)| parse_time(data_type, text).is_some()).map(|((bit, _), _)| bit).sum::<u8>()
        };
        for one in TEXTS {
            for two in TEXTS {
                for three in TEXTS {
                    let mut times = Times::default();
                    [one, two, three].iter().for_each(|text| times.see(text));
                    assert_eq!(times.0, slowly(one) & slowly(two) & slowly(three), "{one} {two} {three}");
                }
            }
        }
    }
}
