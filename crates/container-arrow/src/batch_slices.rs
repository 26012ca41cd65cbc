use arrow_array::RecordBatch;

/// Splits a batch into slices with a fixed number of rows. Zero-copy.
#[derive(Debug, Clone)]
pub struct BatchSlices {
    batch: RecordBatch,
    at: usize,
    rows: usize,
}

impl BatchSlices {
    /// Splits `batch` into slices of `rows` rows; the last one may be shorter. 0 counts as 1.
    #[must_use]
    pub fn new(batch: RecordBatch, rows: usize) -> Self {
        Self { batch, at: 0, rows: rows.max(1) }
    }
}

impl Iterator for BatchSlices {
    type Item = RecordBatch;

    fn next(&mut self) -> Option<RecordBatch> {
        let left = self.batch.num_rows().checked_sub(self.at).filter(|left| *left > 0)?;
        let rows = left.min(self.rows);
        let slice = self.batch.slice(self.at, rows);
        self.at += rows;
        Some(slice)
    }
}
