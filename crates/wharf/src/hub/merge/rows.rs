//! Merges files by rows, as conversions join them.

use std::ffi::OsStr;
use std::sync::Arc;

use container_core::{Error, Input, Result};

use super::super::convert::{Convert, OptionSpec, Target, TargetInfo, text, unknown_option};
use super::super::env::Opener;
use super::super::rows;
use super::idv::COLUMNS;
use super::{IdvTarget, Merge, Merger, Operation, Report, To};
use crate::Registry;

/// Merges files that can be read and written as rows or record batches.
#[derive(Debug)]
pub(super) struct RowMerger {
    columns: Vec<String>,
    /// Writes files like the first input.
    target: Box<dyn Target>,
}

impl RowMerger {
    /// The merger of IDV files of which only some rows are taken.
    pub(super) fn idv(columns: Vec<String>, output: IdvTarget) -> Self {
        Self { columns, target: Box::new(output) }
    }

    /// The merger of files like this input.
    pub(super) fn like(format: &str, input: &Input, registry: &Registry) -> Result<Self> {
        Ok(Self { columns: Vec::new(), target: rows::target_like(format, input, registry)? })
    }
}

impl Operation for RowMerger {
    fn info(&self) -> TargetInfo {
        self.target.info()
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[COLUMNS]
    }

    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        match option {
            "columns" => self.columns.push(text(value)?.to_owned()),
            _ => return Err(unknown_option(option)),
        }
        Ok(())
    }
}

impl Merger for RowMerger {
    fn run(&self, job: &Merge, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let other = match &to {
            To::Path(path, _) => rows::other_form(path, self.target.as_ref(), &opener.registry)?,
            To::Stream(_) => None,
        };
        let format = report.format;
        for location in &job.inputs {
            let named = |error: Error| error.in_file(location.name());
            let input = location.input(opener).map_err(named)?;
            let found = opener.registry.detect(&input).map_err(named)?.name();
            if found != format {
                let detail = format!(
                    "found {found}, expected {format} like the first input; `wharf convert` joins different formats"
                );
                return Err(named(Error::usage(detail)));
            }
        }
        let mut convert = Convert::default().with_progress(Arc::clone(job.progress()));
        convert.inputs.clone_from(&job.inputs);
        convert.selection.columns.clone_from(&self.columns);
        convert.selection.filter.clone_from(&job.filter);
        convert.selection.reading.threads = job.threads;
        let mut converted = super::super::convert::Report::default();
        let outcome = convert.run(other.as_deref().unwrap_or(self.target.as_ref()), to, opener, &mut converted);
        report.inputs = job.inputs.len();
        (report.rows, report.columns, report.bytes) = (converted.rows, converted.columns, converted.bytes);
        report.losses = converted.losses;
        outcome
    }
}
