//! Rows of any container brought into any other.

pub(super) mod alike;
mod columnar;
mod datadings;
mod ds;
mod idv;
pub(super) mod job;
mod netcdf;
mod options;
mod set;
mod source;
mod spec;
mod specs;
#[cfg(test)]
mod tests;
mod text;
mod variables;
mod zds;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use container_core::{Error, Overwrite, Result};

pub use alike::Alike;
pub(super) use columnar::picked::Picked;
pub(super) use job::quoted;
pub use job::{Convert, Report, To};
pub use options::{
    ColumnarOutput, DatadingsOutput, DsOutput, IdvOutput, InputForm, NetcdfOutput, OutputForm, TextInput, ZdsOutput,
};
pub use spec::{OptionSpec, OptionValue};

use self::job::{Env, Job, finish, of_output};
use super::env::Opener;
use super::{output, pour};
use crate::Registry;
use crate::convert::{Csv, Delimiter, JsonLines, Sink};

impl Convert {
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
