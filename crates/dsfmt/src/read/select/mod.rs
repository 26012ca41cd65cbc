//! Selection (hyperslabs): reads part of a variable along its dimensions, and only the bytes it needs.

mod fetch;
mod gather;
mod near;
pub(crate) mod plan;

use std::ops::Range;

use container_core::{Error, Result};

use crate::FORMAT_NAME;
use crate::array::Array;
use crate::read::reader::Reader;
use crate::read::variable::Variable;
use crate::types::DataType;
use plan::{Axis, Plan};

/// A selection along one dimension. Indices count from 0, negative ones from the end: -1 is the last element.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Select {
    /// One element; the dimension is dropped from the result.
    Index(i64),
    /// These elements in this order; repeats are allowed.
    List(Vec<i64>),
    /// Every `step`th element from `start` up to but excluding `stop`, as in a Python slice. Out-of-range bounds are clamped, `None` means the
    /// respective end (swapped for a negative step), and a step of `None` is 1.
    Range {
        /// The first element.
        start: Option<i64>,
        /// The end, exclusive.
        stop: Option<i64>,
        /// Distance between elements; not 0.
        step: Option<i64>,
    },
    /// The elements of these ranges, one range after the other.
    Ranges(Vec<Range<u64>>),
}

impl Select {
    /// Elements `start..stop`.
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

/// A selection by dimension name. Unnamed dimensions are selected whole. Dimensions are independent: lists along two dimensions select all
/// pairs.
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
    /// Selects everything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Selects along a dimension, replacing an earlier selection of it.
    #[must_use]
    pub fn with(mut self, dimension: impl Into<String>, select: Select) -> Self {
        let dimension = dimension.into();
        self.parts.retain(|(name, _)| *name != dimension);
        self.parts.push((dimension, select));
        self
    }

    /// The selection along a dimension; `None` means all.
    #[must_use]
    pub fn get(&self, dimension: &str) -> Option<&Select> {
        self.parts.iter().find(|(name, _)| name == dimension).map(|(_, select)| select)
    }

    /// Selects the element whose coordinate in the one-dimensional `variable` is [nearest](Reader::nearest) to `value`. Intersects with an earlier
    /// selection of the dimension, in ascending order.
    ///
    /// # Errors
    /// As [`Reader::nearest`].
    pub fn at(self, reader: &Reader, variable: &str, value: f64) -> Result<Self> {
        let nearest = reader.nearest(variable, value)?;
        let index = i64::try_from(nearest).map_err(|_| Error::usage(format!("index {nearest} exceeds 2^63")))?;
        self.intersect(&reader.variable(variable)?, Select::Index(index))
    }

    /// Selects the elements whose coordinates in the one-dimensional `variable` are [between](Reader::between) `from` and `to`. Intersects with an
    /// earlier selection of the dimension, in ascending order.
    ///
    /// # Errors
    /// As [`Reader::between`].
    pub fn between(self, reader: &Reader, variable: &str, from: Option<f64>, to: Option<f64>) -> Result<Self> {
        let elements = reader.between(variable, from, to)?;
        let list = elements.into_iter().map(i64::try_from).collect::<Result<_, _>>();
        let list = list.map_err(|_| Error::usage("an index exceeds 2^63"))?;
        self.intersect(&reader.variable(variable)?, Select::List(list))
    }

    /// Selects along a variable's only dimension, intersected with an earlier selection of it.
    fn intersect(self, variable: &Variable<'_>, select: Select) -> Result<Self> {
        let (dimension, size) = variable.axis()?;
        let Some(earlier) = self.get(dimension) else { return Ok(self.with(dimension, select)) };
        let sorted = |select: &Select| -> Result<Vec<u64>> {
            let axis = Axis::new(dimension, size, Some(select)).map_err(|error| variable.in_variable(error))?;
            let mut all: Vec<u64> = (0..axis.count).map(|n| axis.get(n)).collect();
            all.sort_unstable();
            all.dedup();
            Ok(all)
        };
        let (mut common, other) = (sorted(earlier)?, sorted(&select)?);
        common.retain(|element| other.binary_search(element).is_ok());
        // All elements came from `i64`.
        let list = common.into_iter().filter_map(|element| i64::try_from(element).ok()).collect();
        Ok(self.with(dimension, Select::List(list)))
    }
}

impl<'r> Variable<'r> {
    /// Reads the selected values. Only the byte runs that hold them are read; adjacent runs, and on media not in memory runs less than a page
    /// apart, are read together. The first selection of a masked variable or of strings also scans the mask or the lengths.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Usage`](container_core::ErrorKind::Usage) for an index out of range, a step of 0, and a dimension that no
    /// variable of the file has.
    pub fn select(&self, selection: &Selection) -> Result<Array<'static>> {
        self.with_layout(|layout| {
            self.check_names(selection)?;
            let sizes = self.shape().unwrap_or_default();
            let axes = self.dimensions().iter().zip(sizes);
            let axes =
                axes.map(|(name, size)| Axis::new(name, *size, selection.get(name))).collect::<Result<Vec<_>>>()?;
            let shape: Vec<u64> = axes.iter().filter(|axis| axis.keep).map(|axis| axis.count).collect();
            self.check_selected_bytes(&axes)?;
            let (values, mask) = self.gather(layout, Plan::new(axes)?.whole())?;
            Ok(Array::new_unchecked(shape, values, mask))
        })
    }

    /// Reads the selected values in chunks: one-dimensional arrays, consecutive in C order, of up to `max_elements` each. Uses memory for one
    /// chunk.
    ///
    /// # Errors
    /// As [`select`](Self::select), and errors of `take`.
    pub fn select_chunks(
        &self,
        selection: &Selection,
        max_elements: u64,
        mut take: impl FnMut(Array<'static>) -> Result<()>,
    ) -> Result<()> {
        let max_elements = max_elements.max(1);
        let sizes = self.shape().unwrap_or_default();
        let axes = || self.dimensions().iter().zip(sizes);
        let plan = self.with_layout(|_| {
            self.check_names(selection)?;
            let axes = axes().map(|(name, size)| Axis::new(name, *size, selection.get(name)));
            let axes = axes.collect::<Result<Vec<_>>>()?;
            self.check_selected_bytes(&axes)?;
            Ok(axes)
        })?;
        if plan.iter().any(|axis| axis.count == 0) {
            return Ok(());
        }
        // Dimensions before `split - 1` advance by element, that one by steps, and those after it are whole.
        let (mut split, mut inner) = (plan.len(), 1u64);
        while let Some(axis) = split.checked_sub(1).and_then(|index| plan.get(index)) {
            match inner.checked_mul(axis.count) {
                Some(more) if more <= max_elements => (split, inner) = (split - 1, more),
                _ => break,
            }
        }
        let stepped = split.checked_sub(1).and_then(|index| plan.get(index));
        let (steps, step) = stepped.map_or((1, 1), |axis| (axis.count, max_elements / inner));
        let mut counters = vec![0u64; split.saturating_sub(1)];
        loop {
            let mut at = 0;
            while at < steps {
                let end = steps.min(at + step);
                let chunk = self.with_layout(|layout| {
                    let part = axes().zip(&plan).enumerate().map(|(index, ((name, size), axis))| {
                        let resolve =
                            |range: Range<u64>| range.map(|n| i64::try_from(axis.get(n)).unwrap_or(i64::MAX)).collect();
                        match (counters.get(index), index + 1 == split) {
                            (Some(n), _) => Axis::new(name, *size, Some(&Select::List(resolve(*n..n + 1)))),
                            (None, true) => Axis::new(name, *size, Some(&Select::List(resolve(at..end)))),
                            (None, false) => Axis::new(name, *size, selection.get(name)),
                        }
                    });
                    let part = Plan::new(part.collect::<Result<Vec<_>>>()?)?;
                    let (values, mask) = self.gather(layout, part.whole())?;
                    Ok(Array::new_unchecked(vec![part.total], values, mask))
                })?;
                take(chunk)?;
                at = end;
            }
            let mut more = false;
            for (counter, axis) in counters.iter_mut().zip(&plan).rev() {
                *counter += 1;
                if *counter < axis.count {
                    more = true;
                    break;
                }
                *counter = 0;
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Dimensions of the selection's result: all but those selected by [`Index`](Select::Index).
    #[must_use]
    pub fn selected_dimensions(&self, selection: &Selection) -> Vec<&'r str> {
        let dropped = |name: &str| matches!(selection.get(name), Some(Select::Index(_)));
        self.dimensions().iter().map(String::as_str).filter(|name| !dropped(name)).collect()
    }

    /// Rejects a selection of far more than a foreign source can hold.
    fn check_selected_bytes(&self, axes: &[Axis]) -> Result<()> {
        let Some(foreign) = &self.reader.foreign else { return Ok(()) };
        let width = self.data_type().and_then(DataType::width).unwrap_or(16) as u64;
        foreign.check_bytes(axes.iter().fold(width, |bytes, axis| bytes.saturating_mul(axis.count)))
    }

    /// Rejects unknown dimension names: a misspelled one would select everything.
    fn check_names(&self, selection: &Selection) -> Result<()> {
        for (name, _) in &selection.parts {
            let known = self.dimensions().contains(name);
            if !known && !self.reader.has_dimension(name) {
                let own = self.dimensions();
                return Err(Error::usage(format!("unknown dimension {name:?} (the variable has {own:?})")));
            }
        }
        Ok(())
    }

    /// Its only dimension and size.
    pub(crate) fn axis(&self) -> Result<(&'r str, u64)> {
        self.check()?;
        match (self.dimensions(), self.shape()) {
            ([dimension], Some([size])) => Ok((dimension, *size)),
            (_, None) => Err(self.in_variable(Error::usage("the variable is empty"))),
            (all, _) => {
                let detail =
                    format!("expected one dimension to look up an element by value, found {} {all:?}", all.len());
                Err(self.in_variable(Error::usage(detail)))
            }
        }
    }
}

impl Reader {
    /// The index along the only dimension of `variable` where its value is nearest to `value`; the first one on a tie. Missing values and NaN are
    /// ignored. Integers of any size are compared exactly with `value`; floats by their rounded distance, as Python does.
    ///
    /// # Errors
    /// As [`Variable::read`]; [`Usage`](container_core::ErrorKind::Usage) unless the variable is one-dimensional and numeric, when `value` is not
    /// finite, and when there are no values.
    pub fn nearest(&self, variable: &str, value: f64) -> Result<u64> {
        let variable = self.variable(variable)?;
        near::nearest(&variable, value).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// The indices along the only dimension of `variable` where `from <= value < to`, ascending; `None` is no bound. Missing values and NaN never
    /// match, nor does anything when a bound is NaN; without any bound every element matches. Integers are compared exactly.
    ///
    /// # Errors
    /// As [`Variable::read`]; [`Usage`](container_core::ErrorKind::Usage) unless the variable is one-dimensional and numeric.
    pub fn between(&self, variable: &str, from: Option<f64>, to: Option<f64>) -> Result<Vec<u64>> {
        let variable = self.variable(variable)?;
        near::between(&variable, from, to).map_err(|error| error.in_format(FORMAT_NAME))
    }
}
