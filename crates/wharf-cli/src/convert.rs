//! `wharf convert`: rows into a file of another form.

mod options;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use container_core::{Error, Overwrite, Progress, Result};
use serde_json::{Map, Value};
use wharf::hub::convert::{Convert, OutputForm, Report, To};

use super::Outcome;
use super::cat;
use super::display::{clean, counted};
use super::env::Env;
use super::inputs;
use super::progress::ProgressLine;
use super::select::Selection;
use wharf::Registry;

const EXAMPLES: &str = "\
Examples:
  wharf convert adult.idv adult.csv
  wharf convert adult.idv ages.jsonl --columns Age,Label --rows ..1000
  wharf convert 'day-*.idv' --to tsv - | gzip > days.tsv.gz
  wharf convert people.jsonl people.idv                      types inferred from all lines
  wharf convert people.csv people.idv --schema types.json    types given: {\"age\": \"Single\"}
  wharf convert people.jsonl people.msgpack --key id         samples of datadings
  wharf convert people.csv people.ds --dim person            variables along one dimension
  wharf convert people.ds people.idv --table person          columns for ML.NET, and back: people.idv people.ds
  wharf convert model.nc model.ds                            NetCDF, and back: model.ds model.nc
  wharf convert people.jsonl people.zds --id name            documents with an index, packed; --to zds writes a folder
  wharf convert adult.idv adult.parquet --compression zstd:3 columns for every other tool; also .arrow and .arrows
  wharf convert 'day-*.csv' days.parquet                     types that go for all days; --schema says other ones
  wharf convert photos/ photos.msgpack --field image         a sample for each photos/LABEL/FILE";

/// The help of clap, with the arguments as people think of them.
const TEMPLATE: &str = "\
{before-help}{about-with-newline}
{usage-heading} {usage}

Arguments:
  <IN>...  Files, or patterns in quotes such as 'day-*.idv' (sorted); - is standard input
  <OUT>    The file to write; its extension says the form: .jsonl .ndjson .json, .csv, .tsv, .idv,
           .msgpack, .ds, .nc, .zds, .parquet, .arrow, .arrows; - is standard output

{all-args}{after-help}";

/// Convert rows into a file of another form
///
/// The output appears when it is whole, or not at all. With --json, what was done is one object on standard output.
/// Every format is written from every other. Between ds and NetCDF variables are carried over, those that --columns names, with --rows cut along
/// --dim; to other formats a table goes, the variables along one dimension. A folder or a ZIP archive of files becomes a datadings dataset of them, with their folders as labels. ZDS is
/// an archive (.zds), or with --to zds a folder; Arrow IPC a file (.arrow) or a stream (.arrows). Several inputs have the same columns; of text,
/// datadings and ZDS the types are those of the rows of all.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, help_template = TEMPLATE, override_usage = "wharf convert [OPTIONS] <IN>... <OUT>")]
pub(crate) struct Arguments {
    // One list, the last of which is the output: of two clap would give the second what stands before an option. The template tells of both.
    #[arg(value_name = "IN", required = true, hide = true)]
    names: Vec<OsString>,

    /// The form, whatever the extension
    #[arg(long, value_parser = forms(), value_name = "FORM")]
    to: Option<OutputForm>,

    /// Replace the output if it exists
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    selection: Selection,

    /// Times of ds files as times, not as the numbers that are stored
    #[arg(long, value_enum, value_name = "FORM")]
    time: Option<super::ds::Times>,

    #[command(flatten)]
    options: options::Options,
}

/// The forms by name.
fn forms() -> impl TypedValueParser<Value = OutputForm> {
    let names = OutputForm::ALL.map(|(form, help)| PossibleValue::new(form.name()).help(help));
    PossibleValuesParser::new(names)
        .try_map(|name| OutputForm::named(&name).ok_or_else(|| format!("there is no form {name:?}")))
}

impl Arguments {
    /// The file to write.
    fn output(&self) -> &OsStr {
        self.names.last().map_or(OsStr::new(""), OsString::as_os_str)
    }
}

/// The files that are written.
fn outputs(path: &Path, form: OutputForm) -> Vec<PathBuf> {
    if form == OutputForm::Datadings {
        return super::records::members(path).collect();
    }
    let _ = form;
    vec![path.to_owned()]
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let inputs = match arguments.names.split_last() {
        Some((_, inputs)) if !inputs.is_empty() => inputs,
        _ => {
            let detail = format!("there is one name, {:?}: needed are <IN>... <OUT>", arguments.output().display());
            return Err(Error::usage(detail));
        }
    };
    let locations = inputs::expand(inputs)?;
    let mut selection = arguments.selection.plain();
    selection.reading.time = arguments.time.map(Into::into);
    env.opener.show(&selection)?;
    env.opener.check_filters(&locations, selection.reading.table.as_deref())?;
    let stdout = arguments.output() == "-";
    let form = match arguments.to {
        Some(form) => form,
        None if stdout => OutputForm::Jsonl,
        None => by_extension(Path::new(arguments.output()), &env.opener.registry)?,
    };
    if !stdout {
        let besides: Vec<_> = arguments.options.files().map(inputs::Location::Path).collect();
        inputs::refuse_overlap(outputs(Path::new(arguments.output()), form), &besides)?;
    }
    let mut convert = Convert::default();
    arguments.options.set(form, &mut convert)?;
    if stdout {
        check_stream(form, env.stdout.terminal.is_some())?;
    }
    let is_shown = env.report.terminal && (!stdout || env.stdout.terminal.is_none());
    let bar = Arc::new(ProgressLine::new(is_shown));
    (convert.inputs, convert.selection) = (locations, selection);
    let convert = convert.with_progress(Arc::clone(&bar) as Arc<dyn Progress>);
    let path = Path::new(arguments.output());
    let to = if stdout {
        To::Stream(&mut env.stdout)
    } else {
        To::Path(path, if arguments.force { Overwrite::Replace } else { Overwrite::Refuse })
    };
    let mut report = Report::default();
    let outcome = convert.run(form, to, &mut env.opener, &mut report);
    bar.clear();
    tell_types(form, &together(&convert.inputs), &report, env);
    let outcome = cat::finish(outcome, &report, env)?;
    if !stdout {
        tell(form, path, report, env)?;
    }
    Ok(outcome)
}

/// Says what was done.
fn tell(form: OutputForm, path: &Path, report: Report, env: &mut Env<'_>) -> Result<()> {
    let name = path.display().to_string();
    if !env.json() {
        let done = match form {
            OutputForm::Jsonl | OutputForm::Csv | OutputForm::Tsv => counted(report.rows, "row"),
            OutputForm::Datadings => counted(report.rows, "sample"),
            OutputForm::Zds => counted(report.rows, "document"),
            OutputForm::Ds | OutputForm::Netcdf => counted(report.variables, "variable"),
            _ => {
                format!("{}, {}", counted(report.rows, "row"), counted(report.columns, "column"))
            }
        };
        env.report.note(format!("{name}: {done}"));
        if report.numbered > 0 {
            let rows = counted(report.numbered, "document");
            env.report.message(format!("note: {rows} had no _id: their numbers became it (--id takes a member)"));
        }
        return Ok(());
    }
    let mut object = Map::new();
    object.insert("file".into(), name.into());
    object.insert("to".into(), form.name().into());
    match form {
        OutputForm::Ds | OutputForm::Netcdf => object.insert("variables".into(), report.variables.into()),
        _ => object.insert("rows".into(), report.rows.into()),
    };
    object.insert("bytes".into(), report.bytes.into());
    match form {
        OutputForm::Idv | OutputForm::Parquet | OutputForm::Arrow | OutputForm::Arrows | OutputForm::Other(_) => {
            object.insert("columns".into(), report.columns.into());
        }
        OutputForm::Datadings if !report.inferred.is_empty() => {
            let columns: Map<String, Value> =
                report.inferred.into_iter().map(|(name, kind)| (name, kind.into())).collect();
            object.insert("columns".into(), columns.into());
        }
        _ => {}
    }
    if let Some(schema) = report.schema {
        object.insert("schema".into(), schema);
    }
    if let Some(labels) = report.labels {
        object.insert("labels".into(), labels.into());
    }
    if let Some(collection) = report.collection {
        object.insert("table".into(), collection.into());
        object.insert("numbered".into(), report.numbered.into());
    }
    env.stdout.print(&format!("{}\n", Value::Object(object)))
}

/// How the inputs of a command are called together.
fn together(locations: &[inputs::Location]) -> String {
    match locations {
        [one] => one.name(),
        [first, others @ ..] => format!("{} and {} more", first.name(), others.len()),
        [] => String::new(),
    }
}

/// Shows the types that were inferred, for people.
fn tell_types(form: OutputForm, name: &str, report: &Report, env: &mut Env<'_>) {
    if env.json() {
        return;
    }
    match form {
        OutputForm::Idv => {
            for line in types(&report.inferred) {
                env.report.message(format!("note: {name}: {line}"));
            }
        }
        OutputForm::Datadings if report.inferred.len() <= MOST_LINES => {
            for (column, kind) in &report.inferred {
                env.report.note(format!("{name}: {}: {kind}", clean(column)));
            }
        }
        _ => {}
    }
}

/// Columns beyond this are told by type, not one by one.
const MOST_LINES: usize = 20;

/// Inferred types for people: a line each, or of many columns how many have each type.
fn types(columns: &[(String, String)]) -> Vec<String> {
    if columns.len() <= MOST_LINES {
        return columns.iter().map(|(name, kind)| format!("{}: {kind}", clean(name))).collect();
    }
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for (_, kind) in columns {
        match kinds.iter_mut().find(|(known, _)| known == kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind, 1)),
        }
    }
    kinds.into_iter().map(|(kind, count)| format!("{}: {kind}", counted(count, "column"))).collect()
}

/// Fails for what standard output cannot take.
fn check_stream(form: OutputForm, is_terminal: bool) -> Result<()> {
    let refused = match form {
        OutputForm::Datadings => "a dataset is a set of files, which standard output is not: give a file",
        OutputForm::Zds => "a store is a folder or an archive of one, which standard output is not: give a path",
        OutputForm::Netcdf => "NetCDF cannot be written to standard output: give a file",
        OutputForm::Idv if is_terminal => "IDV is not for a terminal: give a file, or a pipe",
        OutputForm::Ds if is_terminal => "ds is not for a terminal: give a file, or a pipe",
        OutputForm::Parquet if is_terminal => "Parquet is not for a terminal: give a file, or a pipe",
        OutputForm::Arrow | OutputForm::Arrows if is_terminal => {
            "Arrow IPC is not for a terminal: give a file, or a pipe"
        }
        _ => return Ok(()),
    };
    Err(Error::usage(refused))
}

fn by_extension(path: &Path, registry: &Registry) -> Result<OutputForm> {
    if let Some(form) = OutputForm::of_path(path, registry) {
        return Ok(form);
    }
    let found = match path.extension() {
        Some(extension) => format!("ends in .{}", extension.to_string_lossy().to_ascii_lowercase()),
        None => "has no extension".to_owned(),
    };
    let known = ".jsonl .ndjson .json .csv .tsv .idv .msgpack .ds .nc .zds .parquet .arrow .arrows";
    let detail = format!("the output {found}, known are {known}; or say --to");
    Err(Error::usage(detail).in_file(path.display().to_string()))
}
