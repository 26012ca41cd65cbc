//! `wharf convert`: rows into a file of another form.

mod alike;
mod columnar;
mod datadings;
mod ds;
mod ds_idv;
mod idv;
mod idv_ds;
mod lines;
mod netcdf;
mod source;
mod text;
mod unpack;
mod zds;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use container_core::{Error, ErrorKind, Output, Result};
use serde_json::json;

use super::Outcome;
use super::cat::{self, To};
use super::env::Env;
use super::human::counted;
use super::inputs;
use super::output;
use super::pour::{Job, Poured};
use super::select;
use super::select::Selection;
pub(super) use alike::Alike;

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

    #[command(flatten)]
    text: text::Text,

    #[command(flatten)]
    idv: idv::Options,

    #[command(flatten)]
    datadings: datadings::Options,

    #[command(flatten)]
    ds: ds::DsOptions,

    #[command(flatten)]
    netcdf: netcdf::NetcdfOptions,

    #[command(flatten)]
    zds: zds::ZdsOptions,

    #[command(flatten)]
    columnar: columnar::ColumnarOptions,
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
}

impl Arguments {
    /// The file to write.
    fn output(&self) -> &OsStr {
        self.names.last().map_or(OsStr::new(""), OsString::as_os_str)
    }

    /// Files that are read besides the inputs.
    fn read_besides(&self) -> Vec<inputs::Place> {
        let paths = std::iter::empty();
        let paths = paths.chain(&self.text.schema);
        let paths = paths.chain(self.datadings.read_besides());
        paths.map(|path: &PathBuf| inputs::Place::Path(path.clone())).collect()
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
    let places = inputs::expand(inputs)?;
    env.opener.view.set(&arguments.selection)?;
    env.opener.check_filters(&places, arguments.selection.reading.table.as_deref())?;
    let stdout = arguments.output() == "-";
    let form = match arguments.to {
        Some(form) => form,
        None if stdout => Form::Jsonl,
        None => by_extension(Path::new(arguments.output()))?,
    };
    if !stdout {
        inputs::refuse_overlap(outputs(Path::new(arguments.output()), form), &arguments.read_besides())?;
    }
    if form != Form::Ds {
        arguments.ds.refuse(form)?;
    }
    if form != Form::Netcdf {
        arguments.netcdf.refuse(form)?;
    }
    if form != Form::Zds {
        arguments.zds.refuse(form)?;
    }
    if !form.is_compressed() {
        let outputs = "the outputs idv, parquet, arrow and arrows";
        refuse(&[("--compression", arguments.compression.is_some())], outputs, form)?;
    }
    arguments.columnar.check()?;
    if !form.is_columnar() {
        arguments.columnar.refuse(form)?;
    }
    if !form.takes_schema() {
        arguments.text.refuse_schema(form)?;
    }
    let to = match form {
        Form::Jsonl => To::Jsonl,
        Form::Csv => To::Csv,
        Form::Tsv => To::Tsv,
        Form::Idv => {
            arguments.datadings.refuse(form)?;
            return idv::run(arguments, &places, env);
        }
        Form::Datadings => {
            arguments.idv.refuse(form)?;
            return datadings::run(arguments, &places, env);
        }
        Form::Ds => {
            arguments.idv.refuse(form)?;
            arguments.datadings.refuse(form)?;
            return ds::run(arguments, &places, env);
        }
        Form::Netcdf => {
            arguments.text.refuse(form)?;
            arguments.idv.refuse(form)?;
            arguments.datadings.refuse(form)?;
            return netcdf::run(arguments, &places, env);
        }
        Form::Zds => {
            arguments.idv.refuse(form)?;
            arguments.datadings.refuse(form)?;
            return zds::run(arguments, &places, env);
        }
        columnar @ (Form::Arrow | Form::Arrows) => return columns_of(arguments, columnar, &places, env),
        Form::Parquet => return columns_of(arguments, form, &places, env),
    };
    arguments.idv.refuse(form)?;
    arguments.datadings.refuse(form)?;
    env.opener.said = arguments.text.said(form)?;
    let selection = &arguments.selection;
    let mut job =
        Job { places: &places, selection, most_columns: usize::MAX, alike: true, progress: env.report.terminal };
    if stdout {
        job.progress &= env.stdout.terminal.is_none();
        cat::stream(&job, to, env)
    } else {
        output::create(Path::new(arguments.output()), arguments.force, &places)
            .and_then(|output| write(&job, to, output, env))
    }
}

/// Parquet and Arrow IPC.
fn columns_of(arguments: &Arguments, form: Form, places: &[inputs::Place], env: &mut Env<'_>) -> Result<Outcome> {
    arguments.idv.refuse(form)?;
    arguments.datadings.refuse(form)?;
    env.opener.said = arguments.text.said(form)?;
    columnar::run(arguments, form, places, env)
}

impl Form {
    /// Does `--schema` go with it?
    const fn takes_schema(self) -> bool {
        if matches!(self, Self::Idv) {
            return true;
        }
        if self.is_columnar() {
            return true;
        }
        false
    }

    /// Parquet or Arrow IPC.
    const fn is_columnar(self) -> bool {
        if matches!(self, Self::Parquet) {
            return true;
        }
        matches!(self, Self::Arrow | Self::Arrows)
    }

    /// Can values of an input without a schema not fit its columns?
    const fn has_mismatches(self) -> bool {
        if matches!(self, Self::Ds) {
            return true;
        }
        self.is_columnar()
    }

    /// Can it have times?
    const fn has_times(self) -> bool {
        if matches!(self, Self::Idv) {
            return true;
        }
        self.is_columnar()
    }

    /// Does `--compression` go with it?
    const fn is_compressed(self) -> bool {
        if matches!(self, Self::Idv) {
            return true;
        }
        if self.is_columnar() {
            return true;
        }
        false
    }
}

fn write(job: &Job<'_>, to: To, mut output: Output, env: &mut Env<'_>) -> Result<Outcome> {
    let name = output.path().display().to_string();
    let mut poured = Poured::default();
    let mut sink = to.sink(&mut output);
    let outcome = job.run(sink.as_mut(), &mut env.opener, &mut poured).and_then(|()| sink.flush());
    job.ask(sink.as_ref(), &mut poured);
    drop(sink);
    let outcome = outcome.map_err(|error| match error.kind() {
        // Errors of inputs name their file already.
        ErrorKind::Io => error.in_file(name.clone()),
        _ => error,
    });
    let bytes = output.file().metadata().map_or(0, |metadata| metadata.len());
    let outcome = cat::finish(outcome.and_then(|()| output.finish()), &poured, env)?;
    let rows = poured.rows;
    if env.json() {
        env.stdout.print(&format!("{}\n", json!({"file": name, "to": to.name(), "rows": rows, "bytes": bytes})))?;
    } else {
        env.report.note(format!("{name}: {}", counted(rows, "row")));
    }
    Ok(outcome)
}

impl To {
    fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
        }
    }
}

fn by_extension(path: &Path) -> Result<Form> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("jsonl" | "ndjson" | "json") => Ok(Form::Jsonl),
        Some("csv") => Ok(Form::Csv),
        Some("tsv") => Ok(Form::Tsv),
        Some("idv") => Ok(Form::Idv),
        Some("msgpack") => Ok(Form::Datadings),
        Some("ds") => Ok(Form::Ds),
        Some("nc") => Ok(Form::Netcdf),
        Some("zds") => Ok(Form::Zds),
        Some("parquet" | "pq") => Ok(Form::Parquet),
        Some("arrow" | "feather" | "ipc") => Ok(Form::Arrow),
        Some("arrows") => Ok(Form::Arrows),
        other => {
            let found = other.map_or_else(|| "has no extension".to_owned(), |other| format!("ends in .{other}"));
            let idv = " .idv";
            let msgpack = " .msgpack";
            let ds = " .ds";
            let nc = " .nc";
            let zds = " .zds";
            let parquet = " .parquet";
            let arrow = " .arrow .arrows";
            let known = format!(".jsonl .ndjson .json .csv .tsv{idv}{msgpack}{ds}{nc}{zds}{parquet}{arrow}");
            let detail = format!("the output {found}, known are {known}; or say --to");
            Err(Error::usage(detail).in_file(path.display().to_string()))
        }
    }
}

/// Fails for the first option that was given and is for other outputs.
fn refuse(given: &[(&str, bool)], outputs: &str, form: Form) -> Result<()> {
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => {
            let form = format!("{form:?}").to_lowercase();
            Err(Error::usage(format!("{option} is for {outputs}, and this one is {form}")))
        }
    }
}

/// The rows that are wanted, over all inputs.
fn wanted(selection: &Selection) -> std::ops::Range<u64> {
    let rows = selection.rows.as_ref().map_or(0..u64::MAX, |range| range.rows.clone());
    let end = selection.limit.map_or(rows.end, |limit| rows.start.saturating_add(limit).min(rows.end));
    rows.start..end
}

/// Columns by name, where the input does not say beforehand which there are.
fn columns(asked: &[String]) -> Result<Option<Vec<String>>> {
    let mut names: Vec<String> = Vec::new();
    for argument in asked {
        for name in select::split(argument)? {
            if names.contains(&name) {
                return Err(Error::usage(format!("the column {name:?} is chosen twice")));
            }
            names.push(name);
        }
    }
    Ok(Some(names).filter(|names| !names.is_empty()))
}
