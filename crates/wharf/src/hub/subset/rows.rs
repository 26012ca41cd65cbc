//! Records of formats without an index: lines of text byte for byte, rows of columns as conversions write them.

use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_arrow::Times;
use container_core::{Bytes, Error, ErrorKind, Input, Output, Overwrite, Progress, Result, Source};

use super::super::convert::{Convert, PickedRows, Report, Target, TargetUnit, To};
use super::super::env::Opener;
use super::super::inputs::Location;
use super::super::select::RowRange;
use super::super::transaction::Transaction;
use super::super::zds::Ready;
use super::super::{Bar, Lost, output, rows, tick};
use super::Written;
use super::records::{New, Out, Records};
use crate::Registry;
use crate::text::values::write_single_line;
use crate::text::{TextContainer, TextFormat, TextOptions};

/// Rows of a format that the registry knows.
struct Rows<S> {
    format: &'static str,
    /// Writes files like the input.
    target: Box<dyn Target>,
    registry: Registry,
    len: u64,
    source: S,
}

/// How records are found in a source.
trait RowSource {
    fn create<'a>(rows: &'a Rows<Self>, new: &New<'_>) -> Result<Box<dyn Out + 'a>>
    where
        Self: Sized;
}

/// Records of a text.
struct Lines {
    name: String,
    source: Source,
    /// The header.
    head: Bytes,
    /// The offsets of all records, and the end of the last.
    starts: Vec<u64>,
    end: u64,
    is_array: bool,
    /// Blanks at the end of a record belong to its last cell.
    is_cells: bool,
}

/// Rows of columns.
struct Columns {
    location: Location,
    input: Input,
}

/// Opens an input of this format; `None` if it has no rows to select.
pub(super) fn open(
    location: &Location,
    input: &Input,
    format: &'static str,
    opener: &Opener<'_>,
) -> Result<Option<Box<dyn Records>>> {
    let named = |error: Error| error.in_file(location.name());
    let target = rows::target_like(format, input, &opener.registry).map_err(named)?;
    let registry = opener.registry.clone();
    if let (Some(text), Some(source)) = (TextFormat::named(format), input.source()) {
        let opened = TextContainer::open(source.clone(), &TextOptions::new(text)).map_err(named)?;
        let (head, (starts, end)) = (opened.head().map_err(named)?, opened.starts().map_err(named)?);
        let (name, source, is_array) = (location.name(), source.clone(), opened.is_array());
        let len = starts.len() as u64;
        let source = Lines { name, source, head, starts, end, is_array, is_cells: text.is_cells() };
        return Ok(Some(Box::new(Rows { format, target, registry, len, source })));
    }
    // Their variables can be selected, not their rows.
    if target.info().unit == TargetUnit::Variables {
        return Ok(None);
    }
    let container = opener.container(input).map_err(named)?;
    let len = match container.tables().as_slice() {
        [table] if table.arrow().is_some() => table.len(),
        _ => return Ok(None),
    };
    let len = len.ok_or_else(|| named(Error::unsupported("the number of rows is unknown")))?;
    let source = Columns { location: location.clone(), input: input.clone() };
    Ok(Some(Box::new(Rows { format, target, registry, len, source })))
}

impl<S: RowSource> Records for Rows<S> {
    fn format(&self) -> &'static str {
        self.format
    }

    fn unit(&self) -> TargetUnit {
        TargetUnit::Rows
    }

    fn len(&self) -> Result<u64> {
        Ok(self.len)
    }

    fn refuse(&self, path: &Path, force: bool, inputs: &[Location]) -> Result<()> {
        if path == Path::new("-") {
            return Err(Error::usage("records are copied into a file, not standard output: give a path"));
        }
        output::options(path, force, inputs).map(drop)
    }

    fn transaction(&self, force: bool) -> Transaction {
        Transaction::files(force)
    }

    fn create<'a>(&'a self, new: &New<'_>) -> Result<Box<dyn Out + 'a>> {
        S::create(self, new)
    }
}

impl RowSource for Lines {
    fn create<'a>(rows: &'a Rows<Self>, new: &New<'_>) -> Result<Box<dyn Out + 'a>> {
        let lines = &rows.source;
        let mut out = BufWriter::new(output::create(new.temporary, new.force, std::slice::from_ref(new.input))?);
        // Readers of JSON lines expect lines under these names.
        let extension = new.path.extension().unwrap_or_default();
        let is_lines = ["jsonl", "ndjson"].iter().any(|lines| extension.eq_ignore_ascii_case(lines));
        let is_array = lines.is_array && !is_lines;
        if !lines.is_array {
            out.write_all(&lines.head).map_err(failed)?;
        } else if is_array {
            out.write_all(b"[").map_err(failed)?;
        }
        Ok(Box::new(LineOutput { lines, is_array, path: new.path.to_owned(), out, rows: 0 }))
    }
}

impl RowSource for Columns {
    fn create<'a>(rows: &'a Rows<Self>, new: &New<'_>) -> Result<Box<dyn Out + 'a>> {
        let (path, temporary, bar) = (new.path.to_owned(), new.temporary.to_owned(), Arc::clone(new.bar));
        let (threads, force, report) = (new.copying.threads, new.force, Report::default());
        Ok(Box::new(ColumnOutput { rows, path, temporary, threads, force, bar, report }))
    }
}

struct LineOutput<'a> {
    lines: &'a Lines,
    /// The records are written as an array.
    is_array: bool,
    path: PathBuf,
    out: BufWriter<Output>,
    rows: u64,
}

impl Out for LineOutput<'_> {
    fn copy(&mut self, mut rows: Range<u64>, bar: &Bar) -> Result<()> {
        self.copy_rows(&mut rows, bar)
    }

    fn copy_rows(&mut self, rows: &mut dyn Iterator<Item = u64>, bar: &Bar) -> Result<()> {
        for row in rows {
            self.put(row)?;
            self.rows += 1;
            tick(bar, self.rows)?;
        }
        Ok(())
    }

    fn prepare(self: Box<Self>) -> Result<(Written, Option<Ready>)> {
        let Self { is_array, path, mut out, rows, .. } = *self;
        if is_array {
            out.write_all(b"]\n").map_err(failed)?;
        }
        let out = out.into_inner().map_err(|error| failed(error.into_error()))?;
        let bytes = out.file().metadata().map_or(0, |metadata| metadata.len());
        out.finish()?;
        Ok((Written { path, rows, bytes }, None))
    }
}

/// Rows of columns, which one conversion writes once they are known.
struct ColumnOutput<'a> {
    rows: &'a Rows<Columns>,
    path: PathBuf,
    temporary: PathBuf,
    threads: usize,
    force: bool,
    bar: Arc<Bar>,
    report: Report,
}

impl Out for ColumnOutput<'_> {
    fn copy(&mut self, rows: Range<u64>, _: &Bar) -> Result<()> {
        self.run(|convert| convert.selection.rows = Some(RowRange { rows, one: false }))
    }

    fn copy_rows(&mut self, rows: &mut dyn Iterator<Item = u64>, _: &Bar) -> Result<()> {
        let picked = Arc::new(PickedRows::new(rows));
        let mut run = |times| {
            self.run(|convert| {
                convert.picked = Some(Arc::clone(&picked));
                convert.mapping.times = times;
            })
        };
        // Ticks of IDV are 100 ns in the years 1 to 9999. Microseconds hold those years, nanoseconds hold the fraction: no unit holds both.
        match run(None) {
            Err(error) if error.kind() == ErrorKind::Invalid => run(Some(Times::Nanoseconds)),
            done => done,
        }
    }

    fn take_losses(&mut self) -> Vec<Lost> {
        std::mem::take(&mut self.report.losses)
    }

    fn prepare(self: Box<Self>) -> Result<(Written, Option<Ready>)> {
        let Self { path, report, .. } = *self;
        Ok((Written { path, rows: report.rows, bytes: report.bytes }, None))
    }
}

impl LineOutput<'_> {
    /// Appends a record.
    fn put(&mut self, number: u64) -> Result<()> {
        let Self { lines, is_array, out, rows, .. } = self;
        let (bytes, len) = lines.record(number)?;
        let bytes = bytes.get(..len).unwrap_or_default();
        let mut write = |bytes: &[u8]| out.write_all(bytes).map_err(failed);
        if *is_array {
            write(if *rows == 0 { b"" } else { b",\n" })?;
            return write(bytes);
        }
        if lines.is_array {
            let mut line = Vec::with_capacity(bytes.len());
            write_single_line(bytes, &mut line);
            write(&line)?;
        } else {
            write(bytes)?;
        }
        write(if lines.head.ends_with(b"\r\n") { b"\r\n" } else { b"\n" })
    }
}

impl Lines {
    /// A record and what separates it from the next, and the length of the record.
    fn record(&self, number: u64) -> Result<(Bytes, usize)> {
        let missing = || Error::usage(format!("no row {number}")).in_file(self.name.clone());
        let place = usize::try_from(number).map_err(|_| missing())?;
        let start = *self.starts.get(place).ok_or_else(missing)?;
        let end = place.checked_add(1).and_then(|next| self.starts.get(next)).copied().unwrap_or(self.end);
        let bytes = self.source.read(start..end)?;
        // Between two records: line ends, blanks, and in an array commas.
        let is_separator = |byte: &u8| match byte {
            b'\r' | b'\n' => true,
            b' ' | b'\t' => !self.is_cells,
            b',' => self.is_array,
            _ => false,
        };
        let len = bytes.iter().rposition(|byte| !is_separator(byte)).map_or(0, |last| last + 1);
        Ok((bytes, len))
    }
}

impl ColumnOutput<'_> {
    fn run(&mut self, configure: impl FnOnce(&mut Convert)) -> Result<()> {
        let Rows { target, registry, source, .. } = self.rows;
        let mut convert = Convert::default().with_progress(Arc::clone(&self.bar) as Arc<dyn Progress>);
        convert.inputs = vec![source.location.clone()];
        convert.selection.reading.threads = self.threads;
        configure(&mut convert);
        let mut opener = Opener::new(registry.clone());
        opener.keep(&source.location, &source.input);
        let overwrite = if self.force { Overwrite::Replace } else { Overwrite::Refuse };
        self.report = Report::default();
        let done = convert.run(target.as_ref(), To::Path(&self.temporary, overwrite), &mut opener, &mut self.report);
        // The advice names options of conversions, which do not exist here.
        done.map_err(|error| match error.kind() {
            ErrorKind::Io => error,
            kind => Error::new(kind, error.detail().to_owned()).with_position(error.position().clone()),
        })
    }
}

fn failed(cause: std::io::Error) -> Error {
    Error::io("cannot write the output", cause)
}
