use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use container_core::arrow::{BatchReader, to_arrow};
use container_core::{Loss, Result};

/// Makes record batches one by one. [`StepReader`] is a [`BatchReader`] of them.
pub trait BatchSteps {
    /// The next batch, or `None` at the end. Not called again after the end or an error.
    ///
    /// # Errors
    /// As [`BatchReader::try_next`].
    fn step(&mut self) -> Result<Option<RecordBatch>>;

    /// The schema of the batches.
    fn schema(&self) -> SchemaRef;

    /// As [`BatchReader::losses`].
    fn losses(&self) -> Vec<Loss> {
        Vec::new()
    }
}

/// A [`BatchReader`] that ends after the first error.
#[derive(Debug)]
pub struct StepReader<S> {
    steps: S,
    is_done: bool,
}

impl<S> StepReader<S> {
    /// Creates a reader of the batches that `steps` makes.
    pub const fn new(steps: S) -> Self {
        Self { steps, is_done: false }
    }
}

impl<S: BatchSteps> StepReader<S> {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.is_done {
            return Ok(None);
        }
        let step = self.steps.step();
        self.is_done = !matches!(step, Ok(Some(_)));
        step
    }
}

impl<S: BatchSteps> Iterator for StepReader<S> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().map_err(to_arrow).transpose()
    }
}

impl<S: BatchSteps> RecordBatchReader for StepReader<S> {
    fn schema(&self) -> SchemaRef {
        self.steps.schema()
    }
}

impl<S: BatchSteps + Send> BatchReader for StepReader<S> {
    fn losses(&self) -> Vec<Loss> {
        self.steps.losses()
    }

    fn try_next(&mut self) -> Result<Option<RecordBatch>> {
        self.next_batch()
    }
}
