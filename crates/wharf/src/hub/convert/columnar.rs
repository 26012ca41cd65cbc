//! Parquet files and Arrow IPC written, from any table that can be read as record batches.

pub(super) mod datadings;
mod declared;
pub(super) mod ds;
pub(super) mod idv;
mod inputs;
mod meaning;
mod picked;
mod recode;
mod target;
mod unify;
mod widen;

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use container_arrow::{BatchScan, Mapping, OnMismatch, from_arrow};
use container_core::{Error, ErrorKind, Result, Unit};

use super::super::{Bar, Lost, output, pour};
use super::{Env, Job, Report, finish};
pub(super) use declared::is_schemaless;
pub(super) use inputs::join;
use inputs::{How, Joined};
use picked::Gather;
pub(in crate::hub) use picked::Picked;
use recode::Recoder;
use target::Target;

impl Job<'_> {
    /// Refuses to say two things of values that do not fit.
    fn check_mismatch(&self) -> Result<()> {
        let detail = match self.columnar.on_mismatch {
            _ if self.text.schema.is_none() => return Ok(()),
            None | Some(OnMismatch::Error) => return Ok(()),
            _ if self.form == super::OutputForm::Idv => {
                "says the types of columns, and what does not fit into them is an error in IDV"
            }
            Some(OnMismatch::Json | OnMismatch::Msgpack) => {
                "says the types of columns, and what does not fit may be an error or null: the type JSON takes anything"
            }
            _ => return Ok(()),
        };
        Err(Error::usage(detail).in_option("schema"))
    }

    /// How batches are read.
    fn scan(&self) -> BatchScan {
        let mut mapping = Mapping::default();
        mapping.times = self.columnar.times.unwrap_or(mapping.times);
        mapping.sparse = self.columnar.sparse.unwrap_or(mapping.sparse);
        mapping.on_mismatch = self.columnar.on_mismatch.unwrap_or(mapping.on_mismatch);
        mapping.narrow = self.form == super::OutputForm::Idv;
        let scan = BatchScan::from(self.selection.reading.scan()).with_mapping(mapping);
        match self.columnar.batch_rows {
            Some(rows) => scan.with_batch_rows(usize::try_from(rows).unwrap_or(usize::MAX)),
            None => scan,
        }
    }
}

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

/// Gives the wanted rows of all inputs to `write`, batch by batch; `report` tells how far it came, and whether it was the sink that failed.
fn copy(
    job: &Job<'_>,
    joined: &Joined,
    bar: &Bar,
    report: &mut Report,
    write: &mut dyn FnMut(&RecordBatch) -> Result<()>,
) -> Result<()> {
    let wanted = job.rows();
    let scan = job.scan();
    let (mut before, mut complete) = (0_u64, true);
    let mut gather = job.picked.as_deref().map(Gather::new);
    let mut put = |batch: &RecordBatch, report: &mut Report| {
        let written = write(batch);
        report.sink_failed = written.as_ref().is_err_and(|error| error.kind() == ErrorKind::Io);
        report.rows += if written.is_ok() { batch.num_rows() as u64 } else { 0 };
        written
    };
    for (number, input) in joined.inputs.iter().enumerate() {
        if number > 0 && before >= wanted.end {
            complete = false;
            break;
        }
        bar.name(&pour::nth(input.name.clone(), number, joined.inputs.len()));
        let named = |error: Error| error.in_file(input.name.clone());
        let table = input.table().map_err(named)?;
        let (start, end) = (wanted.start.saturating_sub(before), wanted.end.saturating_sub(before));
        // Where the length is not known, rows are counted by walking over them. In text nobody walks twice to know it before.
        let len = if joined.is_sampled && input.is_text() { None } else { table.len() };
        let (rows, mut skip) = match len {
            Some(len) => (start.min(len)..end.min(len), 0),
            None => (0..end, start),
        };
        bar.begin(Unit::Rows, len.map(|_| rows.end - rows.start));
        let first_row = rows.start;
        let mut own = scan.clone();
        own.scan.columns.clone_from(&input.columns);
        if joined.is_sampled {
            own = own.with_sampled_schema(Arc::clone(&joined.schema));
        }
        own.scan.rows = rows;
        if let Some(declared) = &input.declared {
            own = own.with_schema(Arc::clone(declared));
        }
        let mut batches = table.batches(&own).map_err(named)?;
        let mut walked = 0_u64;
        let outcome = loop {
            let batch = match batches.next() {
                None => break Ok(()),
                Some(Err(error)) => break Err(named(from_arrow(error))),
                Some(Ok(batch)) => batch,
            };
            let rows = batch.num_rows() as u64;
            walked += rows;
            let skipped = skip.min(rows);
            skip -= skipped;
            let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
            let batch = batch.slice(skipped, batch.num_rows() - skipped);
            let first = first_row + walked - batch.num_rows() as u64;
            let batch = match joined.fit(&batch, first) {
                Ok(batch) => batch,
                Err(error) => break Err(named(error)),
            };
            let outcome = match &mut gather {
                Some(gather) => gather.take(&batch, before + first, &mut |batch| put(batch, report)),
                None => put(&batch, report),
            };
            if let Err(error) = outcome {
                break Err(if report.sink_failed { error } else { named(error) });
            }
            bar.advance(rows);
            if gather.as_ref().is_some_and(Gather::is_done) {
                break Ok(());
            }
        };
        let lost = batches.losses();
        // Readers of some formats report the columns that they leave out.
        let left_out = input.left_out.iter().filter(|one| !lost.contains(&one.loss)).cloned().collect::<Vec<_>>();
        report.losses.extend(Lost::all(lost, Some(&input.name)));
        let recoded = joined.recoder.as_ref().map(Recoder::take_losses).unwrap_or_default();
        report.losses.extend(Lost::all(recoded, Some(&input.name)));
        outcome?;
        report.losses.extend(left_out);
        before = before.saturating_add(table.len().unwrap_or(walked));
    }
    if let Some(gather) = gather {
        gather.finish(&mut |batch| put(batch, report))?;
    }
    if let Some(range) = job.selection.rows.as_ref().filter(|_| complete) {
        range.check(before)?;
    }
    Ok(())
}
