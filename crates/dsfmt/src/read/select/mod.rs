//! Selection: a part of a variable along its dimensions, by the bytes that it needs.

mod fetch;
mod gather;
mod near;
mod plan;

use std::ops::Range;

use container_core::{Error, Result};

use crate::FORMAT_NAME;
use crate::array::Array;
use crate::read::reader::Reader;
use crate::read::variable::Variable;
use plan::{Axis, Plan};

/// What is wanted along a dimension. Elements count from 0; negative ones from the end: -1 is the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Select {
    /// One element: the dimension is not there any more in what is read.
    Index(i64),
    /// These elements in this order; some may be there more than once.
    List(Vec<i64>),
    /// Every `step`th element from `start` on, up to and without `stop`: a slice of Python. Ends outside are moved to the end that is next,
    /// `None` is the beginning or the end (the other way round where `step` is negative), and a step of `None` is 1.
    Range {
        /// The first element.
        start: Option<i64>,
        /// The first element that is not wanted any more.
        stop: Option<i64>,
        /// From one element to the next: not 0.
        step: Option<i64>,
    },
}

impl Select {
    /// The elements from `start` up to and without `stop`.
    #[must_use]
    pub const fn range(start: i64, stop: i64) -> Self {
        Self::Range { start: Some(start), stop: Some(stop), step: None }
    }

    /// The whole dimension.
    #[must_use]
    pub const fn all() -> Self {
        Self::Range { start: None, stop: None, step: None }
    }
}

/// What is wanted of variables, by the names of dimensions. Dimensions that are not named are whole, and each is selected for itself: lists
/// along two dimensions give all pairs.
///
/// ```no_run
/// use dsfmt::{Reader, Select, Selection};
/// let reader = Reader::open("climate.ds")?;
/// let selection = Selection::new().with("time", Select::range(0, 12)).at(&reader, "lat", 51.5)?.between(&reader, "lon", Some(-10.0), None)?;
/// let temperature = reader.variable("temperature")?;
/// let array = temperature.select(&selection)?;
/// assert_eq!(temperature.selected_dimensions(&selection), ["time", "lon"]);
/// # Ok::<(), dsfmt::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    parts: Vec<(String, Select)>,
}

impl Selection {
    /// Everything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with this part of a dimension, in place of what was selected of it.
    #[must_use]
    pub fn with(mut self, dimension: impl Into<String>, select: Select) -> Self {
        let dimension = dimension.into();
        self.parts.retain(|(known, _)| *known != dimension);
        self.parts.push((dimension, select));
        self
    }

    /// What is selected of a dimension; `None` for all.
    #[must_use]
    pub fn get(&self, dimension: &str) -> Option<&Select> {
        self.parts.iter().find(|(known, _)| known == dimension).map(|(_, select)| select)
    }

    /// The same where along its one dimension this variable's value is the [nearest](Reader::nearest). Where something is selected of the
    /// dimension already, what both have in common remains, in ascending order.
    ///
    /// # Errors
    /// As [`Reader::nearest`].
    pub fn at(self, reader: &Reader, variable: &str, value: f64) -> Result<Self> {
        let nearest = reader.nearest(variable, value)?;
        let index = i64::try_from(nearest).map_err(|_| Error::usage(format!("element {nearest} exceeds 2^63")))?;
        self.merged(&reader.variable(variable)?, Select::Index(index))
    }

    /// The same where along its one dimension this variable's values are [between](Reader::between) two. Where something is selected of the
    /// dimension already, what both have in common remains, in ascending order.
    ///
    /// # Errors
    /// As [`Reader::between`].
    pub fn between(self, reader: &Reader, variable: &str, from: Option<f64>, to: Option<f64>) -> Result<Self> {
        let found = reader.between(variable, from, to)?;
        let list = found.into_iter().map(i64::try_from).collect::<Result<_, _>>();
        let list = list.map_err(|_| Error::usage("an element exceeds 2^63"))?;
        self.merged(&reader.variable(variable)?, Select::List(list))
    }

    /// Adds what is selected of a variable's one dimension.
    fn merged(self, variable: &Variable<'_>, select: Select) -> Result<Self> {
        let (dimension, size) = variable.axis()?;
        let Some(known) = self.get(dimension) else { return Ok(self.with(dimension, select)) };
        let sorted = |select: &Select| -> Result<Vec<u64>> {
            let axis = Axis::new(dimension, size, Some(select)).map_err(|error| variable.place(error))?;
            let mut all: Vec<u64> = (0..axis.count).map(|n| axis.get(n)).collect();
            all.sort_unstable();
            all.dedup();
            Ok(all)
        };
        let (mut both, other) = (sorted(known)?, sorted(&select)?);
        both.retain(|element| other.binary_search(element).is_ok());
        // Both came out of 64 bits with sign.
        let list = both.into_iter().filter_map(|element| i64::try_from(element).ok()).collect();
        Ok(self.with(dimension, Select::List(list)))
    }
}

impl<'r> Variable<'r> {
    /// The part of its values that is selected. Only the runs of bytes that hold them are read: runs that touch, and of media that are not
    /// in memory those less than a page apart, are read at once. Of a masked variable, and of one of strings, the mask and the lengths are
    /// gone through once for all selections.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Usage`](container_core::ErrorKind::Usage) for an index past an end, a step of 0, and a name that no variable
    /// of the file has a dimension of.
    pub fn select(&self, selection: &Selection) -> Result<Array<'static>> {
        self.placed(|layout| {
            self.check_names(selection)?;
            let sizes = self.shape().unwrap_or_default();
            let axes = self.dimensions().iter().zip(sizes);
            let axes =
                axes.map(|(name, size)| Axis::new(name, *size, selection.get(name))).collect::<Result<Vec<_>>>()?;
            let shape: Vec<u64> = axes.iter().filter(|axis| axis.keep).map(|axis| axis.count).collect();
            let (values, mask) = self.gather(layout, &Plan::new(axes)?)?;
            Ok(Array::checked(shape, values, mask))
        })
    }

    /// The same, piece by piece: arrays of one dimension that follow one another in C order, each of `most` elements at most. Memory is taken
    /// for a piece.
    ///
    /// # Errors
    /// As [`select`](Self::select), and what `take` gives.
    pub fn select_pieces(
        &self,
        selection: &Selection,
        most: u64,
        mut take: impl FnMut(Array<'static>) -> Result<()>,
    ) -> Result<()> {
        let most = most.max(1);
        let sizes = self.shape().unwrap_or_default();
        let axes = || self.dimensions().iter().zip(sizes);
        let plan = self.placed(|_| {
            self.check_names(selection)?;
            axes().map(|(name, size)| Axis::new(name, *size, selection.get(name))).collect::<Result<Vec<_>>>()
        })?;
        if plan.iter().any(|axis| axis.count == 0) {
            return Ok(());
        }
        // Dimensions in front of this one go element by element, this one in steps, and those behind it are whole.
        let (mut split, mut inner) = (plan.len(), 1u64);
        while let Some(axis) = split.checked_sub(1).and_then(|place| plan.get(place)) {
            match inner.checked_mul(axis.count) {
                Some(more) if more <= most => (split, inner) = (split - 1, more),
                _ => break,
            }
        }
        let stepped = split.checked_sub(1).and_then(|place| plan.get(place));
        let (steps, step) = stepped.map_or((1, 1), |axis| (axis.count, most / inner));
        let mut turns = vec![0u64; split.saturating_sub(1)];
        loop {
            let mut at = 0;
            while at < steps {
                let end = steps.min(at + step);
                let piece = self.placed(|layout| {
                    let part = axes().zip(&plan).enumerate().map(|(place, ((name, size), axis))| {
                        let of =
                            |range: Range<u64>| range.map(|n| i64::try_from(axis.get(n)).unwrap_or(i64::MAX)).collect();
                        match (turns.get(place), place + 1 == split) {
                            (Some(turn), _) => Axis::new(name, *size, Some(&Select::List(of(*turn..turn + 1)))),
                            (None, true) => Axis::new(name, *size, Some(&Select::List(of(at..end)))),
                            (None, false) => Axis::new(name, *size, selection.get(name)),
                        }
                    });
                    let part = Plan::new(part.collect::<Result<Vec<_>>>()?)?;
                    let (values, mask) = self.gather(layout, &part)?;
                    Ok(Array::checked(vec![part.total], values, mask))
                })?;
                take(piece)?;
                at = end;
            }
            let mut more = false;
            for (turn, axis) in turns.iter_mut().zip(&plan).rev() {
                *turn += 1;
                if *turn < axis.count {
                    more = true;
                    break;
                }
                *turn = 0;
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// The dimensions that what is selected of it has: all but those of which there is one [`Index`](Select::Index).
    #[must_use]
    pub fn selected_dimensions(&self, selection: &Selection) -> Vec<&'r str> {
        let gone = |name: &str| matches!(selection.get(name), Some(Select::Index(_)));
        self.dimensions().iter().map(String::as_str).filter(|name| !gone(name)).collect()
    }

    /// A name that is nowhere is a slip of the pen, which would select everything.
    fn check_names(&self, selection: &Selection) -> Result<()> {
        for (name, _) in &selection.parts {
            let here = self.dimensions().contains(name);
            if !here && !self.reader.has_dimension(name) {
                let own = self.dimensions();
                return Err(Error::usage(format!("no variable has a dimension {name:?}: this one has {own:?}")));
            }
        }
        Ok(())
    }

    /// Its one dimension, and the size of it.
    pub(crate) fn axis(&self) -> Result<(&'r str, u64)> {
        self.check()?;
        match (self.dimensions(), self.shape()) {
            ([dimension], Some([size])) => Ok((dimension, *size)),
            (_, None) => Err(self.place(Error::usage("the variable is empty: it has no values"))),
            (all, _) => {
                let detail =
                    format!("it has {} dimensions {all:?}; one is needed to find an element by its value", all.len());
                Err(self.place(Error::usage(detail)))
            }
        }
    }
}

impl Reader {
    /// The element along its one dimension at which this variable's value is nearest: the first of equally near ones. Missing values and NaN
    /// are near to nothing. Integers are compared exactly, whatever their size, with the value that `value` has as 64 bits of a float;
    /// floats by their rounded distance, as Python does.
    ///
    /// # Errors
    /// As [`Variable::read`]; [`Usage`](container_core::ErrorKind::Usage) for a variable that has not one dimension or no numbers, for a value
    /// that is not finite, and where there is nothing to be near to.
    pub fn nearest(&self, variable: &str, value: f64) -> Result<u64> {
        let variable = self.variable(variable)?;
        near::nearest(&variable, value).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// The elements along its one dimension at which this variable's values are not less than `from` and less than `to`, in ascending order;
    /// `None` is no bound. Missing values and NaN are not between any two, and nothing is where a bound is NaN; but with no bound at all every
    /// element is. Integers are compared exactly.
    ///
    /// # Errors
    /// As [`Variable::read`]; [`Usage`](container_core::ErrorKind::Usage) for a variable that has not one dimension or no numbers.
    pub fn between(&self, variable: &str, from: Option<f64>, to: Option<f64>) -> Result<Vec<u64>> {
        let variable = self.variable(variable)?;
        near::between(&variable, from, to).map_err(|error| error.in_format(FORMAT_NAME))
    }
}
