use std::io::Write;

use container_core::{Error, Result};

/// Bytes buffered before they are written.
const BUFFER_BYTES: usize = 256 << 10;

/// A buffered writer. Rows are formatted directly into its buffer; after a failed write every call fails.
#[derive(Debug)]
pub(super) struct Buffered<W> {
    out: W,
    /// Complete rows, not yet written.
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

    /// Call after each row.
    pub(super) fn row_done(&mut self) -> Result<()> {
        if self.buffer.len() < BUFFER_BYTES { Ok(()) } else { self.write() }
    }

    /// Fails if a write failed before: what was written is unknown then.
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
        // One huge row must not keep its memory.
        self.buffer.shrink_to(4 * BUFFER_BYTES);
        Ok(())
    }
}

fn failed(cause: std::io::Error) -> Error {
    Error::io("cannot write the output", cause)
}
