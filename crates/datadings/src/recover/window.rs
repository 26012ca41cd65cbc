//! Reads data sequentially, from memory or by position.

use container_core::{Bytes, Error, ErrorKind, Limits, Result, Source};

use crate::verify::message::{Budget, Flaw, Message, inspect};
use crate::wire::Tokens;

/// Bytes read at once if the data are not in memory.
const STEP: u64 = 1 << 20;

/// Bytes in which a message is expected first.
const INITIAL_LEN: u64 = 4 << 10;

/// Bytes read for a message that cost as much as one value.
const READ_BYTES_PER_UNIT: u64 = 16;

/// A source and the bytes read from it last.
pub(crate) struct Window<'a> {
    source: &'a Source,
    limits: Limits,
    buffer: Bytes,
    start: u64,
}

impl<'a> Window<'a> {
    pub(crate) fn new(source: &'a Source, limits: Limits) -> Self {
        Self { source, limits, buffer: Bytes::new(), start: 0 }
    }

    pub(crate) fn len(&self) -> u64 {
        self.source.len()
    }

    /// The bytes from `at`: all of them if the data are in memory, else at least `min_len`, or up to the end of the data.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) of the source; [`Limit`](ErrorKind::Limit) when `min_len` exceeds the maximum sample length.
    pub(crate) fn bytes_from(&mut self, at: u64, min_len: u64) -> Result<&[u8]> {
        if let Some(all) = self.source.as_slice() {
            return Ok(usize::try_from(at).ok().and_then(|at| all.get(at..)).unwrap_or_default());
        }
        let end = self.len().min(at.saturating_add(min_len));
        let buffered = self.start..self.start + self.buffer.len() as u64;
        if !(buffered.start <= at && end <= buffered.end) {
            self.limits.check_block("sample length", end.saturating_sub(at)).map_err(|error| error.at(at))?;
            let read_end = self.len().min(at.saturating_add(min_len.max(STEP))).max(at);
            self.buffer = self.source.read(at..read_end)?;
            self.start = at;
        }
        let start = usize::try_from(at - self.start).unwrap_or(usize::MAX);
        Ok(self.buffer.get(start..).unwrap_or_default())
    }

    /// Inspects the message at `at`, charging the work to `budget`.
    ///
    /// # Errors
    /// Why the message is not complete.
    pub(crate) fn message(
        &mut self,
        at: u64,
        budget: &mut Budget,
        report: &mut dyn FnMut(Flaw, Error),
    ) -> Result<Message<'_>> {
        if let Some(all) = self.source.as_slice() {
            let bytes = usize::try_from(at).ok().and_then(|at| all.get(at..)).unwrap_or_default();
            return inspect(&mut Tokens::at(bytes, at), budget, report);
        }
        let mut min_len = INITIAL_LEN;
        // Grow until the message is complete; then inspect it once more and report.
        loop {
            let len = self.len();
            let bytes = self.bytes_from(at, min_len)?;
            let reaches_end = at + bytes.len() as u64 >= len;
            let mut trial = *budget;
            let outcome = inspect(&mut Tokens::at(bytes, at), &mut trial, &mut |_, _| {});
            match outcome {
                Err(error) if !reaches_end && matches!(error.kind(), ErrorKind::Truncated { .. }) => {
                    let ErrorKind::Truncated { needed, .. } = error.kind() else { continue };
                    // Read what the message declares at once, but never past the end.
                    min_len = (bytes.len() as u64).saturating_mul(2).max(needed.min(len - at));
                    budget.spend(min_len / READ_BYTES_PER_UNIT)?;
                }
                Err(error) => {
                    *budget = trial;
                    return Err(error);
                }
                Ok(_) => break,
            }
        }
        let bytes = self.bytes_from(at, min_len)?;
        inspect(&mut Tokens::at(bytes, at), budget, report)
    }
}
