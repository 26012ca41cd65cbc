//! Resolves a selection into runs of consecutive elements.

use std::ops::Range;

use container_core::{Error, Result};

use crate::read::select::Select;

/// A selection along one dimension, resolved against its size.
#[derive(Debug)]
pub(crate) struct Axis {
    elements: Elements,
    /// Number of selected elements.
    pub(crate) count: u64,
    /// Size of the dimension.
    size: u64,
    /// False when the dimension is dropped from the result.
    pub(crate) keep: bool,
    /// Elements of the variable between neighbors along this dimension.
    stride: u64,
}

#[derive(Debug)]
enum Elements {
    Steps {
        first: u64,
        step: i64,
    },
    List(Vec<u64>),
    /// Ranges that are not empty, each with the number of elements before it.
    Ranges(Vec<(u64, Range<u64>)>),
}

impl Axis {
    /// # Errors
    /// An index out of range, a step of 0.
    pub(crate) fn new(name: &str, size: u64, select: Option<&Select>) -> Result<Self> {
        let index = |index: i64| {
            let resolved = if index < 0 { size.checked_sub(index.unsigned_abs()) } else { Some(index.unsigned_abs()) };
            resolved.filter(|resolved| *resolved < size).ok_or_else(|| {
                Error::usage(format!("index {index} is out of range for dimension {name:?} of size {size}"))
            })
        };
        let (elements, count, keep) = match select {
            None => (Elements::Steps { first: 0, step: 1 }, size, true),
            Some(Select::Index(one)) => (Elements::Steps { first: index(*one)?, step: 1 }, 1, false),
            Some(Select::List(list)) => {
                let list = list.iter().map(|one| index(*one)).collect::<Result<Vec<_>>>()?;
                let count = list.len() as u64;
                (Elements::List(list), count, true)
            }
            Some(Select::Ranges(all)) => {
                let (mut ranges, mut count) = (Vec::with_capacity(all.len()), 0u64);
                for range in all.iter().filter(|range| !range.is_empty()) {
                    if range.end > size {
                        let detail = format!(
                            "elements {}..{} are out of range for dimension {name:?} of size {size}",
                            range.start, range.end
                        );
                        return Err(Error::usage(detail));
                    }
                    ranges.push((count, range.clone()));
                    count = count.saturating_add(range.end - range.start);
                }
                (Elements::Ranges(ranges), count, true)
            }
            Some(Select::Range { start, stop, step }) => {
                let (first, step, count) = slice(size, *start, *stop, step.unwrap_or(1))
                    .ok_or_else(|| Error::usage(format!("step 0 for dimension {name:?}")))?;
                (Elements::Steps { first, step }, count, true)
            }
        };
        Ok(Self { elements, count, size, keep, stride: 1 })
    }

    /// The `n`th selected element.
    pub(crate) fn get(&self, n: u64) -> u64 {
        match &self.elements {
            Elements::Steps { first, step } => {
                let distance = step.unsigned_abs().wrapping_mul(n);
                if *step < 0 { first.wrapping_sub(distance) } else { first.wrapping_add(distance) }
            }
            Elements::List(list) => usize::try_from(n).ok().and_then(|n| list.get(n)).copied().unwrap_or(0),
            Elements::Ranges(ranges) => {
                let index = ranges.partition_point(|(before, _)| *before <= n).saturating_sub(1);
                ranges.get(index).map_or(0, |(before, range)| range.start.wrapping_add(n - before))
            }
        }
    }

    /// The first element, if the selected ones are consecutive.
    fn contiguous(&self) -> Option<u64> {
        match &self.elements {
            Elements::Steps { first, step: 1 } => Some(*first),
            Elements::Ranges(ranges) => match ranges.as_slice() {
                [(_, only)] => Some(only.start),
                _ => None,
            },
            _ if self.count == 1 => Some(self.get(0)),
            _ => None,
        }
    }
}

/// First element, step and length of a Python slice; `None` for a step of 0.
fn slice(size: u64, start: Option<i64>, stop: Option<i64>, step: i64) -> Option<(u64, i64, u64)> {
    let size = i128::from(size);
    let back = step < 0;
    let (low, high) = if back { (-1, size - 1) } else { (0, size) };
    let end = |end: i64| {
        let end = i128::from(end);
        if end < 0 { (end + size).max(low) } else { end.min(high) }
    };
    let start = start.map_or(if back { high } else { low }, end);
    let stop = stop.map_or(if back { low } else { high }, end);
    let distance = if back { start - stop } else { stop - start };
    let step_size = i128::from(step).checked_abs().filter(|step| *step > 0)?;
    let count = if distance > 0 { (distance - 1) / step_size + 1 } else { 0 };
    // Both fit, except `start` of an empty slice.
    Some((u64::try_from(start).unwrap_or(0), step, u64::try_from(count).unwrap_or(0)))
}

/// Consecutive elements of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u64,
    pub(crate) len: u64,
}

/// A resolved selection of a variable.
#[derive(Debug)]
pub(crate) struct Plan {
    axes: Vec<Axis>,
    /// Number of leading axes to loop over; the remaining ones form each run.
    outer: usize,
    /// Start of the first run, apart from the loops.
    base: u64,
    run: u64,
    /// Number of selected elements.
    pub(crate) total: u64,
}

impl Plan {
    pub(crate) fn new(mut axes: Vec<Axis>) -> Result<Self> {
        let empty = axes.iter().any(|axis| axis.count == 0);
        let total = if empty { Some(0) } else { axes.iter().try_fold(1u64, |all, axis| all.checked_mul(axis.count)) };
        let total = total.ok_or_else(|| Error::usage("the selection exceeds 2^64 elements"))?;
        let (mut stride, mut outer, mut base, mut run) = (1u64, axes.len(), 0, 1);
        // As long as all inner dimensions are whole, a contiguous part of a dimension extends the runs.
        let mut whole = true;
        for (place, axis) in axes.iter_mut().enumerate().rev() {
            axis.stride = stride;
            if let Some(first) = axis.contiguous().filter(|_| whole && !empty) {
                (outer, base, run) = (place, base + first * stride, run * axis.count);
            }
            whole = whole && outer == place && axis.count == axis.size;
            stride = stride.wrapping_mul(axis.size); // overflows only without elements
        }
        Ok(Self { axes, outer, base, run, total })
    }

    /// All dimensions of `sizes` in C order, over a variable whose elements are `stride` apart along each of them: 0 along a dimension that the
    /// variable does not have, so that its elements repeat.
    pub(crate) fn broadcast(dimensions: &[(u64, u64)]) -> Result<Self> {
        let axes = dimensions.iter().map(|(size, stride)| Axis {
            elements: Elements::Steps { first: 0, step: 1 },
            count: *size,
            size: *size,
            keep: true,
            stride: *stride,
        });
        let axes: Vec<Axis> = axes.collect();
        let empty = axes.iter().any(|axis| axis.count == 0);
        let total = if empty { Some(0) } else { axes.iter().try_fold(1u64, |all, axis| all.checked_mul(axis.count)) };
        let total = total.ok_or_else(|| Error::usage("the dimensions together exceed 2^64 elements"))?;
        let (mut outer, mut run) = (axes.len(), 1);
        for (place, axis) in axes.iter().enumerate().rev() {
            if axis.stride != run || empty {
                break;
            }
            (outer, run) = (place, run * axis.count);
        }
        Ok(Self { axes, outer, base: 0, run, total })
    }

    /// The whole selection.
    pub(crate) fn whole(&self) -> Part<'_> {
        self.part(0..self.total)
    }

    /// A range of the selection's positions, which must not exceed [`total`](Self::total).
    pub(crate) fn part(&self, positions: Range<u64>) -> Part<'_> {
        Part { plan: self, first: positions.start, total: positions.end.saturating_sub(positions.start) }
    }

    /// The variable's element at position `n` of the selection.
    fn element(&self, mut n: u64) -> u64 {
        let mut element = 0;
        for axis in self.axes.iter().rev() {
            element += axis.get(n % axis.count.max(1)) * axis.stride;
            n /= axis.count.max(1);
        }
        element
    }
}

/// Consecutive positions of a selection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'p> {
    plan: &'p Plan,
    first: u64,
    /// Number of positions.
    pub(crate) total: u64,
}

impl<'p> Part<'p> {
    /// All runs in selection order, with adjacent runs joined.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Run> + 'p {
        let mut pieces = RowRuns::new(self);
        let mut pending = pieces.next();
        std::iter::from_fn(move || {
            let mut run = pending.take()?;
            loop {
                pending = pieces.next();
                match pending {
                    Some(next) if next.start == run.start + run.len => run.len += next.len,
                    _ => return Some(run),
                }
            }
        })
    }

    /// The variable's element at position `n` of the part.
    pub(crate) fn element(&self, n: u64) -> u64 {
        self.plan.element(self.first + n)
    }
}

/// Runs before joining: one per iteration of the innermost loop.
struct RowRuns<'p> {
    plan: &'p Plan,
    /// Per loop: its counter, and the offset it adds to the run.
    counters: Vec<(u64, u64)>,
    /// Elements to skip of the next run.
    skip: u64,
    /// Elements left.
    left: u64,
}

impl<'p> RowRuns<'p> {
    fn new(part: &Part<'p>) -> Self {
        let (plan, left) = (part.plan, part.total);
        let (mut iteration, skip) = (part.first / plan.run.max(1), part.first % plan.run.max(1));
        let mut counters: Vec<(u64, u64)> = Vec::with_capacity(plan.outer);
        for axis in plan.axes.iter().take(plan.outer).rev() {
            let counter = iteration % axis.count.max(1);
            iteration /= axis.count.max(1);
            counters.push((counter, if left > 0 { axis.get(counter) * axis.stride } else { 0 }));
        }
        counters.reverse();
        Self { plan, counters, skip, left }
    }
}

impl Iterator for RowRuns<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        if self.left == 0 {
            return None;
        }
        let start = self.counters.iter().fold(self.plan.base, |start, (_, offset)| start + offset) + self.skip;
        let len = (self.plan.run - self.skip).min(self.left);
        (self.skip, self.left) = (0, self.left - len);
        for (axis, (counter, offset)) in self.plan.axes.iter().zip(&mut self.counters).rev() {
            *counter += 1;
            if *counter < axis.count {
                *offset = axis.get(*counter) * axis.stride;
                break;
            }
            (*counter, *offset) = (0, axis.get(0) * axis.stride);
        }
        Some(Run { start, len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(size: u64, select: &Select) -> Vec<u64> {
        let axis = Axis::new("x", size, Some(select)).unwrap();
        (0..axis.count).map(|n| axis.get(n)).collect()
    }

    #[test]
    fn slices_match_python() {
        // Compared with a direct count: every start, stop and step around a small size.
        let ends: Vec<Option<i64>> = std::iter::once(None).chain((-7..=7).map(Some)).collect();
        for size in 0..5i64 {
            for (start, stop) in ends.iter().flat_map(|start| ends.iter().map(move |stop| (*start, *stop))) {
                for step in (-6..=6i64).filter(|step| *step != 0) {
                    let real = |end: i64| if end < 0 { end + size } else { end };
                    let within = |n: i64| match step > 0 {
                        true => start.is_none_or(|start| n >= real(start)) && stop.is_none_or(|stop| n < real(stop)),
                        false => start.is_none_or(|start| n <= real(start)) && stop.is_none_or(|stop| n > real(stop)),
                    };
                    let mut all: Vec<i64> = (0..size).filter(|n| within(*n)).collect();
                    if step < 0 {
                        all.reverse();
                    }
                    let expected: Vec<u64> =
                        all.into_iter().step_by(step.unsigned_abs() as usize).map(|n| n as u64).collect();
                    let select = Select::Range { start, stop, step: Some(step) };
                    assert_eq!(selected(size as u64, &select), expected, "{size} {select:?}");
                }
            }
        }
        let far = Select::Range { start: Some(i64::MIN), stop: Some(i64::MAX), step: Some(i64::MAX) };
        assert_eq!(selected(3, &far), [0]);
        let back = Select::Range { start: Some(i64::MAX), stop: Some(i64::MIN), step: Some(i64::MIN) };
        assert_eq!(selected(3, &back), [2]);
    }

    #[test]
    fn rejects_out_of_range() {
        let error = |size, select| Axis::new("lat", size, Some(&select)).unwrap_err().to_string();
        assert_eq!(error(3, Select::Index(3)), "index 3 is out of range for dimension \"lat\" of size 3");
        assert_eq!(error(3, Select::Index(-4)), "index -4 is out of range for dimension \"lat\" of size 3");
        assert_eq!(
            error(3, Select::List(vec![0, i64::MIN])),
            "index -9223372036854775808 is out of range for dimension \"lat\" of size 3"
        );
        assert_eq!(error(0, Select::Index(0)), "index 0 is out of range for dimension \"lat\" of size 0");
        let range = Select::Range { start: None, stop: None, step: Some(0) };
        assert_eq!(error(3, range), "step 0 for dimension \"lat\"");
        assert_eq!(selected(3, &Select::List(vec![-1, 0, 0, -3])), [2, 0, 0, 0]);
    }

    fn runs(parts: &[(u64, Option<Select>)]) -> Vec<(u64, u64)> {
        let axes = parts.iter().map(|(size, select)| Axis::new("x", *size, select.as_ref()).unwrap()).collect();
        let plan = Plan::new(axes).unwrap();
        let of = |part: Part<'_>| part.runs().map(|run| (run.start, run.len)).collect::<Vec<(u64, u64)>>();
        let expand =
            |runs: &[(u64, u64)]| runs.iter().flat_map(|(start, len)| *start..start + len).collect::<Vec<u64>>();
        let runs = of(plan.whole());
        let elements = expand(&runs);
        assert_eq!((0..plan.total).map(|n| plan.element(n)).collect::<Vec<_>>(), elements);
        for start in 0..elements.len() {
            for end in start..=elements.len() {
                let part = plan.part(start as u64..end as u64);
                assert_eq!(expand(&of(part)), elements[start..end], "{start}..{end}");
                assert!(start == end || part.element(0) == elements[start]);
            }
        }
        runs
    }

    #[test]
    fn runs_are_maximal() {
        let range = |start, stop| Some(Select::range(start, stop));
        let list = |all: &[i64]| Some(Select::List(all.to_vec()));
        assert_eq!(runs(&[]), [(0, 1)]);
        assert_eq!(runs(&[(3, None), (4, None), (5, None)]), [(0, 60)]);
        assert_eq!(runs(&[(3, range(1, 3)), (4, None), (5, None)]), [(20, 40)]);
        assert_eq!(runs(&[(3, Some(Select::Index(-1))), (4, range(1, 3)), (5, None)]), [(45, 10)]);
        assert_eq!(runs(&[(2, None), (4, range(1, 3)), (5, None)]), [(5, 10), (25, 10)]);
        assert_eq!(runs(&[(2, None), (4, list(&[1, 2, 0])), (5, None)]), [(5, 10), (0, 5), (25, 10), (20, 5)]);
        assert_eq!(runs(&[(2, None), (4, list(&[3])), (1, None)]), [(3, 1), (7, 1)]);
        assert_eq!(runs(&[(2, None), (3, Some(Select::Index(0)))]), [(0, 1), (3, 1)]);
        assert_eq!(runs(&[(2, None), (3, range(2, 2))]), []);
        let ranges = |all: &[Range<u64>]| Some(Select::Ranges(all.to_vec()));
        assert_eq!(runs(&[(2, None), (5, ranges(&[4..5, 2..2, 0..2]))]), [(4, 1), (0, 2), (9, 1), (5, 2)]);
        let one = 1..4;
        assert_eq!(runs(&[(2, None), (5, ranges(&[one]))]), [(1, 3), (6, 3)]);
        assert_eq!(runs(&[(3, ranges(&[0..1, 2..3])), (4, None)]), [(0, 4), (8, 4)]);
        assert_eq!(runs(&[(u64::MAX, None), (0, None), (u64::MAX, None)]), []);
    }

    #[test]
    fn elements_repeat_along_dimensions_that_a_variable_lacks() {
        let runs = |dimensions: &[(u64, u64)]| {
            let plan = Plan::broadcast(dimensions).unwrap();
            let whole: Vec<u64> = plan.whole().runs().flat_map(|run| run.start..run.start + run.len).collect();
            let part = plan.part(1..plan.total).runs().flat_map(|run| run.start..run.start + run.len);
            assert!(part.eq(whole.iter().skip(1).copied()));
            whole
        };
        assert_eq!(runs(&[(2, 1), (3, 0)]), [0, 0, 0, 1, 1, 1]);
        assert_eq!(runs(&[(2, 0), (3, 1)]), [0, 1, 2, 0, 1, 2]);
        assert_eq!(runs(&[(2, 3), (3, 1)]), [0, 1, 2, 3, 4, 5]);
        assert_eq!(runs(&[(2, 1), (3, 2)]), [0, 2, 4, 1, 3, 5]);
        assert_eq!(runs(&[(2, 0), (2, 0)]), [0, 0, 0, 0]);
    }

    #[test]
    fn rejects_too_many_elements() {
        let list = Select::List(vec![0; 1 << 16]);
        let axes = (0..4).map(|_| Axis::new("x", 1, Some(&list)).unwrap()).collect();
        assert_eq!(Plan::new(axes).unwrap_err().to_string(), "the selection exceeds 2^64 elements");
    }
}
