//! What the words of CSV's columns are, gathered cell by cell.

#[cfg(feature = "arrow")]
use std::sync::LazyLock;

#[cfg(feature = "arrow")]
use arrow_schema::DataType;
#[cfg(feature = "arrow")]
use container_arrow::{Json, Mapping, Observation, parse_time, resolve};
use container_core::Limits;

use super::values::may_be_nested;
use super::words::Word;

/// What the words of a CSV's column are. Nothing of it depends on their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// Empty cells, and those in quotes.
    nulls: u64,
    empties: u64,
    bools: u64,
    integers: u64,
    floats: u64,
    /// Words such as `NaN`.
    no_numbers: u64,
    /// Arrays and objects of JSON, and of which values they are made.
    nested: u64,
    #[cfg(feature = "arrow")]
    shape: Option<Box<Observation>>,
    texts: u64,
    /// Of integers: the least one, at most 0, and the greatest, at least 0, as far as they are of 64 bits.
    least: i64,
    most: u64,
    /// One is of more than 64 bits.
    large: bool,
    /// A float does not hold all numbers.
    inexact: bool,
    /// Of texts: the types of dates and times that all have.
    times: Times,
    /// Bytes of the longest word.
    pub(super) longest: usize,
}

/// Types of dates and times, a bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times(u8);

impl Default for Times {
    fn default() -> Self {
        Self(Self::ALL)
    }
}

/// What the cells of a column are, all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Integer,
    Unsigned,
    Float,
    #[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "only Arrow knows them"))]
    Date,
    /// In nanoseconds?
    #[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "only Arrow knows them"))]
    Time(bool),
    /// Also whether they tell how far they are from UTC.
    #[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "only Arrow knows them"))]
    Stamp(bool, bool),
    /// Arrays or objects of JSON.
    Nested,
    Text,
}

impl Times {
    const ALL: u8 = 0x7f;
    #[cfg(feature = "arrow")]
    const KINDS: [(u8, Kind); 7] = [
        (1, Kind::Date),
        (2, Kind::Time(false)),
        (4, Kind::Time(true)),
        (8, Kind::Stamp(false, false)),
        (16, Kind::Stamp(true, false)),
        (32, Kind::Stamp(false, true)),
        (64, Kind::Stamp(true, true)),
    ];

    #[cfg(feature = "arrow")]
    fn kind(self) -> Kind {
        Self::KINDS.iter().find(|(bit, _)| self.0 & bit != 0).map_or(Kind::Text, |(_, kind)| *kind)
    }

    #[cfg(not(feature = "arrow"))]
    fn kind(self) -> Kind {
        Kind::Text
    }

    /// The types of these kinds.
    #[cfg(feature = "arrow")]
    fn types() -> &'static [DataType; 7] {
        static TYPES: LazyLock<[DataType; 7]> =
            LazyLock::new(|| Times::KINDS.map(|(_, kind)| super::arrow::data_type(kind, 0)));
        &TYPES
    }

    #[cfg(feature = "arrow")]
    fn see(&mut self, text: &str) {
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

    #[cfg(not(feature = "arrow"))]
    fn see(&mut self, _: &str) {}
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "boolean",
            Self::Integer | Self::Unsigned => "integer",
            Self::Float => "float",
            Self::Date => "date",
            Self::Time(_) => "time",
            Self::Stamp(..) => "timestamp",
            Self::Nested => "JSON",
            Self::Text => "text",
        }
    }
}

impl Seen {
    /// A cell, and which word it is, where that was looked at.
    #[inline]
    pub(crate) fn see(&mut self, text: &str, quoted: bool, here: &mut Rows) -> Option<Word> {
        if text.is_empty() {
            if quoted {
                self.empties += 1
            } else {
                self.nulls += 1
            }
            return None;
        }
        self.longest = self.longest.max(text.len());
        // A text that is no time makes the column one of texts, whatever else there is.
        if self.texts > 0 && self.times.0 == 0 {
            self.texts += 1;
            return None;
        }
        let word = Word::of(text);
        match word {
            Word::Integer(value) => {
                self.integers += 1;
                match u64::try_from(value) {
                    Ok(value) => self.most = self.most.max(value),
                    Err(_) => self.least = self.least.min(value),
                }
                self.inexact |= value.unsigned_abs() > 1 << 53 && !is_exact(value.unsigned_abs());
            }
            Word::Large(value, exact) => {
                self.integers += 1;
                self.inexact |= !exact;
                match u64::try_from(value) {
                    Ok(value) => self.most = self.most.max(value),
                    Err(_) => self.large = true,
                }
            }
            Word::Float => self.floats += 1,
            Word::Beyond => {
                self.integers += 1;
                (self.large, self.inexact) = (true, true);
            }
            Word::Bool(_) => self.bools += 1,
            Word::NoNumber => self.no_numbers += 1,
            Word::Text if may_be_nested(text) && self.has_shape(text, here) => self.nested += 1,
            Word::Text => {
                self.texts += 1;
                self.times.see(text);
            }
        }
        Some(word)
    }

    /// Looks at a cell that may be an array or an object; whether it is one.
    #[cfg(feature = "arrow")]
    fn has_shape(&mut self, text: &str, here: &mut Rows) -> bool {
        let shape = self.shape.get_or_insert_with(|| Box::new(Observation::new(here.limits)));
        // Where it is none the column is text, and of what was seen nothing matters.
        here.json.observe(text.as_bytes(), shape.row(here.row)).is_ok()
    }

    #[cfg(not(feature = "arrow"))]
    fn has_shape(&mut self, text: &str, _: &mut Rows) -> bool {
        super::values::nested(text).is_some()
    }

    /// Of which values all arrays and objects are made.
    #[cfg(feature = "arrow")]
    pub(super) fn shape(&self) -> Option<&Observation> {
        self.shape.as_deref()
    }

    /// Cells without anything in them.
    pub(super) const fn nulls(&self) -> u64 {
        self.nulls
    }

    /// Adds what was seen elsewhere.
    pub(crate) fn merge(&mut self, other: Self) {
        self.nulls += other.nulls;
        self.empties += other.empties;
        self.bools += other.bools;
        self.integers += other.integers;
        self.floats += other.floats;
        self.no_numbers += other.no_numbers;
        self.nested += other.nested;
        #[cfg(feature = "arrow")]
        match (&mut self.shape, other.shape) {
            // Too many columns are none.
            (Some(own), Some(shape)) => self.texts += u64::from(own.merge(*shape).is_err()),
            (own @ None, shape) => *own = shape,
            (Some(_), None) => {}
        }
        self.texts += other.texts;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        self.large |= other.large;
        self.inexact |= other.inexact;
        self.times.0 &= other.times.0;
        self.longest = self.longest.max(other.longest);
    }

    /// What they are in rows: arrays and objects that no column holds together are text, as in record batches.
    pub(crate) fn row_kind(&self) -> Kind {
        #[cfg(feature = "arrow")]
        if let (Kind::Nested, Some(shape)) = (self.kind(), &self.shape)
            && resolve("", shape.observed(), &Mapping::default()).is_err()
        {
            return Kind::Text;
        }
        self.kind()
    }

    /// What they are, all of them.
    pub(super) fn kind(&self) -> Kind {
        let numbers = self.integers + self.floats;
        match (self.bools, numbers, self.no_numbers, self.texts) {
            (0, 0, 0, 0) if self.nested > 0 => Kind::Nested,
            _ if self.nested > 0 => Kind::Text,
            (0, 0, 0, 0) if self.empties == 0 => Kind::Null,
            (1.., 0, 0, 0) => Kind::Bool,
            (0, 1.., floats, 0) if floats > 0 || self.floats > 0 => {
                if self.inexact {
                    Kind::Text
                } else {
                    Kind::Float
                }
            }
            (0, 1.., _, 0) if !self.large && i64::try_from(self.most).is_ok() => Kind::Integer,
            (0, 1.., _, 0) if !self.large && self.least == 0 => Kind::Unsigned,
            (0, 1.., _, 0) if !self.inexact => Kind::Float,
            (0, 0, 0, 1..) => self.times.kind(),
            _ => Kind::Text,
        }
    }
}

/// Does a float hold this integer?
const fn is_exact(size: u64) -> bool {
    size == 0 || u64::BITS - size.leading_zeros() - size.trailing_zeros() <= f64::MANTISSA_DIGITS
}

/// Where cells are looked at, and with what.
pub(crate) struct Rows {
    /// The number of the row.
    pub(super) row: u64,
    #[cfg(feature = "arrow")]
    limits: Limits,
    #[cfg(feature = "arrow")]
    json: Json,
}

impl Rows {
    pub(crate) fn new(limits: &Limits) -> Self {
        #[cfg(not(feature = "arrow"))]
        let _ = limits;
        Self {
            row: 0,
            #[cfg(feature = "arrow")]
            limits: *limits,
            #[cfg(feature = "arrow")]
            json: Json::new(limits),
        }
    }
}

#[cfg(all(test, feature = "arrow"))]
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
