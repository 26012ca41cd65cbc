//! IDV files written: from IDV files, from ds, and from text.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum;
use container_core::{ColumnInfo, Error, ErrorKind, Position, Progress, Result, Scan, Unit};
use idv::{ColumnSchema, ItemType, Schema, Type, Writer, WriterOptions};
use serde_json::{Map, Value};
use wharf::convert::import::{InferredColumn, Take, column_names};

use super::super::Outcome;
use super::super::bar::Bar;
use super::super::cat;
use super::super::env::Env;
use super::super::human::{clean, counted};
use super::super::inputs::Place;
use super::super::output;
use super::super::pour::{self, Poured};
use super::super::report::Lost;
use super::super::select::{self, Selection};
use super::super::writing::{Blocks, Compression, Writing, schema_file};
use super::source::{self, Kind, Opened};
use super::text::{does_not_go, together};
use super::{Arguments, Form, refuse, wanted};

/// Columns beyond this are told by type, not one by one.
const MOST_LINES: usize = 20;

/// Options that only the output IDV has.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for the output IDV")]
pub(super) struct Options {
    /// What becomes of integers that are missing in Parquet and Arrow IPC [default: error]
    #[arg(long, value_enum, value_name = "HOW")]
    null_integers: Option<Missing>,

    #[command(flatten)]
    blocks: Blocks,
}

/// What becomes of integers that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Missing {
    /// An error
    Error,
    /// Columns of integers that may be missing become Double, where NaN is missing
    Double,
}

impl Options {
    /// Do columns of integers that may be missing become floats?
    pub(super) fn missing_as_double(&self) -> bool {
        self.null_integers == Some(Missing::Double)
    }

    /// Fails when one of these is given for another output.
    pub(super) fn refuse(&self, form: Form) -> Result<()> {
        let Blocks { level, rows_per_block, bytes_per_block } = &self.blocks;
        let given = [
            ("--null-integers", self.null_integers.is_some()),
            ("--level", level.is_some()),
            ("--rows-per-block", rows_per_block.is_some()),
            ("--bytes-per-block", bytes_per_block.is_some()),
        ];
        refuse(&given, "the output idv", form)
    }

    /// How the file is written, compressed so.
    pub(super) fn writing(&self, compression: Option<&str>) -> Result<Writing> {
        let compression = compression.map(|name| {
            let unknown = |_| Error::usage(format!("IDV has no compression {name:?}: it has none, deflate and zlib"));
            <Compression as clap::ValueEnum>::from_str(name, false).map_err(unknown)
        });
        Ok(Writing { compression: compression.transpose()?, blocks: self.blocks.clone() })
    }

    /// Fails when an option does not go with what the inputs are.
    fn check(&self, kind: Kind, is_store: bool, arguments: &Arguments) -> Result<()> {
        match kind {
            Kind::Folder => return Err(Error::unsupported("a directory cannot be written as IDV so far")),
            Kind::Zip => return Err(Error::unsupported("the files of a ZIP archive cannot be written as IDV so far")),
            Kind::Container(super::super::edit::NAME) => {}
            Kind::Columns(_) => {}
            Kind::Container(name) => {
                return Err(Error::unsupported(format!("a file of the format {name} cannot be written as IDV so far")));
            }
            _ => {}
        }
        arguments.text.check(kind)?;
        let reading = &arguments.selection.reading;
        let table = reading.table.is_some() && kind.is_text() && !is_store;
        let (columns, times) = (kind.is_columns(), arguments.columnar.has_times());
        let wrong = [
            ("--schema", arguments.text.schema.is_some() && is_typed(kind)),
            ("--table", table),
            ("--times", times && !columns),
            ("--null-integers", self.null_integers.is_some() && !columns),
        ];
        does_not_go(&wrong, kind)?;
        if reading.missing_as_null {
            return Err(Error::usage("--missing-as-null is for outputs of text: IDV has its own missing values"));
        }
        Ok(())
    }
}

/// True for inputs whose columns have types.
fn is_typed(kind: Kind) -> bool {
    matches!(kind, Kind::Idv | Kind::Container(_) | Kind::Columns(_))
}

/// What has been done.
#[derive(Default)]
pub(super) struct Done {
    pub(super) poured: Poured,
    pub(super) columns: usize,
    /// The types, when they were inferred.
    inferred: Option<Value>,
}

pub(super) fn run(arguments: &Arguments, places: &[Place], env: &mut Env<'_>) -> Result<Outcome> {
    if arguments.output() != "-" {
        let output = output::create(Path::new(arguments.output()), arguments.force, places)?;
        let name = output.path().display().to_string();
        let mut done = Done::default();
        let outcome = write(arguments, places, output, env, &mut done).map_err(|error| match error.kind() {
            // Errors of inputs name their file already.
            ErrorKind::Io => error.in_file(name.clone()),
            _ => error,
        });
        let mut bytes = 0;
        let outcome = outcome.and_then(|output| {
            bytes = output.file().metadata().map_or(0, |metadata| metadata.len());
            output.finish()
        });
        let outcome = cat::finish(outcome, &done.poured, env)?;
        return tell(&name, bytes, done, env).map(|()| outcome);
    }
    if env.stdout.terminal.is_some() {
        return Err(Error::usage("IDV is not for a terminal: give a file, or a pipe"));
    }
    // The header of a file is known last: it cannot be written into a pipe as it comes.
    let temporary = |cause| Error::io("cannot keep the output in a temporary file", cause);
    let file = tempfile::tempfile().map_err(temporary)?;
    let mut done = Done::default();
    let outcome = write(arguments, places, file, env, &mut done);
    let outcome = outcome.and_then(|mut file: File| {
        file.rewind().map_err(temporary)?;
        io::copy(&mut file, &mut env.stdout)
            .and_then(|_| env.stdout.flush())
            .map_err(|cause| Error::io("cannot write to standard output", cause))
    });
    cat::finish(outcome, &done.poured, env)
}

/// Says what was done.
fn tell(name: &str, bytes: u64, done: Done, env: &mut Env<'_>) -> Result<()> {
    let rows = done.poured.rows;
    if !env.json() {
        let (rows, columns) = (counted(rows, "row"), counted(done.columns, "column"));
        env.report.note(format!("{name}: {rows}, {columns}"));
        return Ok(());
    }
    let mut object = Map::new();
    object.insert("file".into(), name.into());
    object.insert("to".into(), "idv".into());
    object.insert("rows".into(), rows.into());
    object.insert("bytes".into(), bytes.into());
    object.insert("columns".into(), done.columns.into());
    if let Some(schema) = done.inferred {
        object.insert("schema".into(), schema);
    }
    env.stdout.print(&format!("{}\n", Value::Object(object)))
}

fn write<W: Write + Seek + Send>(
    arguments: &Arguments,
    places: &[Place],
    sink: W,
    env: &mut Env<'_>,
    done: &mut Done,
) -> Result<W> {
    let (kind, inputs) = source::open(places, arguments.text.from, &mut env.opener)?;
    let (kind, inputs, is_store) = super::lines::documents((kind, inputs), arguments, &mut done.poured.lost, env)?;
    arguments.idv.check(kind, is_store, arguments).map_err(|error| {
        match inputs.first().filter(|_| !kind.is_text()) {
            Some(input) if error.kind() == ErrorKind::Unsupported => error.in_file(input.name.clone()),
            _ => error,
        }
    })?;
    let bar = Arc::new(Bar::new(env.report.terminal && env.stdout.terminal.is_none_or(|_| arguments.output() != "-")));
    let outcome = match kind {
        Kind::Idv => idvs(arguments, places, &inputs, sink, &bar, done),
        Kind::Columns(_) => super::columnar::idv::write(arguments, places, &mut env.opener, sink, &bar, done),
        Kind::Container(_) => super::ds_idv::write(arguments, places, &inputs, sink, &bar, done),
        Kind::Datadings => super::columns(&arguments.selection.columns)
            .and_then(|columns| super::unpack::lines(inputs, columns.as_deref(), env.opener.access, &bar))
            .and_then(|(lines, types)| texts(arguments, (Kind::Jsonl, lines), &types, sink, env, &bar, done)),
        text => texts(arguments, (text, inputs), &HashMap::new(), sink, env, &bar, done),
    };
    bar.clear();
    outcome
}

/// Rows of text; `types` are those that the numbers of some columns had before they were text.
fn texts<W: Write + Seek>(
    arguments: &Arguments,
    (kind, inputs): (Kind, Vec<Opened>),
    types: &HashMap<String, ItemType>,
    sink: W,
    env: &mut Env<'_>,
    bar: &Arc<Bar>,
    done: &mut Done,
) -> Result<W> {
    let selection = &arguments.selection;
    let name = together(&inputs);
    let table = arguments.text.table(kind, inputs, selection.reading.threads)?;
    let (mut schema, leave_out) = match &arguments.text.schema {
        Some(path) => given(path, selection, &mut done.poured)?,
        None => {
            bar.name(format!("{name}: finding types"));
            let inferred = table.infer(Some(bar.as_ref()))?;
            let chosen = choose(inferred.names(), selection)?;
            let mut columns = inferred.columns(chosen.as_deref())?;
            for column in &mut columns {
                if let Some(item) = types.get(column.name) {
                    retype(&mut column.kind, *item);
                }
            }
            if !env.json() {
                let lines = shown(&columns);
                bar.aside(|| lines.iter().for_each(|line| env.report.message(format!("note: {name}: {line}"))));
            }
            let schema = Schema::new(columns.into_iter().map(|column| ColumnSchema::new(column.name, column.kind)));
            done.inferred = Some(schema.to_json()?);
            (schema, left_out(inferred.names(), chosen.as_deref()))
        }
    };
    let writing = arguments.idv.writing(arguments.compression.as_deref())?;
    writing.apply(&mut schema);
    done.columns = schema.columns.len();
    let mut writer_options = writing.options(selection.reading.threads, Arc::clone(bar) as Arc<dyn Progress>);
    // The bar counts bytes of the text.
    writer_options.progress = None;
    let mut writer = Writer::new(sink, schema, writer_options)?;
    let wanted = wanted(selection);
    let take = Take::default().with_rows(wanted.clone()).with_leave_out(leave_out);
    bar.name(name);
    let imported = table.write_to(&mut writer, &take, Some(bar.as_ref()))?;
    done.poured.rows = imported.rows;
    done.poured.lost.extend(imported.losses.into_iter().map(|mut loss| {
        let file = loss.first.file.take().map(String::from);
        Lost { file, loss }
    }));
    if let Some(range) = &selection.rows
        && imported.passed < wanted.end
    {
        range.check(imported.passed)?;
    }
    writer.finish()
}

/// Takes the type of numbers that all values had, instead of the inferred one: a wider one, or text where all are NaN.
fn retype(kind: &mut Type, own: ItemType) {
    let (Type::Item(item) | Type::Vector { item, .. }) = kind else { return };
    let are_floats = matches!(own, ItemType::Single | ItemType::Double);
    match *item {
        ItemType::Int64 | ItemType::UInt64 if !are_floats => *item = own,
        ItemType::Double | ItemType::Text if are_floats => *item = own,
        _ => {}
    }
}

/// The columns that a schema file gives, as far as they are wanted, and the names of the others.
fn given(path: &Path, selection: &Selection, poured: &mut Poured) -> Result<(Schema, Vec<String>)> {
    let (schema, lost) = schema_file(path)?;
    let file = path.display().to_string();
    poured.lost.extend(lost.into_iter().map(|loss| Lost { file: Some(file.clone()), loss }));
    let names = column_names(&schema);
    let chosen = choose(&names, selection)?;
    let leave_out = left_out(&names, chosen.as_deref());
    let schema = match chosen {
        None => schema,
        Some(chosen) => Schema::new(chosen.iter().filter_map(|&index| schema.columns.get(index).cloned())),
    };
    Ok((schema, leave_out))
}

fn choose(names: &[String], selection: &Selection) -> Result<Option<Vec<usize>>> {
    let columns: Vec<ColumnInfo> = names.iter().map(|name| ColumnInfo::new(name.clone(), String::new())).collect();
    select::columns_of(&columns, &selection.columns)
}

fn left_out(names: &[String], chosen: Option<&[usize]>) -> Vec<String> {
    let Some(chosen) = chosen else { return Vec::new() };
    let others = names.iter().enumerate().filter(|(index, _)| !chosen.contains(index));
    others.map(|(_, name)| name.clone()).collect()
}

/// Inferred types for people: a line each, or of many columns how many have each type.
fn shown(columns: &[InferredColumn<'_>]) -> Vec<String> {
    let kind = |column: &InferredColumn<'_>| match column.note {
        Some(note) => format!("{} ({note})", column.kind),
        None => column.kind.to_string(),
    };
    if columns.len() <= MOST_LINES {
        return columns.iter().map(|column| format!("{}: {}", clean(column.name), kind(column))).collect();
    }
    let mut kinds: Vec<(String, usize)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for column in columns {
        let kind = kind(column);
        let place = *places.entry(kind.clone()).or_insert_with(|| {
            kinds.push((kind, 0));
            kinds.len() - 1
        });
        if let Some((_, count)) = kinds.get_mut(place) {
            *count += 1;
        }
    }
    kinds.into_iter().map(|(kind, count)| format!("{}: {kind}", counted(count, "column"))).collect()
}

fn idvs<W: Write + Seek>(
    arguments: &Arguments,
    places: &[Place],
    inputs: &[Opened],
    sink: W,
    bar: &Arc<Bar>,
    done: &mut Done,
) -> Result<W> {
    let selection = &arguments.selection;
    let wanted = wanted(selection);
    let mut first: Option<(Schema, &str)> = None;
    let mut files = Vec::new();
    for (input, place) in inputs.iter().zip(places) {
        let named = |error: Error| error.in_file(input.name.clone());
        let reader = idv::Reader::from_source(input.source()?.clone(), idv::Options::default()).map_err(named)?;
        let container = idv::IdvContainer::new(reader.clone());
        let table = select::table(&container, selection.reading.table.as_deref()).map_err(named)?;
        let columns = select::columns(table, &selection.columns).map_err(named)?;
        if columns.is_none() {
            done.poured.lost.extend(pour::unreadable(place, table));
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
    let writing = arguments.idv.writing(arguments.compression.as_deref())?;
    writing.apply(&mut schema);
    done.columns = schema.columns.len();
    let rows = wanted.start.min(total)..wanted.end.min(total);
    bar.begin(Unit::Rows, Some(rows.end.saturating_sub(rows.start)));
    let threads = selection.reading.threads;
    let options: WriterOptions = writing.options(threads, Arc::clone(bar) as Arc<dyn Progress>);
    let mut writer = Writer::new(sink, schema, options)?;
    let mut before = 0_u64;
    for (number, (reader, columns, input)) in files.iter().enumerate() {
        bar.name(match files.len() {
            1 => input.name.clone(),
            all => format!("{} ({} of {all})", input.name, number + 1),
        });
        let count = reader.row_count();
        let part = rows.start.saturating_sub(before).min(count)..rows.end.saturating_sub(before).min(count);
        let scan = Scan::default().with_columns(columns.clone()).with_rows(part).with_threads(threads);
        let copied = writer.append_reader(reader, &scan).map_err(|error| match error.kind() {
            ErrorKind::Io if error.position() == &Position::default() => error,
            _ => error.in_file(input.name.clone()),
        })?;
        done.poured.rows += copied;
        let losses = writer.take_losses();
        done.poured.lost.extend(losses.into_iter().map(|loss| Lost { file: Some(input.name.clone()), loss }));
        before += count;
    }
    writer.finish()
}
