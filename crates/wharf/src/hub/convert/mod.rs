//! Rows of any container brought into any other.

mod alike;
mod columnar;
mod datadings;
mod ds;
mod idv;
mod netcdf;
mod options;
mod source;
mod spec;
#[cfg(test)]
mod tests;
mod text;
mod zds;

use std::io::Write;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, ErrorKind, Output, OutputOptions, Overwrite, Result};
use serde_json::Value;

pub use alike::Alike;
pub(super) use columnar::Picked;
pub(super) use idv::Writing;
pub use options::{
    ColumnarOutput, DatadingsOutput, DsOutput, IdvOutput, InputForm, NetcdfOutput, OutputForm, TextInput, ZdsOutput,
};
pub use spec::{OptionSpec, OptionValue};

use super::env::Opener;
use super::inputs::Location;
use super::select::{self, Selection};
use super::{Bar, Listener, Lost, output, pour};
use crate::Registry;
use crate::convert::{Csv, Delimiter, JsonLines, Sink};

/// A conversion: inputs whose rows follow one another, which columns and rows are selected, and how each kind of output is written.
///
/// Inputs are files, data sets, stores, or folders of files; what they are follows from their content, or from [`TextInput::from`]. Several
/// inputs have to have the same columns with the same meaning: what differs and cannot be unified is an error that names it. Options of outputs
/// other than the one that is written are ignored. The same values get the same types whichever way they come.
///
/// ```no_run
/// use wharf::{Convert, Overwrite, Registry};
///
/// let report = Convert::new(["monday.csv", "tuesday.csv"])
///     .with_columns(["station", "temperature"])
///     .with_rows(0..1_000_000)
///     .write("days.parquet", Overwrite::Refuse, &Registry::builtin())?;
/// println!("{} rows, {} bytes", report.rows, report.bytes);
/// for lost in &report.losses {
///     eprintln!("{lost}");
/// }
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Convert {
    /// The inputs. Several have the same columns.
    pub inputs: Vec<Location>,
    /// Which columns and rows.
    pub selection: Selection,
    /// How inputs of text are read.
    pub text: TextInput,
    /// The output IDV.
    pub idv: IdvOutput,
    /// The output datadings.
    pub datadings: DatadingsOutput,
    /// The output ds.
    pub ds: DsOutput,
    /// The output NetCDF.
    pub netcdf: NetcdfOutput,
    /// The output ZDS.
    pub zds: ZdsOutput,
    /// The outputs Parquet and Arrow IPC.
    pub columnar: ColumnarOutput,
    /// Some of the rows, in another order; of formats that are read in columns.
    pub(in crate::hub) picked: Option<Arc<Picked>>,
    /// Who hears how far the work is.
    pub(in crate::hub) progress: Listener,
}

/// Where a conversion writes.
#[non_exhaustive]
pub enum To<'a> {
    /// A file, a set of files, or a folder, whole or not at all.
    Path(&'a Path, Overwrite),
    /// A stream; what was written before an error stays there.
    Stream(&'a mut (dyn Write + Send)),
}

/// What has been done, also before an error.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Rows written, or samples, or documents.
    pub rows: u64,
    /// Columns written, where the output has columns.
    pub columns: usize,
    /// Variables written, where the output has variables.
    pub variables: usize,
    /// Bytes of the output; 0 for streams.
    pub bytes: u64,
    /// What could not be kept.
    pub losses: Vec<Lost>,
    /// The types inferred for the columns of a text that became IDV, as `wharf info --json` has them.
    pub schema: Option<Value>,
    /// Columns whose types were inferred, and these types.
    pub inferred: Vec<(String, String)>,
    /// The texts of labels that are numbers in the samples.
    pub labels: Option<Vec<String>>,
    /// The collection of documents that was written.
    pub collection: Option<String>,
    /// Documents that had no id, and have their number as one.
    pub numbered: u64,
    /// Columns of the last table that were left out because the sink shows no more.
    pub hidden: usize,
    /// It was the output that failed, and not an input.
    pub sink_failed: bool,
    /// The labels that a dictionary of the output has to count, and does not.
    dictionary: Option<u64>,
}

impl Convert {
    /// Of files, one after the other.
    #[must_use]
    pub fn new<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Self {
        Self { inputs: Location::all(inputs), ..Self::default() }
    }

    /// Only these columns, in this order.
    #[must_use]
    pub fn with_columns<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.selection.columns = quoted(names);
        self
    }

    /// Only these rows, counted from 0 over all inputs.
    #[must_use]
    pub fn with_rows(mut self, rows: Range<u64>) -> Self {
        self.selection.rows = Some(select::RowRange { rows, one: false });
        self
    }

    /// Writes what the extension of `path` stands for.
    ///
    /// # Errors
    /// The extension stands for nothing that is known, and all that [`run`](Self::run) fails for.
    pub fn write(&self, path: impl AsRef<Path>, overwrite: Overwrite, registry: &Registry) -> Result<Report> {
        let path = path.as_ref();
        let form = OutputForm::of_path(path, registry).ok_or_else(|| {
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            let detail = format!("the extension {extension:?} stands for no format that can be written");
            Error::usage(detail).in_file(path.display().to_string())
        })?;
        let mut report = Report::default();
        let mut opener = Opener::new(registry.clone());
        self.run(form, To::Path(path, overwrite), &mut opener, &mut report)?;
        Ok(report)
    }

    /// Writes to a stream: any form but data sets of several files, stores, and NetCDF.
    ///
    /// IDV and ds are written to a temporary file first, as their headers are known last.
    ///
    /// # Errors
    /// All that [`run`](Self::run) fails for.
    pub fn stream(&self, form: OutputForm, out: &mut (dyn Write + Send), registry: &Registry) -> Result<Report> {
        let mut report = Report::default();
        self.run(form, To::Stream(out), &mut Opener::new(registry.clone()), &mut report)?;
        Ok(report)
    }

    /// Writes this form anywhere; `report` says what was done also when it ends with an error.
    ///
    /// # Errors
    /// An input cannot be opened or read; inputs differ in columns or their meaning; a value does not fit the output; an option does not go
    /// with the inputs; the output exists and is not to be replaced, or cannot be written. An output with a path is there whole, or not at all.
    pub fn run(&self, form: OutputForm, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let (path, force, stream) = match to {
            To::Path(path, overwrite) => (Some(path), overwrite == Overwrite::Replace, None),
            To::Stream(stream) => {
                let stream: &mut (dyn Write + Send) = stream;
                (None, false, Some(stream))
            }
        };
        let job = Job { convert: self, form, path, force };
        let mut env = Env { opener, bar: &self.progress.0, stream };
        opener_is_told(&job, &mut env)?;
        match form {
            OutputForm::Jsonl | OutputForm::Csv | OutputForm::Tsv => rows(&job, &mut env, report),
            OutputForm::Idv => idv::run(&job, &mut env, report),
            OutputForm::Datadings => datadings::run(&job, &mut env, report),
            OutputForm::Ds => ds::run(&job, &mut env, report),
            OutputForm::Netcdf => netcdf::run(&job, &mut env, report),
            OutputForm::Zds => zds::run(&job, &mut env, report),
            OutputForm::Parquet | OutputForm::Arrow | OutputForm::Arrows => columnar::run(&job, &mut env, report),
            OutputForm::Other(name) => columnar::other(&job, name, &mut env, report),
        }
    }
}

/// Tells the opener what inputs are declared to be, for outputs that take them as containers.
fn opener_is_told(job: &Job<'_>, env: &mut Env<'_, '_>) -> Result<()> {
    env.opener.show(&job.selection)?;
    if job.selection.reading.time.is_some() && matches!(job.form, OutputForm::Ds | OutputForm::Netcdf) {
        let why = "is for outputs of other formats: ds and NetCDF keep the numbers and their units";
        return Err(Error::usage(why).in_option("time"));
    }
    let as_containers = matches!(
        job.form,
        OutputForm::Jsonl
            | OutputForm::Csv
            | OutputForm::Tsv
            | OutputForm::Idv
            | OutputForm::Ds
            | OutputForm::Netcdf
            | OutputForm::Zds
            | OutputForm::Parquet
            | OutputForm::Arrow
            | OutputForm::Arrows
            | OutputForm::Other(_)
    );
    if as_containers {
        env.opener.overrides = job.text.overrides()?;
    }
    Ok(())
}

/// Names as selections have them: quoted, as a name may hold a comma.
pub(super) fn quoted<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Vec<String> {
    names.into_iter().map(|name| format!("\"{}\"", name.into().replace('"', "\"\""))).collect()
}

/// A conversion with its output.
struct Job<'a> {
    convert: &'a Convert,
    form: OutputForm,
    /// `None` for a stream.
    path: Option<&'a Path>,
    force: bool,
}

impl Deref for Job<'_> {
    type Target = Convert;

    fn deref(&self) -> &Convert {
        self.convert
    }
}

impl Job<'_> {
    /// The path of an output that is no stream of bytes.
    fn path(&self, what: &str) -> Result<&Path> {
        self.path.ok_or_else(|| Error::usage(format!("{what}, which a stream is not: give a path")))
    }

    /// The rows that are wanted, over all inputs.
    fn rows(&self) -> Range<u64> {
        let rows = self.selection.rows.as_ref().map_or(0..u64::MAX, |range| range.rows.clone());
        let end = self.selection.limit.map_or(rows.end, |limit| rows.start.saturating_add(limit).min(rows.end));
        rows.start..end
    }

    /// Fails when the rows that are wanted begin behind all there are.
    fn check_rows(&self, passed: u64) -> Result<()> {
        match &self.selection.rows {
            Some(range) if passed < self.rows().end => range.check(passed),
            _ => Ok(()),
        }
    }

    /// Columns by name, where the input does not say beforehand which there are.
    fn columns(&self) -> Result<Option<Vec<String>>> {
        let mut names: Vec<String> = Vec::new();
        for argument in &self.selection.columns {
            for name in select::split(argument)? {
                if names.contains(&name) {
                    return Err(Error::usage(format!("the column {name:?} is chosen twice")));
                }
                names.push(name);
            }
        }
        Ok(Some(names).filter(|names| !names.is_empty()))
    }

    /// How the output is written, whole or not at all.
    fn output_options(&self) -> OutputOptions {
        OutputOptions::default().with_overwrite(if self.force { Overwrite::Replace } else { Overwrite::Refuse })
    }
}

/// What a conversion works with.
struct Env<'e, 'o> {
    opener: &'e mut Opener<'o>,
    bar: &'e Arc<Bar>,
    /// Where the output goes that has no path.
    stream: Option<&'e mut (dyn Write + Send)>,
}

impl Env<'_, '_> {
    fn stream(&mut self) -> Result<&mut (dyn Write + Send)> {
        match &mut self.stream {
            Some(stream) => Ok(*stream),
            None => Err(Error::usage("there is no output")),
        }
    }
}

/// Rows as text.
fn rows(job: &Job<'_>, env: &mut Env<'_, '_>, report: &mut Report) -> Result<()> {
    let bar = Arc::clone(env.bar);
    let rows = pour::Job {
        locations: &job.inputs,
        selection: &job.selection,
        most_columns: usize::MAX,
        alike: true,
        progress: bar.as_ref(),
    };
    let Some(path) = job.path else {
        let Env { opener, stream, .. } = env;
        let Some(stream) = stream else { return Err(Error::usage("there is no output")) };
        return rows.stream(sink(job.form, stream).as_mut(), opener, report);
    };
    let mut output = output::create(path, job.force, &job.inputs)?;
    let name = output.path().display().to_string();
    let mut sink = sink(job.form, &mut output);
    let outcome = rows.run(sink.as_mut(), env.opener, report).and_then(|()| sink.flush());
    rows.ask(sink.as_ref(), report);
    drop(sink);
    outcome.map_err(|error| of_output(error, &name))?;
    finish(output, report)
}

fn sink<'w>(form: OutputForm, out: impl Write + 'w) -> Box<dyn Sink + 'w> {
    match form {
        OutputForm::Csv => Box::new(Csv::new(out)),
        OutputForm::Tsv => Box::new(Csv::new(out).with_delimiter(Delimiter::Tab)),
        _ => Box::new(JsonLines::new(out)),
    }
}

/// Moves a file into place.
fn finish(output: Output, report: &mut Report) -> Result<()> {
    report.bytes = output.file().metadata().map_or(0, |metadata| metadata.len());
    output.finish()
}

/// An error that names no input is one of the output.
fn of_output(error: Error, name: &str) -> Error {
    match error.kind() {
        // Errors of inputs name their file already.
        ErrorKind::Io => error.in_file(name.to_owned()),
        _ => error,
    }
}
