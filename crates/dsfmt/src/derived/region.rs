//! A part of a dataset along its dimensions, as indexes and as coordinates.

use std::ops::Range;

use container_core::{Error, Result};

use super::coordinate::{Coordinate, Lookup};
use super::{Part, ViewHeader, ViewVariable, read_owned};
use crate::array::Array;
use crate::read::foreign::ForeignSource;
use crate::read::{Axis, Plan, Reader, Select, Selection, Variable};

/// Elements of a coordinate variable compared at once.
const CHUNK_ELEMENTS: u64 = 256 << 10;

/// A part of a dataset: a selection along its dimensions, as indexes and as values of their coordinate variables.
///
/// A coordinate variable has one dimension, and numbers, times or strings. Packed numbers are compared unpacked, by `scale_factor` and
/// `add_offset`. Missing values and NaN never match. Selections apply one after the other: indexes, then ranges, then points, each to what the
/// former left; a dimension without one is whole.
///
/// ```no_run
/// use dsfmt::{Reader, Region, Select};
/// let region = Region::new()
///     .with("level", Select::Index(0))
///     .between("time", Some("2000-01"), Some("2000-03")) // January, February and March
///     .between("lon", Some(-10.0), Some(20.0)) // also on an axis from 0 to 360
///     .at("lat", 51.5)
///     .with_tolerance("lat", 0.25);
/// let part = region.apply(Reader::open("climate.ds")?)?; // a reader of the cut variables, which reads only what it is asked for
/// # Ok::<(), dsfmt::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Region {
    indexes: Vec<(String, Select)>,
    ranges: Vec<(String, Option<Coordinate>, Option<Coordinate>)>,
    points: Vec<(String, Points)>,
    /// Of the coordinate of this name; `None` for all.
    tolerances: Vec<(Option<String>, Coordinate)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Points {
    /// The dimension is dropped.
    One(Coordinate),
    Each(Vec<Coordinate>),
}

impl Region {
    /// The whole dataset.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it is the whole dataset.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        *self == Self::default()
    }

    /// Selects along a dimension by index, as in Python.
    #[must_use]
    pub fn with(mut self, dimension: impl Into<String>, select: Select) -> Self {
        self.indexes.push((dimension.into(), select));
        self
    }

    /// Selects the values from `from` to `to`, both included; `None` is no bound. A date as an end stands for all of the year, month, day, hour,
    /// minute or second that it names. On a coordinate of longitudes the range runs eastward and may cross the end of the axis: the parts are
    /// joined in its order, as in `-10` to `20`, or `350` to `20`, on an axis from 0 to 360.
    #[must_use]
    pub fn between<C: Into<Coordinate>>(mut self, variable: impl Into<String>, from: Option<C>, to: Option<C>) -> Self {
        self.ranges.push((variable.into(), from.map(Into::into), to.map(Into::into)));
        self
    }

    /// Selects one value; the dimension is dropped. The value must be equal to a coordinate, or with a [tolerance](Self::with_tolerance) no farther
    /// than it from the nearest, of which the first counts. Equal means: in the type of the coordinate.
    #[must_use]
    pub fn at(mut self, variable: impl Into<String>, value: impl Into<Coordinate>) -> Self {
        self.points.push((variable.into(), Points::One(value.into())));
        self
    }

    /// Selects several values, in this order; as [`at`](Self::at), but the dimension is kept.
    #[must_use]
    pub fn at_each<C: Into<Coordinate>>(
        mut self,
        variable: impl Into<String>,
        values: impl IntoIterator<Item = C>,
    ) -> Self {
        self.points.push((variable.into(), Points::Each(values.into_iter().map(Into::into).collect())));
        self
    }

    /// Sets the tolerance of points along a coordinate: a number in its units, or for times a duration such as `6h`. Infinity selects the nearest.
    #[must_use]
    pub fn with_tolerance(mut self, variable: impl Into<String>, tolerance: impl Into<Coordinate>) -> Self {
        self.tolerances.push((Some(variable.into()), tolerance.into()));
        self
    }

    /// Sets the tolerance of points along all coordinates without a tolerance of their own.
    #[must_use]
    pub fn with_common_tolerance(mut self, tolerance: impl Into<Coordinate>) -> Self {
        self.tolerances.push((None, tolerance.into()));
        self
    }

    /// The selection by index: reads the coordinate variables.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an unknown dimension or variable, a coordinate without exactly one dimension, an index out of
    /// range, a value that is not of the coordinate's kind, a range that ends before it starts, and when nothing is selected; the last names the
    /// extent of the coordinate. Errors of reading.
    pub fn resolve(&self, reader: &Reader) -> Result<Selection> {
        self.resolved(reader).map_err(|error| error.in_format(reader.format()))
    }

    fn resolved(&self, reader: &Reader) -> Result<Selection> {
        let mut selection = Selection::new();
        for (dimension, select) in &self.indexes {
            if selection.get(dimension).is_some() {
                return Err(Error::usage(format!("dimension {dimension:?} is selected twice")));
            }
            let size = size(reader, dimension)?;
            if Axis::new(dimension, size, Some(select))?.count == 0 && size > 0 {
                let detail = format!("the indexes select nothing of dimension {dimension:?} of size {size}");
                return Err(Error::usage(detail));
            }
            selection = selection.with(dimension, select.clone());
        }
        for (name, from, to) in &self.ranges {
            let (dimension, matching) = {
                let current = Current::new(reader, name, &selection)?;
                (current.dimension, current.between(from.as_ref(), to.as_ref())?)
            };
            selection = selection.with(dimension, Select::Ranges(matching));
        }
        let mut used = vec![false; self.tolerances.len()];
        for (number, (name, points)) in self.points.iter().enumerate() {
            if self.points.iter().take(number).any(|(earlier, _)| earlier == name) {
                return Err(Error::usage("points are selected twice: give them together").in_column(name.clone()));
            }
            let tolerance = self.tolerance(name);
            if let Some(used) = tolerance.and_then(|index| used.get_mut(index)) {
                *used = true;
            }
            let tolerance = tolerance.and_then(|index| self.tolerances.get(index)).map(|(_, tolerance)| tolerance);
            let all = match points {
                Points::One(one) => std::slice::from_ref(one),
                Points::Each(all) => all,
            };
            let (dimension, elements) = {
                let current = Current::new(reader, name, &selection)?;
                (current.dimension, current.at(all, tolerance)?)
            };
            let select = match (points, elements.as_slice()) {
                (Points::One(_), [one]) => Select::Index(*one),
                _ => Select::List(elements),
            };
            selection = selection.with(dimension, select);
        }
        let unused = self.tolerances.iter().zip(&used).find(|((of, _), used)| of.is_some() && !**used);
        if let Some(((Some(name), _), _)) = unused {
            return Err(Error::usage("has a tolerance, but no point is selected along it").in_column(name.clone()));
        }
        Ok(selection)
    }

    /// The index of the tolerance of points along a coordinate.
    fn tolerance(&self, name: &str) -> Option<usize> {
        let last = |of: Option<&str>| self.tolerances.iter().rposition(|(known, _)| known.as_deref() == of);
        last(Some(name)).or_else(|| last(None))
    }

    /// A reader of this part of a dataset: the same variables, in the same order, with cut dimensions, and coordinates cut with the data. Values are
    /// read from `reader` when they are read from the part, and only those. Attributes, types, byte orders and masks stay.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve); [`Limit`](container_core::ErrorKind::Limit) for a header longer than the limits allow.
    pub fn apply(&self, reader: Reader) -> Result<Reader> {
        if self.is_whole() {
            return Ok(reader);
        }
        let selection = self.resolve(&reader)?;
        part(reader, &selection)
    }

    /// As [`apply`](Self::apply), with coordinates looked up in another reader of the same dataset: one of packed values, which are exact.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn apply_by(&self, reader: Reader, coordinates: &Reader) -> Result<Reader> {
        let selection = self.resolve(coordinates)?;
        part(reader, &selection)
    }
}

/// The selected part of a dataset.
fn part(of: Reader, selection: &Selection) -> Result<Reader> {
    let (mut variables, mut plans) = (Vec::with_capacity(of.len()), Vec::with_capacity(of.len()));
    for variable in of.variables() {
        let cut = match variable.problem() {
            Some(problem) => Err(problem),
            None => cut(&variable, selection),
        };
        // Also variables whose sizes contradict those of others.
        let (view, plan) =
            cut.unwrap_or_else(|error| (ViewVariable::unreadable(&variable, error.detail().to_owned(), None), None));
        variables.push(view);
        plans.push(plan);
    }
    let (format, options, typed) = (of.format(), of.options, of.typed.clone());
    let header = ViewHeader::new(&of, variables).map_err(|error| error.in_format(format))?;
    let part = header.reader(options, Box::new(RegionValues { of, plans })).map_err(|error| error.in_format(format))?;
    Ok(Reader { typed, ..part })
}

/// The selected part of a variable; no plan when all of it is selected.
fn cut(variable: &Variable<'_>, selection: &Selection) -> Result<(ViewVariable, Option<Plan>)> {
    let Some(sizes) = variable.shape() else { return Ok((ViewVariable::new(variable, None, &[])?, None)) };
    let selected = |name: &String| selection.get(name);
    if variable.dimensions().iter().all(|name| selected(name).is_none()) {
        return Ok((ViewVariable::new(variable, None, sizes)?, None));
    }
    let axes = variable.dimensions().iter().zip(sizes);
    let axes: Vec<Axis> = axes.map(|(name, size)| Axis::new(name, *size, selected(name))).collect::<Result<_>>()?;
    let kept = variable.dimensions().iter().zip(&axes).filter(|(_, axis)| axis.keep);
    let (names, sizes): (Vec<String>, Vec<u64>) = kept.map(|(name, axis)| (name.clone(), axis.count)).unzip();
    let names = (names.len() < axes.len()).then_some(names);
    Ok((ViewVariable::new(variable, names.as_deref(), &sizes)?, Some(Plan::new(axes)?)))
}

/// The size of a dimension.
fn size(reader: &Reader, name: &str) -> Result<u64> {
    let all = reader.dimensions();
    all.iter().find(|dimension| dimension.name == name).map(|dimension| dimension.size).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|dimension| dimension.name.as_str()).take(20).collect();
        Error::usage(format!("unknown dimension {name:?}; the dimensions are {names:?}"))
    })
}

/// A coordinate variable, and what is selected of its dimension so far.
struct Current<'r, 's> {
    variable: Variable<'r>,
    dimension: &'r str,
    size: u64,
    selection: &'s Selection,
}

impl<'r, 's> Current<'r, 's> {
    fn new(reader: &'r Reader, name: &str, selection: &'s Selection) -> Result<Self> {
        let variable = reader.variable(name).map_err(|error| match reader.has_dimension(name) {
            true => Error::usage(format!("dimension {name:?} has no coordinate variable: select by index")),
            false => error,
        })?;
        let (dimension, size) = variable.axis()?;
        if let Some(Select::Index(_)) = selection.get(dimension) {
            let detail = format!("one element of dimension {dimension:?} is selected already");
            return Err(variable.in_variable(Error::usage(detail)));
        }
        Ok(Self { variable, dimension, size, selection })
    }

    fn lookup(&self) -> Result<Lookup> {
        Lookup::new(&self.variable).map_err(|error| self.variable.in_variable(error))
    }

    /// Passes the selected values in order, with the elements of the variable that they are.
    fn for_each(&self, mut take: impl FnMut(&Array<'_>, &dyn Fn(usize) -> u64)) -> Result<()> {
        let axis = Axis::new(self.dimension, self.size, self.selection.get(self.dimension))?;
        let mut own = Selection::new();
        if let Some(select) = self.selection.get(self.dimension) {
            own = own.with(self.dimension, select.clone());
        }
        let mut done = 0u64;
        self.variable.select_chunks(&own, CHUNK_ELEMENTS, |array| {
            take(&array, &|index| axis.get(done + index as u64));
            done += array.len() as u64;
            Ok(())
        })
    }

    /// The elements between two coordinates, in the order of the axis.
    fn between(&self, from: Option<&Coordinate>, to: Option<&Coordinate>) -> Result<Vec<Range<u64>>> {
        let lookup = self.lookup()?;
        let named = |error: Error| self.variable.in_variable(error);
        let mut range = lookup.range(from, to).map_err(named)?;
        self.for_each(|array, element| range.add(array, element))?;
        range.finish().map_err(named)
    }

    /// The element at each of these coordinates.
    fn at(&self, points: &[Coordinate], tolerance: Option<&Coordinate>) -> Result<Vec<i64>> {
        let lookup = self.lookup()?;
        let named = |error: Error| self.variable.in_variable(error);
        let mut search = lookup.points(points, tolerance).map_err(named)?;
        self.for_each(|array, element| search.add(array, element))?;
        let found = search.finish().map_err(named)?;
        let signed =
            |element| i64::try_from(element).map_err(|_| Error::usage(format!("index {element} exceeds 2^63")));
        found.into_iter().map(signed).collect()
    }
}

/// Reads values of the selected part.
struct RegionValues {
    of: Reader,
    /// One per variable; `None` when all of it is selected.
    plans: Vec<Option<Plan>>,
}

impl ForeignSource for RegionValues {
    fn format(&self) -> &'static str {
        self.of.format()
    }

    fn read(&self, index: usize, elements: Range<u64>) -> Result<Part> {
        let unknown = || Error::usage(format!("unknown variable {index}"));
        let variable = self.of.variable_at(index).ok_or_else(unknown)?;
        match self.plans.get(index).ok_or_else(unknown)? {
            None => read_owned(&variable, elements),
            Some(plan) => variable.with_layout(|layout| variable.gather(layout, plan.part(elements))),
        }
    }

    fn member(&self, index: usize) -> Option<(&str, &[String])> {
        self.of.member(index)
    }

    fn check_bytes(&self, bytes: u64) -> Result<()> {
        self.of.check_bytes_of_view(bytes)
    }
}
