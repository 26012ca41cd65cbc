//! Merges files by rows, as conversions join them.

use std::ffi::OsStr;
use std::sync::Arc;

use container_core::{Error, Input, Result};

use super::super::convert::{
    CHANGE_OPTIONS, ChangeOptions, Convert, OptionSpec, Target, TargetInfo, text, unknown_option,
};
use super::super::env::Opener;
use super::super::rows;
use super::idv::COLUMNS;
use super::{Merge, Merger, Operation, Report, To};
use crate::Registry;

/// [`COLUMNS`], and the options that change columns.
pub(super) const OPTIONS: [OptionSpec; 1 + CHANGE_OPTIONS.len()] = {
    let mut all = [COLUMNS; 1 + CHANGE_OPTIONS.len()];
    let (_, others) = all.split_at_mut(1);
    others.copy_from_slice(CHANGE_OPTIONS);
    all
};

/// Merges the inputs of `job` as a conversion into `target` does.
pub(super) fn convert(
    job: &Merge,
    (columns, change): (&[String], &ChangeOptions),
    target: &dyn Target,
    to: To<'_>,
    opener: &mut Opener<'_>,
    report: &mut Report,
) -> Result<()> {
    let mut convert = Convert::default().with_progress(Arc::clone(job.progress()));
    convert.inputs.clone_from(&job.inputs);
    columns.clone_into(&mut convert.selection.columns);
    convert.selection.filter.clone_from(&job.filter);
    convert.selection.reading.threads = job.threads;
    convert.apply(change.clone());
    let mut converted = super::super::convert::Report::default();
    let outcome = convert.run(target, to, opener, &mut converted);
    report.inputs = job.inputs.len();
    (report.rows, report.columns, report.bytes) = (converted.rows, converted.columns, converted.bytes);
    report.losses = converted.losses;
    outcome
}

/// Merges files that can be read and written as rows or record batches.
#[derive(Debug)]
pub(super) struct RowMerger {
    columns: Vec<String>,
    /// What becomes of the columns of the inputs, and how they are joined.
    change: ChangeOptions,
    /// Writes files like the first input.
    target: Box<dyn Target>,
}

impl RowMerger {
    /// The merger of files like this input.
    pub(super) fn like(format: &str, input: &Input, registry: &Registry) -> Result<Self> {
        Ok(Self {
            columns: Vec::new(),
            change: ChangeOptions::default(),
            target: rows::target_like(format, input, registry)?,
        })
    }
}

impl Operation for RowMerger {
    fn info(&self) -> TargetInfo {
        self.target.info()
    }

    fn options(&self) -> &'static [OptionSpec] {
        &OPTIONS
    }

    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        match option {
            "columns" => self.columns.push(text(value)?.to_owned()),
            name if ChangeOptions::has(name) => self.change.set(name, value)?,
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
        let target = other.as_deref().unwrap_or(self.target.as_ref());
        convert(job, (&self.columns, &self.change), target, to, opener, report)
    }
}
