//! Rows of any container brought into any other.

mod change;
mod columnar;
pub(super) mod job;
mod option;
mod options;
pub(super) mod schema_check;
mod set;
mod source;
pub(super) mod targets;
#[cfg(test)]
mod tests;
mod text;
mod variables;

use std::io::Write;
use std::path::Path;

use arrow_schema::SchemaRef;
use container_arrow::BatchWriter;
use container_core::{Error, Overwrite, Result};

pub use change::{CHANGE_OPTIONS, ChangeOptions};
pub(super) use columnar::pick::PickedRows;
pub use columnar::{InputPart, InputTable, MatchObserver};
pub(super) use columnar::{OpenBatches, idv_texts, same_meaning};
pub(super) use job::quoted;
pub use job::{Context, Convert, Job, Report, To};
pub use option::{OptionSpec, OptionValue};
pub(super) use option::{number, text};
pub use options::{ColumnMapping, InputForm, TextInput};
pub use schema_check::SchemaCheck;
pub(super) use targets::unknown_option;
pub use targets::{
    BatchTarget, DatadingsTarget, DsTarget, IdvTarget, IpcTarget, NetcdfTarget, ParquetTarget, Streaming, Target,
    TargetInfo, TargetUnit, TextTarget, ZdsTarget,
};

use super::env::Opener;
use crate::Registry;

impl Convert {
    /// Writes the format that the extension of `path` stands for, with default options.
    ///
    /// # Errors
    /// The extension stands for no known format, and all that [`run`](Self::run) fails for.
    pub fn write(&self, path: impl AsRef<Path>, overwrite: Overwrite, registry: &Registry) -> Result<Report> {
        let path = path.as_ref();
        let target = registry.target_for(path).ok_or_else(|| {
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            let detail = format!("unknown extension {extension:?}: no format that can be written has it");
            Error::usage(detail).in_file(path.display().to_string())
        })?;
        self.write_as(target.as_ref(), path, overwrite, registry)
    }

    /// Writes this target to `path`, whatever its extension.
    ///
    /// # Errors
    /// All that [`run`](Self::run) fails for.
    pub fn write_as(
        &self,
        target: &dyn Target,
        path: impl AsRef<Path>,
        overwrite: Overwrite,
        registry: &Registry,
    ) -> Result<Report> {
        let mut report = Report::default();
        let mut opener = Opener::new(registry.clone());
        self.run(target, To::Path(path.as_ref(), overwrite), &mut opener, &mut report)?;
        Ok(report)
    }

    /// Writes to a stream, if the target can be one ([`TargetInfo::stream`]).
    ///
    /// IDV and ds are written to a temporary file first: their headers are known last.
    ///
    /// # Errors
    /// All that [`run`](Self::run) fails for.
    pub fn stream(&self, target: &dyn Target, out: &mut (dyn Write + Send), registry: &Registry) -> Result<Report> {
        let mut report = Report::default();
        self.run(target, To::Stream(out), &mut Opener::new(registry.clone()), &mut report)?;
        Ok(report)
    }

    /// The conversion of what `opener` opens from now on: inputs with the changes, or long rows; `None` if that is the same.
    pub(in crate::hub) fn of_views(
        &self,
        target: Option<&dyn Target>,
        opener: &mut Opener<'_>,
        report: &mut Report,
    ) -> Result<Option<Self>> {
        let mut changed = self.changed(target, opener, report)?;
        if self.selection.tidy {
            // The columns of long rows selected variables.
            changed.get_or_insert_with(|| self.clone()).selection.columns.clear();
        }
        Ok(changed)
    }

    /// The conversion of the changed inputs; `None` without changes.
    fn changed(
        &self,
        target: Option<&dyn Target>,
        opener: &mut Opener<'_>,
        report: &mut Report,
    ) -> Result<Option<Self>> {
        if self.changes.is_empty() {
            return Ok(None);
        }
        let declared = match (&self.text.schema, target) {
            (None, _) => None,
            (Some(path), Some(target)) if self.changes.keep_values() => {
                Some(target.read_schema(path, opener, &mut report.losses)?)
            }
            (Some(path), _) => Some(columnar::declared::read(path, &[], opener, &mut report.losses)?),
        };
        opener.change_with(&self.changes, &self.inputs, &self.selection, self.mapping.plain(), declared)?;
        let mut changed = self.clone();
        // Both are applied where inputs are opened.
        changed.text.schema = None;
        changed.selection.filter = None;
        Ok(Some(changed))
    }

    /// Writes this target anywhere. `report` says what was done, also when it ends with an error.
    ///
    /// # Errors
    /// An input cannot be opened or read; inputs differ in columns or their meaning; a value does not fit the output; an option does not go
    /// with the inputs; the output exists and is not to be replaced, or cannot be written. An output with a path is there whole, or not at all.
    pub fn run(&self, target: &dyn Target, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let (path, force, stream) = match to {
            To::Path(path, overwrite) => (Some(path), overwrite == Overwrite::Replace, None),
            To::Stream(stream) => {
                let stream: &mut (dyn Write + Send) = stream;
                (None, false, Some(stream))
            }
        };
        opener.apply(&self.selection)?;
        opener.overrides = self.text.overrides()?;
        opener.allow_lacking(&self.inputs, &self.selection, self.union);
        if self.selection.reading.time.is_some() && target.info().unit == TargetUnit::Variables {
            let why = "is for outputs of other formats: ds and NetCDF keep the numbers and their units";
            return Err(Error::usage(why).in_option("time"));
        }
        let by_rows = matches!(target.info().unit, TargetUnit::Rows | TargetUnit::Documents | TargetUnit::Samples);
        if by_rows && self.mapping.on_mismatch.is_some() && !self.changes.can_mismatch() {
            let why = "is for outputs whose columns have types, and for casts";
            return Err(Error::usage(why).in_option("on_mismatch"));
        }
        let viewed = self.of_views(Some(target), opener, report)?;
        let job = Job { convert: viewed.as_ref().unwrap_or(self), path, force, narrow: target.infers_narrow_types() };
        target.run(&job, &mut Context { opener, progress: &self.progress.0, stream }, report)
    }

    /// Passes the selected rows of all inputs, batch by batch, to the writer that `begin` makes for their common schema. Returns that writer, which
    /// is not finished.
    pub(in crate::hub) fn read_batches<W: BatchWriter>(
        &self,
        opener: &mut Opener<'_>,
        report: &mut Report,
        begin: impl FnOnce(SchemaRef) -> Result<Box<W>>,
    ) -> Result<Box<W>> {
        opener.apply(&self.selection)?;
        opener.overrides = self.text.overrides()?;
        opener.allow_lacking(&self.inputs, &self.selection, self.union);
        let viewed = self.of_views(None, opener, report)?;
        let job = Job { convert: viewed.as_ref().unwrap_or(self), path: None, force: false, narrow: false };
        job.copy_batches(&mut Context { opener, progress: &self.progress.0, stream: None }, report, begin)
    }

    /// Opens all inputs, to read their rows on another thread.
    pub(in crate::hub) fn open_batches(&self, opener: &mut Opener<'_>) -> Result<OpenBatches<'_>> {
        opener.apply(&self.selection)?;
        opener.overrides = self.text.overrides()?;
        opener.allow_lacking(&self.inputs, &self.selection, self.union);
        OpenBatches::open(Job { convert: self, path: None, force: false, narrow: false }, opener)
    }
}
