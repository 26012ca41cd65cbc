//! Compares the values of a coordinate with an interval or with points.

use std::collections::BTreeMap;
use std::ops::Range;

use container_core::{Error, Result};

use super::{Bound, FULL_CIRCLE, Lookup, Number};
use crate::array::{Array, Strings, Values};

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

pub(super) enum Interval {
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
pub(in super::super) struct RangeSearch<'l> {
    lookup: &'l Lookup,
    interval: Interval,
    /// The interval in words.
    asked: String,
    /// Matching elements by the number of periods that takes them into the interval: 0 if possible, otherwise the smallest or the greatest number.
    upward: BTreeMap<i64, Vec<Range<u64>>>,
    downward: BTreeMap<i64, Vec<Range<u64>>>,
    /// Steps up minus steps down along the axis.
    direction: i64,
    last: Option<f64>,
    extent: Extent,
}

impl<'l> RangeSearch<'l> {
    pub(super) fn new(lookup: &'l Lookup, interval: Interval, asked: String) -> Self {
        let (upward, downward, extent) = (BTreeMap::new(), BTreeMap::new(), Extent::default());
        Self { lookup, interval, asked, upward, downward, direction: 0, last: None, extent }
    }

    /// Compares values; `element` returns the element that a value of the array is.
    pub(in super::super) fn add(&mut self, array: &Array<'_>, element: &dyn Fn(usize) -> u64) {
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
                    // A value that lies in the interval as it is keeps its position: -180 and 180 are the ends of one axis.
                    let as_it_is = (first <= 0 && last >= 0).then_some(0);
                    push(upward.entry(as_it_is.unwrap_or(first)).or_default(), element(index));
                    push(downward.entry(as_it_is.unwrap_or(last)).or_default(), element(index));
                }
            }),
        }
    }

    /// The matching elements in the order of the axis; those beyond its end follow, as the axis does.
    pub(in super::super) fn finish(self) -> Result<Vec<Range<u64>>> {
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

pub(super) enum Target {
    Number(Number),
    Text(Vec<u8>),
}

pub(super) struct Point {
    pub(super) target: Target,
    /// The coordinate in words.
    pub(super) asked: String,
    /// The nearest value so far.
    pub(super) best: Option<Nearest>,
}

pub(super) struct Nearest {
    distance: f64,
    /// The distance is that without full circles.
    turned: bool,
    element: u64,
    number: Number,
}

/// Finds the values nearest to some points.
pub(in super::super) struct PointSearch<'l> {
    lookup: &'l Lookup,
    points: Vec<Point>,
    tolerance: f64,
    extent: Extent,
}

impl<'l> PointSearch<'l> {
    pub(super) fn new(lookup: &'l Lookup, points: Vec<Point>, tolerance: f64) -> Self {
        Self { lookup, points, tolerance, extent: Extent::default() }
    }
}

impl PointSearch<'_> {
    /// Compares values; `element` returns the element that a value of the array is.
    pub(in super::super) fn add(&mut self, array: &Array<'_>, element: &dyn Fn(usize) -> u64) {
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
    pub(in super::super) fn finish(self) -> Result<Vec<u64>> {
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
