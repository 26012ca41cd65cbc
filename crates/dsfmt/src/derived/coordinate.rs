//! Looks elements up by their coordinate: numbers, times, longitudes, strings.

use std::collections::BTreeMap;
use std::ops::Range;

use container_core::{Error, Result};

use crate::array::{Array, Strings, Values};
use crate::read::Variable;
use crate::read::packing::Packing;
use crate::time::{self, Date, Units};
use crate::types::DataType;

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
        Ok(PointSearch { lookup: self, points: points.collect::<Result<_>>()?, tolerance, extent: Extent::default() })
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

/// Passes each present number of an array, integers reinterpreted as unsigned if they stand for such.
fn for_each_number(array: &Array<'_>, is_unsigned: bool, mut take: impl FnMut(usize, Number)) {
    let mask = array.mask();
    let present = |index: &usize| mask.is_none_or(|mask| !mask.is_missing(*index));
    macro_rules! integers {
        ($all:ident) => {
            for (index, integer) in $all.iter().enumerate().filter(|(index, _)| present(index)) {
                let signed = i128::from(*integer);
                let whole = if is_unsigned && signed < 0 { signed + (1 << (8 * size_of_val(integer))) } else { signed };
                take(index, Number { whole, fraction: 0.0 });
            }
        };
    }
    macro_rules! floats {
        ($all:ident) => {
            for (index, float) in $all.iter().enumerate().filter(|(index, float)| present(index) && !float.is_nan()) {
                take(index, Number::new((*float).into()));
            }
        };
    }
    match array.values() {
        Values::Float32(all) => floats!(all),
        Values::Float64(all) => floats!(all),
        Values::Int8(all) => integers!(all),
        Values::Int16(all) => integers!(all),
        Values::Int32(all) => integers!(all),
        Values::Int64(all) => integers!(all),
        Values::Uint8(all) => integers!(all),
        Values::Uint16(all) => integers!(all),
        Values::Uint32(all) => integers!(all),
        Values::Uint64(all) => integers!(all),
        Values::Bool(_) | Values::Str(_) | Values::Unicode(_) => {}
    }
}

/// Passes each present string of an array.
fn for_each_string(array: &Array<'_>, strings: &Strings<'_>, mut take: impl FnMut(usize, &[u8])) {
    let mask = array.mask();
    for (index, string) in strings.iter().enumerate() {
        if mask.is_none_or(|mask| !mask.is_missing(index)) {
            take(index, string);
        }
    }
}

/// The least and the greatest value of a coordinate.
#[derive(Debug, Default)]
struct Extent {
    numbers: Option<(Number, Number)>,
    strings: Option<(Vec<u8>, Vec<u8>)>,
}

impl Extent {
    /// Non-finite numbers do not count.
    fn add_number(&mut self, number: Number) {
        if number.as_f64().abs() >= Number::MAX {
            return;
        }
        let (min, max) = self.numbers.get_or_insert((number, number));
        if number.above(*min) < 0.0 {
            *min = number;
        }
        if number.above(*max) > 0.0 {
            *max = number;
        }
    }

    fn add_string(&mut self, string: &[u8]) {
        /// Enough for a message.
        const MAX: usize = 100;
        let (min, max) = self.strings.get_or_insert_with(|| (string.to_vec(), string.to_vec()));
        if string < min.as_slice() {
            *min = string.get(..MAX).unwrap_or(string).to_vec();
        }
        if string > max.as_slice() {
            *max = string.get(..MAX).unwrap_or(string).to_vec();
        }
    }

    /// `its values are from -90 to 90`.
    fn describe(&self, lookup: &Lookup) -> String {
        let (min, max) = match (&self.numbers, &self.strings) {
            (Some((min, max)), _) => {
                let (min, max) = (lookup.shown(*min), lookup.shown(*max));
                // Packed with a negative scale, the greatest stored number is the least value.
                if lookup.packing.is_some_and(|(scale, _)| scale < 0.0) { (max, min) } else { (min, max) }
            }
            (None, Some((min, max))) => {
                let quoted = |text: &[u8]| format!("{:?}", String::from_utf8_lossy(text));
                (quoted(min), quoted(max))
            }
            (None, None) => return "it has no values".to_owned(),
        };
        format!("its values are from {min} to {max}")
    }
}

enum Interval {
    Linear(Option<Bound>, Option<Bound>),
    /// Numbers that are equal when they differ by a period.
    Circular {
        low: f64,
        high: f64,
        period: f64,
    },
    Text(Option<Vec<u8>>, Option<Vec<u8>>),
}

/// Finds the values in an interval.
pub(super) struct RangeSearch<'l> {
    lookup: &'l Lookup,
    interval: Interval,
    /// The interval in words.
    asked: String,
    /// Matching elements by the number of periods that takes them into the interval: the smallest number, and the greatest.
    upward: BTreeMap<i64, Vec<Range<u64>>>,
    downward: BTreeMap<i64, Vec<Range<u64>>>,
    /// Steps up minus steps down along the axis.
    direction: i64,
    last: Option<f64>,
    extent: Extent,
}

impl<'l> RangeSearch<'l> {
    fn new(lookup: &'l Lookup, interval: Interval, asked: String) -> Self {
        let (upward, downward, extent) = (BTreeMap::new(), BTreeMap::new(), Extent::default());
        Self { lookup, interval, asked, upward, downward, direction: 0, last: None, extent }
    }

    /// Compares values; `element` returns the element that a value of the array is.
    pub(super) fn add(&mut self, array: &Array<'_>, element: &dyn Fn(usize) -> u64) {
        let Self { lookup, interval, upward, downward, direction, last, extent, .. } = self;
        match interval {
            Interval::Text(from, to) => {
                let Some(strings) = array.values().as_strings() else { return };
                for_each_string(array, strings, |index, string| {
                    extent.add_string(string);
                    let above = from.as_ref().is_none_or(|from| string >= from.as_slice());
                    if above && to.as_ref().is_none_or(|to| string <= to.as_slice()) {
                        push(upward.entry(0).or_default(), element(index));
                    }
                });
            }
            Interval::Linear(low, high) => for_each_number(array, lookup.unsigned, |index, number| {
                extent.add_number(number);
                let slack = lookup.slack(number.as_f64());
                let above = low.is_none_or(|low| low.includes(low.number.above(number), slack));
                if above && high.is_none_or(|high| high.includes(number.above(high.number), slack)) {
                    push(upward.entry(0).or_default(), element(index));
                }
            }),
            Interval::Circular { low, high, period } => for_each_number(array, lookup.unsigned, |index, number| {
                extent.add_number(number);
                let number = number.as_f64();
                if let Some(last) = last.replace(number) {
                    let step = (number - last) / *period;
                    let step = step - step.round();
                    *direction += i64::from(step > 0.0) - i64::from(step < 0.0);
                }
                let slack = lookup.slack(number).max(lookup.slack(*period));
                let (first, last) =
                    (((*low - slack - number) / *period).ceil(), ((*high + slack - number) / *period).floor());
                if first <= last {
                    #[expect(clippy::cast_possible_truncation, reason = "saturates for numbers that are no longitudes")]
                    let (first, last) = (first as i64, last as i64);
                    push(upward.entry(first).or_default(), element(index));
                    push(downward.entry(last).or_default(), element(index));
                }
            }),
        }
    }

    /// The matching elements in the order of the axis; those beyond its end follow, as the axis does.
    pub(super) fn finish(self) -> Result<Vec<Range<u64>>> {
        let all: Vec<Range<u64>> = match self.direction < 0 {
            true => self.downward.into_values().rev().flatten().collect(),
            false => self.upward.into_values().flatten().collect(),
        };
        match all.is_empty() {
            false => Ok(joined(all)),
            true => {
                let detail = format!("no value {}: {}", self.asked, self.extent.describe(self.lookup));
                Err(Error::usage(detail))
            }
        }
    }
}

/// Appends an element to ranges.
fn push(ranges: &mut Vec<Range<u64>>, element: u64) {
    match ranges.last_mut() {
        Some(last) if last.end == element => last.end += 1,
        _ => ranges.push(element..element + 1),
    }
}

/// Joins ranges that touch.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.dedup_by(|next, range| {
        let touch = range.end == next.start;
        if touch {
            range.end = next.end;
        }
        touch
    });
    ranges
}

enum Target {
    Number(Number),
    Text(Vec<u8>),
}

struct Point {
    target: Target,
    /// The coordinate in words.
    asked: String,
    /// The nearest value so far.
    best: Option<Nearest>,
}

struct Nearest {
    distance: f64,
    /// The distance is that without full circles.
    turned: bool,
    element: u64,
    number: Number,
}

/// Finds the values nearest to some points.
pub(super) struct PointSearch<'l> {
    lookup: &'l Lookup,
    points: Vec<Point>,
    tolerance: f64,
    extent: Extent,
}

impl PointSearch<'_> {
    /// Compares values; `element` returns the element that a value of the array is.
    pub(super) fn add(&mut self, array: &Array<'_>, element: &dyn Fn(usize) -> u64) {
        let Self { lookup, points, extent, .. } = self;
        if let Some(strings) = array.values().as_strings() {
            for_each_string(array, strings, |index, string| {
                extent.add_string(string);
                for point in points.iter_mut().filter(|point| point.best.is_none()) {
                    if matches!(&point.target, Target::Text(target) if target == string) {
                        let (element, number) = (element(index), Number::new(0.0));
                        point.best = Some(Nearest { distance: 0.0, turned: false, element, number });
                    }
                }
            });
            return;
        }
        let period = lookup.longitude.then(|| FULL_CIRCLE / lookup.packing.map_or(1.0, |(scale, _)| scale.abs()));
        for_each_number(array, lookup.unsigned, |index, number| {
            extent.add_number(number);
            for point in points.iter_mut() {
                let Target::Number(target) = point.target else { continue };
                let mut distance = number.above(target).abs();
                let turned = period.is_some_and(|period| distance > period / 2.0);
                if let Some(period) = period {
                    distance %= period;
                    distance = distance.min(period - distance);
                }
                let is_nearer = |best: &Nearest| (distance, turned) < (best.distance, best.turned);
                if point.best.as_ref().is_none_or(is_nearer) {
                    point.best = Some(Nearest { distance, turned, element: element(index), number });
                }
            }
        });
    }

    /// The element of each point.
    pub(super) fn finish(self) -> Result<Vec<u64>> {
        let (lookup, extent) = (self.lookup, &self.extent);
        let found = self.points.iter().map(|point| match point.best {
            Some(Nearest { distance, element, number, .. }) => {
                let slack =
                    lookup.slack(number.as_f64()).max(if lookup.longitude { lookup.slack(FULL_CIRCLE) } else { 0.0 });
                match distance <= self.tolerance + slack {
                    true => Ok(element),
                    false => Err(Error::usage(format!(
                        "no value {}: the nearest is {}, and {}",
                        point.asked,
                        lookup.shown(number),
                        extent.describe(lookup)
                    ))
                    .advising("{tolerance} allows a distance")),
                }
            }
            None if extent.numbers.is_none() && extent.strings.is_none() => {
                Err(Error::usage(format!("the variable is empty; it has no value {}", point.asked)))
            }
            None => Err(Error::usage(format!("no value {:?}: {}", point.asked, extent.describe(lookup)))),
        });
        found.collect()
    }
}
