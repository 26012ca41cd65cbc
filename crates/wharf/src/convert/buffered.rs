use std::io::Write;

use container_core::{Error, Result};

/// Bytes held back before they are written in one piece.
const PIECE: usize = 256 << 10;

/// A writer with a buffer that rows are printed into directly, and that knows when a write has failed.
#[derive(Debug)]
pub(super) struct Buffered<W> {
    out: W,
    /// Whole rows, not yet written.
    pub(super) buffer: Vec<u8>,
    failed: bool,
}

impl<W: Write> Buffered<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, buffer: Vec::new(), failed: false }
    }

    pub(super) fn get_ref(&self) -> &W {
        &self.out
    }

    /// To be called after each row.
    pub(super) fn row_done(&mut self) -> Result<()> {
        if self.buffer.len() < PIECE { Ok(()) } else { self.write() }
    }

    /// Fails when a write has failed before: what was written is then unknown.
    pub(super) fn check(&self) -> Result<()> {
        if self.failed { Err(Error::usage("the sink was used after a write to it failed")) } else { Ok(()) }
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.write()?;
        self.failed = true;
        self.out.flush().map_err(failed)?;
        self.failed = false;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<W> {
        self.flush()?;
        Ok(self.out)
    }

    fn write(&mut self) -> Result<()> {
        self.check()?;
        self.failed = true;
        self.out.write_all(&self.buffer).map_err(failed)?;
        self.failed = false;
        self.buffer.clear();
        // One huge row must not cost its memory for the rest of the run.
        self.buffer.shrink_to(4 * PIECE);
        Ok(())
    }
}

fn failed(cause: std::io::Error) -> Error {
    Error::io("cannot write the output", cause)
}
