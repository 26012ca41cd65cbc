//! What the words of CSV's columns are, gathered cell by cell.

mod kind;
#[cfg_attr(not(feature = "arrow"), path = "plain.rs")]
pub(super) mod typed;

use container_core::Limits;

use super::words::{Word, may_be_nested};
pub(crate) use kind::Kind;
use typed::{Reader, Shape, Times};

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
    pub(super) shape: Option<Box<Shape>>,
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
        if self.texts > 0 && self.times.are_none() {
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
    fn has_shape(&mut self, text: &str, here: &mut Rows) -> bool {
        let shape = self.shape.get_or_insert_with(|| Box::new(Shape::new(&here.limits)));
        // Where it is none the column is text, and of what was seen nothing matters.
        shape.see(text, here.row, &mut here.reader)
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
        match (&mut self.shape, other.shape) {
            // Too many columns are none.
            (Some(own), Some(shape)) => self.texts += u64::from(!own.merge(*shape)),
            (own @ None, shape) => *own = shape,
            (Some(_), None) => {}
        }
        self.texts += other.texts;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        self.large |= other.large;
        self.inexact |= other.inexact;
        self.times.merge(other.times);
        self.longest = self.longest.max(other.longest);
    }

    /// What they are in rows: arrays and objects that no column holds together are text, as in record batches.
    pub(crate) fn row_kind(&self) -> Kind {
        match (self.kind(), &self.shape) {
            (Kind::Nested, Some(shape)) if !shape.is_column() => Kind::Text,
            (kind, _) => kind,
        }
    }

    /// What they are, all of them.
    pub(super) fn kind(&self) -> Kind {
        self.kind_of(Times::kind)
    }

    /// What they are for a format that has integers only where none is missing, and times in ticks of 100 ns; and whether any is missing.
    #[cfg(feature = "arrow")]
    pub(super) fn narrow_kind(&self) -> (Kind, bool) {
        match self.kind_of(Times::kind_in_ticks) {
            Kind::Text => (Kind::Text, self.nulls > 0),
            // In quotes, nothing is an empty text alone among texts.
            kind => match (kind, self.nulls + self.empties > 0) {
                (Kind::Integer | Kind::Unsigned, true) if self.inexact => (Kind::Text, self.nulls > 0),
                (Kind::Integer | Kind::Unsigned, true) => (Kind::Float, true),
                other => other,
            },
        }
    }

    fn kind_of(&self, of_times: impl Fn(Times) -> Kind) -> Kind {
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
            (0, 0, 0, 1..) => of_times(self.times),
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
    limits: Limits,
    reader: Reader,
}

impl Rows {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { row: 0, limits: *limits, reader: Reader::new(limits) }
    }
}
