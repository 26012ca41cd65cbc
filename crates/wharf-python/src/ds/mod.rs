//! ds and NetCDF files as numpy arrays: what `wharf_data.ds` and `wharf_data.xarray` are built on.

mod buffer;
mod file;
#[cfg_attr(not(target_os = "linux"), path = "new_memory.rs")]
mod memory;
mod netcdf;
mod select;
mod times;
mod values;

pub(crate) use select::index_selection;

use std::ops::Range;
use std::path::PathBuf;

use container_core::parallel::Pool;
use container_core::{Error, OpenOptions, Output, OutputOptions, Overwrite, SyncPolicy};
use dsfmt::{DataType, Element, Mask, Reader, Select, Selection, Variable};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict, PyString};

use crate::ds::buffer::{NewArray, Parts};
use crate::error::Result;
use crate::{process, source};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<DsFile>()?;
    module.add_class::<netcdf::NetcdfFile>()?;
    module.add_function(wrap_pyfunction!(write_parts, module)?)?;
    module.add_function(wrap_pyfunction!(netcdf::ds_to_netcdf, module)?)?;
    module.add_function(wrap_pyfunction!(times::julian_dates, module)?)
}

/// The bytes of a path, of `bytes`, or of a binary file object; whether it is a path; and its name.
fn open(object: &Bound<'_, PyAny>) -> Result<(container_core::Source, bool, String)> {
    process::remember();
    if let Ok(path) = object.extract::<PathBuf>() {
        let source = object.py().detach(|| container_core::Source::open(&path))?;
        return Ok((source, true, path.display().to_string()));
    }
    let (input, name) = (source::input(object, container_core::Access::Auto)?, source::name(object));
    match input.source() {
        Some(source) => Ok((source.clone(), false, name)),
        None => Err(Error::usage("expected a file").in_file(name).into()),
    }
}

/// Runs work that may use rayon's threads, which are not there after a fork.
fn with_threads<R: Send>(work: impl FnOnce() -> container_core::Result<R> + Send) -> container_core::Result<R> {
    match process::threads(0) {
        0 => work(),
        one => Pool::new(one)?.install(work),
    }
}

/// A ds file: its header, and numpy arrays of its variables, read on demand.
#[pyclass(module = "wharf_data", frozen)]
pub(crate) struct DsFile {
    reader: Reader,
    is_local: bool,
    name: String,
}

#[pymethods]
impl DsFile {
    /// Opens a path, `bytes`, or a binary file object. Reads the header.
    #[new]
    fn new(py: Python<'_>, source: &Bound<'_, PyAny>) -> Result<Self> {
        let (source, is_local, name) = open(source)?;
        let opened = py.detach(|| Reader::from_source(source, OpenOptions::default()));
        let reader = opened.map_err(|error| error.in_file(name.clone()))?;
        Ok(Self { reader, is_local, name })
    }

    /// The header: JSON in Python's dialect.
    #[getter]
    fn header<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let start = "ds-1.0\n".len() as u64;
        let line = self.reader.source().read(start..self.reader.body_offset().max(start))?;
        Ok(PyString::from_bytes(py, &line)?.into_any())
    }

    /// Names of the variables that have a known type, in the order of the header.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.reader
            .variables()
            .filter(|variable| variable.data_type().is_some())
            .map(|variable| variable.name())
            .collect()
    }

    /// Where the numbers of a variable without missing values are in the file: the offset in bytes, the name of the dtype, the shape; `None` for
    /// other variables.
    fn extent(&self, name: &str) -> Result<Option<(u64, &'static str, Vec<u64>)>> {
        let variable = self.variable(name)?;
        let (Some(data_type), Some(shape)) = (variable.data_type(), variable.shape()) else { return Ok(None) };
        if variable.problem().is_some() || variable.is_masked() || data_type.width().is_none() || variable.is_empty() {
            return Ok(None);
        }
        let offset = self.reader.body_offset() + variable.offset();
        Ok(Some((offset, values::dtype(data_type, variable.endian()), shape.to_vec())))
    }

    /// Reads a variable, or the part that is selected by a dict from dimensions to an index, a slice, or a list of indices: an array, a masked
    /// array, a scalar without dimensions; `None` for a variable without elements. Large arrays are read with several threads.
    #[pyo3(signature = (name, selection=None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        selection: Option<&Bound<'py, PyDict>>,
    ) -> Result<Option<Bound<'py, PyAny>>> {
        let variable = self.variable(name)?;
        let selection = select::selection(variable.dimensions(), selection)?;
        self.array(py, &variable, &selection)
    }

    /// Reads several variables, by default all that have a known type, into a dict, under the names of the header.
    #[pyo3(signature = (into, names=None, selection=None))]
    fn read_all<'py>(
        &self,
        py: Python<'py>,
        into: &Bound<'py, PyDict>,
        names: Option<Vec<String>>,
        selection: Option<&Bound<'py, PyDict>>,
    ) -> Result<()> {
        let is_wanted = |variable: &Variable<'_>| match &names {
            Some(names) => names.iter().any(|name| name == variable.name()),
            None => variable.data_type().is_some(),
        };
        for variable in self.reader.variables().filter(is_wanted) {
            let selection = select::selection(variable.dimensions(), selection)?;
            let array = self.array(py, &variable, &selection)?;
            match variable.name() {
                name if name.starts_with(['.', '\\']) => into.set_item(format!("\\{name}"), array)?,
                name => into.set_item(name, array)?,
            }
        }
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("<DsFile {}, {} variables>", self.name, self.reader.len())
    }
}

impl DsFile {
    fn variable(&self, name: &str) -> Result<Variable<'_>> {
        self.reader.variable(name).map_err(|_| PyKeyError::new_err(name.to_owned()).into())
    }

    fn array<'py>(
        &self,
        py: Python<'py>,
        variable: &Variable<'_>,
        selection: &Selection,
    ) -> Result<Option<Bound<'py, PyAny>>> {
        if let Some(problem) = variable.problem() {
            return Err(problem.in_file(self.name.clone()).into());
        }
        let (Some(data_type), Some(shape)) = (variable.data_type(), variable.shape()) else { return Ok(None) };
        if variable.is_empty() {
            return Ok(None);
        }
        let read = match (data_type.width(), rows(variable, shape, selection)) {
            (Some(width), Some((rows, selected))) => self.numbers(py, variable, data_type, width, rows, &selected),
            _ => self.selected(py, variable, selection),
        };
        read.map(Some).map_err(|failure| match failure {
            crate::error::Failure::Library(error) => error.in_file(self.name.clone()).into(),
            python @ crate::error::Failure::Python(_) => python,
        })
    }

    /// Reads numbers of consecutive rows straight into an array of the file's byte order.
    fn numbers<'py>(
        &self,
        py: Python<'py>,
        variable: &Variable<'_>,
        data_type: DataType,
        width: usize,
        rows: Range<u64>,
        shape: &[u64],
    ) -> Result<Bound<'py, PyAny>> {
        let endian = variable.endian();
        let mut array = NewArray::empty(py, shape, values::dtype(data_type, endian))?;
        let row: u64 = variable.shape().unwrap_or_default().iter().skip(1).product(); // checked with the header
        if !variable.is_masked() {
            let start = self.reader.body_offset() + variable.offset() + rows.start * row * width as u64;
            array.fill(|out| file::read_into(self.reader.source(), self.is_local, start, out))?;
            return values::finish(array.finish()?, None, shape.is_empty());
        }
        let first = rows.start * row;
        array.fill(|out| {
            with_threads(|| read_numbers(variable, data_type, rows, out))?;
            values::swap(width, endian, out);
            Ok(())
        })?;
        let mask = py.detach(|| variable.read_mask())?;
        let mask = mask
            .map(|mask: Mask<'_>| values::mask_array(py, shape, &mask, usize::try_from(first).unwrap_or(usize::MAX)));
        values::finish(array.finish()?, mask.transpose()?, shape.is_empty())
    }

    /// Reads any selection of any type.
    fn selected<'py>(
        &self,
        py: Python<'py>,
        variable: &Variable<'_>,
        selection: &Selection,
    ) -> Result<Bound<'py, PyAny>> {
        let array = py.detach(|| {
            with_threads(|| match *selection == Selection::new() {
                true => variable.read(),
                false => variable.select(selection),
            })
        })?;
        let (shape, values, mask) = array.into_parts();
        let data = values::to_numpy(py, &shape, &values, mask.as_ref(), variable.endian())?;
        let mask = mask.map(|mask| values::mask_array(py, &shape, &mask, 0)).transpose()?;
        values::finish(data, mask, shape.is_empty())
    }
}

/// The rows and the shape of a selection that is a range of rows; `None` for others.
fn rows(variable: &Variable<'_>, shape: &[u64], selection: &Selection) -> Option<(Range<u64>, Vec<u64>)> {
    let Some(((name, others), (size, inner))) = variable.dimensions().split_first().zip(shape.split_first()) else {
        return Some((0..1, Vec::new()));
    };
    if others.iter().any(|name| selection.get(name).is_some()) {
        return None;
    }
    let whole = |rows: Range<u64>| Some((rows.clone(), [&[rows.end - rows.start], inner].concat()));
    let size = i64::try_from(*size).ok()?;
    let at = |index: i64| u64::try_from(if index < 0 { index + size } else { index }.clamp(0, size)).ok();
    match selection.get(name) {
        None => whole(0..size.unsigned_abs()),
        Some(Select::Index(index)) if (-size..size).contains(index) => {
            let row = at(*index)?;
            Some((row..row + 1, inner.to_vec()))
        }
        Some(Select::Range { start, stop, step: None | Some(1) }) => {
            let start = at(start.unwrap_or(0))?;
            whole(start..at(stop.unwrap_or(size))?.max(start))
        }
        _ => None,
    }
}

/// Reads masked numbers into the memory of an array; missing ones are 0.
fn read_numbers(
    variable: &Variable<'_>,
    data_type: DataType,
    rows: Range<u64>,
    out: &mut [u8],
) -> container_core::Result<()> {
    fn read<T: Element>(variable: &Variable<'_>, rows: Range<u64>, out: &mut [u8]) -> container_core::Result<()> {
        // numpy aligns the memory of its arrays.
        let out = bytemuck::try_cast_slice_mut(out).map_err(|_| Error::usage("the array is not aligned"))?;
        variable.read_into(rows, T::default(), out)
    }
    match data_type {
        DataType::Float32 => read::<f32>(variable, rows, out),
        DataType::Float64 => read::<f64>(variable, rows, out),
        DataType::Int8 => read::<i8>(variable, rows, out),
        DataType::Int16 => read::<i16>(variable, rows, out),
        DataType::Int32 => read::<i32>(variable, rows, out),
        DataType::Int64 => read::<i64>(variable, rows, out),
        DataType::Uint8 => read::<u8>(variable, rows, out),
        DataType::Uint16 => read::<u16>(variable, rows, out),
        DataType::Uint32 => read::<u32>(variable, rows, out),
        DataType::Uint64 => read::<u64>(variable, rows, out),
        DataType::Bool | DataType::Str | DataType::Unicode => Err(Error::usage("expected numbers")),
    }
}

/// Writes the bytes of objects with a buffer to a file that replaces `path`, whole or not at all.
#[pyfunction]
#[pyo3(signature = (path, parts, *, sync=false))]
fn write_parts(py: Python<'_>, path: PathBuf, parts: Vec<Bound<'_, PyAny>>, sync: bool) -> Result<()> {
    let parts = Parts::new(&parts)?;
    let sync = if sync { SyncPolicy::Disk } else { SyncPolicy::Never };
    let options = OutputOptions::default().with_overwrite(Overwrite::Replace).with_sync(sync);
    let mut output = py.detach(|| Output::create(&path, options))?;
    parts.write(py, &mut output)?;
    Ok(py.detach(|| output.finish())?)
}
