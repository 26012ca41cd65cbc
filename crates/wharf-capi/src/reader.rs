//! Tables as streams of record batches: `Reader` for a selection, `Stream` for its batches.

use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use wharf::hub::select;
use wharf::{BatchReader, Container, Error, Loss, OwnedBatches, Result, Scan};

use crate::error::{self, Status, catch};
use crate::options::{self, Selection};

/// A selection of a table, which can be streamed once.
pub(crate) struct Reader {
    schema: SchemaRef,
    state: Arc<Mutex<State>>,
}

enum State {
    Unread(Box<dyn BatchReader>),
    Streamed(Box<dyn BatchReader>),
    Ended(Vec<Loss>),
}

impl State {
    fn losses(&self) -> Vec<Loss> {
        match self {
            Self::Unread(batches) | Self::Streamed(batches) => batches.losses(),
            Self::Ended(losses) => losses.clone(),
        }
    }
}

/// Nothing panics between two changes of a state; a reader that panicked is replaced by [`Stream::next`].
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reader {
    pub(crate) fn open(container: Arc<dyn Container>, selection: &Selection<'_>, options: &[&str]) -> Result<Self> {
        let table = select::table(container.as_ref(), selection.table)?;
        let mut rows = Scan::default().with_rows(selection.rows.clone()).with_threads(selection.threads);
        rows.columns = select::columns(table, &selection.quoted_columns())?;
        let scan = options::scan(rows, options)?;
        let batches = OwnedBatches::new(container, selection.table, &scan)?;
        check_exportable(&batches.schema())?;
        Ok(Self::new(Box::new(batches)))
    }

    pub(crate) fn new(batches: Box<dyn BatchReader>) -> Self {
        Self { schema: batches.schema(), state: Arc::new(Mutex::new(State::Unread(batches))) }
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// All batches, once.
    pub(crate) fn stream(&self) -> Result<Stream> {
        let mut state = lock(&self.state);
        match mem::replace(&mut *state, State::Ended(Vec::new())) {
            State::Unread(batches) => *state = State::Streamed(batches),
            other => {
                *state = other;
                return Err(Error::usage("a reader can be streamed only once: open another one"));
            }
        }
        Ok(Stream { schema: Arc::clone(&self.schema), state: Arc::clone(&self.state) })
    }

    /// Of the batches so far.
    pub(crate) fn losses(&self) -> Vec<Loss> {
        lock(&self.state).losses()
    }
}

/// Fails for a schema that the C data interface cannot express: consumers must be able to get it from the stream.
fn check_exportable(schema: &Schema) -> Result<()> {
    let has_nul = |field: &&Field| {
        let zone = match field.data_type() {
            DataType::Timestamp(_, Some(zone)) => zone,
            _ => "",
        };
        field.name().contains('\0') || zone.contains('\0')
    };
    if let Some(field) = schema.flattened_fields().into_iter().find(has_nul) {
        let detail = "the Arrow C data interface has no names with the character U+0000";
        return Err(Error::unsupported(detail).in_column(field.name().clone()));
    }
    FFI_ArrowSchema::try_from(schema).map(drop).map_err(|error| Error::unsupported(error.to_string()))
}

/// The batches of a [`Reader`], for [`FFI_ArrowArrayStream`](arrow_array::ffi_stream::FFI_ArrowArrayStream), whose callbacks do not catch panics.
pub(crate) struct Stream {
    schema: SchemaRef,
    state: Arc<Mutex<State>>,
}

impl Stream {
    fn step(&self) -> Result<Option<RecordBatch>> {
        match &mut *lock(&self.state) {
            State::Streamed(batches) => batches.try_next(),
            _ => Ok(None),
        }
    }

    /// Keeps only the losses.
    fn end(&self) -> Result<()> {
        let ended; // dropped after the lock, also by a panic: a callback may release the bytes of its container
        let mut state = lock(&self.state);
        ended = mem::replace(&mut *state, State::Ended(Vec::new()));
        *state = State::Ended(ended.losses()); // panics for some readers that have panicked
        Ok(())
    }
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = catch(|| self.step()).transpose();
        if !matches!(next, Some(Ok(_))) {
            let _ = catch(|| self.end()); // the first error counts
        }
        next.map(|next| {
            next.map_err(|error| {
                let message = error.message();
                match error::set(error) {
                    Status::Io => ArrowError::IoError(message.clone(), io::Error::other(message)),
                    Status::Unsupported => ArrowError::NotYetImplemented(message),
                    _ => ArrowError::ExternalError(message.into()),
                }
            })
        })
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = catch(|| self.end()); // a caller that releases a stream asks for no errors
    }
}
