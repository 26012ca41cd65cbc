//! What the words of CSV's columns are, gathered cell by cell.

use container_core::Limits;
#[cfg(feature = "arrow")]
use container_core::arrow::{Json, Observation};

use super::values::may_be_nested;
use super::words::Word;

/// What the words of a CSV's column are. Nothing of it depends on their order.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
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
pub(super) enum Kind {
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
        for (bit, kind) in Self::KINDS {
            let data_type = || super::arrow::data_type(kind, 0);
            if self.0 & bit != 0 && container_core::arrow::parse_time(&data_type(), text).is_none() {
                self.0 &= !bit;
            }
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
    /// A cell.
    #[inline]
    pub(super) fn see(&mut self, text: &str, quoted: bool, here: &mut Rows) {
        if text.is_empty() {
            if quoted {
                self.empties += 1
            } else {
                self.nulls += 1
            }
            return;
        }
        self.longest = self.longest.max(text.len());
        // A text that is no time makes the column one of texts, whatever else there is.
        if self.texts > 0 && self.times.0 == 0 {
            self.texts += 1;
            return;
        }
        match Word::of(text) {
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
    pub(super) fn merge(&mut self, other: Self) {
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
pub(super) struct Rows {
    /// The number of the row.
    pub(super) row: u64,
    #[cfg(feature = "arrow")]
    limits: Limits,
    #[cfg(feature = "arrow")]
    json: Json,
}

impl Rows {
    pub(super) fn new(limits: &Limits) -> Self {
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
