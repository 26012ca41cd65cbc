//! Streams of callers.
//!
//! In place of `ArrowArrayStreamReader`, which panics when a stream fails without a message, and trusts the values of its arrays.

use std::ffi::{CStr, c_int};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchOptions, RecordBatchReader, StructArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use wharf::{Error, Result};

use super::arguments::check;
use crate::error::panic_message;

/// A stream of the caller, which is released when it is dropped.
pub(super) struct ImportedStream(FFI_ArrowArrayStream);

impl ImportedStream {
    /// Moves the stream, and marks the caller's structure as released.
    ///
    /// # Safety
    /// The pointer is null, or one to a structure that follows the Arrow C stream interface.
    pub(super) unsafe fn take(pointer: *mut FFI_ArrowArrayStream) -> Result<Self> {
        check(pointer, "stream")?;
        // SAFETY: the promise of the caller, and the pointer is aligned.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer) };
        match stream.release {
            Some(_) => Ok(Self(stream)),
            None => Err(Error::usage("the stream was released before")),
        }
    }

    /// Gets the schema.
    pub(super) fn open(mut self) -> Result<ImportedBatches> {
        let (Some(get_schema), Some(_)) = (self.0.get_schema, self.0.get_next) else {
            return Err(Error::usage("the stream has no get_schema or no get_next"));
        };
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: a function of a stream that is not released, and a structure to fill in.
        match unsafe { get_schema(&raw mut self.0, &raw mut schema) } {
            0 => {}
            code => return Err(self.error(code)),
        }
        let schema = import(|| Schema::try_from(&schema))
            .map_err(|error| Error::invalid(format!("schema of the stream: {error}")))?;
        Ok(ImportedBatches { stream: self, schema: Arc::new(schema) })
    }

    fn error(&mut self, code: c_int) -> Error {
        const EIO: c_int = 5; // everywhere
        // SAFETY: a function of a stream that is not released, after a failure.
        let message = self.0.get_last_error.map(|get_last_error| unsafe { get_last_error(&raw mut self.0) });
        let message = message.filter(|message| !message.is_null());
        // SAFETY: the interface promises a text that is valid until the next call.
        let message = message.map(|message| unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned());
        let cause = io::Error::from_raw_os_error(code);
        match (code, message) {
            (EIO, message) => Error::io(message.unwrap_or_else(|| "cannot read the stream".to_owned()), cause),
            (_, Some(message)) => Error::invalid(message),
            (_, None) => Error::invalid(format!("the stream failed: {cause}")),
        }
    }
}

/// Imports a structure of the caller. arrow-rs panics for one that violates the interface, such as a schema without a format.
fn import<T>(call: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, ArrowError> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| {
        let panicked = panic_message(payload.as_ref());
        Err(ArrowError::CDataInterface(format!("the structure violates the interface: {panicked}")))
    })
}

/// The batches of an [`ImportedStream`].
pub(super) struct ImportedBatches {
    stream: ImportedStream,
    schema: SchemaRef,
}

impl ImportedBatches {
    fn step(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(get_next) = self.stream.0.get_next else { return Ok(None) };
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: a function of a stream that is not released, and a structure to fill in.
        match unsafe { get_next(&raw mut self.stream.0, &raw mut array) } {
            0 if array.is_released() => return Ok(None),
            0 => {}
            code => return Err(ArrowError::ExternalError(Box::new(self.stream.error(code)))),
        }
        let fields = DataType::Struct(self.schema.fields().clone());
        let rows = import(|| {
            // SAFETY: the interface promises an array of this type. Values, such as UTF-8 and offsets, are validated below, before they are used.
            let data = unsafe { from_ffi_and_data_type(array, fields)? };
            data.validate_full()?;
            Ok(StructArray::from(data))
        })?;
        if rows.null_count() > 0 {
            return Err(ArrowError::InvalidArgumentError("expected rows, found null instead of one".to_owned()));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), rows.into_parts().1, &options).map(Some)
    }
}

impl Iterator for ImportedBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

impl RecordBatchReader for ImportedBatches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
