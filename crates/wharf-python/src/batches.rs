//! Record batches, which Python libraries take through the Arrow C interfaces without a copy.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatchOptions, RecordBatchReader, StructArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema as ArrowSchema, SchemaRef};
use container_core::arrow::from_arrow;
use container_core::{Error, ErrorKind, Loss};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyCapsule, PyTuple};
use pyo3_arrow::error::PyArrowError;
use pyo3_arrow::ffi::{ArrayIterator, ArrayReader, to_array_pycapsules, to_schema_pycapsule, to_stream_pycapsule};
use pyo3_arrow::{PyArrayReader, PyRecordBatch, PySchema};
use wharf::OwnedBatches;

use crate::callback::{attached, interrupt_again};
use crate::convert::losses;
use crate::error::{Failure, Result};
use crate::interrupt::{Caller, Cancel};

/// A stream of record batches: an iterator of `RecordBatch`, or as a whole an input of any library that takes Arrow streams
/// (`pyarrow.table(batches)`, `polars.from_arrow(batches)`).
#[pyclass(module = "wharf_data", frozen)]
pub(crate) struct Batches {
    /// `None` once it was handed on.
    reader: Mutex<Option<OwnedBatches>>,
    schema: SchemaRef,
    cancel: Arc<Cancel>,
}

impl Batches {
    /// `cancel` is the listener of the progress of the reader.
    pub(crate) fn new(reader: OwnedBatches, cancel: Arc<Cancel>) -> Self {
        Self { schema: reader.schema(), reader: Mutex::new(Some(reader)), cancel }
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
        self.cancel.watch();
        match py.detach(|| reader.next()).transpose().map_err(from_arrow) {
            Ok(batch) => Ok(batch.map(RecordBatch)),
            Err(error) => Err(match self.cancel.raised().filter(|_| error.kind() == ErrorKind::Cancelled) {
                Some(raised) => raised.into(),
                None => error.into(),
            }),
        }
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
        stream(py, reader.take().ok_or_else(consumed)?, &self.cancel, requested_schema)
    }
}

/// The capsule of a stream. `cancel` is the listener of the progress of the reader.
pub(crate) fn stream<'py>(
    py: Python<'py>,
    reader: OwnedBatches,
    cancel: &Arc<Cancel>,
    requested: Option<Bound<'py, PyCapsule>>,
) -> Result<Bound<'py, PyCapsule>> {
    let own = reader.schema();
    let schema = requested.map(|requested| self::requested(&own, &requested)).transpose()?.unwrap_or(own);
    let field = Field::new_struct("", schema.fields().clone(), false).with_metadata(schema.metadata().clone());
    let arrays = Arrays { reader: Some(reader), schema, cancel: Arc::clone(cancel) };
    let iterator = ArrayIterator::new(arrays, Arc::new(field));
    to_stream_pycapsule(py, Box::new(iterator), None).map_err(arrow_error)
}

/// The batches of a stream. A consumer calls it from C: a panic there, and a message with a NUL, would end the process.
struct Arrays {
    reader: Option<OwnedBatches>,
    schema: SchemaRef,
    cancel: Arc<Cancel>,
}

impl Iterator for Arrays {
    type Item = std::result::Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Self { reader, schema, cancel } = self;
        let own = reader.as_mut()?;
        let read = || {
            // Ctrl-C ends a consumer that reads all batches in one call.
            if let Err(error) = attached(|py| py.check_signals()) {
                return Some(Err(interrupted(error)));
            }
            cancel.watch();
            let batch = own.next()?.and_then(|batch| conformed(&batch, schema));
            Some(match batch {
                Ok(batch) => Ok(Arc::new(StructArray::from(batch)) as ArrayRef),
                Err(error) => Err(cancel.raised().map_or(error, interrupted)),
            })
        };
        match catch_unwind(AssertUnwindSafe(read)) {
            Ok(read) => read.map(|batch| batch.map_err(as_text)),
            Err(panic) => {
                // After a panic the reader may be in any state.
                *reader = None;
                Some(Err(as_text(panicked("the reader", panic.as_ref()))))
            }
        }
    }
}

/// The error for an exception of a signal handler. Consumers turn it into one of their own, which a program may catch and go on: Ctrl-C is raised
/// again.
fn interrupted(error: PyErr) -> ArrowError {
    let text = attached(|py| {
        // First: asking for the text of an exception looks for signals.
        let text = error.to_string();
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            interrupt_again(py);
        }
        text
    });
    ArrowError::ExternalError(text.into())
}

fn panicked(who: &str, panic: &(dyn std::any::Any + Send)) -> ArrowError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown reason");
    ArrowError::ExternalError(format!("{who} panicked: {text}").into())
}

/// The schema that a consumer gets which asks for this one: its types, for the same columns.
fn requested(own: &SchemaRef, capsule: &Bound<'_, PyCapsule>) -> Result<SchemaRef> {
    let requested = PySchema::from_arrow_pycapsule(capsule)?.into_inner();
    let names = |schema: &SchemaRef| schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    if names(own) != names(&requested) {
        let detail =
            format!("the requested schema has the columns {:?}, the table {:?}", names(&requested), names(own));
        return Err(Error::usage(detail).into());
    }
    let field = |(own, requested): (&FieldRef, &FieldRef)| match own.data_type() == requested.data_type() {
        true => Arc::new(Field::clone(own).with_nullable(requested.is_nullable())),
        false => Arc::clone(requested),
    };
    let fields: Vec<FieldRef> = own.fields().iter().zip(requested.fields()).map(field).collect();
    Ok(Arc::new(ArrowSchema::new_with_metadata(fields, own.metadata().clone())))
}

/// The batch with the types of this schema.
///
/// # Errors
/// A value is another one in the requested type, or none.
fn conformed(
    batch: &arrow_array::RecordBatch,
    schema: &SchemaRef,
) -> std::result::Result<arrow_array::RecordBatch, ArrowError> {
    if batch.schema_ref().fields() == schema.fields() {
        return Ok(batch.clone());
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let column = |(column, field): (&ArrayRef, &FieldRef)| {
        if column.data_type() == field.data_type() {
            return Ok(Arc::clone(column));
        }
        let cast = cast_with_options(column, field.data_type(), &options)?;
        // Fractions, and times finer than the unit, are cut without an error.
        let back = cast_with_options(&cast, column.data_type(), &options)?;
        match back.as_ref() == column.as_ref() {
            true => Ok(cast),
            false => {
                let (name, from, to) = (field.name(), column.data_type(), field.data_type());
                let detail = format!("column {name:?}: values of type {from} are others in the requested type {to}");
                Err(ArrowError::CastError(detail))
            }
        }
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(column);
    let columns = columns.collect::<std::result::Result<Vec<ArrayRef>, ArrowError>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    arrow_array::RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
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
        let own = self.0.schema();
        let schema = requested_schema.map(|asked| requested(&own, &asked)).transpose()?.unwrap_or(own);
        let batch = conformed(&self.0, &schema).map_err(from_arrow)?;
        let field = Field::new_struct("", schema.fields().clone(), false).with_metadata(schema.metadata().clone());
        to_array_pycapsules(py, Arc::new(field), &StructArray::from(batch), None).map_err(arrow_error)
    }
}

/// Reads the stream of a Python object with `__arrow_c_stream__`, or the one batch of one with `__arrow_c_array__`. Batches are validated. They are read
/// on the thread of `caller`: a generator depends on it, for example by its context variables.
pub(crate) fn imported(object: &Bound<'_, PyAny>, caller: Caller) -> Result<wharf::BoxedBatches> {
    if object.hasattr("__arrow_c_stream__")? {
        let reader = object.extract::<PyArrayReader>()?.into_reader()?;
        let field = reader.field();
        let DataType::Struct(fields) = field.data_type() else {
            let detail = format!("expected a stream of record batches, found one of {}", field.data_type());
            return Err(Error::usage(detail).into());
        };
        let schema = Arc::new(ArrowSchema::new_with_metadata(fields.clone(), field.metadata().clone()));
        return Ok(Box::new(Imported { reader: Some(reader), schema, caller }));
    }
    let batch: PyRecordBatch = object.extract()?;
    let batch = batch.into_inner();
    let schema = batch.schema();
    let batch = rows(&StructArray::from(batch), &schema);
    Ok(Box::new(arrow_array::RecordBatchIterator::new([batch], schema)))
}

/// The batches of a stream of Python.
struct Imported {
    /// `None` after the end.
    reader: Option<Box<dyn ArrayReader + Send>>,
    schema: SchemaRef,
    caller: Caller,
}

impl Iterator for Imported {
    type Item = std::result::Result<arrow_array::RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut reader = self.reader.take()?;
        // The library panics if a stream fails without a message.
        let read = move || (catch_unwind(AssertUnwindSafe(|| reader.next())), reader);
        match self.caller.call(read) {
            Some((Ok(array), reader)) => {
                let array = array?;
                self.reader = Some(reader);
                Some(array.and_then(|array| {
                    let found =
                        || ArrowError::InvalidArgumentError(format!("expected rows, found {}", array.data_type()));
                    rows(array.as_struct_opt().ok_or_else(found)?, &self.schema)
                }))
            }
            Some((Err(panic), _)) => Some(Err(panicked("the stream", panic.as_ref()))),
            None => Some(Err(ArrowError::ExternalError("the stream cannot be read any more".into()))),
        }
    }
}

impl RecordBatchReader for Imported {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// The batch of these rows, whose values another library made: text may be invalid, and offsets out of bounds.
fn rows(array: &StructArray, schema: &SchemaRef) -> std::result::Result<arrow_array::RecordBatch, ArrowError> {
    array.to_data().validate_full()?;
    if array.null_count() > 0 {
        return Err(ArrowError::InvalidArgumentError("expected rows, found null instead of one".to_owned()));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(array.len()));
    arrow_array::RecordBatch::try_new_with_options(Arc::clone(schema), array.columns().to_vec(), &options)
}
