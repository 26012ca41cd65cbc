//! Records of formats without an index of their own: lines of a text with the bytes that they have, rows of columns as conversions write them.

use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_arrow::Times;
use container_core::{Bytes, Error, ErrorKind, Input, Output, Overwrite, Progress, Result, Source};

use super::super::convert::{Convert, OutputForm, Picked, Report, To};
use super::super::env::Opener;
use super::super::inputs::Location;
use super::super::select::RowRange;
use super::super::{Bar, DS, Lost, output, rows};
use super::{Copying, Written};
use crate::Registry;
use crate::text::{TextContainer, TextFormat, TextOptions};

/// Rows between two words to the bar.
const STRIDE: u64 = 256;

/// The form of text that a format is.
fn text_form(format: &str) -> Option<TextFormat> {
    [TextFormat::JsonLines, TextFormat::Csv, TextFormat::Tsv].into_iter().find(|form| form_name(*form) == format)
}

fn form_name(form: TextFormat) -> &'static str {
    container_core::Format::name(&form)
}

/// Records of a text.
pub(super) struct Lines {
    pub(super) format: &'static str,
    form: OutputForm,
    name: String,
    source: Source,
    /// What stands in front of all.
    head: Bytes,
    /// Where each record begins, and where the last one ends.
    starts: Vec<u64>,
    end: u64,
    is_array: bool,
}

/// Rows of columns.
pub(super) struct Columns {
    pub(super) format: &'static str,
    form: OutputForm,
    location: Location,
    input: Input,
    registry: Registry,
    pub(super) len: u64,
}

/// What has rows, and no way of its own to choose among them.
pub(super) enum Rows {
    Lines(Lines),
    Columns(Columns),
}

impl Rows {
    /// Opens an input of this format; nothing where it is read in another way.
    pub(super) fn open(
        location: &Location,
        input: &Input,
        format: &'static str,
        opener: &Opener<'_>,
    ) -> Result<Option<Self>> {
        let named = |error: Error| error.in_file(location.name());
        let form = rows::form(format, input).map_err(named)?;
        if let (Some(text), Some(source)) = (text_form(format), input.source()) {
            let opened = TextContainer::open(source.clone(), &TextOptions::new(text)).map_err(named)?;
            let (head, (starts, end)) = (opened.head().map_err(named)?, opened.starts().map_err(named)?);
            let (name, source, is_array) = (location.name(), source.clone(), opened.is_array());
            return Ok(Some(Self::Lines(Lines { format, form, name, source, head, starts, end, is_array })));
        }
        let form = match form {
            // Of these variables are chosen, not rows.
            OutputForm::Other(DS | dsfmt::netcdf::FORMAT_NAME) => return Ok(None),
            OutputForm::Other(name) => OutputForm::named(name).unwrap_or(form),
            _ => form,
        };
        let container = opener.container(input).map_err(named)?;
        let len = match container.tables().as_slice() {
            [table] if table.arrow().is_some() => table.len(),
            _ => return Ok(None),
        };
        let len = len.ok_or_else(|| named(Error::unsupported("how many rows there are is not known")))?;
        let (location, input, registry) = (location.clone(), input.clone(), opener.registry.clone());
        Ok(Some(Self::Columns(Columns { format, form, location, input, registry, len })))
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

    /// Refuses an output that would take the place of an input, or without `force` of anything, or has the name of another format.
    pub(super) fn refuse(&self, path: &Path, force: bool, inputs: &[Location], registry: &Registry) -> Result<()> {
        let form = match self {
            Self::Lines(lines) => lines.form,
            Self::Columns(columns) => columns.form,
        };
        if path == Path::new("-") {
            return Err(Error::usage("records are copied into a file, which standard output is not: give a path"));
        }
        output::options(path, force, inputs)?;
        rows::output_form(path, self.format(), form, registry).map(drop)
    }
}

/// An output that is being written.
pub(super) enum Out {
    /// Lines, and how many.
    Lines(PathBuf, Box<BufWriter<Output>>, u64),
    /// Rows are written at once.
    Columns(Box<Later>),
}

/// Rows of columns, once they are known.
pub(super) struct Later {
    path: PathBuf,
    made_at: PathBuf,
    threads: usize,
    force: bool,
    bar: Arc<Bar>,
    report: Report,
}

impl Out {
    pub(super) fn create(
        rows: &Rows,
        (path, made_at): (&Path, &Path),
        force: bool,
        copying: &Copying,
        input: &Location,
        bar: &Arc<Bar>,
    ) -> Result<Self> {
        Ok(match rows {
            Rows::Lines(lines) => {
                let mut out = BufWriter::new(output::create(made_at, force, std::slice::from_ref(input))?);
                out.write_all(if lines.is_array { b"[" } else { &lines.head }).map_err(failed)?;
                Self::Lines(path.to_owned(), Box::new(out), 0)
            }
            Rows::Columns(_) => {
                let (path, made_at, bar) = (path.to_owned(), made_at.to_owned(), Arc::clone(bar));
                let report = Report::default();
                Self::Columns(Box::new(Later { path, made_at, threads: copying.threads, force, bar, report }))
            }
        })
    }

    /// Copies records of a range.
    pub(super) fn copy(&mut self, from: &Rows, range: Range<u64>, bar: &Bar) -> Result<()> {
        match (from, self) {
            (Rows::Columns(columns), Self::Columns(later)) => {
                let range = RowRange { rows: range, one: false };
                later.run(columns, |convert| convert.selection.rows = Some(range))
            }
            (_, out) => out.copy_rows(from, range, bar),
        }
    }

    /// Copies the records of these numbers, in this order.
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
            (Rows::Columns(columns), Self::Columns(later)) => {
                let picked = Arc::new(Picked::new(numbers));
                let mut run = |times| {
                    later.run(columns, |convert| {
                        convert.picked = Some(Arc::clone(&picked));
                        convert.columnar.times = times;
                    })
                };
                // Ticks of IDV are microseconds, exactly, of any year, or nanoseconds of the years around ours: no unit of columns has them all.
                match run(None) {
                    Err(error) if columns.form == OutputForm::Idv && error.kind() == ErrorKind::Invalid => {
                        run(Some(Times::Nanoseconds))
                    }
                    done => done,
                }
            }
            _ => Err(Error::usage("records of one format into another")),
        }
    }

    pub(super) fn take_losses(&mut self) -> Vec<Lost> {
        match self {
            Self::Lines(..) => Vec::new(),
            Self::Columns(later) => std::mem::take(&mut later.report.losses),
        }
    }

    /// Puts the output in place.
    pub(super) fn finish(self, from: &Rows) -> Result<Written> {
        let (path, mut out, rows) = match self {
            Self::Columns(later) => {
                let (rows, bytes) = (later.report.rows, later.report.bytes);
                return Ok(Written { path: later.path, rows, bytes });
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
    /// Appends a record with the bytes that it has.
    fn put(&self, number: u64, is_first: bool, out: &mut impl Write) -> Result<()> {
        let missing = || Error::usage(format!("there is no row {number}")).in_file(self.name.clone());
        let place = usize::try_from(number).map_err(|_| missing())?;
        let start = *self.starts.get(place).ok_or_else(missing)?;
        let end = place.checked_add(1).and_then(|next| self.starts.get(next)).copied().unwrap_or(self.end);
        let bytes = self.source.read(start..end)?;
        // What stands between two records: line ends, blanks, and in an array commas.
        let between = |byte: &u8| match byte {
            b'\r' | b'\n' => true,
            b' ' | b'\t' => self.form == OutputForm::Jsonl,
            b',' => self.is_array,
            _ => false,
        };
        let len = bytes.iter().rposition(|byte| !between(byte)).map_or(0, |last| last + 1);
        let bytes = bytes.get(..len).unwrap_or_default();
        if self.is_array {
            out.write_all(if is_first { b"" } else { b",\n" }).map_err(failed)?;
            return out.write_all(bytes).map_err(failed);
        }
        out.write_all(bytes).map_err(failed)?;
        out.write_all(if self.head.ends_with(b"\r\n") { b"\r\n" } else { b"\n" }).map_err(failed)
    }
}

impl Later {
    fn run(&mut self, columns: &Columns, choose: impl FnOnce(&mut Convert)) -> Result<()> {
        let mut convert = Convert::default().with_progress(Arc::clone(&self.bar) as Arc<dyn Progress>);
        convert.inputs = vec![columns.location.clone()];
        convert.selection.reading.threads = self.threads;
        choose(&mut convert);
        let mut opener = Opener::new(columns.registry.clone());
        opener.hold(&columns.location, &columns.input);
        let overwrite = if self.force { Overwrite::Replace } else { Overwrite::Refuse };
        let done = convert.run(columns.form, To::Path(&self.made_at, overwrite), &mut opener, &mut self.report);
        // Advice names options of conversions.
        done.map_err(|error| match error.kind() {
            ErrorKind::Io => error,
            kind => Error::new(kind, error.detail().to_owned()).with_position(error.position().clone()),
        })
    }
}

fn failed(cause: std::io::Error) -> Error {
    Error::io("cannot write the output", cause)
}
