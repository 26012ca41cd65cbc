//! IDV files written: from IDV files as they are, from all others as columns.

use std::io::{self, Seek, Write};
use std::sync::Arc;

use container_core::{Error, ErrorKind, Position, Result, Scan, Unit};
use idv::{Schema, Writer, WriterOptions};

use super::super::Bar;
use super::super::{DS, Lost, output, pour, select, zds};
use super::job::{Env, Job, Report, finish, of_output};
use super::source::{self, Kind, Opened};
use super::text::does_not_go;

impl Job<'_> {
    /// Fails when an option does not go with what the inputs are.
    fn check_idv(&self, kind: Kind) -> Result<()> {
        match kind {
            Kind::Container(DS | zds::NAME) | Kind::NETCDF => {}
            Kind::Container(name) => {
                return Err(Error::unsupported(format!("a file of the format {name} cannot be written as IDV so far")));
            }
            _ => {}
        }
        self.text.check(kind)?;
        let reading = &self.selection.reading;
        let table = reading.table.is_some() && kind.is_text();
        let columns = kind.is_columns() || kind == Kind::NETCDF;
        let wrong = [
            ("schema", self.text.schema.is_some() && is_typed(kind)),
            ("table", table),
            ("times", self.columnar.times.is_some() && !columns && self.picked.is_none()),
            ("null_integers", self.idv.missing_as_double && !columns),
        ];
        does_not_go(&wrong, kind)?;
        if reading.missing_as_null {
            let why = "is for outputs of text: IDV has its own missing values";
            return Err(Error::usage(why).in_option("missing_as_null"));
        }
        Ok(())
    }
}

/// True for inputs whose columns have types.
fn is_typed(kind: Kind) -> bool {
    matches!(kind, Kind::Idv | Kind::Container(DS) | Kind::NETCDF | Kind::Columns(_))
}

pub(super) fn run(job: &Job<'_>, env: &mut Env<'_, '_>, report: &mut Report) -> Result<()> {
    if let Some(path) = job.path {
        let output = output::create(path, job.force, &job.inputs)?;
        let name = output.path().display().to_string();
        let output = write(job, output, env, report).map_err(|error| of_output(error, &name))?;
        return finish(output, report);
    }
    // The header of a file is known last: it cannot be written into a stream as it comes.
    let temporary = |cause| Error::io("cannot keep the output in a temporary file", cause);
    let file = tempfile::tempfile().map_err(temporary)?;
    let mut file = write(job, file, env, report)?;
    file.rewind().map_err(temporary)?;
    let stream = env.stream()?;
    io::copy(&mut file, stream).and_then(|_| stream.flush()).map_err(output::stream_failed)
}

fn write<W: Write + Seek + Send>(job: &Job<'_>, sink: W, env: &mut Env<'_, '_>, report: &mut Report) -> Result<W> {
    let (kind, inputs) = source::open(&job.inputs, job.text.from, env.opener)?;
    job.check_idv(kind).map_err(|error| match inputs.first().filter(|_| !kind.is_text()) {
        Some(input) if error.kind() == ErrorKind::Unsupported => error.in_file(input.name.clone()),
        _ => error,
    })?;
    let bar = env.bar;
    match kind {
        Kind::Idv if job.picked.is_none() => idvs(job, &inputs, sink, bar, report),
        _ => super::columnar::idv::write(job, env.opener, sink, bar, report),
    }
}

fn idvs<W: Write + Seek>(job: &Job<'_>, inputs: &[Opened], sink: W, bar: &Arc<Bar>, done: &mut Report) -> Result<W> {
    let selection = &job.selection;
    let wanted = job.rows();
    let mut first: Option<(Schema, &str)> = None;
    let mut files = Vec::new();
    for (input, place) in inputs.iter().zip(&job.inputs) {
        let named = |error: Error| error.in_file(input.name.clone());
        let reader = idv::Reader::from_source(input.source()?.clone(), idv::OpenOptions::default()).map_err(named)?;
        let container = idv::IdvContainer::new(reader.clone());
        let table = select::table(&container, selection.reading.table.as_deref()).map_err(named)?;
        let columns = select::columns(table, &selection.columns).map_err(named)?;
        if columns.is_none() {
            done.losses.extend(pour::unreadable(place, table));
        }
        let schema = reader.schema(columns.as_deref()).map_err(named)?;
        match &first {
            None => first = Some((schema, &input.name)),
            Some((expected, name)) => {
                if let Some(difference) = expected.difference(&schema) {
                    let detail = format!("its columns differ from those of {name}: {difference}");
                    return Err(named(Error::invalid(detail)));
                }
            }
        }
        let columns = columns.map_or_else(|| reader.readable_columns(), Ok).map_err(named)?;
        files.push((reader, columns, input));
    }
    let Some((mut schema, _)) = first else { return Err(Error::usage("there is no input")) };
    let total: u64 = files.iter().map(|(reader, ..)| reader.row_count()).fold(0, u64::saturating_add);
    if let Some(range) = &selection.rows {
        range.check(total)?;
    }
    job.idv.compress(&mut schema);
    done.columns = schema.columns.len();
    let rows = wanted.start.min(total)..wanted.end.min(total);
    bar.begin(Unit::Rows, Some(rows.end.saturating_sub(rows.start)));
    let threads = selection.reading.threads;
    let options: WriterOptions = job.idv.writer_options(threads, Arc::clone(bar));
    let mut writer = Writer::new(sink, schema, options)?;
    let mut before = 0_u64;
    for (number, (reader, columns, input)) in files.iter().enumerate() {
        bar.name(&pour::nth(input.name.clone(), number, files.len()));
        let count = reader.row_count();
        let part = rows.start.saturating_sub(before).min(count)..rows.end.saturating_sub(before).min(count);
        let scan = Scan::default().with_columns(columns.clone()).with_rows(part).with_threads(threads);
        let copied = writer.append_reader(reader, &scan).map_err(|error| match error.kind() {
            ErrorKind::Io if error.position() == &Position::default() => error,
            _ => error.in_file(input.name.clone()),
        })?;
        done.rows += copied;
        let losses = writer.take_losses();
        done.losses.extend(losses.into_iter().map(|loss| Lost { file: Some(input.name.clone()), loss }));
        before += count;
    }
    writer.finish()
}
