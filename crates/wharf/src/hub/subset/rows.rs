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
use super::super::{Bar, Lost, output, rows};
use super::{Copying, Written};
use crate::Registry;
use crate::text::{TextContainer, TextFormat, TextOptions};

/// Rows between two progress reports.
const STRIDE: u64 = 256;

/// The text form of a format, if it is one.
fn text_form(format: &str) -> Option<TextFormat> {
    [TextFormat::JsonLines, TextFormat::Csv, TextFormat::Tsv].into_iter().find(|form| form_name(*form) == format)
}

fn form_name(form: TextFormat) -> &'static str {
    container_core::Format::name(&form)
}

/// Records of a text.
pub(super) struct Lines {
    pub(super) format: &'static str,
    target: Box<dyn Target>,
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
pub(super) struct Columns {
    pub(super) format: &'static str,
    target: Box<dyn Target>,
    location: Location,
    input: Input,
    registry: Registry,
    pub(super) len: u64,
}

/// Rows of a format that the registry knows.
pub(super) enum Rows {
    Lines(Lines),
    Columns(Columns),
}

impl Rows {
    /// Opens an input of this format; `None` if it has no rows to select.
    pub(super) fn open(
        location: &Location,
        input: &Input,
        format: &'static str,
        opener: &Opener<'_>,
    ) -> Result<Option<Self>> {
        let named = |error: Error| error.in_file(location.name());
        let target = rows::target_like(format, input, &opener.registry).map_err(named)?;
        if let (Some(text), Some(source)) = (text_form(format), input.source()) {
            let opened = TextContainer::open(source.clone(), &TextOptions::new(text)).map_err(named)?;
            let (head, (starts, end)) = (opened.head().map_err(named)?, opened.starts().map_err(named)?);
            let (name, source, is_array) = (location.name(), source.clone(), opened.is_array());
            let is_cells = text != TextFormat::JsonLines;
            return Ok(Some(Self::Lines(Lines {
                format,
                target,
                name,
                source,
                head,
                starts,
                end,
                is_array,
                is_cells,
            })));
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
        let (location, input, registry) = (location.clone(), input.clone(), opener.registry.clone());
        Ok(Some(Self::Columns(Columns { format, target, location, input, registry, len })))
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Lines(lines) => lines.starts.len() as u64,
            Self::Columns(columns) => columns.len,
        }
    }

    pub(super) const fn format(&self) -> &'static str {
        match self {
            Self::Lines(lines) => lines.format,
            Self::Columns(columns) => columns.format,
        }
    }

    /// Fails when the output would replace an input or, without `force`, anything, or has the extension of another format.
    pub(super) fn refuse(&self, path: &Path, force: bool, inputs: &[Location], registry: &Registry) -> Result<()> {
        let target = match self {
            Self::Lines(lines) => &lines.target,
            Self::Columns(columns) => &columns.target,
        };
        if path == Path::new("-") {
            return Err(Error::usage("records are copied into a file, not standard output: give a path"));
        }
        output::options(path, force, inputs)?;
        rows::other_form(path, target.as_ref(), registry).map(drop)
    }
}

/// An output in progress.
pub(super) enum Out {
    /// Lines, and their number.
    Lines(PathBuf, Box<BufWriter<Output>>, u64),
    /// Rows of columns, which one conversion writes.
    Columns(Box<ColumnOutput>),
}

/// An output that is written once its rows are known.
pub(super) struct ColumnOutput {
    path: PathBuf,
    temporary: PathBuf,
    threads: usize,
    force: bool,
    bar: Arc<Bar>,
    report: Report,
}

impl Out {
    pub(super) fn create(
        rows: &Rows,
        (path, temporary): (&Path, &Path),
        force: bool,
        copying: &Copying,
        input: &Location,
        bar: &Arc<Bar>,
    ) -> Result<Self> {
        Ok(match rows {
            Rows::Lines(lines) => {
                let mut out = BufWriter::new(output::create(temporary, force, std::slice::from_ref(input))?);
                out.write_all(if lines.is_array { b"[" } else { &lines.head }).map_err(failed)?;
                Self::Lines(path.to_owned(), Box::new(out), 0)
            }
            Rows::Columns(_) => {
                let (path, temporary, bar) = (path.to_owned(), temporary.to_owned(), Arc::clone(bar));
                let report = Report::default();
                Self::Columns(Box::new(ColumnOutput { path, temporary, threads: copying.threads, force, bar, report }))
            }
        })
    }

    /// Copies a range of records.
    pub(super) fn copy(&mut self, from: &Rows, range: Range<u64>, bar: &Bar) -> Result<()> {
        match (from, self) {
            (Rows::Columns(columns), Self::Columns(output)) => {
                let range = RowRange { rows: range, one: false };
                output.run(columns, |convert| convert.selection.rows = Some(range))
            }
            (_, out) => out.copy_rows(from, range, bar),
        }
    }

    /// Copies the records with these numbers, in this order.
    pub(super) fn copy_rows(&mut self, from: &Rows, numbers: impl Iterator<Item = u64>, bar: &Bar) -> Result<()> {
        match (from, self) {
            (Rows::Lines(lines), Self::Lines(_, out, count)) => {
                for number in numbers {
                    lines.put(number, *count == 0, out)?;
                    *count += 1;
                    if count.is_multiple_of(STRIDE) {
                        bar.advance(STRIDE);
                    }
                }
                Ok(())
            }
            (Rows::Columns(columns), Self::Columns(output)) => {
                let picked = Arc::new(PickedRows::new(numbers));
                let mut run = |times| {
                    output.run(columns, |convert| {
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
            _ => Err(Error::usage("records of one format cannot be copied into another")),
        }
    }

    pub(super) fn take_losses(&mut self) -> Vec<Lost> {
        match self {
            Self::Lines(..) => Vec::new(),
            Self::Columns(output) => std::mem::take(&mut output.report.losses),
        }
    }

    /// Finishes the output.
    pub(super) fn finish(self, from: &Rows) -> Result<Written> {
        let (path, mut out, rows) = match self {
            Self::Columns(output) => {
                let (rows, bytes) = (output.report.rows, output.report.bytes);
                return Ok(Written { path: output.path, rows, bytes });
            }
            Self::Lines(path, out, rows) => (path, out, rows),
        };
        if let Rows::Lines(lines) = from
            && lines.is_array
        {
            out.write_all(b"]\n").map_err(failed)?;
        }
        let out = out.into_inner().map_err(|error| failed(error.into_error()))?;
        let bytes = out.file().metadata().map_or(0, |metadata| metadata.len());
        out.finish()?;
        Ok(Written { path, rows, bytes })
    }
}

impl Lines {
    /// Appends the bytes of a record.
    fn put(&self, number: u64, is_first: bool, out: &mut impl Write) -> Result<()> {
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
        let bytes = bytes.get(..len).unwrap_or_default();
        if self.is_array {
            out.write_all(if is_first { b"" } else { b",\n" }).map_err(failed)?;
            return out.write_all(bytes).map_err(failed);
        }
        out.write_all(bytes).map_err(failed)?;
        out.write_all(if self.head.ends_with(b"\r\n") { b"\r\n" } else { b"\n" }).map_err(failed)
    }
}

impl ColumnOutput {
    fn run(&mut self, columns: &Columns, configure: impl FnOnce(&mut Convert)) -> Result<()> {
        let mut convert = Convert::default().with_progress(Arc::clone(&self.bar) as Arc<dyn Progress>);
        convert.inputs = vec![columns.location.clone()];
        convert.selection.reading.threads = self.threads;
        configure(&mut convert);
        let mut opener = Opener::new(columns.registry.clone());
        opener.keep(&columns.location, &columns.input);
        let overwrite = if self.force { Overwrite::Replace } else { Overwrite::Refuse };
        self.report = Report::default();
        let done =
            convert.run(columns.target.as_ref(), To::Path(&self.temporary, overwrite), &mut opener, &mut self.report);
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
