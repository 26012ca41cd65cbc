//! Looks up elements by value.

use std::cmp::Ordering;

use container_core::{Error, Result};

use crate::array::{Array, Values};
use crate::read::variable::Variable;
use crate::types::{DataType, Element};

/// Rows read at once.
const ROWS: u64 = 256 << 10;

/// Beyond all integers of a file: larger values are clamped to this.
const MAX_VALUE: f64 = 1e30;

/// Distance between numbers: whole steps, and a fraction below one. Exact for integers.
type Distance = (i128, f64);

/// See [`Reader::nearest`](crate::Reader::nearest).
pub(crate) fn nearest(variable: &Variable<'_>, value: f64) -> Result<u64> {
    if !value.is_finite() {
        return Err(variable.in_variable(Error::usage(format!("expected a finite value, found {value}"))));
    }
    let mut best: Option<(Distance, u64)> = None;
    let integer = integer_distance(value);
    let float = |x: f64| (!x.is_nan()).then(|| (0, (x - value).abs()));
    for_each_present(
        variable,
        float,
        |x| Some(integer(x)),
        |element, distance| {
            let nearer = |(nearest, _): &(Distance, u64)| compare(distance, *nearest) == Ordering::Less;
            if best.as_ref().is_none_or(nearer) {
                best = Some((distance, element));
            }
        },
    )?;
    match best {
        Some((_, element)) => Ok(element),
        None => Err(variable.in_variable(Error::usage(format!("no values to compare with {value}")))),
    }
}

fn compare(a: Distance, b: Distance) -> Ordering {
    a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
}

/// Distance of integers from a finite value.
fn integer_distance(value: f64) -> impl Fn(i128) -> Distance {
    let value = value.clamp(-MAX_VALUE, MAX_VALUE);
    let floor = value.floor();
    let fraction = value - floor; // exact
    #[expect(clippy::cast_possible_truncation, reason = "integral and in range")]
    let floor = floor as i128;
    move |x| {
        let steps = x - floor;
        match steps > 0 && fraction > 0.0 {
            // When this rounds, the fraction is far from one half, so the order is kept.
            true => (steps - 1, 1.0 - fraction),
            false => (steps.abs(), fraction),
        }
    }
}

/// See [`Reader::between`](crate::Reader::between).
pub(crate) fn between(variable: &Variable<'_>, from: Option<f64>, to: Option<f64>) -> Result<Vec<u64>> {
    if from.is_none() && to.is_none() {
        let (_, size) = variable.axis()?;
        check_type(variable)?;
        return Ok((0..size).collect());
    }
    let mut matching = Vec::new();
    let float = |x: f64| (from.is_none_or(|from| x >= from) && to.is_none_or(|to| x < to)).then_some(());
    // `x >= bound` and `x < bound` hold for an integer exactly when they do for `bound.ceil()`.
    let (low, high) = (from.map(ceil), to.map(ceil));
    let never = from.is_some_and(f64::is_nan) || to.is_some_and(f64::is_nan);
    let integer =
        |x: i128| (!never && low.is_none_or(|low| x >= low) && high.is_none_or(|high| x < high)).then_some(());
    for_each_present(variable, float, integer, |element, ()| matching.push(element))?;
    Ok(matching)
}

fn ceil(bound: f64) -> i128 {
    #[expect(clippy::cast_possible_truncation, reason = "saturates beyond all numbers of a file")]
    let ceil = bound.ceil() as i128;
    ceil
}

fn check_type(variable: &Variable<'_>) -> Result<()> {
    match variable.data_type() {
        Some(data_type) if data_type.width().is_some() => Ok(()),
        found => {
            let found = found.map_or("no type", DataType::name);
            Err(variable.in_variable(Error::usage(format!("expected numbers, found {found}"))))
        }
    }
}

/// Calls `take` with each present element for which `float` or `integer` returns a value.
fn for_each_present<M>(
    variable: &Variable<'_>,
    float: impl Fn(f64) -> Option<M>,
    integer: impl Fn(i128) -> Option<M>,
    mut take: impl FnMut(u64, M),
) -> Result<()> {
    let (_, size) = variable.axis()?;
    check_type(variable)?;
    let mut start = 0;
    while start < size {
        let end = size.min(start + ROWS);
        let array = variable.read_rows(start..end)?;
        match array.values() {
            Values::Float32(all) => scan(&array, all, start, |x| float(f64::from(x)), &mut take),
            Values::Float64(all) => scan(&array, all, start, &float, &mut take),
            Values::Int8(all) => scan(&array, all, start, |x| integer(x.into()), &mut take),
            Values::Int16(all) => scan(&array, all, start, |x| integer(x.into()), &mut take),
            Values::Int32(all) => scan(&array, all, start, |x| integer(x.into()), &mut take),
            Values::Int64(all) => scan(&array, all, start, |x| integer(x.into()), &mut take),
            Values::Uint8(all) => scan(&array, all, start, |x| integer(x.into()), &mut take),
            Values::Uint16(all) => scan(&array, all, start, |x| integer(x.into()), &mut take),
            Values::Uint32(all) => scan(&array, all, start, |x| integer(x.into()), &mut take),
            Values::Uint64(all) => scan(&array, all, start, |x| integer(x.into()), &mut take),
            Values::Bool(_) | Values::Str(_) | Values::Unicode(_) => {} // rejected by `check_type`
        }
        start = end;
    }
    Ok(())
}

fn scan<T: Element, M>(
    array: &Array<'_>,
    all: &[T],
    start: u64,
    map: impl Fn(T) -> Option<M>,
    take: &mut impl FnMut(u64, M),
) {
    let mask = array.mask();
    for ((index, value), element) in all.iter().enumerate().zip(start..) {
        if mask.is_none_or(|mask| !mask.is_missing(index))
            && let Some(mapped) = map(*value)
        {
            take(element, mapped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_distances_are_exact() {
        let nearest = |value: f64, all: &[i128]| {
            let far = integer_distance(value);
            let mut order: Vec<i128> = all.to_vec();
            order.sort_by(|a, b| compare(far(*a), far(*b)));
            order[0]
        };
        let big = 1i128 << 53;
        assert_eq!(nearest(9_007_199_254_740_992.0, &[big + 1, big - 1, big]), big);
        assert_eq!(nearest(9_007_199_254_740_994.0, &[big, big + 1]), big + 1);
        assert_eq!(
            nearest(1.8e19, &[i128::from(u64::MAX), 18_000_000_000_000_000_001, 18_000_000_000_000_000_000]),
            18_000_000_000_000_000_000
        );
        assert_eq!(nearest(2.5, &[2, 3]), 2); // equals: the first
        assert_eq!(nearest(2.5, &[3, 2]), 3);
        assert_eq!(nearest(-2.4, &[-3, -2, 5]), -2);
        assert_eq!(nearest(1e-300, &[-1, 1]), 1);
        assert_eq!(nearest(-1e-300, &[1, -1]), -1);
        assert_eq!(nearest(f64::MAX, &[3, i128::from(u64::MAX), 7]), i128::from(u64::MAX));
        assert_eq!(nearest(f64::MIN, &[3, i128::from(i64::MIN), 7]), i128::from(i64::MIN));
    }
}
