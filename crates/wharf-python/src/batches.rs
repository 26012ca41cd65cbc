//! Record batches, which Python libraries take through the Arrow C interfaces without a copy.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, Field, SchemaRef};
use container_core::arrow::from_arrow;
use container_core::{Error, Loss};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyCapsule, PyTuple};
use pyo3_arrow::error::PyArrowError;
use pyo3_arrow::ffi::{ArrayIterator, to_array_pycapsules, to_schema_pycapsule, to_stream_pycapsule};
use wharf::OwnedBatches;

use crate::callback::attached;
use crate::convert::losses;
use crate::error::{Failure, Result};

/// A stream of record batches: an iterator of `RecordBatch`, or as a whole an input of any library that takes Arrow streams
/// (`pyarrow.table(batches)`, `polars.from_arrow(batches)`).
#[pyclass(module = "wharf_data", frozen)]
pub(crate) struct Batches {
    /// `None` once it was handed on.
    reader: Mutex<Option<OwnedBatches>>,
    schema: SchemaRef,
}

impl Batches {
    pub(crate) fn new(reader: OwnedBatches) -> Self {
        Self { schema: reader.schema(), reader: Mutex::new(Some(reader)) }
    }
}

fn consumed() -> PyErr {
    PyValueError::new_err("the stream of record batches was handed on already")
}

#[pymethods]
impl Batches {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> Result<Option<RecordBatch>> {
        let mut reader = self.reader.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let reader = reader.as_mut().ok_or_else(consumed)?;
        let batch = py.detach(|| reader.next()).transpose().map_err(from_arrow)?;
        Ok(batch.map(RecordBatch))
    }

    /// The schema: an object with `__arrow_c_schema__`.
    #[getter]
    fn schema(&self) -> Schema {
        Schema(Arc::clone(&self.schema))
    }

    /// What could not be represented exactly in the batches so far.
    #[getter]
    fn losses<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let reader = self.reader.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let found: Vec<Loss> = reader.as_ref().ok_or_else(consumed)?.losses();
        Ok(losses(py, found.iter().map(|loss| (None, loss)))?)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> Result<Bound<'py, PyCapsule>> {
        let mut reader = self.reader.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        stream(py, reader.take().ok_or_else(consumed)?, requested_schema)
    }
}

/// The capsule of a stream.
pub(crate) fn stream<'py>(
    py: Python<'py>,
    reader: OwnedBatches,
    requested: Option<Bound<'py, PyCapsule>>,
) -> Result<Bound<'py, PyCapsule>> {
    let schema = reader.schema();
    let field = Field::new_struct("", schema.fields().clone(), false).with_metadata(schema.metadata().clone());
    let iterator = ArrayIterator::new(Arrays(Some(reader)), Arc::new(field));
    to_stream_pycapsule(py, Box::new(iterator), requested).map_err(arrow_error)
}

/// The batches of a stream. A consumer calls it from C: a panic there, and a message with a NUL, would end the process.
struct Arrays(Option<OwnedBatches>);

impl Iterator for Arrays {
    type Item = std::result::Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let reader = self.0.as_mut()?;
        let read = || {
            // Ctrl-C ends a consumer that reads all batches in one call.
            if let Err(error) = attached(|py| py.check_signals()) {
                return Some(Err(ArrowError::ExternalError(error.into())));
            }
            Some(reader.next()?.map(|batch| Arc::new(StructArray::from(batch)) as ArrayRef))
        };
        match catch_unwind(AssertUnwindSafe(read)) {
            Ok(read) => read.map(|batch| batch.map_err(as_text)),
            Err(panic) => {
                // After a panic the reader may be in any state.
                self.0 = None;
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown reason");
                Some(Err(as_text(ArrowError::ExternalError(format!("the reader panicked: {text}").into()))))
            }
        }
    }
}

/// The error as text without NULs, which the C interface does not have.
fn as_text(error: ArrowError) -> ArrowError {
    // Exceptions ask the interpreter for their text.
    let text = attached(|_| match error {
        // Its display adds a prefix, which the new error adds again.
        ArrowError::ExternalError(cause) => Err(cause.to_string()),
        other => Ok(other),
    });
    match text {
        Ok(other) if !other.to_string().contains('\0') => other,
        Ok(other) => ArrowError::ExternalError(other.to_string().replace('\0', "\u{fffd}").into()),
        Err(text) => ArrowError::ExternalError(text.replace('\0', "\u{fffd}").into()),
    }
}

pub(crate) fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> Result<Bound<'py, PyCapsule>> {
    to_schema_pycapsule(py, schema.as_ref()).map_err(arrow_error)
}

/// What the C interface cannot hold, such as a null byte in a name; or an exception.
fn arrow_error(error: PyArrowError) -> Failure {
    match error {
        PyArrowError::ArrowError(error @ ArrowError::CDataInterface(_)) => {
            Failure::Library(Error::unsupported(error.to_string()))
        }
        other => Failure::Python(other.into()),
    }
}

/// A schema.
#[pyclass(module = "wharf_data", frozen)]
pub(crate) struct Schema(pub(crate) SchemaRef);

#[pymethods]
impl Schema {
    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.fields().len()
    }

    fn __repr__(&self) -> String {
        let fields = self.0.fields().iter();
        let fields: Vec<String> = fields.map(|field| format!("{}: {}", field.name(), field.data_type())).collect();
        format!("Schema({})", fields.join(", "))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0)
    }
}

/// A record batch. `pyarrow.record_batch(batch)` shares its memory.
#[pyclass(module = "wharf_data", frozen)]
pub(crate) struct RecordBatch(arrow_array::RecordBatch);

#[pymethods]
impl RecordBatch {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    /// The number of columns.
    #[getter]
    fn num_columns(&self) -> usize {
        self.0.num_columns()
    }

    /// The schema.
    #[getter]
    fn schema(&self) -> Schema {
        Schema(self.0.schema())
    }

    fn __repr__(&self) -> String {
        format!("RecordBatch({} rows, {} columns)", self.0.num_rows(), self.0.num_columns())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0.schema())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> Result<Bound<'py, PyTuple>> {
        let schema = self.0.schema();
        let field = Field::new_struct("", schema.fields().clone(), false).with_metadata(schema.metadata().clone());
        let array = StructArray::from(self.0.clone());
        to_array_pycapsules(py, Arc::new(field), &array, requested_schema).map_err(arrow_error)
    }
}

/// Reads the stream of a Python object with `__arrow_c_stream__`, or the one batch of one with `__arrow_c_array__`.
pub(crate) fn imported(object: &Bound<'_, PyAny>) -> Result<wharf::BoxedBatches> {
    if object.hasattr("__arrow_c_stream__")? {
        let reader: pyo3_arrow::PyRecordBatchReader = object.extract()?;
        return Ok(reader.into_reader()?);
    }
    let batch: pyo3_arrow::PyRecordBatch = object.extract()?;
    let batch = batch.into_inner();
    let schema = batch.schema();
    Ok(Box::new(arrow_array::RecordBatchIterator::new([Ok(batch)], schema)))
}
