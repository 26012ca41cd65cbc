//! Recovers the intact columns and rows of a damaged IDV file into a new one.

use std::path::Path;
use std::sync::Arc;

use container_core::{Error, Input, Output, Result, Severity, Unit, VerifyOptions};
use idv::{Reader, RecoverOptions, Recovery};

use super::super::inputs::Location;
use super::super::{Lost, output, schema_file, select};
use super::{Recover, Report};

pub(super) fn run(job: &Recover, input: &Input, (path, force): (&Path, bool), report: &mut Report) -> Result<()> {
    let location = &job.input;
    let named = |error: Error| error.in_file(location.name());
    let mut inputs = vec![location.clone()];
    inputs.extend(job.idv.schema.clone().map(Location::Path));
    let output = output::create(path, force, &inputs)?;
    let name = output.path().display().to_string();
    let source = input.source().ok_or_else(|| named(Error::usage("expected an IDV file, found a directory")))?;

    let bar = job.bar();
    bar.name(&location.name());
    let mut options = RecoverOptions::default().with_threads(job.threads).with_progress(Arc::clone(bar));
    if !job.idv.columns.is_empty() {
        let mut names = Vec::new();
        for argument in &job.idv.columns {
            names.extend(select::split(argument)?);
        }
        options = options.with_columns(names);
    }
    if let Some(schema) = &job.idv.schema {
        options = options.with_schema(schema_file::read(schema)?.0);
    }
    let recovery = Recovery::survey(source.clone(), &options).map_err(named)?;
    bar.name(&name);
    bar.begin(Unit::Rows, Some(recovery.row_count()));
    let options = job.idv.output.writer_options(job.threads, Arc::clone(bar));
    let (output, losses) = recovery.write(output, options).map_err(named)?;
    report.losses.extend(Lost::all(losses, Some(&location.name())));
    check(&output, job.threads).map_err(|error| error.in_file(name))?;
    report.bytes = output.file().metadata().map_or(0, |metadata| metadata.len());
    output.finish()?;
    (report.rows, report.declared) = (recovery.row_count(), Some(recovery.rows_declared()));
    report.columns = recovery.column_names().iter().map(|name| (*name).to_owned()).collect();
    report.findings = recovery.into_findings();
    Ok(())
}

/// Verifies the new file before it appears.
fn check(output: &Output, threads: usize) -> Result<()> {
    let reader = Reader::from_source(output.read_back()?, idv::OpenOptions::default())?;
    let mut first = None;
    reader.verify(&VerifyOptions::default().with_threads(threads), &mut |finding| {
        if finding.severity == Severity::Error {
            first.get_or_insert(finding.error);
        }
    })?;
    first.map_or(Ok(()), Err)
}
