//! `wharf convert`: rows into a file of another form.

mod options;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use container_core::{Error, Overwrite, Progress, Result};
use serde_json::{Map, Value};
use wharf::hub::convert::{Convert, OutputForm, Report, To};

use super::Outcome;
use super::bar::Bar;
use super::cat;
use super::env::Env;
use super::human::{clean, counted};
use super::inputs;
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
/// IDV is written from IDV, from ds, from datadings, and from text: JSON lines, CSV, TSV. datadings is written from any format, from text, and from
/// files: a folder or a ZIP archive becomes a dataset of them, with their folders as labels. ds is written from text, from rows of other
/// containers, from ds (--columns says which variables) and from NetCDF; NetCDF from ds. ZDS is written from text and from rows of other
/// containers: an archive (.zds), or with --to zds a folder. Parquet and Arrow IPC, a file (.arrow) or a stream (.arrows), are written from any
/// container whose tables have columns with types, and from text. Several inputs have the same columns; of text, datadings and ZDS the types are
/// those of the rows of all.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, help_template = TEMPLATE, override_usage = "wharf convert [OPTIONS] <IN>... <OUT>")]
pub(crate) struct Arguments {
    // One list, the last of which is the output: of two clap would give the second what stands before an option. The template tells of both.
    #[arg(value_name = "IN", required = true, hide = true)]
    names: Vec<OsString>,

    /// The form, whatever the extension
    #[arg(long, value_enum, value_name = "FORM")]
    to: Option<Form>,

    /// Replace the output if it exists
    #[arg(long)]
    force: bool,

    /// How the output is compressed: none, deflate or zlib in IDV (ML.NET does not read zlib); none, snappy, lz4, gzip, zstd or brotli in
    /// Parquet; none, lz4 or zstd in Arrow IPC. gzip, zstd and brotli may have a level: zstd:3
    #[arg(long, value_name = "KIND")]
    compression: Option<String>,

    #[command(flatten)]
    selection: Selection,

    /// Times of ds files as times, not as the numbers that are stored
    #[arg(long, value_enum, value_name = "FORM")]
    time: Option<super::ds::Times>,

    #[command(flatten)]
    text: options::Text,

    #[command(flatten)]
    idv: options::Idv,

    #[command(flatten)]
    datadings: options::Datadings,

    #[command(flatten)]
    ds: options::Ds,

    #[command(flatten)]
    netcdf: options::Netcdf,

    #[command(flatten)]
    zds: options::Zds,

    #[command(flatten)]
    columnar: options::Columnar,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// JSON lines: one object per row
    Jsonl,
    /// Comma-separated values
    Csv,
    /// Tab-separated values
    Tsv,
    /// IDV, the format of ML.NET
    Idv,
    /// datadings, samples of msgpack with an index
    Datadings,
    /// ds, n-dimensional arrays
    Ds,
    /// NetCDF
    Netcdf,
    /// ZDS, JSON documents with an index
    Zds,
    /// Parquet
    Parquet,
    /// Arrow IPC, a file
    Arrow,
    /// Arrow IPC, a stream
    Arrows,
    /// A format of the registry that is none of these
    #[value(skip)]
    Other(&'static str),
}

impl Arguments {
    /// The file to write.
    fn output(&self) -> &OsStr {
        self.names.last().map_or(OsStr::new(""), OsString::as_os_str)
    }

    /// Files that are read besides the inputs.
    fn read_besides(&self) -> Vec<inputs::Location> {
        let paths = std::iter::empty();
        let paths = paths.chain(&self.text.schema);
        let paths = paths.chain(self.datadings.read_besides());
        paths.map(|path: &PathBuf| inputs::Location::Path(path.clone())).collect()
    }
}

/// The files that are written.
fn outputs(path: &Path, form: Form) -> Vec<PathBuf> {
    if form == Form::Datadings {
        return super::dataset::members(path).collect();
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
        None if stdout => Form::Jsonl,
        None => by_extension(Path::new(arguments.output()), &env.opener.registry)?,
    };
    if !stdout {
        inputs::refuse_overlap(outputs(Path::new(arguments.output()), form), &arguments.read_besides())?;
    }
    arguments.check(form)?;
    if stdout {
        form.check_stream(env.stdout.terminal.is_some())?;
    }
    let is_shown = env.report.terminal && (!stdout || env.stdout.terminal.is_none());
    let bar = Arc::new(Bar::new(is_shown));
    let convert = arguments.convert(form, locations, selection)?.with_progress(Arc::clone(&bar) as Arc<dyn Progress>);
    let path = Path::new(arguments.output());
    let to = if stdout {
        To::Stream(&mut env.stdout)
    } else {
        To::Path(path, if arguments.force { Overwrite::Replace } else { Overwrite::Refuse })
    };
    let mut report = Report::default();
    let outcome = convert.run(form.into(), to, &mut env.opener, &mut report);
    bar.clear();
    tell_types(form, &together(&convert.inputs), &report, env);
    let outcome = cat::finish(outcome, &report, env)?;
    if !stdout {
        tell(form, path, report, env)?;
    }
    Ok(outcome)
}

/// Says what was done.
fn tell(form: Form, path: &Path, report: Report, env: &mut Env<'_>) -> Result<()> {
    let name = path.display().to_string();
    if !env.json() {
        let done = match form {
            Form::Jsonl | Form::Csv | Form::Tsv => counted(report.rows, "row"),
            Form::Datadings => counted(report.rows, "sample"),
            Form::Zds => counted(report.rows, "document"),
            Form::Ds => counted(report.variables, "variable"),
            Form::Netcdf => return Ok(()),
            Form::Idv | Form::Parquet | Form::Arrow | Form::Arrows | Form::Other(_) => {
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
    object.insert("to".into(), OutputForm::from(form).name().into());
    match form {
        Form::Ds | Form::Netcdf => object.insert("variables".into(), report.variables.into()),
        _ => object.insert("rows".into(), report.rows.into()),
    };
    object.insert("bytes".into(), report.bytes.into());
    match form {
        Form::Idv | Form::Parquet | Form::Arrow | Form::Arrows | Form::Other(_) => {
            object.insert("columns".into(), report.columns.into());
        }
        Form::Datadings if !report.inferred.is_empty() => {
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
fn tell_types(form: Form, name: &str, report: &Report, env: &mut Env<'_>) {
    if env.json() {
        return;
    }
    match form {
        Form::Idv => {
            for line in types(&report.inferred) {
                env.report.message(format!("note: {name}: {line}"));
            }
        }
        Form::Datadings if report.inferred.len() <= MOST_LINES => {
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

impl Arguments {
    /// Fails for options of other outputs.
    fn check(&self, form: Form) -> Result<()> {
        if form != Form::Ds {
            self.ds.refuse(form)?;
        }
        if form != Form::Netcdf {
            self.netcdf.refuse(form)?;
        }
        if form != Form::Zds {
            self.zds.refuse(form)?;
        }
        if !form.is_compressed() {
            let outputs = "the outputs idv, parquet, arrow and arrows";
            refuse(&[("--compression", self.compression.is_some())], outputs, form)?;
        }
        self.columnar.check()?;
        if !form.is_columnar() {
            self.columnar.refuse(form)?;
        }
        if !form.takes_schema() {
            self.text.refuse_schema(form)?;
        }
        if form == Form::Netcdf {
            self.text.refuse(form)?;
        }
        if form != Form::Idv {
            self.idv.refuse(form)?;
        }
        if form != Form::Datadings {
            self.datadings.refuse(form)?;
        }
        if form.is_columnar() || matches!(form, Form::Jsonl | Form::Csv | Form::Tsv) {
            self.text.refuse_files(form)?;
        }
        if form != Form::Parquet {
            self.columnar.refuse_row_group(form)?;
        }
        Ok(())
    }

    /// The same for the library.
    fn convert(
        &self,
        form: Form,
        locations: Vec<inputs::Location>,
        selection: wharf::hub::select::Selection,
    ) -> Result<Convert> {
        let mut convert = Convert::default();
        (convert.inputs, convert.selection) = (locations, selection);
        self.text.set(&mut convert.text);
        self.idv.set(self.compression.as_deref().filter(|_| form == Form::Idv), &mut convert.idv)?;
        self.datadings.set(&mut convert.datadings)?;
        self.ds.set(&mut convert.ds);
        self.netcdf.set(&mut convert.netcdf);
        self.zds.set(&mut convert.zds);
        self.columnar.set(self.compression.as_deref(), &mut convert.columnar);
        Ok(convert)
    }
}

impl From<Form> for OutputForm {
    fn from(form: Form) -> Self {
        match form {
            Form::Jsonl => Self::Jsonl,
            Form::Csv => Self::Csv,
            Form::Tsv => Self::Tsv,
            Form::Idv => Self::Idv,
            Form::Datadings => Self::Datadings,
            Form::Ds => Self::Ds,
            Form::Netcdf => Self::Netcdf,
            Form::Zds => Self::Zds,
            Form::Parquet => Self::Parquet,
            Form::Arrow => Self::Arrow,
            Form::Arrows => Self::Arrows,
            Form::Other(name) => Self::Other(name),
        }
    }
}

impl From<OutputForm> for Form {
    fn from(form: OutputForm) -> Self {
        match form {
            OutputForm::Jsonl => Self::Jsonl,
            OutputForm::Csv => Self::Csv,
            OutputForm::Tsv => Self::Tsv,
            OutputForm::Idv => Self::Idv,
            OutputForm::Datadings => Self::Datadings,
            OutputForm::Ds => Self::Ds,
            OutputForm::Netcdf => Self::Netcdf,
            OutputForm::Zds => Self::Zds,
            OutputForm::Parquet => Self::Parquet,
            OutputForm::Arrow => Self::Arrow,
            OutputForm::Arrows => Self::Arrows,
            other => Self::Other(other.name()),
        }
    }
}

impl Form {
    /// Fails for what standard output cannot take.
    fn check_stream(self, is_terminal: bool) -> Result<()> {
        let refused = match self {
            Self::Datadings => "a dataset is a set of files, which standard output is not: give a file",
            Self::Zds => "a store is a folder or an archive of one, which standard output is not: give a path",
            Self::Netcdf => "NetCDF cannot be written to standard output: give a file",
            Self::Idv if is_terminal => "IDV is not for a terminal: give a file, or a pipe",
            Self::Ds if is_terminal => "ds is not for a terminal: give a file, or a pipe",
            Self::Parquet if is_terminal => "Parquet is not for a terminal: give a file, or a pipe",
            Self::Arrow | Self::Arrows if is_terminal => "Arrow IPC is not for a terminal: give a file, or a pipe",
            _ => return Ok(()),
        };
        Err(Error::usage(refused))
    }

    /// Does `--schema` go with it?
    const fn takes_schema(self) -> bool {
        matches!(self, Self::Idv | Self::Ds) || self.is_columnar()
    }

    /// Parquet, Arrow IPC, or a format of somebody else, which gets record batches.
    const fn is_columnar(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow | Self::Arrows | Self::Other(_))
    }

    /// Can values of an input without a schema not fit its columns?
    const fn has_mismatches(self) -> bool {
        matches!(self, Self::Ds) || self.is_columnar()
    }

    /// Can it have times?
    const fn has_times(self) -> bool {
        matches!(self, Self::Idv) || self.is_columnar()
    }

    /// Does `--compression` go with it?
    const fn is_compressed(self) -> bool {
        matches!(self, Self::Idv) || self.is_columnar()
    }
}

fn by_extension(path: &Path, registry: &Registry) -> Result<Form> {
    if let Some(form) = OutputForm::of_path(path, registry) {
        return Ok(form.into());
    }
    let found = match path.extension() {
        Some(extension) => format!("ends in .{}", extension.to_string_lossy().to_ascii_lowercase()),
        None => "has no extension".to_owned(),
    };
    let known = ".jsonl .ndjson .json .csv .tsv .idv .msgpack .ds .nc .zds .parquet .arrow .arrows";
    let detail = format!("the output {found}, known are {known}; or say --to");
    Err(Error::usage(detail).in_file(path.display().to_string()))
}

/// Fails for the first option that was given and is for other outputs.
fn refuse(given: &[(&str, bool)], outputs: &str, form: Form) -> Result<()> {
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => {
            let form = OutputForm::from(form).name();
            Err(Error::usage(format!("{option} is for {outputs}, and this one is {form}")))
        }
    }
}
