//! NetCDF files as numpy arrays, and ds files as NetCDF.

use std::ops::Range;
use std::path::PathBuf;

use container_core::{Error, OpenOptions, OutputOptions, Overwrite, SyncPolicy};
use dsfmt::netcdf::{
    Attribute, AttributeValue, Characters, Kind, NcType, ReadOptions, Reader, Variable, WriteOptions, from_ds,
};
use dsfmt::{Endian, Mask, Values};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict, PyList, PyTuple};

use crate::convert::losses;
use crate::ds::buffer::NewArray;
use crate::ds::{open, values, with_threads};
use crate::error::Result;

/// Bytes of values that are read at once.
const STEP: u64 = 64 << 20;

/// A NetCDF file of any kind: its metadata, and numpy arrays of its variables, read on demand.
#[pyclass(module = "wharf_data", frozen)]
pub(crate) struct NetcdfFile {
    reader: Reader,
    name: String,
}

#[pymethods]
impl NetcdfFile {
    /// Opens a path, `bytes`, or a binary file object. Reads the metadata.
    #[new]
    fn new(py: Python<'_>, source: &Bound<'_, PyAny>) -> Result<Self> {
        let (source, _, name) = open(source)?;
        let opened = py.detach(|| with_threads(|| Reader::from_source(source, OpenOptions::default())));
        let reader = opened.map_err(|error| error.in_file(name.clone()))?;
        Ok(Self { reader, name })
    }

    /// The kind: `CDF-1`, `CDF-2`, `CDF-5`, `NetCDF-4`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.reader.kind().name()
    }

    /// The attributes of the file: text, numpy scalars, arrays, lists of text.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        attributes(py, self.reader.attributes())
    }

    /// The dimensions: names with sizes, and whether they are unlimited.
    #[getter]
    fn dimensions(&self) -> Vec<(&str, u64, bool)> {
        self.reader
            .dimensions()
            .iter()
            .map(|dimension| (dimension.name.as_str(), dimension.size, dimension.unlimited))
            .collect()
    }

    /// What is in the file and cannot be read.
    #[getter]
    fn losses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        losses(py, self.reader.losses().iter().map(|loss| (None, loss)))
    }

    /// The variables that can be read: `name`, `dims`, `shape`, `type` (that of ds), `char`, `attributes`, `chunks`.
    #[getter]
    fn variables<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for variable in self.reader.variables() {
            let Some(data_type) = variable.nc_type.data_type() else { continue };
            let entry = PyDict::new(py);
            entry.set_item("name", &variable.name)?;
            entry.set_item("dims", self.reader.dimension_names(variable).collect::<Vec<_>>())?;
            entry.set_item("shape", &variable.shape)?;
            entry.set_item("type", data_type.name())?;
            entry.set_item("char", variable.nc_type == NcType::Char)?;
            entry.set_item("big_endian", variable.big_endian)?;
            entry.set_item("attributes", attributes(py, &variable.attributes)?)?;
            entry.set_item("chunks", &variable.chunks)?;
            list.append(entry)?;
        }
        Ok(list)
    }

    /// Reads rows of a variable along its first dimension: an array of its values, and the array of its missing elements, `None` without any.
    ///
    /// `scaled` applies `scale_factor`, `add_offset` and `_Unsigned`. Characters are bytes of type `S1`, or with `joined`, and `_Encoding` in
    /// the file, strings along the last dimension.
    #[pyo3(signature = (name, start=0, stop=None, *, scaled=false, joined=false))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        start: u64,
        stop: Option<u64>,
        scaled: bool,
        joined: bool,
    ) -> Result<Bound<'py, PyTuple>> {
        let variable = self.reader.variable(name).map_err(|_| PyKeyError::new_err(name.to_owned()))?;
        let characters = if joined { Characters::Encoded } else { Characters::Single };
        let options = ReadOptions::default().with_scaled(scaled).with_characters(characters);
        let rows = start..stop.unwrap_or(variable.rows()).min(variable.rows()).max(start);
        let Some(data_type) = self.reader.data_type(variable, &options) else {
            return Err(PyValueError::new_err(format!("{name}: unsupported type {}", variable.nc_type)).into());
        };
        let mut shape = self.reader.shape(variable, &options).to_vec();
        if let Some(first) = shape.first_mut() {
            *first = rows.end - rows.start;
        }
        let is_text = data_type.is_text();
        if is_text {
            return self.text(py, variable, rows, &shape, &options);
        }
        let mut array = NewArray::empty(py, &shape, values::dtype(data_type, Endian::NATIVE))?;
        let mut missing = Missing::default();
        array.fill(|out| with_threads(|| self.fill(variable, rows, &options, out, &mut missing)))?;
        let mask = match missing.mask {
            Some(bits) => {
                let mut mask = NewArray::empty(py, &shape, "?")?;
                mask.fill(|out| {
                    out.copy_from_slice(bytemuck::cast_slice(&bits));
                    Ok(())
                })?;
                Some(mask.finish()?)
            }
            None => None,
        };
        Ok((array.finish()?, mask).into_pyobject(py)?)
    }

    fn __repr__(&self) -> String {
        format!("<NetcdfFile {} ({}), {} variables>", self.name, self.reader.kind(), self.reader.variables().len())
    }
}

/// The missing elements so far: none without a mask.
#[derive(Default)]
struct Missing {
    count: usize,
    mask: Option<Vec<bool>>,
}

impl Missing {
    fn add(&mut self, count: usize, mask: Option<&Mask<'_>>) {
        if mask.is_some() || self.mask.is_some() {
            let all = self.mask.get_or_insert_with(|| vec![false; self.count]);
            all.extend((0..count).map(|index| mask.is_some_and(|mask| mask.is_missing(index))));
        }
        self.count += count;
    }
}

impl NetcdfFile {
    /// Reads rows of numbers in chunks.
    fn fill(
        &self,
        variable: &Variable,
        rows: Range<u64>,
        options: &ReadOptions,
        mut out: &mut [u8],
        missing: &mut Missing,
    ) -> container_core::Result<()> {
        let row = (out.len() as u64 / (rows.end - rows.start).max(1)).max(1);
        let mut step = (STEP / row).max(1);
        if let Some(chunk) = variable.chunks.as_deref().and_then(|chunks| chunks.first()).filter(|chunk| **chunk > 0) {
            step = step.next_multiple_of(*chunk);
        }
        let mut at = rows.start;
        while at < rows.end {
            // Chunks of the file are decoded once, if the first one is completed first.
            let end = rows.end.min(at - at % step + step);
            let array =
                self.reader.read(variable, at..end, options).map_err(|error| error.in_file(self.name.clone()))?;
            let bytes = values::bytes(array.values()).unwrap_or_default();
            let Some((now, later)) = out.split_at_mut_checked(bytes.len()) else {
                return Err(Error::usage("more values than the shape has"));
            };
            now.copy_from_slice(bytes);
            missing.add(array.len(), array.mask());
            (out, at) = (later, end);
        }
        Ok(())
    }

    /// Reads rows of strings or characters.
    fn text<'py>(
        &self,
        py: Python<'py>,
        variable: &Variable,
        rows: Range<u64>,
        shape: &[u64],
        options: &ReadOptions,
    ) -> Result<Bound<'py, PyTuple>> {
        let read = || self.reader.read(variable, rows, options);
        let array = py.detach(|| with_threads(read)).map_err(|error| error.in_file(self.name.clone()))?;
        let joined = shape.len() < variable.shape.len();
        let data = match (array.values(), variable.nc_type == NcType::Char && !joined) {
            (Values::Str(strings), true) => {
                let mut data = NewArray::empty(py, shape, "S1")?;
                data.fill(|out| {
                    for (out, string) in out.iter_mut().zip(strings.iter()) {
                        *out = string.first().copied().unwrap_or(0);
                    }
                    Ok(())
                })?;
                data.finish()?
            }
            (values, _) => values::to_numpy(py, shape, values, None, Endian::NATIVE)?,
        };
        let mask = array.mask().map(|mask| values::mask_array(py, shape, mask, 0)).transpose()?;
        Ok((data, mask).into_pyobject(py)?)
    }
}

fn attributes<'py>(py: Python<'py>, attributes: &[Attribute]) -> Result<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for attribute in attributes {
        match &attribute.value {
            AttributeValue::Text(text) => all.set_item(&attribute.name, text)?,
            AttributeValue::Texts(texts) => all.set_item(&attribute.name, texts)?,
            AttributeValue::Numbers(numbers) => {
                let array = values::to_numpy(py, &[numbers.len() as u64], numbers, None, Endian::NATIVE)?;
                // As netCDF4 does.
                let value = if numbers.len() == 1 { array.get_item(0)? } else { array };
                all.set_item(&attribute.name, value)?;
            }
            _ => {}
        }
    }
    Ok(all)
}

/// Converts a ds file, as a path or `bytes`, to NetCDF. `kind` is `NETCDF3_CLASSIC`, `NETCDF3_64BIT_OFFSET`, `NETCDF3_64BIT_DATA` or `NETCDF4`.
/// Returns the losses.
#[pyfunction]
#[pyo3(signature = (source, path, *, kind="NETCDF4", sync=false))]
pub(super) fn ds_to_netcdf<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    path: PathBuf,
    kind: &str,
    sync: bool,
) -> Result<Bound<'py, PyAny>> {
    let kind = match kind {
        "NETCDF3_CLASSIC" => Kind::Classic,
        "NETCDF3_64BIT_OFFSET" => Kind::Offset64,
        "NETCDF3_64BIT_DATA" => Kind::Data64,
        "NETCDF4" => Kind::Hdf5,
        other => return Err(PyValueError::new_err(format!("unknown kind of NetCDF {other:?}")).into()),
    };
    let (source, _, name) = open(source)?;
    let sync = if sync { SyncPolicy::Disk } else { SyncPolicy::Never };
    let output = OutputOptions::default().with_overwrite(Overwrite::Replace).with_sync(sync);
    let options = WriteOptions::default().with_kind(Some(kind)).with_output(output);
    let converted = py.detach(|| {
        with_threads(|| {
            let reader =
                dsfmt::Reader::from_source(source, OpenOptions::default()).map_err(|error| error.in_file(name))?;
            from_ds(&reader, &path, &options)
        })
    })?;
    Ok(losses(py, converted.losses.iter().map(|loss| (None, loss)))?)
}
