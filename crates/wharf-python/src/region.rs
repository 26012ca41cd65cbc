//! Keyword arguments that select a part of the variables of ds and NetCDF.

use container_core::Error;
use dsfmt::container::TimeForm;
use dsfmt::{Coordinate, Region};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBool, PyDict, PyFloat, PySlice, PyString};
use wharf::hub::select::Selection;

use crate::convert::quoted;
use crate::ds::index_selection;
use crate::error::Result;

/// Which part of the variables of ds and NetCDF is read, and in which form.
#[derive(Clone, Default)]
pub(crate) struct Part {
    region: Region,
    /// The variables of long rows; empty for all.
    tidy: Option<Vec<String>>,
    packed: bool,
    time: Option<TimeForm>,
}

impl Part {
    /// The part that keyword arguments stand for; those that are `None` count as not given.
    pub(crate) fn new(arguments: Option<&Bound<'_, PyDict>>) -> Result<Self> {
        let mut part = Self::default();
        let (mut has_points, mut has_tolerance) = (false, false);
        for (name, value) in arguments.into_iter().flatten() {
            if value.is_none() {
                continue;
            }
            let region = std::mem::take(&mut part.region);
            part.region = match name.cast::<PyString>().map_err(PyErr::from)?.to_str()? {
                "sel" => {
                    fold(region, "sel", &value, |region, name, part| Ok(region.with(name, index_selection(part)?)))?
                }
                "between" => fold(region, "between", &value, between)?,
                "at" => {
                    has_points = true;
                    fold(region, "at", &value, points)?
                }
                "tolerance" => {
                    has_tolerance = true;
                    match value.cast::<PyDict>() {
                        Ok(_) => fold(region, "tolerance", &value, |region, name, one| {
                            Ok(region.with_tolerance(name, coordinate(one)?))
                        })?,
                        Err(_) => region.with_common_tolerance(coordinate(&value)?),
                    }
                }
                "tidy" => {
                    part.tidy = match value.cast::<PyBool>() {
                        Ok(flag) => flag.is_true().then(Vec::new),
                        Err(_) => Some(value.extract()?),
                    };
                    region
                }
                "packed" => {
                    part.packed = value.extract()?;
                    region
                }
                "time" => {
                    part.time = Some(time_form(value.extract()?)?);
                    region
                }
                other => return Err(PyTypeError::new_err(format!("unexpected keyword argument {other:?}")).into()),
            };
        }
        if has_tolerance && !has_points {
            let error = Error::usage("selects nothing by itself").in_option("tolerance");
            return Err(error.advising("{at} selects points").into());
        }
        Ok(part)
    }

    /// Whether everything is read as it is.
    pub(crate) fn is_whole(&self) -> bool {
        self.region.is_whole() && self.tidy.is_none() && !self.packed && self.time.is_none()
    }

    /// Whether variables become long rows.
    pub(crate) fn is_tidy(&self) -> bool {
        self.tidy.is_some()
    }

    /// Adds it to a selection. The columns of a selection are the variables of long rows.
    pub(crate) fn apply(&self, selection: &mut Selection) {
        selection.region = self.region.clone();
        selection.tidy = self.tidy.is_some();
        (selection.reading.packed, selection.reading.time) = (self.packed, self.time);
        selection.columns.extend(self.tidy.iter().flatten().map(|name| quoted(name)));
    }
}

fn time_form(word: &str) -> Result<TimeForm> {
    match word {
        "iso" => Ok(TimeForm::Iso),
        "jd" => Ok(TimeForm::Julian),
        other => Err(Error::usage(format!("must be iso or jd, found {other:?}")).in_option("time").into()),
    }
}

/// Adds the entries of a dict to a region.
fn fold(
    mut region: Region,
    argument: &str,
    entries: &Bound<'_, PyAny>,
    mut add: impl FnMut(Region, String, &Bound<'_, PyAny>) -> Result<Region>,
) -> Result<Region> {
    let Ok(entries) = entries.cast::<PyDict>() else {
        let kind = entries.get_type().name()?;
        return Err(
            PyTypeError::new_err(format!("{argument}: expected a dict with names as keys, found {kind}")).into()
        );
    };
    for (name, value) in entries {
        region = add(region, name.extract()?, &value)?;
    }
    Ok(region)
}

/// Adds a range: a pair, or a slice without a step. `None` is no bound.
fn between(region: Region, name: String, ends: &Bound<'_, PyAny>) -> Result<Region> {
    let invalid = || PyTypeError::new_err("between: expected a pair of coordinates, or a slice without a step");
    let (from, to) = match ends.cast::<PySlice>() {
        Ok(slice) if slice.getattr("step")?.is_none() => (slice.getattr("start")?, slice.getattr("stop")?),
        Ok(_) => return Err(invalid().into()),
        Err(_) => ends.extract().map_err(|_| invalid())?,
    };
    let end = |end: Bound<'_, PyAny>| if end.is_none() { Ok(None) } else { coordinate(&end).map(Some) };
    Ok(region.between(name, end(from)?, end(to)?))
}

/// Adds points: one coordinate, which drops the dimension, or several.
fn points(region: Region, name: String, values: &Bound<'_, PyAny>) -> Result<Region> {
    if !values.is_instance_of::<PyString>()
        && let Ok(values) = values.try_iter()
    {
        let all = values.map(|value| coordinate(&value?)).collect::<Result<Vec<_>>>()?;
        return Ok(region.at_each(name, all));
    }
    Ok(region.at(name, coordinate(values)?))
}

/// A coordinate: a number, a text, a date or time, or a duration.
fn coordinate(value: &Bound<'_, PyAny>) -> Result<Coordinate> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Coordinate::Text(text.to_str()?.to_owned()));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Coordinate::Number(number.value()));
    }
    let text =
        |text: Bound<'_, PyAny>| -> Result<Coordinate> { Ok(Coordinate::Text(text.str()?.to_str()?.to_owned())) };
    if value.is_instance_of::<PyBool>() {
        return Err(not_a_coordinate(value));
    }
    if let Ok(kind) = value.getattr("dtype").and_then(|dtype| dtype.getattr("kind")) {
        let py = value.py();
        let array = || py.import("numpy")?.call_method1("asarray", (value,));
        match kind.extract::<&str>()? {
            "M" => {
                // The text of a day or month would stand for all of it.
                let array = array()?;
                let micros = py.import("numpy")?.call_method1("dtype", ("M8[us]",))?;
                let time = match py.import("numpy")?.call_method1("promote_types", (array.getattr("dtype")?, micros)) {
                    Ok(unit) => array.call_method1("astype", (unit,))?,
                    Err(_) => array,
                };
                return text(time);
            }
            "m" => {
                let micros = array()?.call_method1("astype", ("m8[us]",))?.call_method1("astype", ("i8",))?;
                return Ok(Coordinate::Text(format!("{} microseconds", micros.str()?)));
            }
            "b" => return Err(not_a_coordinate(value)),
            _ => {}
        }
    }
    if let Ok(seconds) = value.call_method0("total_seconds") {
        return Ok(Coordinate::Text(format!("{:.6} seconds", seconds.extract::<f64>()?)));
    }
    // A time of pandas has nanoseconds.
    if let Ok(time) = value.call_method0("to_datetime64") {
        return text(time);
    }
    if value.hasattr("isoformat")? {
        // A day stands for all of it, a time for an instant.
        let is_time = value.hasattr("hour")?;
        let iso = if is_time {
            value.call_method1("isoformat", ("T", "microseconds"))
        } else {
            value.call_method0("isoformat")
        };
        return text(iso?);
    }
    if let Ok(integer) = value.call_method0("__index__") {
        return text(integer);
    }
    match value.extract::<f64>() {
        Ok(number) => Ok(Coordinate::Number(number)),
        Err(_) => Err(not_a_coordinate(value)),
    }
}

fn not_a_coordinate(value: &Bound<'_, PyAny>) -> crate::error::Failure {
    let kind = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("expected a number, a text, or a time as a coordinate, found {kind}")).into()
}
