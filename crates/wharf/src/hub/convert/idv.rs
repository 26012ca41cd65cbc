//! IDV files written: from IDV files, from ds, and from text.

use std::collections::HashMap;
use std::io::{self, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use container_core::{ColumnInfo, Error, ErrorKind, Position, Result, Scan, Unit};
use idv::{ColumnSchema, ItemType, Schema, Type, Writer, WriterOptions};

use super::super::{DS, Lost, output, pour, schema_file, select};
use super::options::IdvOutput;
use super::source::{self, Kind, Opened};
use super::text::{does_not_go, together};
use super::{Bar, Env, Job, Report, finish, of_output};
use crate::convert::import::{InferredColumn, Take, column_names};

impl Job<'_> {
    /// Fails when an option does not go with what the inputs are.
    fn check_idv(&self, kind: Kind, is_store: bool) -> Result<()> {
        match kind {
            Kind::Folder => return Err(Error::unsupported("a directory cannot be written as IDV so far")),
            Kind::Zip => return Err(Error::unsupported("the files of a ZIP archive cannot be written as IDV so far")),
            Kind::Container(DS) | Kind::Columns(_) => {}
            Kind::Container(name) => {
                return Err(Error::unsupported(format!("a file of the format {name} cannot be written as IDV so far")));
            }
            _ => {}
        }
        self.text.check(kind)?;
        let reading = &self.selection.reading;
        let table = reading.table.is_some() && kind.is_text() && !is_store;
        let columns = kind.is_columns();
        let wrong = [
            ("schema", self.text.schema.is_some() && is_typed(kind)),
            ("table", table),
            ("times", self.columnar.times.is_some() && !columns),
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

/// How the file is written.
pub(in crate::hub) struct Writing<'a>(pub(in crate::hub) &'a IdvOutput);

impl Writing<'_> {
    /// The options for the writer.
    pub(in crate::hub) fn options(&self, threads: usize, progress: Arc<Bar>) -> WriterOptions {
        let mut options = WriterOptions::default().with_threads(threads).with_progress(progress);
        options.compression = self.0.compression.unwrap_or(options.compression);
        options.level = self.0.level.unwrap_or(options.level);
        options.rows_per_block = self.0.rows_per_block;
        options.bytes_per_block = self.0.bytes_per_block;
        options
    }

    /// Says for all columns what was asked for; otherwise each keeps what its file has.
    pub(in crate::hub) fn apply(&self, schema: &mut Schema) {
        if let Some(compression) = self.0.compression {
            schema.columns.iter_mut().for_each(|column| column.compression = Some(compression));
        }
    }
}

/// True for inputs whose columns have types.
fn is_typed(kind: Kind) -> bool {
    matches!(kind, Kind::Idv | Kind::Container(_) | Kind::Columns(_))
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
    let (kind, inputs, is_store) = super::lines::documents((kind, inputs), job, &mut report.losses, env)?;
    job.check_idv(kind, is_store).map_err(|error| match inputs.first().filter(|_| !kind.is_text()) {
        Some(input) if error.kind() == ErrorKind::Unsupported => error.in_file(input.name.clone()),
        _ => error,
    })?;
    let bar = env.bar;
    match kind {
        Kind::Idv => idvs(job, &inputs, sink, bar, report),
        // Of times the numbers that are stored are of no use: they come as columns with types.
        Kind::Container(_) if job.selection.reading.time.is_some() => {
            super::columnar::idv::write(job, env.opener, sink, bar, report)
        }
        Kind::Columns(_) => super::columnar::idv::write(job, env.opener, sink, bar, report),
        Kind::Container(_) => super::ds_idv::write(job, &inputs, sink, bar, report),
        Kind::Datadings => {
            let columns = job.columns()?;
            let (lines, types) = super::unpack::lines(inputs, columns.as_deref(), env.opener.access, bar.as_ref())?;
            texts(job, (Kind::Jsonl, lines), &types, sink, bar, report)
        }
        text => texts(job, (text, inputs), &HashMap::new(), sink, bar, report),
    }
}

/// Rows of text; `types` are those that the numbers of some columns had before they were text.
fn texts<W: Write + Seek>(
    job: &Job<'_>,
    (kind, inputs): (Kind, Vec<Opened>),
    types: &HashMap<String, ItemType>,
    sink: W,
    bar: &Arc<Bar>,
    done: &mut Report,
) -> Result<W> {
    let selection = &job.selection;
    let name = together(&inputs);
    let table = job.text.table(kind, inputs, selection.reading.threads)?;
    let (mut schema, leave_out) = match &job.text.schema {
        Some(path) => given(path, selection, done)?,
        None => {
            bar.name(&format!("{name}: finding types"));
            let inferred = table.infer(Some(bar.as_ref()))?;
            let chosen = choose(inferred.names(), selection)?;
            let mut columns = inferred.columns(chosen.as_deref())?;
            for column in &mut columns {
                if let Some(item) = types.get(column.name) {
                    retype(&mut column.kind, *item, column.note.is_some());
                }
            }
            done.inferred = columns.iter().map(described).collect();
            let schema = Schema::new(columns.into_iter().map(|column| ColumnSchema::new(column.name, column.kind)));
            done.schema = Some(schema.to_json()?);
            (schema, left_out(inferred.names(), chosen.as_deref()))
        }
    };
    let writing = Writing(&job.idv);
    writing.apply(&mut schema);
    done.columns = schema.columns.len();
    let mut writer_options = writing.options(selection.reading.threads, Arc::clone(bar));
    // The bar counts bytes of the text.
    writer_options.progress = None;
    let mut writer = Writer::new(sink, schema, writer_options)?;
    let take = Take::default().with_rows(job.rows()).with_leave_out(leave_out);
    bar.name(&name);
    let imported = table.write_to(&mut writer, &take, Some(bar.as_ref()))?;
    done.rows = imported.rows;
    done.losses.extend(imported.losses.into_iter().map(|mut loss| {
        let file = loss.first.file.take().map(String::from);
        Lost { file, loss }
    }));
    job.check_rows(imported.passed)?;
    writer.finish()
}

/// Takes the type of numbers or times that all values had, instead of the inferred one: a wider one, or text.
fn retype(kind: &mut Type, own: ItemType, may_miss: bool) {
    let (Type::Item(item) | Type::Vector { item, .. }) = kind else { return };
    let are_floats = matches!(own, ItemType::Single | ItemType::Double);
    match *item {
        ItemType::Int64 | ItemType::UInt64 if !are_floats => *item = own,
        ItemType::Double | ItemType::Text if are_floats => *item = own,
        ItemType::Text if own == ItemType::TimeSpan && may_miss => *item = ItemType::DvTimeSpan,
        ItemType::Text if matches!(own, ItemType::TimeSpan | ItemType::DateTime) => *item = own,
        _ => {}
    }
}

/// The columns that a schema file gives, as far as they are wanted, and the names of the others.
fn given(path: &Path, selection: &select::Selection, report: &mut Report) -> Result<(Schema, Vec<String>)> {
    let (schema, lost) = schema_file::read(path)?;
    let file = path.display().to_string();
    report.losses.extend(lost.into_iter().map(|loss| Lost { file: Some(file.clone()), loss }));
    let names = column_names(&schema);
    let chosen = choose(&names, selection)?;
    let leave_out = left_out(&names, chosen.as_deref());
    let schema = match chosen {
        None => schema,
        Some(chosen) => Schema::new(chosen.iter().filter_map(|&index| schema.columns.get(index).cloned())),
    };
    Ok((schema, leave_out))
}

fn choose(names: &[String], selection: &select::Selection) -> Result<Option<Vec<usize>>> {
    let columns: Vec<ColumnInfo> = names.iter().map(|name| ColumnInfo::new(name.clone(), String::new())).collect();
    select::columns_of(&columns, &selection.columns)
}

fn left_out(names: &[String], chosen: Option<&[usize]>) -> Vec<String> {
    let Some(chosen) = chosen else { return Vec::new() };
    let others = names.iter().enumerate().filter(|(index, _)| !chosen.contains(index));
    others.map(|(_, name)| name.clone()).collect()
}

/// An inferred type for people.
fn described(column: &InferredColumn<'_>) -> (String, String) {
    let kind = match column.note {
        Some(note) => format!("{} ({note})", column.kind),
        None => column.kind.to_string(),
    };
    (column.name.to_owned(), kind)
}

fn idvs<W: Write + Seek>(job: &Job<'_>, inputs: &[Opened], sink: W, bar: &Arc<Bar>, done: &mut Report) -> Result<W> {
    let selection = &job.selection;
    let wanted = job.rows();
    let mut first: Option<(Schema, &str)> = None;
    let mut files = Vec::new();
    for (input, place) in inputs.iter().zip(&job.inputs) {
        let named = |error: Error| error.in_file(input.name.clone());
        let reader = idv::Reader::from_source(input.source()?.clone(), idv::Options::default()).map_err(named)?;
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
    let writing = Writing(&job.idv);
    writing.apply(&mut schema);
    done.columns = schema.columns.len();
    let rows = wanted.start.min(total)..wanted.end.min(total);
    bar.begin(Unit::Rows, Some(rows.end.saturating_sub(rows.start)));
    let threads = selection.reading.threads;
    let options: WriterOptions = writing.options(threads, Arc::clone(bar));
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
