//! `wharf convert`: rows into a file of another format.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use container_core::{Error, Overwrite, Result};
use serde_json::{Map, Value};
use wharf::convert::{Convert, Report, Streaming, Target, TargetUnit, TextTarget, To};

use super::Outcome;
use super::cat;
use super::display::{clean, counted};
use super::env::Env;
use super::options::{ConvertOptions, Options};
use super::select::Selection;
use super::{inputs, progress};
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
  wharf convert adult.csv adult.idv --floats single --concat Features=age,hours   a vector for ML.NET
  wharf convert iris.idv iris.csv --expand Features --rename Label=species        and back: a column per slot
  wharf convert 'day-*.csv' days.parquet --union --cast id=text                   files whose columns differ
  wharf convert photos/ photos.msgpack --field image         a sample for each photos/LABEL/FILE";

/// The help of clap, with one list of arguments shown as inputs and an output.
const TEMPLATE: &str = "\
{before-help}{about-with-newline}
{usage-heading} {usage}

Arguments:
  <IN>...  Files, or patterns in quotes such as 'day-*.idv' (sorted); - is standard input
  <OUT>    The file to write; its extension selects the format: .jsonl .ndjson .json, .csv, .tsv, .idv,
           .msgpack, .ds, .nc, .zds, .parquet, .arrow, .arrows; - is standard output

{all-args}{after-help}";

/// Convert rows into a file of another format
///
/// The output appears whole or not at all. With --json, a report is printed as one object on standard output.
/// Every format can be written from every other. Between ds and NetCDF, variables are copied: those that --columns names, cut along --dim by
/// --rows. Into other formats a table is converted: the variables along one dimension. A folder or a ZIP archive of files becomes a datadings
/// dataset with the folders as labels. ZDS is an archive (.zds), or with --to zds a folder; Arrow IPC is a file (.arrow) or a stream (.arrows).
/// Several inputs must have the same columns, unless --union is given; for text, datadings and ZDS, types are inferred from the rows of all.
/// Columns are changed in a fixed order: --rename, --drop, --cast, --floats, --expand, --concat. Each option, and --columns, has the names that
/// the one before it leaves; --where and --schema have those of the files.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, help_template = TEMPLATE, override_usage = "wharf convert [OPTIONS] <IN>... <OUT>")]
pub(crate) struct Arguments {
    // One list, whose last name is the output: clap would give a second list whatever stands before an option. The template shows both.
    #[arg(value_name = "IN", required = true, hide = true)]
    names: Vec<OsString>,

    /// The output format, whatever the extension
    #[arg(long, value_parser = TargetName, value_name = "FORMAT")]
    to: Option<String>,

    /// Replace the output if it exists
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    part: super::ds::PartOptions,

    /// Times of ds files as times, not as the stored numbers
    #[arg(long, value_enum, value_name = "FORM")]
    time: Option<super::ds::Times>,

    #[command(flatten)]
    options: Options<ConvertOptions>,
}

/// The name of a target. Help lists those of the program.
#[derive(Clone)]
struct TargetName;

impl TypedValueParser for TargetName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let targets = super::options::targets().into_iter().map(|target| target.info());
        Some(Box::new(targets.map(|info| PossibleValue::new(info.name).help(info.title))))
    }
}

impl Arguments {
    /// The file to write.
    fn output(&self) -> &OsStr {
        self.names.last().map_or(OsStr::new(""), OsString::as_os_str)
    }
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let inputs = match arguments.names.split_last() {
        Some((_, inputs)) if !inputs.is_empty() => inputs,
        _ => {
            let detail = format!("expected <IN>... <OUT>, found only {:?}", arguments.output().display());
            return Err(Error::usage(detail));
        }
    };
    let locations = inputs::expand(inputs)?;
    let mut selection = arguments.part.select(arguments.selection.plain()?)?;
    selection.reading.time = arguments.time.map(Into::into);
    env.opener.apply(&selection)?;
    let stdout = arguments.output() == "-";
    let registry = env.opener.registry.clone();
    let mut target = match &arguments.to {
        Some(name) => by_name(name, &registry)?,
        None if stdout => Box::new(TextTarget::JSON_LINES),
        None => by_extension(Path::new(arguments.output()), &registry)?,
    };
    if !stdout {
        let besides: Vec<_> = arguments.options.files().map(inputs::Location::Path).collect();
        inputs::refuse_overlap(target.files(Path::new(arguments.output())), &besides)?;
    }
    let mut convert = Convert::default();
    for (name, value) in arguments.options.given() {
        convert.set(target.as_mut(), name, value, &registry)?;
    }
    if stdout {
        check_stream(target.as_ref(), env.stdout.terminal.is_some())?;
    }
    let is_shown = env.report.terminal && (!stdout || env.stdout.terminal.is_none());
    let name = together(&locations);
    (convert.inputs, convert.selection) = (locations, selection);
    let path = Path::new(arguments.output());
    let to = if stdout {
        To::Stream(&mut env.stdout)
    } else {
        To::Path(path, if arguments.force { Overwrite::Replace } else { Overwrite::Refuse })
    };
    let mut report = Report::default();
    let outcome = progress::with_line(is_shown, |progress| {
        convert.with_progress(progress).run(target.as_ref(), to, &mut env.opener, &mut report)
    });
    report_types(target.as_ref(), &name, &report, env);
    let outcome = cat::finish(outcome, &report, env)?;
    if !stdout {
        print_report(target.as_ref(), path, report, env)?;
    }
    Ok(outcome)
}

/// Prints what was written: a line, or with --json an object.
pub(crate) fn print_report(target: &dyn Target, path: &Path, report: Report, env: &mut Env<'_>) -> Result<()> {
    let name = path.display().to_string();
    let info = target.info();
    if !env.json() {
        let (word, _) = info.unit.words();
        let counts = match info.unit {
            TargetUnit::Variables => counted(report.variables, word),
            TargetUnit::TypedRows => format!("{}, {}", counted(report.rows, word), counted(report.columns, "column")),
            _ => counted(report.rows, word),
        };
        env.report.note(format!("{name}: {counts}"));
        if report.numbered > 0 {
            let documents = counted(report.numbered, "document");
            let note = format!("note: {documents} without _id: the row number became the id (--id selects a field)");
            env.report.message(note);
        }
        return Ok(());
    }
    let mut object = Map::new();
    object.insert("file".into(), name.into());
    object.insert("to".into(), info.name.into());
    match info.unit {
        TargetUnit::Variables => object.insert("variables".into(), report.variables.into()),
        _ => object.insert("rows".into(), report.rows.into()),
    };
    object.insert("bytes".into(), report.bytes.into());
    match info.unit {
        TargetUnit::TypedRows => {
            object.insert("columns".into(), report.columns.into());
        }
        TargetUnit::Samples if !report.inferred.is_empty() => {
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

/// A name for all inputs of a command.
fn together(locations: &[inputs::Location]) -> String {
    match locations {
        [one] => one.name(),
        [first, others @ ..] => format!("{} and {} more", first.name(), others.len()),
        [] => String::new(),
    }
}

/// Prints the types that were inferred: always into a schema that has to be declared, otherwise on a terminal.
fn report_types(target: &dyn Target, name: &str, report: &Report, env: &mut Env<'_>) {
    if env.json() {
        return;
    }
    match target.info().unit {
        TargetUnit::TypedRows => {
            for line in types(&report.inferred) {
                env.report.message(format!("note: {name}: {line}"));
            }
        }
        TargetUnit::Samples if report.inferred.len() <= MAX_TYPE_LINES => {
            for (column, kind) in &report.inferred {
                env.report.note(format!("{name}: {}: {kind}", clean(column)));
            }
        }
        _ => {}
    }
}

/// With more columns than this, columns are counted by type.
const MAX_TYPE_LINES: usize = 20;

/// Inferred types: a line for each column, or for many columns a line for each type.
fn types(columns: &[(String, String)]) -> Vec<String> {
    if columns.len() <= MAX_TYPE_LINES {
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

/// Fails for a target that cannot be written to standard output.
pub(crate) fn check_stream(target: &dyn Target, is_terminal: bool) -> Result<()> {
    let info = target.info();
    match info.stream {
        Streaming::Unsupported(reason) => Err(Error::usage(format!("{reason}, not standard output: give a path"))),
        Streaming::Binary if is_terminal => Err(Error::usage(format!(
            "{} is binary and cannot be shown on a terminal: give a file or a pipe",
            info.name
        ))),
        _ => Ok(()),
    }
}

pub(crate) fn by_name(name: &str, registry: &Registry) -> Result<Box<dyn Target>> {
    registry.target(name).ok_or_else(|| {
        let known: Vec<_> = registry.targets().iter().map(|target| target.info().name).collect();
        Error::usage(format!("unknown output format {name:?} (known: {})", known.join(", ")))
    })
}

pub(crate) fn by_extension(path: &Path, registry: &Registry) -> Result<Box<dyn Target>> {
    if let Some(target) = registry.target_for(path) {
        return Ok(target);
    }
    let found = match path.extension() {
        Some(extension) => format!("unknown extension .{}", extension.to_string_lossy().to_ascii_lowercase()),
        None => "no extension".to_owned(),
    };
    let targets = registry.targets().into_iter();
    let known: Vec<_> = targets.flat_map(|target| target.info().extensions).map(|name| format!(".{name}")).collect();
    let detail = format!("{found} (known: {}); --to selects the format", known.join(" "));
    Err(Error::usage(detail).in_file(path.display().to_string()))
}
