//! What a column has been seen to hold, and the type that follows.
//!
//! What is noted of a value never depends on the values before it, and two notes are put together by "the earlier of two",
//! "the greater of two", "both": so the type does not depend on the order of rows, nor on how the input is cut into pieces
//! that are looked at side by side. Only which line an error names does.

mod arrays;

use container_core::{Error, Result};
use idv::{ItemType, Type};
use serde_json::value::RawValue;

use super::place::first;
use super::time::Times;
use super::walk::Walk;
use crate::text::records::json::{self, Kind, shortened};
use crate::text::records::number::{Number, is_float_word, is_number, number};
use crate::text::records::place::Place;
use arrays::{Arrays, sparse};

/// How values are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// A value's kind is told by its first byte, and values of two kinds have no type in common.
    Json,
    /// Words: what is nothing else is text.
    Words,
}

/// Everything that has been seen of a column.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// A null, an absent member, an empty cell.
    nulls: Option<Place>,
    /// Of cells: one without quotes was empty, which is no text.
    missing: bool,
    bools: Option<Place>,
    integers: Option<Box<Integers>>,
    floats: Option<Place>,
    beyond: Option<Box<Found>>,
    /// A text that is a float's word.
    words: Option<Place>,
    texts: Option<Texts>,
    arrays: Option<Box<Arrays>>,
    objects: Option<Place>,
}

/// A value and where it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    place: Place,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Integers {
    first: Place,
    least: i128,
    greatest: i128,
    /// The first that no Double holds.
    inexact: Option<Found>,
    /// The first that no Int64 holds.
    above: Option<Found>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Texts {
    first: Place,
    /// Which times they are, if they are cells: a string of JSON is a string.
    times: Times,
}

/// A column's type, and what ML.NET makes of the values that are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) kind: Type,
    pub(super) missing: Option<&'static str>,
}

impl Seen {
    /// Notes that a value is absent.
    pub(super) fn see_absent(&mut self, place: Place) {
        note(&mut self.nulls, place);
    }

    /// Notes a value, a valid JSON text.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) for a string with half a surrogate pair.
    pub(super) fn see_json(&mut self, text: &str, place: Place, walk: &mut Walk) -> Result<()> {
        match Kind::of(text) {
            Kind::Array => Arrays::at(&mut self.arrays, place).see(text, place, walk)?,
            Kind::Object => match sparse(text) {
                Some(outcome) => Arrays::at(&mut self.arrays, place).see_sparse(outcome, place, walk)?,
                None => note(&mut self.objects, place),
            },
            _ => self.see_item(text, place)?,
        }
        Ok(())
    }

    /// Notes a cell of a table of words.
    pub(super) fn see_word(&mut self, text: &str, quoted: bool, place: Place, walk: &mut Walk) {
        if text.is_empty() {
            self.missing |= !quoted;
            note(&mut self.nulls, place);
        } else if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
            note(&mut self.bools, place);
        } else if is_number(text) {
            self.see_number(text, place);
        } else if is_float_word(text) {
            note(&mut self.words, place);
        } else if self.texts.is_none()
            && text.starts_with(['[', '{'])
            && let Ok(raw) = serde_json::from_str::<&RawValue>(text)
            && (text.starts_with('[') || sparse(text).is_some())
        {
            if self.see_json(raw.get(), place, walk).is_err() {
                self.see_text(text, place);
            }
        } else {
            self.see_text(text, place);
        }
    }

    fn see_item(&mut self, text: &str, place: Place) -> Result<()> {
        match Kind::of(text) {
            Kind::Null => note(&mut self.nulls, place),
            Kind::Bool => note(&mut self.bools, place),
            Kind::Number => self.see_number(text, place),
            Kind::String => {
                let text = json::unescaped(text)?;
                if is_float_word(&text) {
                    note(&mut self.words, place);
                } else {
                    self.texts_at(place).times = Times::NONE;
                }
            }
            Kind::Array | Kind::Object => note(&mut self.objects, place),
        }
        Ok(())
    }

    fn see_number(&mut self, text: &str, place: Place) {
        let found = || Found { place, text: shortened(text) };
        match number(text) {
            Number::Float => note(&mut self.floats, place),
            Number::Beyond => earlier(&mut self.beyond, Some(Box::new(found()))),
            Number::Integer { value, exact } => match &mut self.integers {
                // By far the most common: nothing to be noted.
                Some(seen) if exact && seen.least <= value && value <= seen.greatest && seen.first <= place => {}
                seen => {
                    let inexact = (!exact).then(found);
                    let above = i64::try_from(value).is_err().then(found);
                    let one = Integers { first: place, least: value, greatest: value, inexact, above };
                    match seen {
                        Some(seen) => seen.merge(one),
                        None => *seen = Some(Box::new(one)),
                    }
                }
            },
        }
    }

    fn see_text(&mut self, text: &str, place: Place) {
        self.texts_at(place).times.see(text);
    }

    fn texts_at(&mut self, place: Place) -> &mut Texts {
        let seen = self.texts.get_or_insert(Texts { first: place, times: Times::default() });
        seen.first = seen.first.min(place);
        seen
    }

    /// Adds what was seen elsewhere.
    pub(super) fn merge(&mut self, other: Self) {
        self.nulls = first(self.nulls, other.nulls);
        self.missing |= other.missing;
        self.bools = first(self.bools, other.bools);
        self.floats = first(self.floats, other.floats);
        self.words = first(self.words, other.words);
        self.objects = first(self.objects, other.objects);
        earlier(&mut self.beyond, other.beyond);
        match (&mut self.integers, other.integers) {
            (Some(mine), Some(theirs)) => mine.merge(*theirs),
            (None, theirs) => self.integers = theirs,
            (_, None) => {}
        }
        self.texts = match (self.texts, other.texts) {
            (Some(one), Some(two)) => Some(Texts { first: one.first.min(two.first), times: one.times.and(two.times) }),
            (one, two) => one.or(two),
        };
        match (&mut self.arrays, other.arrays) {
            (Some(mine), Some(theirs)) => mine.merge(*theirs),
            (None, theirs) => self.arrays = theirs,
            (_, None) => {}
        }
    }

    /// The type that holds all that was seen.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) where there is none, with the place; never for words.
    pub(super) fn resolve(&self, syntax: Syntax, names: &[String]) -> Result<Resolved> {
        let resolved = match self.arrays.as_deref() {
            // A vector cannot be missing: a null becomes an empty one.
            Some(arrays) if self.only_arrays() => arrays.resolve(self.nulls.is_some(), names),
            _ => self.resolve_item(syntax, names).map(|(item, missing)| Resolved { kind: Type::Item(item), missing }),
        };
        match syntax {
            // Every word is a text.
            Syntax::Words => {
                let text = || Resolved { kind: Type::Item(ItemType::Text), missing: self.missing_text(syntax) };
                Ok(resolved.unwrap_or_else(|_| text()))
            }
            Syntax::Json => resolved,
        }
    }

    fn only_arrays(&self) -> bool {
        self.objects.is_none() && self.kinds().iter().filter(|(_, place)| place.is_some()).count() == 1
    }

    fn numbers(&self) -> Option<Place> {
        let integers = self.integers.as_ref().map(|seen| seen.first);
        first(first(integers, self.floats), self.beyond.as_ref().map(|found| found.place))
    }

    /// Values of kinds that have no type in common, each where it was first.
    fn kinds(&self) -> [(&'static str, Option<Place>); 4] {
        let numbers = self.numbers();
        let texts = self.texts.map(|seen| seen.first);
        // Words are floats beside numbers and texts otherwise.
        let texts = if numbers.is_some() { texts } else { first(texts, self.words) };
        let arrays = self.arrays.as_ref().map(|seen| seen.first);
        [("a bool", self.bools), ("a number", numbers), ("a text", texts), ("an array", arrays)]
    }

    fn resolve_item(&self, syntax: Syntax, names: &[String]) -> Result<(ItemType, Option<&'static str>)> {
        if let Some(place) = self.objects {
            let detail = "an object where a value is wanted: --schema can say Text, which keeps its JSON";
            return Err(place.mark(Error::invalid(detail), names));
        }
        let mut kinds: Vec<_> = self.kinds().into_iter().filter_map(|(kind, place)| Some((place?, kind))).collect();
        kinds.sort_unstable();
        match kinds.as_slice() {
            [] => Ok((ItemType::Text, self.missing_text(syntax))),
            [(_, "a bool")] => Ok(match self.nulls {
                Some(_) => (ItemType::DvBool, Some(MISSING_BOOL)),
                None => (ItemType::Boolean, None),
            }),
            [(_, "a number")] => self.resolve_number(names).map(|item| (item, None)),
            [(_, _)] => Ok(self.resolve_text(syntax)),
            [(one, a), (two, b), ..] => {
                let detail = format!(
                    "{b} where {} has {a}: a column has one type; --schema can say which, such as Text",
                    one.said(names)
                );
                Err(two.mark(Error::invalid(detail), names))
            }
        }
    }

    fn resolve_text(&self, syntax: Syntax) -> (ItemType, Option<&'static str>) {
        let times = self.texts.filter(|_| self.words.is_none()).and_then(|texts| texts.times.item());
        match (times, self.nulls) {
            // As a bool, a duration can be missing in its older type.
            (Some(ItemType::TimeSpan), Some(_)) => (ItemType::DvTimeSpan, Some(MISSING_SPAN)),
            (Some(times), nulls) => (times, nulls.map(|_| MISSING_TIME)),
            (None, _) => (ItemType::Text, self.missing_text(syntax)),
        }
    }

    /// What there is to know of texts that are missing.
    fn missing_text(&self, syntax: Syntax) -> Option<&'static str> {
        let some = match syntax {
            Syntax::Json => self.nulls.is_some(),
            Syntax::Words => self.missing,
        };
        some.then_some(MISSING_TEXT)
    }

    fn resolve_number(&self, names: &[String]) -> Result<ItemType> {
        if let Some(Found { place, text }) = self.beyond.as_deref() {
            let detail = format!("the number {text} is greater than any Double; --schema can say Text");
            return Err(place.mark(Error::invalid(detail), names));
        }
        let Some(integers) = self.integers.as_deref() else { return Ok(ItemType::Double) };
        let floats = first(self.floats, self.words);
        if floats.is_none() && self.nulls.is_none() {
            if integers.above.is_none() {
                return Ok(ItemType::Int64);
            }
            if integers.least >= 0 && u64::try_from(integers.greatest).is_ok() {
                return Ok(ItemType::UInt64);
            }
        }
        let Some(Found { place, text }) = &integers.inexact else { return Ok(ItemType::Double) };
        let detail = match (floats, self.nulls) {
            (Some(float), _) => format!(
                "the integer {text} stands beside floats ({}) and is no Double exactly; --schema can say Text",
                float.said(names)
            ),
            (None, Some(null)) => format!(
                "the integer {text} is no Double exactly, and an integer type cannot be missing ({}); --schema can say Text",
                null.said(names)
            ),
            (None, None) => format!(
                "the integer {text} is no Double exactly, and the integers are not all Int64 or all UInt64; --schema can \
                 say Text"
            ),
        };
        Err(place.mark(Error::invalid(detail), names))
    }
}

const MISSING_TEXT: &str = "some missing, which ML.NET reads as empty";
const MISSING_BOOL: &str = "some missing, which ML.NET reads as false";
const MISSING_SPAN: &str = "some missing, which ML.NET reads as 00:00:00";
const MISSING_TIME: &str = "some missing, which ML.NET reads as 0001-01-01T00:00:00";
impl Integers {
    fn merge(&mut self, other: Self) {
        self.first = self.first.min(other.first);
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
        earlier(&mut self.inexact, other.inexact);
        earlier(&mut self.above, other.above);
    }
}

fn note(slot: &mut Option<Place>, place: Place) {
    match slot {
        Some(before) if *before <= place => {}
        slot => *slot = Some(place),
    }
}

fn earlier<T: Ord>(slot: &mut Option<T>, other: Option<T>) {
    match (&mut *slot, other) {
        (_, None) => {}
        (Some(mine), Some(other)) if *mine <= other => {}
        (slot, other) => *slot = other,
    }
}
