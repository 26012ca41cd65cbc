//! Which runs of elements a selection is made of.

use container_core::{Error, Result};

use crate::read::select::Select;

/// What is wanted along one dimension, resolved.
#[derive(Debug)]
pub(crate) struct Axis {
    picks: Picks,
    /// Elements of it that are wanted.
    pub(crate) count: u64,
    /// Elements of it that there are.
    size: u64,
    /// False where the dimension is dropped.
    pub(crate) keep: bool,
    /// Elements of the variable from one to the next.
    stride: u64,
}

#[derive(Debug)]
enum Picks {
    Steps { first: u64, step: i64 },
    Each(Vec<u64>),
}

impl Axis {
    /// # Errors
    /// An index outside, a step of 0.
    pub(crate) fn new(name: &str, size: u64, select: Option<&Select>) -> Result<Self> {
        let index = |index: i64| {
            let found = if index < 0 { size.checked_sub(index.unsigned_abs()) } else { Some(index.unsigned_abs()) };
            found
                .filter(|found| *found < size)
                .ok_or_else(|| Error::usage(format!("there is no element {index} along {name:?}, which has {size}")))
        };
        let (picks, count, keep) = match select {
            None => (Picks::Steps { first: 0, step: 1 }, size, true),
            Some(Select::Index(one)) => (Picks::Steps { first: index(*one)?, step: 1 }, 1, false),
            Some(Select::List(list)) => {
                let each = list.iter().map(|one| index(*one)).collect::<Result<Vec<_>>>()?;
                let count = each.len() as u64;
                (Picks::Each(each), count, true)
            }
            Some(Select::Range { start, stop, step }) => {
                let (first, step, count) = slice(size, *start, *stop, step.unwrap_or(1))
                    .ok_or_else(|| Error::usage(format!("the range along {name:?} has the step 0")))?;
                (Picks::Steps { first, step }, count, true)
            }
        };
        Ok(Self { picks, count, size, keep, stride: 1 })
    }

    /// The element that is wanted as number `n`.
    pub(crate) fn get(&self, n: u64) -> u64 {
        match &self.picks {
            Picks::Steps { first, step } => {
                let way = step.unsigned_abs().wrapping_mul(n);
                if *step < 0 { first.wrapping_sub(way) } else { first.wrapping_add(way) }
            }
            Picks::Each(each) => usize::try_from(n).ok().and_then(|n| each.get(n)).copied().unwrap_or(0),
        }
    }

    /// The first element, where those behind it follow one after the other.
    fn contiguous(&self) -> Option<u64> {
        match &self.picks {
            Picks::Steps { first, step: 1 } => Some(*first),
            _ if self.count == 1 => Some(self.get(0)),
            _ => None,
        }
    }
}

/// First element, step and number of elements of a slice as Python has it; `None` for a step of 0.
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
    let way = if back { start - stop } else { stop - start };
    let step_size = i128::from(step).checked_abs().filter(|step| *step > 0)?;
    let count = if way > 0 { (way - 1) / step_size + 1 } else { 0 };
    // Both are within the size, except for the first of none.
    Some((u64::try_from(start).unwrap_or(0), step, u64::try_from(count).unwrap_or(0)))
}

/// Elements that follow one another in the variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u64,
    pub(crate) len: u64,
}

/// A selection of a variable.
#[derive(Debug)]
pub(crate) struct Plan {
    axes: Vec<Axis>,
    /// Of the axes these have a loop; what is behind them is in every run.
    outer: usize,
    /// Where the first run begins, apart from the loops.
    base: u64,
    run: u64,
    /// Elements in all.
    pub(crate) total: u64,
}

impl Plan {
    pub(crate) fn new(mut axes: Vec<Axis>) -> Result<Self> {
        let none = axes.iter().any(|axis| axis.count == 0);
        let total = if none { Some(0) } else { axes.iter().try_fold(1u64, |all, axis| all.checked_mul(axis.count)) };
        let total = total.ok_or_else(|| Error::usage("more than 2^64 elements are selected"))?;
        let (mut stride, mut outer, mut base, mut run) = (1u64, axes.len(), 0, 1);
        // While all behind is whole, a contiguous part of a dimension makes the runs longer.
        let mut whole = true;
        for (place, axis) in axes.iter_mut().enumerate().rev() {
            axis.stride = stride;
            if let Some(first) = axis.contiguous().filter(|_| whole && !none) {
                (outer, base, run) = (place, base + first * stride, run * axis.count);
            }
            whole = whole && outer == place && axis.count == axis.size;
            stride = stride.wrapping_mul(axis.size); // overflows only where there are no elements
        }
        Ok(Self { axes, outer, base, run, total })
    }

    /// All runs in the order of the selection. Those that touch are one.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        let mut each = Each::new(self);
        let mut held = each.next();
        std::iter::from_fn(move || {
            let mut run = held.take()?;
            loop {
                held = each.next();
                match held {
                    Some(next) if next.start == run.start + run.len => run.len += next.len,
                    _ => return Some(run),
                }
            }
        })
    }

    /// The element of the variable that is number `n` of the selection.
    pub(crate) fn element(&self, mut n: u64) -> u64 {
        let mut element = 0;
        for axis in self.axes.iter().rev() {
            element += axis.get(n % axis.count.max(1)) * axis.stride;
            n /= axis.count.max(1);
        }
        element
    }
}

/// Runs, one for each turn of the innermost loop.
struct Each<'p> {
    plan: &'p Plan,
    /// For each loop: its turn, and how far it moves the run.
    turns: Vec<(u64, u64)>,
    left: u64,
}

impl<'p> Each<'p> {
    fn new(plan: &'p Plan) -> Self {
        let loops = plan.axes.iter().take(plan.outer);
        let turns = loops.map(|axis| (0, if plan.total > 0 { axis.get(0) * axis.stride } else { 0 })).collect();
        Self { plan, turns, left: plan.total.checked_div(plan.run).unwrap_or(0) }
    }
}

impl Iterator for Each<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        self.left = self.left.checked_sub(1)?;
        let start = self.turns.iter().fold(self.plan.base, |start, (_, moved)| start + moved);
        for (axis, (turn, moved)) in self.plan.axes.iter().zip(&mut self.turns).rev() {
            *turn += 1;
            if *turn < axis.count {
                *moved = axis.get(*turn) * axis.stride;
                break;
            }
            (*turn, *moved) = (0, axis.get(0) * axis.stride);
        }
        Some(Run { start, len: self.plan.run })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(size: u64, select: &Select) -> Vec<u64> {
        let axis = Axis::new("x", size, Some(select)).unwrap();
        (0..axis.count).map(|n| axis.get(n)).collect()
    }

    #[test]
    fn slices_are_those_of_python() {
        // Against a count by hand: every start, stop and step around a small size.
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
                    assert_eq!(picked(size as u64, &select), expected, "{size} {select:?}");
                }
            }
        }
        let far = Select::Range { start: Some(i64::MIN), stop: Some(i64::MAX), step: Some(i64::MAX) };
        assert_eq!(picked(3, &far), [0]);
        let back = Select::Range { start: Some(i64::MAX), stop: Some(i64::MIN), step: Some(i64::MIN) };
        assert_eq!(picked(3, &back), [2]);
    }

    #[test]
    fn what_is_outside_is_said() {
        let error = |size, select| Axis::new("lat", size, Some(&select)).unwrap_err().to_string();
        assert_eq!(error(3, Select::Index(3)), "there is no element 3 along \"lat\", which has 3");
        assert_eq!(error(3, Select::Index(-4)), "there is no element -4 along \"lat\", which has 3");
        assert_eq!(
            error(3, Select::List(vec![0, i64::MIN])),
            "there is no element -9223372036854775808 along \"lat\", which has 3"
        );
        assert_eq!(error(0, Select::Index(0)), "there is no element 0 along \"lat\", which has 0");
        let range = Select::Range { start: None, stop: None, step: Some(0) };
        assert_eq!(error(3, range), "the range along \"lat\" has the step 0");
        assert_eq!(picked(3, &Select::List(vec![-1, 0, 0, -3])), [2, 0, 0, 0]);
    }

    fn runs(parts: &[(u64, Option<Select>)]) -> Vec<(u64, u64)> {
        let axes = parts.iter().map(|(size, select)| Axis::new("x", *size, select.as_ref()).unwrap()).collect();
        let plan = Plan::new(axes).unwrap();
        let runs: Vec<(u64, u64)> = plan.runs().map(|run| (run.start, run.len)).collect();
        let elements: Vec<u64> = runs.iter().flat_map(|(start, len)| *start..start + len).collect();
        assert_eq!((0..plan.total).map(|n| plan.element(n)).collect::<Vec<_>>(), elements);
        runs
    }

    #[test]
    fn runs_are_as_long_as_they_can_be() {
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
        assert_eq!(runs(&[(u64::MAX, None), (0, None), (u64::MAX, None)]), []);
    }

    #[test]
    fn too_many_elements_are_refused() {
        let list = Select::List(vec![0; 1 << 16]);
        let axes = (0..4).map(|_| Axis::new("x", 1, Some(&list)).unwrap()).collect();
        assert_eq!(Plan::new(axes).unwrap_err().to_string(), "more than 2^64 elements are selected");
    }
}
