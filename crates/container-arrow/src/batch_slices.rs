use arrow_array::RecordBatch;

/// Cuts a batch into slices of some rows each, without copying.
#[derive(Debug, Clone)]
pub struct BatchSlices {
    batch: RecordBatch,
    at: usize,
    rows: usize,
}

impl BatchSlices {
    /// Slices of `rows` rows, the last one of the rest; 0 counts as 1.
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
        let piece = self.batch.slice(self.at, rows);
        self.at += rows;
        Some(piece)
    }
}
