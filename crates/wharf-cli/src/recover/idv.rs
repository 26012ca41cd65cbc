//! What is whole in a damaged IDV file, into a new one.

use std::path::Path;
use std::sync::Arc;

use container_core::{Error, Input, Output, Progress, Result, Severity, Unit, VerifyOptions};
use idv::{Reader, RecoverOptions, Recovery};
use serde_json::{Value, json};

use super::super::Outcome;
use super::super::bar::Bar;
use super::super::env::Env;
use super::super::human::{clean, counted};
use super::super::inputs::Location;
use super::super::output;
use super::super::report::{Lost, error_object};
use super::Arguments;

pub(super) fn run(
    arguments: &Arguments,
    location: &Location,
    input: &Input,
    out: &Path,
    env: &mut Env<'_>,
) -> Result<Outcome> {
    let named = |error: Error| error.in_file(location.name());
    let mut inputs = vec![location.clone()];
    inputs.extend(arguments.schema.clone().map(Location::Path));
    let output = output::create(out, arguments.force, &inputs)?;
    let name = output.path().display().to_string();
    let source = input.source().ok_or_else(|| named(Error::usage("a directory is no IDV file")))?;

    let bar = Arc::new(Bar::new(env.report.terminal));
    bar.name(&location.name());
    let mut options =
        RecoverOptions::default().with_threads(arguments.threads).with_progress(Arc::clone(&bar) as Arc<dyn Progress>);
    if !arguments.columns.is_empty() {
        let mut names = Vec::new();
        for argument in &arguments.columns {
            names.extend(wharf::hub::select::split(argument)?);
        }
        options = options.with_columns(names);
    }
    if let Some(schema) = &arguments.schema {
        options = options.with_schema(wharf::hub::schema_file::read(schema)?.0);
    }
    let surveyed = Recovery::survey(source.clone(), &options).map_err(named);
    let written = surveyed.and_then(|recovery| {
        bar.name(&name);
        bar.begin(Unit::Rows, Some(recovery.row_count()));
        let options = arguments.writing.options(arguments.threads, Arc::clone(&bar) as Arc<dyn Progress>);
        let (output, losses) = recovery.write(output, options).map_err(named)?;
        check(&output, arguments.threads).map_err(|error| error.in_file(name.clone()))?;
        Ok((recovery, output, losses))
    });
    bar.clear();
    let (recovery, output, losses) = written?;
    let bytes = output.file().metadata().map_or(0, |metadata| metadata.len());
    output.finish()?;

    for finding in recovery.findings() {
        tell(finding, &location.name(), env);
    }
    for loss in &losses {
        env.report.lost(&Lost { file: Some(location.name()), loss: loss.clone() });
    }
    let (rows, declared) = (recovery.row_count(), recovery.rows_declared());
    let columns = recovery.column_names();
    if env.json() {
        let findings: Vec<Value> = recovery.findings().iter().map(|error| Value::Object(error_object(error))).collect();
        let done = json!({
            "file": name, "to": "idv", "rows": rows, "rows_lost": declared - rows, "columns": columns, "bytes": bytes,
            "lost": losses.len(), "findings": findings, "verified": true,
        });
        env.stdout.print(&format!("{done}\n"))?;
    } else {
        let of = if rows == declared { String::new() } else { format!(" of {declared}") };
        let line =
            format!("{}: {}{of}, {}, verified\n", clean(&name), counted(rows, "row"), counted(columns.len(), "column"));
        env.stdout.print(&line)?;
    }
    Ok(if losses.is_empty() { Outcome::Done } else { Outcome::Loss })
}

/// What is wrong with the file and cost nothing by itself.
fn tell(finding: &Error, file: &str, env: &mut Env<'_>) {
    env.report.message(format!("warning: {file}: {finding}"));
}

/// Opens what was written and verifies it, before it gets its name.
fn check(output: &Output, threads: usize) -> Result<()> {
    let reader = Reader::from_source(output.read_back()?, idv::Options::default())?;
    let mut first = None;
    reader.verify(&VerifyOptions::default().with_threads(threads), &mut |finding| {
        if finding.severity == Severity::Error {
            first.get_or_insert(finding.error);
        }
    })?;
    first.map_or(Ok(()), Err)
}
