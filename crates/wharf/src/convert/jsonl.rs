use std::io::Write;

use container_core::{Loss, Position, Result, Rows};

use super::Sink;
use super::buffered::Buffered;

/// Writes rows as JSON lines: one object per row, one row per line. Tables with different columns may follow one another.
///
/// A row that is not an object, as a datadings sample can be, is written unchanged and counted as a loss: table readers reject such a line.
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
    other_values: Option<Loss>,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `out`, buffered.
    pub fn new(out: W) -> Self {
        Self { out: Buffered::new(out), other_values: None }
    }

    /// The writer.
    pub fn get_ref(&self) -> &W {
        self.out.get_ref()
    }

    /// Flushes the buffer and returns the writer.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) of the writer; [`Usage`](crate::ErrorKind::Usage) if a write failed before.
    pub fn finish(self) -> Result<W> {
        self.out.finish()
    }
}

impl<W> JsonLines<W> {
    #[cold]
    fn count_other_value(&mut self, row: u64) {
        let first = || Loss::new("row written as a line that is not an object", 0, Position::of_row(row));
        self.other_values.get_or_insert_with(first).count += 1;
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
        // Documents are as they are stored, maybe with white space in front.
        let row = self.out.buffer.get(before..).unwrap_or_default().trim_ascii_start();
        if row.first() != Some(&b'{') {
            self.count_other_value(rows.index());
        }
        self.out.buffer.push(b'\n');
        self.out.row_done()
    }

    fn flush(&mut self) -> Result<()> {
        self.out.flush()
    }

    fn losses(&self) -> Vec<Loss> {
        self.other_values.iter().cloned().collect()
    }
}
