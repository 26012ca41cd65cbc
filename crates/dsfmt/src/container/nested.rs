//! Values as lists in lists.

use std::cell::Cell;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::TimeForm;
use crate::array::{Array, Mask, Values};
use crate::read::Variable;
use crate::time::{self, Date, Units};

/// Lists without any elements that are shown: sizes of 0 let a file of some bytes have any number of them.
const MOST_EMPTY: u64 = 1 << 16;

/// Depth of lists in lists.
const MOST_DIMENSIONS: usize = 128;

/// How a column's values are shown.
#[derive(Debug, Default)]
pub(super) struct Show {
    missing_as_null: bool,
    time: Option<(Units, TimeForm)>,
    /// Times that have no Julian date.
    pub(super) undated: Cell<u64>,
    /// Why times are not shown as such.
    pub(super) refused: Option<String>,
}

impl Show {
    pub(super) fn new(variable: &Variable<'_>, times: TimeForm, missing_as_null: bool) -> Self {
        let mut show = Self { missing_as_null, ..Self::default() };
        if times != TimeForm::Stored {
            match time::of(variable) {
                Ok(units) => show.time = units.map(|units| (units, times)),
                Err(error) => show.refused = Some(error.detail().to_owned()),
            }
        }
        show
    }
}

/// The lists of the deepest level in a value that has no elements.
fn empty_lists(shape: &[u64]) -> u64 {
    shape.iter().take_while(|size| **size > 0).fold(1, |all, size| all.saturating_mul(*size))
}

/// The lists that are shown of a value without elements.
pub(super) fn shown_lists(shape: &[u64]) -> u64 {
    match empty_lists(shape) {
        lists @ ..=MOST_EMPTY => lists,
        _ => 1,
    }
}

/// Some values, which are lists in lists, or one of them.
pub(super) struct Nested<'n> {
    pub(super) values: &'n Values<'n>,
    pub(super) mask: Option<&'n Mask<'n>>,
    /// The sizes of these lists; none for one value.
    pub(super) shape: &'n [u64],
    /// The first value.
    pub(super) start: usize,
    pub(super) show: &'n Show,
}

impl Serialize for Nested<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some((len, shape)) = self.shape.split_first() else { return self.one(serializer) };
        // What is in memory has no more elements than memory.
        let step = usize::try_from(shape.iter().product::<u64>()).unwrap_or(usize::MAX);
        let len = if step == 0 && empty_lists(self.shape) > MOST_EMPTY { 0 } else { *len };
        let mut list = serializer.serialize_seq(usize::try_from(len).ok())?;
        let mut start = self.start;
        for _ in 0..len {
            list.serialize_element(&Nested { shape, start, ..*self })?;
            start = start.saturating_add(step);
        }
        list.end()
    }
}

impl Nested<'_> {
    fn one<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let at = self.start;
        if self.mask.is_some_and(|mask| mask.is_missing(at)) {
            return serializer.serialize_unit();
        }
        let gone = || S::Error::custom("there is no such value");
        if let Some((units, form)) = self.show.time {
            return self.time(units, form, serializer);
        }
        macro_rules! number {
            ($numbers:expr, $method:ident) => {
                serializer.$method(*$numbers.get(at).ok_or_else(gone)?)
            };
        }
        match self.values {
            Values::Float32(numbers) => match *numbers.get(at).ok_or_else(gone)? {
                number if self.is_plain(number.into(), &serializer) => serializer.serialize_f32(number),
                number => self.odd(number.into(), serializer),
            },
            Values::Float64(numbers) => match *numbers.get(at).ok_or_else(gone)? {
                number if self.is_plain(number, &serializer) => serializer.serialize_f64(number),
                number => self.odd(number, serializer),
            },
            Values::Int8(numbers) => number!(numbers, serialize_i8),
            Values::Int16(numbers) => number!(numbers, serialize_i16),
            Values::Int32(numbers) => number!(numbers, serialize_i32),
            Values::Int64(numbers) => number!(numbers, serialize_i64),
            Values::Uint8(numbers) => number!(numbers, serialize_u8),
            Values::Uint16(numbers) => number!(numbers, serialize_u16),
            Values::Uint32(numbers) => number!(numbers, serialize_u32),
            Values::Uint64(numbers) => number!(numbers, serialize_u64),
            Values::Bool(truths) => number!(truths, serialize_bool),
            Values::Str(strings) if !serializer.is_human_readable() => {
                serializer.serialize_bytes(strings.get(at).ok_or_else(gone)?)
            }
            Values::Str(strings) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("$bytes", &Base64(strings.get(at).ok_or_else(gone)?))?;
                map.end()
            }
            Values::Unicode(strings) => {
                let text = strings.get(at).ok_or_else(gone)?;
                serializer.serialize_str(std::str::from_utf8(text).map_err(S::Error::custom)?)
            }
        }
    }

    /// Is a float written as it is? One that is not finite has no form in text.
    fn is_plain(&self, number: f64, serializer: &impl Serializer) -> bool {
        let is_missing = number.is_nan() && self.show.missing_as_null;
        number.is_finite() || !serializer.is_human_readable() && !is_missing
    }

    /// A float that is not finite, as text.
    fn odd<S: Serializer>(&self, number: f64, serializer: S) -> Result<S::Ok, S::Error> {
        match number {
            number if number.is_nan() && self.show.missing_as_null => serializer.serialize_unit(),
            number if number.is_nan() => serializer.serialize_str("NaN"),
            number => serializer.serialize_str(if number > 0.0 { "Infinity" } else { "-Infinity" }),
        }
    }

    fn time<S: Serializer>(&self, units: Units, form: TimeForm, serializer: S) -> Result<S::Ok, S::Error> {
        let plain = Show { missing_as_null: self.show.missing_as_null, ..Show::default() };
        let Some(date) = date(self.values, self.start, units) else {
            // What is no time stays the number that it is.
            return Nested { show: &plain, ..*self }.one(serializer);
        };
        match form {
            TimeForm::Iso => serializer.collect_str(&date),
            _ if units == Units::JULIAN => Nested { show: &plain, ..*self }.one(serializer),
            _ => match date.julian_date() {
                Some(julian) => serializer.serialize_f64(julian),
                None => {
                    self.show.undated.set(self.show.undated.get().saturating_add(1));
                    serializer.serialize_unit()
                }
            },
        }
    }
}

/// The time that a value means.
fn date(values: &Values<'_>, at: usize, units: Units) -> Option<Date> {
    let whole: i128 = match values {
        Values::Float32(numbers) => {
            let number = *numbers.get(at)?;
            return units.date_to(number.into(), f64::from(number.abs()) * f64::from(f32::EPSILON));
        }
        Values::Float64(numbers) => {
            let number = *numbers.get(at)?;
            return units.date_to(number, number.abs() * f64::EPSILON);
        }
        Values::Int8(numbers) => (*numbers.get(at)?).into(),
        Values::Int16(numbers) => (*numbers.get(at)?).into(),
        Values::Int32(numbers) => (*numbers.get(at)?).into(),
        Values::Int64(numbers) => (*numbers.get(at)?).into(),
        Values::Uint8(numbers) => (*numbers.get(at)?).into(),
        Values::Uint16(numbers) => (*numbers.get(at)?).into(),
        Values::Uint32(numbers) => (*numbers.get(at)?).into(),
        Values::Uint64(numbers) => (*numbers.get(at)?).into(),
        Values::Bool(_) | Values::Str(_) | Values::Unicode(_) => return None,
    };
    units.date_of_integer(whole)
}

struct Base64<'b>(&'b [u8]);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(self.0, &STANDARD))
    }
}

/// Lists in lists by its shape, or one value: what is missing is null, a float that is not finite one of the texts `NaN`, `Infinity`,
/// `-Infinity`, and bytes are `{"$bytes": base64}`.
impl Serialize for Array<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.shape().len() > MOST_DIMENSIONS {
            let detail = format!("it has {} dimensions; up to {MOST_DIMENSIONS} can be shown", self.shape().len());
            return Err(S::Error::custom(detail));
        }
        let show = Show::default();
        let all = Nested { values: self.values(), mask: self.mask(), shape: self.shape(), start: 0, show: &show };
        all.serialize(serializer)
    }
}

impl<'r> Variable<'r> {
    /// Its values as [`Array`] shows them, read while they are shown: memory does not grow with their number. An empty variable is null.
    pub fn shown(&self) -> impl Serialize + use<'r> {
        Shown(*self)
    }
}

struct Shown<'r>(Variable<'r>);

/// Elements of a whole variable that are read at once.
const AT_ONCE: u64 = 256 << 10;

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let variable = self.0;
        variable.check().map_err(S::Error::custom)?;
        match variable.shape() {
            None => serializer.serialize_unit(),
            Some(shape) if shape.len() > MOST_DIMENSIONS => Err(S::Error::custom(format!(
                "it has {} dimensions; up to {MOST_DIMENSIONS} can be shown",
                shape.len()
            ))),
            Some(shape) => {
                Wide { variable, shape, start: 0, most: AT_ONCE, show: &Show::default() }.serialize(serializer)
            }
        }
    }
}

/// Values that are read while they are shown, some at a time.
pub(super) struct Wide<'w> {
    pub(super) variable: Variable<'w>,
    pub(super) shape: &'w [u64],
    /// The first element.
    pub(super) start: u64,
    /// Elements that are read at once.
    pub(super) most: u64,
    pub(super) show: &'w Show,
}

impl Serialize for Wide<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let count: u64 = self.shape.iter().product(); // a part of what was checked
        let (len, shape) = match self.shape.split_first() {
            Some((len, shape)) if count > self.most => (*len, shape),
            _ => {
                let array = self.read(self.start..self.start + count).map_err(S::Error::custom)?;
                let (values, mask) = (array.values(), array.mask());
                return Nested { values, mask, shape: self.shape, start: 0, show: self.show }.serialize(serializer);
            }
        };
        let mut list = serializer.serialize_seq(usize::try_from(len).ok())?;
        let step: u64 = shape.iter().product();
        let (mut start, end) = (self.start, self.start + count);
        if step > self.most {
            while start < end {
                list.serialize_element(&Wide { shape, start, ..*self })?;
                start += step;
            }
            return list.end();
        }
        // As many of the inner lists as may be read at once.
        let some = self.most / step * step;
        while start < end {
            let array = self.read(start..end.min(start + some)).map_err(S::Error::custom)?;
            let (values, mask) = (array.values(), array.mask());
            let step = usize::try_from(step).unwrap_or(usize::MAX);
            for start in (0..array.len()).step_by(step) {
                list.serialize_element(&Nested { values, mask, shape, start, show: self.show })?;
            }
            start += some;
        }
        list.end()
    }
}

impl<'w> Wide<'w> {
    fn read(&self, elements: std::ops::Range<u64>) -> container_core::Result<Array<'w>> {
        self.variable.read_elements(elements)
    }
}
