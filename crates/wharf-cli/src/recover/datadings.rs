//! What is whole in a damaged datadings dataset, into a new one.

use std::path::Path;
use std::sync::Arc;

use container_core::{Error, Input, OpenOptions, Progress, Result, Severity, Unit, VerifyOptions};
use datadings::{Reader, RecoverOptions, Recovery, SameKey, WriterOptions};
use serde_json::{Value, json};

use super::super::Outcome;
use super::super::bar::Bar;
use super::super::dataset;
use super::super::env::Env;
use super::super::human::{counted, size};
use super::super::inputs::Location;
use super::super::report::{Lost, error_object};
use super::super::staged::Staged;
use super::Arguments;

/// Lost samples that programs are told, and ranges of lost bytes.
const NAMED: usize = 1000;
/// Lost samples that people are told.
const SHOWN: usize = 20;

/// Options that only datadings has.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for datadings")]
pub(super) struct Options {
    /// Keep a sample whose key one before has already: the key gets #2, #3... appended
    #[arg(long)]
    rename_duplicates: bool,

    /// Write no .md5
    #[arg(long)]
    no_md5: bool,
}

impl Options {
    /// An option that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let Self { rename_duplicates, no_md5 } = self;
        match (rename_duplicates, no_md5) {
            (true, _) => Some("--rename-duplicates"),
            (_, true) => Some("--no-md5"),
            _ => None,
        }
    }
}

pub(super) fn run(
    arguments: &Arguments,
    location: &Location,
    input: &Input,
    out: &Path,
    env: &mut Env<'_>,
) -> Result<Outcome> {
    let named = |error: Error| error.in_file(location.name());
    dataset::refuse(out, arguments.force, std::slice::from_ref(location))?;
    let bar = Arc::new(Bar::new(env.report.terminal));
    bar.name(&location.name());
    let same_key = if arguments.datadings.rename_duplicates { SameKey::Rename } else { SameKey::Drop };
    let options = RecoverOptions::default()
        .with_open(OpenOptions::default().with_access(env.opener.access))
        .with_same_key(same_key)
        .with_progress(Arc::clone(&bar) as Arc<dyn Progress>);
    let recovery = match location {
        Location::Path(path) => Recovery::survey(path, &options),
        Location::Stdin => {
            let source = input.source().ok_or_else(|| named(Error::usage("a directory is no datadings dataset")))?;
            Recovery::survey_source(source.clone(), &options)
        }
    };
    let recovery = recovery.map_err(named)?;

    // The dataset is whole and verified before it gets its place.
    let mut staged = Staged::new(arguments.force);
    let staging = staged.path(out)?;
    let writing = WriterOptions::default().with_threads(arguments.threads).with_md5(!arguments.datadings.no_md5);
    let (written, losses) = recovery.write(&staging, writing).map_err(|error| in_place(error, &staging, location))?;
    bar.name(&out.display().to_string());
    bar.begin(Unit::Bytes, Some(written.bytes));
    check(&staging, arguments.threads, &bar)
        .map_err(|error| in_place(error, &staging, &Location::Path(out.to_owned())))?;
    staged.commit()?;
    bar.clear();

    for finding in recovery.findings() {
        env.report.message(format!("warning: {}: {finding}", location.name()));
    }
    for loss in &losses {
        env.report.lost(&Lost { file: Some(location.name()), loss: loss.clone() });
    }
    let declared = recovery.samples_declared();
    let lost_rows = recovery.lost_rows(NAMED).map_err(named)?;
    let lost_keys: Vec<_> = lost_rows.iter().map(|&row| recovery.listed_key(row)).collect();
    if env.json() {
        let findings: Vec<Value> = recovery.findings().iter().map(|error| Value::Object(error_object(error))).collect();
        let ranges: Vec<_> = recovery.lost().iter().take(NAMED).map(|range| json!([range.start, range.end])).collect();
        let mut object = dataset::done(out, written);
        object.insert("rows_declared".into(), declared.into());
        object.insert("rows_lost".into(), lost_rows.into());
        object.insert("keys_lost".into(), json!(lost_keys));
        object.insert("bytes_lost".into(), ranges.into());
        object.insert("lost".into(), losses.len().into());
        object.insert("findings".into(), findings.into());
        object.insert("verified".into(), true.into());
        dataset::tell(object, "", env)?;
    } else {
        // The first is told as a loss.
        for (row, key) in lost_rows.iter().zip(&lost_keys).skip(1).take(SHOWN) {
            let key = key.map(|key| format!(", key {key:?}")).unwrap_or_default();
            env.report.message(format!("warning: {}: sample lost (row {row}{key})", location.name()));
        }
        let of = match declared {
            Some(declared) if declared != written.samples => format!(" of {declared}"),
            _ => String::new(),
        };
        let line =
            format!("{}: {}{of}, {}, verified", out.display(), counted(written.samples, "sample"), size(written.bytes));
        dataset::tell(serde_json::Map::new(), &line, env)?;
    }
    Ok(if losses.is_empty() { Outcome::Done } else { Outcome::Loss })
}

/// An error that names the file which was written before it had its name.
fn in_place(error: Error, staging: &Path, location: &Location) -> Error {
    let file = error.position().file.clone();
    match file {
        Some(file) if Path::new(file.as_ref()).starts_with(staging.parent().unwrap_or(staging)) => {
            let mut new = Error::new(error.kind(), error.detail().to_owned()).in_file(location.name());
            if let Some(format) = error.format() {
                new = new.in_format(format);
            }
            match std::error::Error::source(&error) {
                Some(cause) => new.caused_by(cause.to_string()),
                None => new,
            }
        }
        _ => error.in_file(location.name()),
    }
}

/// Opens what was written and verifies it.
fn check(path: &Path, threads: usize, bar: &Arc<Bar>) -> Result<()> {
    let mut first = None;
    let options = VerifyOptions::default().with_threads(threads).with_progress(Arc::clone(bar) as Arc<dyn Progress>);
    Reader::open(path)?.verify(&options, &mut |finding| {
        if finding.severity == Severity::Error {
            first.get_or_insert(finding.error);
        }
    })?;
    first.map_or(Ok(()), Err)
}
