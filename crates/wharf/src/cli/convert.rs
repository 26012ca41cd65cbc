//! `wharf convert`: rows into a file of another form.

#[cfg(feature = "arrow")]
mod columnar;
#[cfg(feature = "datadings")]
mod datadings;
#[cfg(feature = "ds")]
mod ds;
#[cfg(all(feature = "ds", feature = "idv"))]
mod ds_idv;
#[cfg(feature = "idv")]
mod idv;
#[cfg(all(feature = "ds", feature = "idv"))]
mod idv_ds;
#[cfg(any(feature = "ds", all(feature = "zds", any(feature = "idv", feature = "datadings"))))]
mod lines;
#[cfg(feature = "netcdf")]
mod netcdf;
#[cfg(any(feature = "idv", feature = "datadings", feature = "ds", feature = "zds"))]
mod source;
mod text;
#[cfg(all(feature = "idv", feature = "datadings"))]
mod unpack;
#[cfg(feature = "zds")]
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
#[cfg(any(feature = "datadings", feature = "ds", feature = "zds"))]
use super::select;
use super::select::Selection;

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
    #[cfg(any(feature = "idv", feature = "arrow"))]
    #[arg(long, value_name = "KIND")]
    compression: Option<String>,

    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    text: text::Text,

    #[cfg(feature = "idv")]
    #[command(flatten)]
    idv: idv::Options,

    #[cfg(feature = "datadings")]
    #[command(flatten)]
    datadings: datadings::Options,

    #[cfg(feature = "ds")]
    #[command(flatten)]
    ds: ds::DsOptions,

    #[cfg(feature = "netcdf")]
    #[command(flatten)]
    netcdf: netcdf::NetcdfOptions,

    #[cfg(feature = "zds")]
    #[command(flatten)]
    zds: zds::ZdsOptions,

    #[cfg(feature = "arrow")]
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
    #[cfg(feature = "idv")]
    Idv,
    /// datadings, samples of msgpack with an index
    #[cfg(feature = "datadings")]
    Datadings,
    /// ds, n-dimensional arrays
    #[cfg(feature = "ds")]
    Ds,
    /// NetCDF
    #[cfg(feature = "netcdf")]
    Netcdf,
    /// ZDS, JSON documents with an index
    #[cfg(feature = "zds")]
    Zds,
    /// Parquet
    #[cfg(feature = "parquet")]
    Parquet,
    /// Arrow IPC, a file
    #[cfg(feature = "arrow")]
    Arrow,
    /// Arrow IPC, a stream
    #[cfg(feature = "arrow")]
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
        #[cfg(any(feature = "idv", feature = "arrow"))]
        let paths = paths.chain(&self.text.schema);
        #[cfg(feature = "datadings")]
        let paths = paths.chain(self.datadings.read_besides());
        paths.map(|path: &PathBuf| inputs::Place::Path(path.clone())).collect()
    }
}

/// The files that are written.
fn outputs(path: &Path, form: Form) -> Vec<PathBuf> {
    #[cfg(feature = "datadings")]
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
    #[cfg(feature = "zds")]
    env.opener.view.set(&arguments.selection)?;
    let stdout = arguments.output() == "-";
    let form = match arguments.to {
        Some(form) => form,
        None if stdout => Form::Jsonl,
        None => by_extension(Path::new(arguments.output()))?,
    };
    if !stdout {
        inputs::refuse_overlap(outputs(Path::new(arguments.output()), form), &arguments.read_besides())?;
    }
    #[cfg(feature = "ds")]
    if form != Form::Ds {
        arguments.ds.refuse(form)?;
    }
    #[cfg(feature = "netcdf")]
    if form != Form::Netcdf {
        arguments.netcdf.refuse(form)?;
    }
    #[cfg(feature = "zds")]
    if form != Form::Zds {
        arguments.zds.refuse(form)?;
    }
    #[cfg(any(feature = "idv", feature = "arrow"))]
    if !form.is_compressed() {
        let outputs = match (cfg!(feature = "idv"), cfg!(feature = "arrow")) {
            (true, true) => "the outputs idv, parquet, arrow and arrows",
            (true, false) => "the output idv",
            _ => "the outputs parquet, arrow and arrows",
        };
        refuse(&[("--compression", arguments.compression.is_some())], outputs, form)?;
    }
    #[cfg(feature = "arrow")]
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
        #[cfg(feature = "idv")]
        Form::Idv => {
            #[cfg(feature = "datadings")]
            arguments.datadings.refuse(form)?;
            return idv::run(arguments, &places, env);
        }
        #[cfg(feature = "datadings")]
        Form::Datadings => {
            #[cfg(feature = "idv")]
            arguments.idv.refuse(form)?;
            return datadings::run(arguments, &places, env);
        }
        #[cfg(feature = "ds")]
        Form::Ds => {
            #[cfg(feature = "idv")]
            arguments.idv.refuse(form)?;
            #[cfg(feature = "datadings")]
            arguments.datadings.refuse(form)?;
            return ds::run(arguments, &places, env);
        }
        #[cfg(feature = "netcdf")]
        Form::Netcdf => {
            arguments.text.refuse(form)?;
            #[cfg(feature = "idv")]
            arguments.idv.refuse(form)?;
            #[cfg(feature = "datadings")]
            arguments.datadings.refuse(form)?;
            return netcdf::run(arguments, &places, env);
        }
        #[cfg(feature = "zds")]
        Form::Zds => {
            #[cfg(feature = "idv")]
            arguments.idv.refuse(form)?;
            #[cfg(feature = "datadings")]
            arguments.datadings.refuse(form)?;
            return zds::run(arguments, &places, env);
        }
        #[cfg(feature = "arrow")]
        columnar @ (Form::Arrow | Form::Arrows) => return columns_of(arguments, columnar, &places, env),
        #[cfg(feature = "parquet")]
        Form::Parquet => return columns_of(arguments, form, &places, env),
    };
    #[cfg(feature = "idv")]
    arguments.idv.refuse(form)?;
    #[cfg(feature = "datadings")]
    arguments.datadings.refuse(form)?;
    env.opener.said = arguments.text.said(form)?;
    let selection = &arguments.selection;
    let mut job = Job { places: &places, selection, most_columns: usize::MAX, progress: env.report.terminal };
    if stdout {
        job.progress &= env.stdout.terminal.is_none();
        cat::stream(&job, to, env)
    } else {
        output::create(Path::new(arguments.output()), arguments.force, &places)
            .and_then(|output| write(&job, to, output, env))
    }
}

/// Parquet and Arrow IPC.
#[cfg(feature = "arrow")]
fn columns_of(arguments: &Arguments, form: Form, places: &[inputs::Place], env: &mut Env<'_>) -> Result<Outcome> {
    #[cfg(feature = "idv")]
    arguments.idv.refuse(form)?;
    #[cfg(feature = "datadings")]
    arguments.datadings.refuse(form)?;
    env.opener.said = arguments.text.said(form)?;
    columnar::run(arguments, form, places, env)
}

impl Form {
    /// Does `--schema` go with it?
    const fn takes_schema(self) -> bool {
        #[cfg(feature = "idv")]
        if matches!(self, Self::Idv) {
            return true;
        }
        #[cfg(feature = "arrow")]
        if self.is_columnar() {
            return true;
        }
        false
    }

    /// Parquet or Arrow IPC.
    #[cfg(feature = "arrow")]
    const fn is_columnar(self) -> bool {
        #[cfg(feature = "parquet")]
        if matches!(self, Self::Parquet) {
            return true;
        }
        matches!(self, Self::Arrow | Self::Arrows)
    }

    /// Can it have times?
    #[cfg(feature = "arrow")]
    const fn has_times(self) -> bool {
        #[cfg(feature = "idv")]
        if matches!(self, Self::Idv) {
            return true;
        }
        self.is_columnar()
    }

    /// Does `--compression` go with it?
    #[cfg(any(feature = "idv", feature = "arrow"))]
    const fn is_compressed(self) -> bool {
        #[cfg(feature = "idv")]
        if matches!(self, Self::Idv) {
            return true;
        }
        #[cfg(feature = "arrow")]
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
        #[cfg(feature = "idv")]
        Some("idv") => Ok(Form::Idv),
        #[cfg(feature = "datadings")]
        Some("msgpack") => Ok(Form::Datadings),
        #[cfg(feature = "ds")]
        Some("ds") => Ok(Form::Ds),
        #[cfg(feature = "netcdf")]
        Some("nc") => Ok(Form::Netcdf),
        #[cfg(feature = "zds")]
        Some("zds") => Ok(Form::Zds),
        #[cfg(feature = "parquet")]
        Some("parquet" | "pq") => Ok(Form::Parquet),
        #[cfg(feature = "arrow")]
        Some("arrow" | "feather" | "ipc") => Ok(Form::Arrow),
        #[cfg(feature = "arrow")]
        Some("arrows") => Ok(Form::Arrows),
        other => {
            let found = other.map_or_else(|| "has no extension".to_owned(), |other| format!("ends in .{other}"));
            let idv = if cfg!(feature = "idv") { " .idv" } else { "" };
            let msgpack = if cfg!(feature = "datadings") { " .msgpack" } else { "" };
            let ds = if cfg!(feature = "ds") { " .ds" } else { "" };
            let nc = if cfg!(feature = "netcdf") { " .nc" } else { "" };
            let zds = if cfg!(feature = "zds") { " .zds" } else { "" };
            let parquet = if cfg!(feature = "parquet") { " .parquet" } else { "" };
            let arrow = if cfg!(feature = "arrow") { " .arrow .arrows" } else { "" };
            let known = format!(".jsonl .ndjson .json .csv .tsv{idv}{msgpack}{ds}{nc}{zds}{parquet}{arrow}");
            let detail = format!("the output {found}, known are {known}; or say --to");
            Err(Error::usage(detail).in_file(path.display().to_string()))
        }
    }
}

/// Fails for the first option that was given and is for other outputs.
#[cfg(any(feature = "idv", feature = "datadings", feature = "ds", feature = "zds", feature = "arrow"))]
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
#[cfg(any(feature = "idv", feature = "datadings", feature = "ds", feature = "zds", feature = "arrow"))]
fn wanted(selection: &Selection) -> std::ops::Range<u64> {
    let rows = selection.rows.as_ref().map_or(0..u64::MAX, |range| range.rows.clone());
    let end = selection.limit.map_or(rows.end, |limit| rows.start.saturating_add(limit).min(rows.end));
    rows.start..end
}

/// Columns by name, where the input does not say beforehand which there are.
#[cfg(any(feature = "datadings", feature = "ds", feature = "zds"))]
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
