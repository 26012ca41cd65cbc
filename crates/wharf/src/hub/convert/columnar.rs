//! Parquet files and Arrow IPC written, from any table that can be read as record batches.

mod copy;
pub(super) mod datadings;
pub(super) mod declared;
pub(super) mod ds;
pub(super) mod idv;
mod inputs;
pub(super) mod join;
mod meaning;
pub(in crate::hub) mod picked;
mod recode;
mod target;
mod unify;
mod widen;

use std::io::{self, Write};
use std::sync::Arc;

use container_core::{Error, ErrorKind, Result};

use super::super::{Bar, Lost, output};
use super::job::{Env, Job, Report, finish};
use copy::copy;
use inputs::{How, Joined};
use target::Target;

pub(super) fn run(job: &Job<'_>, env: &mut Env<'_, '_>, report: &mut Report) -> Result<()> {
    let target = Target::new(job)?;
    let bar = env.bar.as_ref();
    let Some(path) = job.path else {
        let joined = Joined::open(job, env.opener)?;
        let mut watched = Watched { stream: env.stream()?, failed: None };
        let writer = target.writer(&mut watched, Arc::clone(&joined.schema), job)?;
        let written = write(job, writer, &joined, bar, report).map(drop);
        // The writer of Parquet keeps of a cause nothing but its text.
        return written.map_err(|error| match watched.failed {
            Some(kind) if error.kind() == ErrorKind::Io => {
                output::stream_failed(io::Error::new(kind, error.to_string()))
            }
            _ => error,
        });
    };
    let (mut may_guess, mut labels) = (true, 0);
    loop {
        let output = output::create(path, job.force, &job.inputs)?;
        let name = output.path().display().to_string();
        let joined = Joined::open_with(job, env.opener, &How { may_guess, labels, ..How::default() })?;
        let writer = target.writer_behind(output, Arc::clone(&joined.schema), job);
        let written = writer.and_then(|writer| write(job, writer, &joined, bar, report));
        if written.is_err() && joined.is_sampled && !report.sink_failed {
            // What is wrong with the rows, if anything is, is told by a walk over all of them.
            (may_guess, *report) = (false, Report::default());
            continue;
        }
        // Dictionaries whose indexes do not count the labels of all rows get wider ones.
        if let Some(needed) = report.dictionary.filter(|needed| *needed > labels) {
            (labels, *report) = (needed, Report::default());
            continue;
        }
        report.columns = joined.schema.fields().len();
        let output = written.map_err(|error| if report.sink_failed { error.in_file(name.clone()) } else { error })?;
        target
            .read_back(&output)
            .map_err(|cause| Error::invalid("the output cannot be read back").caused_by(cause).in_file(name.clone()))?;
        return finish(output, report);
    }
}

/// A file of a format that only the registry knows.
pub(super) fn other(job: &Job<'_>, name: &'static str, env: &mut Env<'_, '_>, report: &mut Report) -> Result<()> {
    let format = env.opener.registry.formats().iter().find(|format| format.name() == name).copied();
    let format = format.ok_or_else(|| Error::usage(format!("the registry has no format {name:?}")))?;
    let path = job.path("the output is a file")?;
    let options = output::options(path, job.force, &job.inputs)?;
    let joined = Joined::open(job, env.opener)?;
    let named = |error: Error| error.in_file(path.display().to_string()).in_format(name);
    let mut writer = format.batch_writer(path, Arc::clone(&joined.schema), options).map_err(named)?;
    copy(job, &joined, env.bar.as_ref(), report, &mut |batch| writer.write(batch))?;
    let losses = writer.finish().map_err(named)?;
    report.losses.extend(Lost::all(losses, None));
    report.columns = joined.schema.fields().len();
    report.bytes = path.metadata().map_or(0, |metadata| metadata.len());
    Ok(())
}

/// A stream, and how it failed.
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

/// Writes the wanted rows of all inputs, and gives back the sink.
fn write<W: Write + Send>(
    job: &Job<'_>,
    mut writer: target::Writer<W>,
    joined: &Joined,
    bar: &Bar,
    report: &mut Report,
) -> Result<W> {
    let mut labels = None;
    let outcome = copy(job, joined, bar, report, &mut |batch| {
        writer.write(batch).inspect_err(|error| {
            if let ErrorKind::Limit { asked, .. } = error.kind() {
                labels = Some(asked);
            }
        })
    });
    report.dictionary = labels;
    outcome?;
    let ended = writer.end();
    report.sink_failed = ended.as_ref().is_err_and(|error| error.kind() == ErrorKind::Io);
    let (sink, notes) = ended?;
    report.losses.extend(notes.into_iter().map(|loss| Lost { file: None, loss }));
    Ok(sink)
}
