//! Data that are walked over from the beginning to the end, wherever they are.

use container_core::{Bytes, Error, ErrorKind, Limits, Result, Source};

use crate::verify::message::{Allowance, Flaw, Message, inspect};
use crate::wire::Tokens;

/// Bytes that are read at once where they are not in memory.
const STEP: u64 = 1 << 20;

/// Bytes in which a message is looked for first.
const FIRST: u64 = 4 << 10;

/// So many bytes that are read for a message cost as much as a value.
const READ: u64 = 16;

/// A source, and what was read of it last.
pub(crate) struct Window<'a> {
    source: &'a Source,
    limits: Limits,
    held: Bytes,
    start: u64,
}

impl<'a> Window<'a> {
    pub(crate) fn new(source: &'a Source, limits: Limits) -> Self {
        Self { source, limits, held: Bytes::new(), start: 0 }
    }

    pub(crate) fn len(&self) -> u64 {
        self.source.len()
    }

    /// The bytes from a place on: all of them where they are in memory, else at least so many, or up to the end of the data.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) of the source; [`Limit`](ErrorKind::Limit) when more are wanted than a sample may have.
    pub(crate) fn from(&mut self, at: u64, want: u64) -> Result<&[u8]> {
        if let Some(all) = self.source.as_slice() {
            return Ok(usize::try_from(at).ok().and_then(|at| all.get(at..)).unwrap_or_default());
        }
        let end = self.len().min(at.saturating_add(want));
        let held = self.start..self.start + self.held.len() as u64;
        if !(held.start <= at && end <= held.end) {
            self.limits.check_block("the length of a sample", end.saturating_sub(at)).map_err(|error| error.at(at))?;
            let more = self.len().min(at.saturating_add(want.max(STEP))).max(at);
            self.held = self.source.read(at..more)?;
            self.start = at;
        }
        let place = usize::try_from(at - self.start).unwrap_or(usize::MAX);
        Ok(self.held.get(place..).unwrap_or_default())
    }

    /// Looks at the message that stands at a place. Fuel that it takes is taken from the allowance.
    ///
    /// # Errors
    /// Why it is not whole.
    pub(crate) fn message(
        &mut self,
        at: u64,
        allowance: &mut Allowance,
        found: &mut dyn FnMut(Flaw, Error),
    ) -> Result<Message<'_>> {
        if let Some(all) = self.source.as_slice() {
            let bytes = usize::try_from(at).ok().and_then(|at| all.get(at..)).unwrap_or_default();
            return inspect(&mut Tokens::at(bytes, at), allowance, found);
        }
        let mut want = FIRST;
        // Grows until the message is in it; then it is looked at once more, for good.
        loop {
            let len = self.len();
            let bytes = self.from(at, want)?;
            let all = at + bytes.len() as u64 >= len;
            let mut trial = *allowance;
            let outcome = inspect(&mut Tokens::at(bytes, at), &mut trial, &mut |_, _| {});
            match outcome {
                Err(error) if !all && matches!(error.kind(), ErrorKind::Truncated { .. }) => {
                    let ErrorKind::Truncated { needed, .. } = error.kind() else { continue };
                    // What is needed at once is read at once; it is never more than there is.
                    want = (bytes.len() as u64).saturating_mul(2).max(needed.min(len - at));
                    allowance.spend(want / READ)?;
                }
                Err(error) => {
                    *allowance = trial;
                    return Err(error);
                }
                Ok(_) => break,
            }
        }
        let bytes = self.from(at, want)?;
        inspect(&mut Tokens::at(bytes, at), allowance, found)
    }
}
