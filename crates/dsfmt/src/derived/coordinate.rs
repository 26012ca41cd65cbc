//! Looks elements up by their coordinate: numbers, times, longitudes, strings.

mod search;

use container_core::{Error, Result};

use crate::read::Variable;
use crate::read::packing::Packing;
use crate::time::{self, Date, Units};
use crate::types::DataType;
use search::{Interval, Point, PointSearch, RangeSearch, Target};

/// A value to look up along a coordinate.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Coordinate {
    /// A number, in the units of the coordinate.
    Number(f64),
    /// A number, for times also ISO 8601 such as `2000-01-31T12:00`, or a string of a coordinate of strings.
    Text(String),
}

impl From<f64> for Coordinate {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Coordinate {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Coordinate {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl std::fmt::Display for Coordinate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text.trim()),
        }
    }
}

/// A number as a variable stores it, split so that 64-bit integers and fractions are both exact.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Number {
    whole: i128,
    /// From 0 to below 1.
    fraction: f64,
}

impl Number {
    /// Beyond all integers of a file: larger numbers are clamped to this.
    const MAX: f64 = 1e30;

    fn new(number: f64) -> Self {
        let number = number.clamp(-Self::MAX, Self::MAX);
        let floor = number.floor();
        #[expect(clippy::cast_possible_truncation, reason = "integral and in range")]
        let whole = floor as i128;
        Self { whole, fraction: number - floor }
    }

    #[expect(clippy::cast_precision_loss, reason = "the nearest float is intended")]
    fn as_f64(self) -> f64 {
        self.whole as f64 + self.fraction
    }

    /// How far it is above another number.
    #[expect(clippy::cast_precision_loss, reason = "exact where it matters: near 0")]
    fn above(self, other: Self) -> f64 {
        (self.whole - other.whole) as f64 + (self.fraction - other.fraction)
    }
}

/// An end of a range, as a stored number.
#[derive(Debug, Clone, Copy)]
struct Bound {
    number: Number,
    /// For an end that is a date: the length of the year, month, day, hour, minute or second that it names. The number is the start of the next
    /// one then, which is outside the range.
    period: Option<f64>,
}

impl Bound {
    /// Whether a number this far beyond the bound is in the range. Rounding of the number never takes it into the next period, unless the period is
    /// too short for numbers to be told apart.
    fn includes(self, beyond: f64, slack: f64) -> bool {
        match self.period {
            None => beyond <= slack,
            Some(period) => beyond < -slack.min(period - slack),
        }
    }
}

/// Degrees around the earth.
const FULL_CIRCLE: f64 = 360.0;

/// Part of a packing step by which a value may miss it: unpacking rounds.
const PACKED_SLACK: f64 = 1e-6;

/// How a coordinate variable stores its values.
pub(super) struct Lookup {
    data_type: DataType,
    units: Option<Units>,
    /// Why the units of times are not known.
    units_problem: Option<String>,
    /// Scale and offset of packed numbers.
    packing: Option<(f64, f64)>,
    /// Signed integers stand for unsigned ones.
    unsigned: bool,
    longitude: bool,
}

impl Lookup {
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for booleans.
    pub(super) fn new(variable: &Variable<'_>) -> Result<Self> {
        let data_type = match variable.data_type() {
            Some(data_type) if data_type != DataType::Bool => data_type,
            found => {
                let found = found.map_or("no type", DataType::name);
                return Err(Error::usage(format!("expected numbers or strings, found {found}")));
            }
        };
        let packing = Packing::of(variable).filter(|packing| packing.is_invertible());
        let unsigned = packing.is_some_and(|packing| packing.unsigned);
        let packing = packing.map(|packing| (packing.scale, packing.offset)).filter(|packing| *packing != (1.0, 0.0));
        let (units, units_problem) = match time::of(variable) {
            Ok(units) => (units, None),
            Err(error) => (None, Some(error.detail().to_owned())),
        };
        Ok(Self { data_type, units, units_problem, packing, unsigned, longitude: is_longitude(variable) })
    }

    /// A search for the values between two coordinates, both included.
    pub(super) fn range(&self, from: Option<&Coordinate>, to: Option<&Coordinate>) -> Result<RangeSearch<'_>> {
        let interval = if self.data_type.is_text() {
            let text = |end: Option<&Coordinate>| end.map(|end| text(end).into_bytes());
            let (from, to) = (text(from), text(to));
            if let (Some(from), Some(to)) = (&from, &to)
                && from > to
            {
                return Err(reversed(&String::from_utf8_lossy(from), &String::from_utf8_lossy(to)));
            }
            Interval::Text(from, to)
        } else {
            self.interval(from, to)?
        };
        Ok(RangeSearch::new(self, interval, asked(from, to)))
    }

    fn interval(&self, from: Option<&Coordinate>, to: Option<&Coordinate>) -> Result<Interval> {
        let first = |number| Bound { number, period: None };
        let low = from.map(|from| self.stored(from)).transpose()?.map(first);
        let high = to.map(|to| self.end(to)).transpose()?;
        // Packed with a negative scale, the order of the stored numbers is the other one.
        let descending = self.packing.is_some_and(|(scale, _)| scale < 0.0);
        let (low, high) = if descending { (high, low) } else { (low, high) };
        let (Some(first), Some(last)) = (low, high) else { return Ok(Interval::Linear(low, high)) };
        let above = first.number.above(last.number);
        let is_reversed = match first.period.or(last.period) {
            Some(_) => above >= 0.0,
            None => above > self.slack(first.number.as_f64()),
        };
        if self.longitude {
            let period = FULL_CIRCLE / self.packing.map_or(1.0, |(scale, _)| scale.abs());
            let (mut low, high) = (first.number.as_f64(), last.number.as_f64());
            let mut end = high;
            if is_reversed {
                let turns = ((low - high) / period).ceil();
                // Eastward is downward where the scale is negative.
                if descending { low -= turns * period } else { end += turns * period }
            }
            return Ok(Interval::Circular { low, high: end, period });
        }
        if is_reversed {
            let text = |end: Option<&Coordinate>| end.map(ToString::to_string).unwrap_or_default();
            return Err(reversed(&text(from), &text(to)));
        }
        Ok(Interval::Linear(low, high))
    }

    /// A search for the values nearest to these coordinates.
    pub(super) fn points(&self, points: &[Coordinate], tolerance: Option<&Coordinate>) -> Result<PointSearch<'_>> {
        let targets = points.iter().map(|point| match self.data_type.is_text() {
            true => Ok(Target::Text(text(point).into_bytes())),
            false => match self.stored(point)? {
                number if number.as_f64().abs() < Number::MAX => Ok(Target::Number(number)),
                _ => Err(Error::usage(format!("expected a finite value, found {point}"))),
            },
        });
        let points = targets
            .zip(points)
            .map(|(target, point)| Ok(Point { target: target?, asked: point.to_string(), best: None }));
        let tolerance = match tolerance {
            Some(tolerance) if !self.data_type.is_text() => self.tolerance(tolerance)?,
            _ => 0.0,
        };
        Ok(PointSearch::new(self, points.collect::<Result<_>>()?, tolerance))
    }

    /// The number that the variable stores for a coordinate; for a date, of the first instant of the period that it names.
    fn stored(&self, coordinate: &Coordinate) -> Result<Number> {
        match self.parse(coordinate)? {
            Parsed::Number(number) => Ok(number),
            Parsed::Date(first, _) => self.instant(first, coordinate),
        }
    }

    /// The end of a range at a coordinate.
    fn end(&self, coordinate: &Coordinate) -> Result<Bound> {
        let number = self.stored(coordinate)?;
        let Parsed::Date(_, Some(next)) = self.parse(coordinate)? else { return Ok(Bound { number, period: None }) };
        let next = self.instant(next, coordinate)?;
        Ok(Bound { number: next, period: Some(next.above(number).abs()) })
    }

    fn parse(&self, coordinate: &Coordinate) -> Result<Parsed> {
        let text = match coordinate {
            Coordinate::Number(number) => return self.packed(*number).map(Parsed::Number),
            Coordinate::Text(text) => text.trim(),
        };
        if let (Ok(whole), None) = (text.parse::<i128>(), self.packing) {
            return Ok(Parsed::Number(Number { whole, fraction: 0.0 }));
        }
        if let Ok(number) = text.parse::<f64>() {
            return self.packed(number).map(Parsed::Number);
        }
        let units = self.units.ok_or_else(|| {
            let why = self.units_problem.as_deref().unwrap_or("only times are given as dates");
            Error::usage(format!("expected a number, found {text:?}: {why}"))
        })?;
        let (first, next) = Date::period_of_iso(text, units.calendar())?;
        Ok(Parsed::Date(first, next))
    }

    /// The number that the variable stores for an instant.
    fn instant(&self, date: Date, asked: &Coordinate) -> Result<Number> {
        let calendar = date.calendar();
        let split = self.units.and_then(|units| units.split(date));
        let (whole, fraction) =
            split.ok_or_else(|| Error::usage(format!("the calendar {calendar} has no day {asked}")))?;
        let number = Number { whole, fraction };
        if self.packing.is_some() { self.packed(number.as_f64()) } else { Ok(number) }
    }

    /// The number that the variable stores for a value.
    fn packed(&self, value: f64) -> Result<Number> {
        if value.is_nan() {
            return Err(Error::usage("expected a number, found NaN"));
        }
        let Some((scale, offset)) = self.packing else {
            #[expect(clippy::cast_possible_truncation, reason = "values are compared in the type of the variable")]
            let single = f64::from(value as f32);
            return Ok(Number::new(if self.data_type == DataType::Float32 { single } else { value }));
        };
        Ok(Number::new((value - offset) / scale))
    }

    /// How far a stored number may be from an equal one, because of rounding.
    fn slack(&self, number: f64) -> f64 {
        let is_float = matches!(self.data_type, DataType::Float32 | DataType::Float64);
        let single = self.data_type == DataType::Float32;
        let step = number.abs() * if single { f64::from(f32::EPSILON) } else { f64::EPSILON };
        match self.packing {
            Some(_) if is_float => step * 4.0,
            Some(_) => PACKED_SLACK,
            // A date in units of hours or days is rounded, and a longitude from which a full circle was taken.
            None if is_float && (self.longitude || self.units.is_some()) => step * 2.0,
            None => 0.0,
        }
    }

    /// The distance that a tolerance allows, between stored numbers.
    fn tolerance(&self, tolerance: &Coordinate) -> Result<f64> {
        let number = match tolerance {
            Coordinate::Number(number) => *number,
            Coordinate::Text(text) => match (text.trim().parse::<f64>(), self.units) {
                (Ok(number), _) => number,
                (Err(_), Some(units)) => units.duration(text.trim())?,
                (Err(_), None) => {
                    let detail = format!("expected a number as tolerance, found {text:?}: only times have durations");
                    return Err(Error::usage(detail));
                }
            },
        };
        match number >= 0.0 {
            true => Ok(number / self.packing.map_or(1.0, |(scale, _)| scale.abs())),
            false => Err(Error::usage(format!("expected a tolerance of 0 or more, found {tolerance}"))),
        }
    }

    /// A stored number as the value that it means.
    fn shown(&self, number: Number) -> String {
        let value = match self.packing {
            Some((scale, offset)) => number.as_f64() * scale + offset,
            None => number.as_f64(),
        };
        if let Some(units) = self.units {
            let exact = (self.packing.is_none() && number.fraction == 0.0).then_some(number.whole);
            let date = exact.and_then(|whole| units.date_of_integer(whole));
            if let Some(date) = date.or_else(|| units.date_with_error(value, value.abs() * f64::EPSILON)) {
                return date.to_string();
            }
        }
        match (self.data_type, self.packing) {
            #[expect(clippy::cast_possible_truncation, reason = "it was a 32-bit float")]
            (DataType::Float32, None) => (value as f32).to_string(),
            (DataType::Float64, None) => value.to_string(),
            (_, None) => number.whole.to_string(),
            // Without the digits that come from unpacking.
            (_, Some(_)) => format!("{value:.9}").trim_end_matches('0').trim_end_matches('.').to_owned(),
        }
    }
}

/// A coordinate as it is given.
enum Parsed {
    /// As the variable stores it.
    Number(Number),
    /// The start of the period that a date names, and of the next one; an instant has no next.
    Date(Date, Option<Date>),
}

/// By the CF conventions: units of degrees east, or the standard name; without both, the name.
fn is_longitude(variable: &Variable<'_>) -> bool {
    const UNITS: [&str; 6] = ["degrees_east", "degree_east", "degrees_E", "degree_E", "degreesE", "degreeE"];
    let attributes = variable.attributes();
    let text = |name| attributes.get(name).and_then(|value| value.as_str().map(std::borrow::Cow::into_owned));
    match (text("standard_name"), text("units")) {
        (Some(name), _) if name == "longitude" => true,
        (_, Some(units)) if UNITS.contains(&units.trim()) => true,
        (None, units) if units.as_deref().is_none_or(|units| units.starts_with("degree")) => {
            ["lon", "longitude"].iter().any(|name| variable.name().eq_ignore_ascii_case(name))
        }
        _ => false,
    }
}

fn text(coordinate: &Coordinate) -> String {
    match coordinate {
        Coordinate::Number(number) => number.to_string(),
        Coordinate::Text(text) => text.clone(),
    }
}

fn reversed(from: &str, to: &str) -> Error {
    Error::usage(format!("the range ends at {to}, before its start {from}"))
}

/// `from 3 to 7`, `from 3 on`, `up to 7`.
fn asked(from: Option<&Coordinate>, to: Option<&Coordinate>) -> String {
    match (from, to) {
        (Some(from), Some(to)) => format!("from {from} to {to}"),
        (Some(from), None) => format!("from {from} on"),
        (None, Some(to)) => format!("up to {to}"),
        (None, None) => "of any size".to_owned(),
    }
}
