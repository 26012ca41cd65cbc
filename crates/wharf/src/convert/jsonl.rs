use std::io::Write;

use container_core::{Loss, Result, Rows};

use super::Sink;
use super::buffered::Buffered;

/// Rows as JSON lines: one object per row, one row per line. Tables may follow one another whatever their columns.
///
/// ```no_run
/// use wharf::convert::{JsonLines, copy};
/// # let container = wharf::open("x")?;
/// let mut lines = JsonLines::new(std::io::stdout().lock());
/// copy(container.tables()[0], &wharf::Scan::default(), &mut lines)?;
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug)]
pub struct JsonLines<W> {
    out: Buffered<W>,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `out`, in large pieces.
    pub fn new(out: W) -> Self {
        Self { out: Buffered::new(out) }
    }

    /// The writer.
    pub fn get_ref(&self) -> &W {
        self.out.get_ref()
    }

    /// Writes what is held back and gives the writer back.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) of the writer; [`Usage`](crate::ErrorKind::Usage) when a write failed before.
    pub fn finish(self) -> Result<W> {
        self.out.finish()
    }
}

impl<W: Write> Sink for JsonLines<W> {
    fn begin(&mut self, _: &[&str]) -> Result<()> {
        self.out.check()
    }

    fn write(&mut self, rows: &dyn Rows) -> Result<()> {
        self.out.check()?;
        let before = self.out.buffer.len();
        if let Err(error) = rows.json(&mut self.out.buffer) {
            self.out.buffer.truncate(before);
            return Err(error.in_row(rows.index()));
        }
        self.out.buffer.push(b'\n');
        self.out.row_done()
    }

    fn flush(&mut self) -> Result<()> {
        self.out.flush()
    }

    fn losses(&self) -> Vec<Loss> {
        Vec::new()
    }
}
