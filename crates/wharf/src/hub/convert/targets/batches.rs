//! Formats that are written from record batches and have no options: those that a program registers.

use std::ffi::OsStr;
use std::fmt;

use container_core::{Error, Format, Result};

use super::super::super::{Lost, output};
use super::super::job::{Context, Job, Report};
use super::super::option::OptionSpec;
use super::options::{BATCH_ROWS, SCHEMA, SPARSE, TIMES};
use super::{Streaming, Target, TargetInfo, TargetUnit, path_of, unknown_option};

/// A format of the registry, by its [`Format::batch_writer`].
#[derive(Clone, Copy)]
pub struct BatchTarget(&'static dyn Format);

impl BatchTarget {
    /// The target of a format.
    #[must_use]
    pub fn new(format: &'static dyn Format) -> Self {
        Self(format)
    }
}

impl fmt::Debug for BatchTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BatchTarget").field(&self.0.name()).finish()
    }
}

impl Target for BatchTarget {
    fn info(&self) -> TargetInfo {
        TargetInfo {
            name: self.0.name(),
            format: self.0.name(),
            title: self.0.name(),
            extensions: self.0.extensions(),
            stream: Streaming::Unsupported("this format is written to a file"),
            unit: TargetUnit::TypedRows,
        }
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[BATCH_ROWS, TIMES, SPARSE, SCHEMA]
    }

    fn set(&mut self, option: &str, _: &OsStr) -> Result<()> {
        Err(unknown_option(option))
    }

    fn run(&self, job: &Job<'_>, context: &mut Context<'_, '_>, report: &mut Report) -> Result<()> {
        let path = path_of(job, self)?;
        let options = output::options(path, job.force, &job.inputs)?;
        let named = |error: Error| error.in_file(path.display().to_string()).in_format(self.0.name());
        let begin = |schema| self.0.batch_writer(path, schema, options).map_err(named);
        let writer = job.copy_batches(context, report, begin)?;
        report.losses.extend(Lost::all(writer.finish().map_err(named)?, None));
        report.bytes = path.metadata().map_or(0, |metadata| metadata.len());
        Ok(())
    }
}
