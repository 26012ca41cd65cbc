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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::Schema;
    use container_core::Error;

    use super::*;

    /// What each step returns: a batch, an error, or nothing.
    struct Steps(Vec<Result<Option<RecordBatch>>>);

    impl BatchSteps for Steps {
        fn step(&mut self) -> Result<Option<RecordBatch>> {
            self.0.remove(0)
        }

        fn schema(&self) -> SchemaRef {
            Arc::new(Schema::empty())
        }
    }

    #[test]
    fn takes_no_step_after_the_end_or_an_error() {
        let batch = || Ok(Some(RecordBatch::new_empty(Arc::new(Schema::empty()))));
        let mut failing = StepReader::new(Steps(vec![batch(), Err(Error::invalid("wrong"))]));
        assert!(failing.try_next().unwrap().is_some());
        assert_eq!(failing.try_next().unwrap_err().detail(), "wrong");
        assert!(failing.try_next().unwrap().is_none());
        let mut ending = StepReader::new(Steps(vec![batch(), Ok(None)]));
        assert_eq!((ending.by_ref().count(), ending.count()), (1, 0));
    }
}
