//! Compares rows by position.

use arrow_array::RecordBatch;
use container_core::Result;

use super::Batches;
use super::values::{Aligned, Found};

/// The rest of the batches of an input.
struct Rows {
    batches: Batches,
    current: Option<RecordBatch>,
    passed: u64,
}

impl Rows {
    fn new(batches: Batches) -> Self {
        Self { batches, current: None, passed: 0 }
    }

    /// The next rows, not taken yet; `None` at the end.
    fn peek(&mut self) -> Result<Option<&RecordBatch>> {
        while self.current.as_ref().is_none_or(|batch| batch.num_rows() == 0) {
            match self.batches.recv() {
                Ok(batch) => self.current = Some(batch?),
                Err(_) => return Ok(None),
            }
        }
        Ok(self.current.as_ref())
    }

    /// Takes rows that were peeked at.
    fn take(&mut self, rows: usize) -> Option<RecordBatch> {
        let batch = self.current.take()?;
        self.current = Some(batch.slice(rows, batch.num_rows() - rows));
        self.passed += rows as u64;
        Some(batch.slice(0, rows))
    }

    /// The number of the remaining rows.
    fn rest(&mut self) -> Result<u64> {
        let mut rest = 0;
        while let Some(rows) = self.peek()?.map(RecordBatch::num_rows) {
            rest += rows as u64;
            self.take(rows);
        }
        Ok(rest)
    }
}

pub(super) fn compare(one: Batches, other: Batches, found: &mut Found) -> Result<()> {
    let (mut one, mut other) = (Rows::new(one), Rows::new(other));
    while let (Some(rows), Some(others)) =
        (one.peek()?.map(RecordBatch::num_rows), other.peek()?.map(RecordBatch::num_rows))
    {
        let (first, rows) = (one.passed, rows.min(others));
        let (Some(left), Some(right)) = (one.take(rows), other.take(rows)) else { break };
        let number = |row: usize| [first + row as u64; 2];
        found.compare(&Aligned { batches: [&left, &right], rows: &number, key: None })?;
    }
    found.differences.only = [one.rest()?, other.rest()?];
    found.differences.rows = [one.passed, other.passed];
    Ok(())
}
