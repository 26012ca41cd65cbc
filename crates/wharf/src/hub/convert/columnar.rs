//! The lane of record batches: inputs joined into one schema, and copied batch by batch.

mod copy;
pub(super) mod datadings;
pub(super) mod declared;
pub(super) mod ds;
mod file;
pub(super) mod idv;
mod input_table;
mod inputs;
pub(super) mod join;
mod meaning;
pub(in crate::hub) mod pick;
mod recode;
mod texts;
mod unify;
mod widen;

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, SchemaRef};
use container_arrow::BatchWriter;
use container_core::{Error, ErrorKind, Result};

use super::super::env::Opener;
use super::super::{Bar, Lost, output};
use super::job::{Context, Job, Report, finish};
use copy::copy;
pub(super) use file::FileFormat;
use file::Writer;
pub use input_table::{InputPart, InputTable, MatchObserver};
use inputs::{JoinOptions, Joined};
pub(in crate::hub) use texts::idv_texts;

/// Writes Parquet or Arrow IPC.
pub(super) fn run(file: &FileFormat, job: &Job<'_>, context: &mut Context<'_, '_>, report: &mut Report) -> Result<()> {
    let progress = context.progress.as_ref();
    let Some(path) = job.path else {
        let joined = Joined::open(job, context.opener)?;
        let mut watched = Watched { stream: context.stream()?, failed: None };
        let writer = file.writer(&mut watched, Arc::clone(&joined.schema))?;
        let written = write(job, writer, &joined, progress, report).map(drop);
        // The Parquet writer keeps only the text of a cause.
        return written.map_err(|error| match watched.failed {
            Some(kind) if error.kind() == ErrorKind::Io => {
                output::stream_failed(io::Error::new(kind, error.to_string()))
            }
            _ => error,
        });
    };
    let (mut may_sample, mut labels) = (true, 0);
    loop {
        let output = output::create(path, job.force, &job.inputs)?;
        let name = output.path().display().to_string();
        let joined =
            Joined::open_with(job, context.opener, &JoinOptions { may_sample, labels, ..JoinOptions::default() })?;
        let writer = file.background_writer(output, Arc::clone(&joined.schema));
        let written = writer.and_then(|writer| write(job, writer, &joined, progress, report));
        let contradicted = written.as_ref().is_err_and(|error| error.kind() != ErrorKind::Cancelled);
        if contradicted && joined.is_sampled && !report.sink_failed {
            // Inferring from all rows either succeeds, or names the row that is wrong.
            (may_sample, *report) = (false, Report::default());
            continue;
        }
        // Dictionaries with more labels than their index type can count get a wider one.
        if let Some(needed) = report.dictionary.filter(|needed| *needed > labels) {
            (labels, *report) = (needed, Report::default());
            continue;
        }
        report.columns = joined.schema.fields().len();
        let output = written.map_err(|error| if report.sink_failed { error.in_file(name.clone()) } else { error })?;
        file.read_back(&output)
            .map_err(|cause| Error::invalid("the output cannot be read back").caused_by(cause).in_file(name.clone()))?;
        return finish(output, report);
    }
}

impl Job<'_> {
    /// Copies the selected rows of all inputs, batch by batch, into the writer that `begin` makes for their common schema. Returns that writer,
    /// which is not finished yet. This is all that the [`run`](super::Target::run) of a columnar target needs.
    ///
    /// # Errors
    /// An input cannot be opened or read, or has no columns with types; inputs differ in columns or their meaning; the writer fails.
    pub fn copy_batches<W: BatchWriter + ?Sized>(
        &self,
        context: &mut Context<'_, '_>,
        report: &mut Report,
        begin: impl FnOnce(SchemaRef) -> Result<Box<W>>,
    ) -> Result<Box<W>> {
        let joined = Joined::open(self, context.opener)?;
        let mut writer = begin(Arc::clone(&joined.schema))?;
        copy(self, &joined, context.progress.as_ref(), report, &mut |batch| writer.write(batch))?;
        report.columns = joined.schema.fields().len();
        Ok(writer)
    }
}

/// Opened inputs, joined into one table, whose rows can be read on another thread.
pub(in crate::hub) struct OpenBatches<'a> {
    job: Job<'a>,
    joined: Joined,
}

impl<'a> OpenBatches<'a> {
    pub(super) fn open(job: Job<'a>, opener: &mut Opener<'_>) -> Result<Self> {
        Ok(Self { job, joined: Joined::open(&job, opener)? })
    }

    pub(in crate::hub) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.joined.schema)
    }

    /// Passes the selected rows to `write`, batch by batch.
    pub(in crate::hub) fn copy(
        &self,
        report: &mut Report,
        write: &mut dyn FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<()> {
        copy(&self.job, &self.joined, self.job.convert.progress.0.as_ref(), report, write)
    }
}

/// Fails unless the metadata of two columns of the same type give values the same meaning. The error says how they differ.
pub(in crate::hub) fn same_meaning(one: &Field, other: &Field) -> Result<(), String> {
    unify::columns(one, other).map(drop)
}

/// A stream that remembers how it failed.
struct Watched<'a> {
    stream: &'a mut (dyn Write + Send),
    failed: Option<io::ErrorKind>,
}

impl Watched<'_> {
    fn note<T>(&mut self, outcome: io::Result<T>) -> io::Result<T> {
        outcome.inspect_err(|error| self.failed = Some(error.kind()))
    }
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let outcome = self.stream.write(bytes);
        self.note(outcome)
    }

    fn flush(&mut self) -> io::Result<()> {
        let outcome = self.stream.flush();
        self.note(outcome)
    }
}

/// Writes the selected rows of all inputs, and returns the sink.
fn write<W: Write + Send>(
    job: &Job<'_>,
    mut writer: Writer<W>,
    joined: &Joined,
    progress: &Bar,
    report: &mut Report,
) -> Result<W> {
    let mut labels = None;
    let outcome = copy(job, joined, progress, report, &mut |batch| {
        writer.write(batch).inspect_err(|error| {
            if let ErrorKind::Limit { asked, .. } = error.kind() {
                labels = Some(asked);
            }
        })
    });
    report.dictionary = labels;
    outcome?;
    let finished = writer.finish();
    report.sink_failed = finished.as_ref().is_err_and(|error| error.kind() == ErrorKind::Io);
    let (sink, notes) = finished?;
    report.losses.extend(notes.into_iter().map(|loss| Lost { file: None, loss }));
    Ok(sink)
}
