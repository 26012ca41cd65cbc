//! Serializes values as nested lists.

use std::cell::Cell;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::TimeForm;
use crate::array::{Array, Mask, Values};
use crate::read::Variable;
use crate::time::{self, Date, Units};

/// Maximum number of empty lists in a value: sizes of 0 let a tiny file declare any number.
const MAX_EMPTY_LISTS: u64 = 1 << 16;

/// Maximum nesting of lists.
const MAX_DIMENSIONS: usize = 128;

/// How a column's values are represented.
#[derive(Debug, Default)]
pub(super) struct ValueFormat {
    missing_as_null: bool,
    time: Option<(Units, TimeForm)>,
    /// Number of times without a Julian date.
    pub(super) undated: Cell<u64>,
    /// Why times are shown as stored.
    pub(super) time_error: Option<String>,
}

impl ValueFormat {
    pub(super) fn new(variable: &Variable<'_>, times: TimeForm, missing_as_null: bool) -> Self {
        let mut format = Self { missing_as_null, ..Self::default() };
        if times != TimeForm::Stored {
            match time::of_stored(variable) {
                Ok(units) => format.time = units.map(|units| (units, times)),
                Err(error) => format.time_error = Some(error.detail().to_owned()),
            }
        }
        format
    }
}

/// Number of innermost lists in a value without elements.
fn empty_lists(shape: &[u64]) -> u64 {
    shape.iter().take_while(|size| **size > 0).fold(1, |all, size| all.saturating_mul(*size))
}

/// Number of lists to emit for a value without elements.
pub(super) fn emitted_lists(shape: &[u64]) -> u64 {
    match empty_lists(shape) {
        lists @ ..=MAX_EMPTY_LISTS => lists,
        _ => 1,
    }
}

/// A single value, or values as nested lists.
pub(super) struct Nested<'n> {
    pub(super) values: &'n Values<'n>,
    pub(super) mask: Option<&'n Mask<'n>>,
    /// Sizes of the lists; empty for a single value.
    pub(super) shape: &'n [u64],
    /// Index of the first value.
    pub(super) start: usize,
    pub(super) format: &'n ValueFormat,
}

impl Serialize for Nested<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some((len, shape)) = self.shape.split_first() else { return self.value(serializer) };
        // Values are in memory, so the product is small.
        let step = usize::try_from(shape.iter().product::<u64>()).unwrap_or(usize::MAX);
        let len = if step == 0 && empty_lists(self.shape) > MAX_EMPTY_LISTS { 0 } else { *len };
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
    fn value<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let at = self.start;
        if self.mask.is_some_and(|mask| mask.is_missing(at)) {
            return serializer.serialize_unit();
        }
        let out_of_range = || S::Error::custom("value index out of range");
        if let Some((units, form)) = self.format.time {
            return self.time(units, form, serializer);
        }
        macro_rules! number {
            ($numbers:expr, $method:ident) => {
                serializer.$method(*$numbers.get(at).ok_or_else(out_of_range)?)
            };
        }
        match self.values {
            Values::Float32(numbers) => match *numbers.get(at).ok_or_else(out_of_range)? {
                number if self.is_representable(number.into(), &serializer) => serializer.serialize_f32(number),
                number => self.non_finite(number.into(), serializer),
            },
            Values::Float64(numbers) => match *numbers.get(at).ok_or_else(out_of_range)? {
                number if self.is_representable(number, &serializer) => serializer.serialize_f64(number),
                number => self.non_finite(number, serializer),
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
                serializer.serialize_bytes(strings.get(at).ok_or_else(out_of_range)?)
            }
            Values::Str(strings) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("$bytes", &Base64(strings.get(at).ok_or_else(out_of_range)?))?;
                map.end()
            }
            Values::Unicode(strings) => {
                let text = strings.get(at).ok_or_else(out_of_range)?;
                serializer.serialize_str(std::str::from_utf8(text).map_err(S::Error::custom)?)
            }
        }
    }

    /// True when the serializer can represent the float: text formats have no non-finite numbers.
    fn is_representable(&self, number: f64, serializer: &impl Serializer) -> bool {
        let is_missing = number.is_nan() && self.format.missing_as_null;
        number.is_finite() || !serializer.is_human_readable() && !is_missing
    }

    /// A non-finite float, as a string.
    fn non_finite<S: Serializer>(&self, number: f64, serializer: S) -> Result<S::Ok, S::Error> {
        match number {
            number if number.is_nan() && self.format.missing_as_null => serializer.serialize_unit(),
            number if number.is_nan() => serializer.serialize_str("NaN"),
            number => serializer.serialize_str(if number > 0.0 { "Infinity" } else { "-Infinity" }),
        }
    }

    fn time<S: Serializer>(&self, units: Units, form: TimeForm, serializer: S) -> Result<S::Ok, S::Error> {
        let plain = ValueFormat { missing_as_null: self.format.missing_as_null, ..ValueFormat::default() };
        let Some(date) = date(self.values, self.start, units) else {
            // Numbers that are not valid times stay numbers.
            return Nested { format: &plain, ..*self }.value(serializer);
        };
        match form {
            TimeForm::Iso => serializer.collect_str(&date),
            _ if units == Units::JULIAN => Nested { format: &plain, ..*self }.value(serializer),
            _ => match date.julian_date() {
                Some(julian) => serializer.serialize_f64(julian),
                None => {
                    self.format.undated.set(self.format.undated.get().saturating_add(1));
                    serializer.serialize_unit()
                }
            },
        }
    }
}

/// The time that a value stands for.
fn date(values: &Values<'_>, at: usize, units: Units) -> Option<Date> {
    let integer: i128 = match values {
        Values::Float32(numbers) => {
            let number = *numbers.get(at)?;
            return units.date_with_error(number.into(), f64::from(number.abs()) * f64::from(f32::EPSILON));
        }
        Values::Float64(numbers) => {
            let number = *numbers.get(at)?;
            return units.date_with_error(number, number.abs() * f64::EPSILON);
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
    units.date_of_integer(integer)
}

struct Base64<'b>(&'b [u8]);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(self.0, &STANDARD))
    }
}

/// Serializes nested lists of its shape, or one value: missing values as null, non-finite floats as `NaN`, `Infinity` or `-Infinity`, bytes as
/// `{"$bytes": base64}`.
impl Serialize for Array<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.shape().len() > MAX_DIMENSIONS {
            let detail = format!("found {} dimensions, more than the limit {MAX_DIMENSIONS}", self.shape().len());
            return Err(S::Error::custom(detail));
        }
        let format = ValueFormat::default();
        let all = Nested { values: self.values(), mask: self.mask(), shape: self.shape(), start: 0, format: &format };
        all.serialize(serializer)
    }
}

impl<'r> Variable<'r> {
    /// Serializes as [`Array`] does, reading while serializing: memory is bounded. An empty variable is null.
    pub fn as_serialize(&self) -> impl Serialize + use<'r> {
        StreamedVariable(*self)
    }
}

struct StreamedVariable<'r>(Variable<'r>);

/// Elements of a variable read at once.
const CHUNK: u64 = 256 << 10;

impl Serialize for StreamedVariable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let variable = self.0;
        variable.check().map_err(S::Error::custom)?;
        match variable.shape() {
            None => serializer.serialize_unit(),
            Some(shape) if shape.len() > MAX_DIMENSIONS => {
                Err(S::Error::custom(format!("found {} dimensions, more than the limit {MAX_DIMENSIONS}", shape.len())))
            }
            Some(shape) => {
                let format = &ValueFormat::default();
                Streamed { variable, shape, start: 0, chunk: CHUNK, format }.serialize(serializer)
            }
        }
    }
}

/// Values that are read while they are serialized.
pub(super) struct Streamed<'w> {
    pub(super) variable: Variable<'w>,
    pub(super) shape: &'w [u64],
    /// Index of the first element.
    pub(super) start: u64,
    /// Maximum number of elements to read at once.
    pub(super) chunk: u64,
    pub(super) format: &'w ValueFormat,
}

impl Serialize for Streamed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let count: u64 = self.shape.iter().product(); // at most the total, which was checked
        let (len, shape) = match self.shape.split_first() {
            Some((len, shape)) if count > self.chunk => (*len, shape),
            _ => {
                let array = self.read(self.start..self.start + count).map_err(S::Error::custom)?;
                let (values, mask) = (array.values(), array.mask());
                return Nested { values, mask, shape: self.shape, start: 0, format: self.format }.serialize(serializer);
            }
        };
        let mut list = serializer.serialize_seq(usize::try_from(len).ok())?;
        let step: u64 = shape.iter().product();
        let (mut start, end) = (self.start, self.start + count);
        if step > self.chunk {
            while start < end {
                list.serialize_element(&Streamed { shape, start, ..*self })?;
                start += step;
            }
            return list.end();
        }
        // Read as many inner lists at once as fit.
        let count = self.chunk / step * step;
        while start < end {
            let array = self.read(start..end.min(start + count)).map_err(S::Error::custom)?;
            let (values, mask) = (array.values(), array.mask());
            let step = usize::try_from(step).unwrap_or(usize::MAX);
            for start in (0..array.len()).step_by(step) {
                list.serialize_element(&Nested { values, mask, shape, start, format: self.format })?;
            }
            start += count;
        }
        list.end()
    }
}

impl<'w> Streamed<'w> {
    fn read(&self, elements: std::ops::Range<u64>) -> container_core::Result<Array<'w>> {
        self.variable.read_elements(elements)
    }
}
