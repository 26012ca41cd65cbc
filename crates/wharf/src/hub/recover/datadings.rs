//! What is whole in a damaged datadings dataset, into a new one.

use std::path::Path;
use std::sync::Arc;

use container_core::{Error, Input, OpenOptions, Result, Severity, Unit, VerifyOptions};
use datadings::{OnDuplicateKey, Reader, RecoverOptions, Recovery, WriterOptions};

use super::super::env::Opener;
use super::super::inputs::Location;
use super::super::staged::Staged;
use super::super::{Bar, Lost, dataset};
use super::{LostRow, MOST_LISTED, Recover, Report};

pub(super) fn run(
    job: &Recover,
    input: &Input,
    (path, force): (&Path, bool),
    opener: &Opener<'_>,
    report: &mut Report,
) -> Result<()> {
    let location = &job.input;
    let named = |error: Error| error.in_file(location.name());
    dataset::refuse(path, force, std::slice::from_ref(location))?;
    let bar = job.bar();
    bar.name(&location.name());
    let on_duplicate_key = if job.datadings.rename_duplicates { OnDuplicateKey::Rename } else { OnDuplicateKey::Drop };
    let options = RecoverOptions::default()
        .with_open(OpenOptions::default().with_access(opener.access))
        .with_on_duplicate_key(on_duplicate_key)
        .with_progress(Arc::clone(bar));
    let recovery = match location {
        Location::Path(path) => Recovery::survey(path, &options),
        Location::Stdin => {
            let source = input.source().ok_or_else(|| named(Error::usage("a directory is no datadings dataset")))?;
            Recovery::survey_source(source.clone(), &options)
        }
    };
    let recovery = recovery.map_err(named)?;
    report.declared = recovery.samples_declared();

    // The dataset is whole and verified before it gets its place.
    let mut staged = Staged::new(force);
    let staging = staged.path(path)?;
    let writing = WriterOptions::default().with_threads(job.threads).with_md5(!job.datadings.no_md5);
    let (written, losses) = recovery.write(&staging, writing).map_err(|error| in_place(error, &staging, location))?;
    report.losses.extend(Lost::all(losses, Some(&location.name())));
    bar.name(&path.display().to_string());
    bar.begin(Unit::Bytes, Some(written.bytes));
    check(&staging, job.threads, bar).map_err(|error| in_place(error, &staging, &Location::Path(path.to_owned())))?;
    staged.commit()?;
    (report.rows, report.bytes) = (written.samples, written.bytes);
    let rows = recovery.lost_rows(MOST_LISTED).map_err(named)?.into_iter();
    report.lost_rows = rows.map(|row| LostRow { row, key: recovery.listed_key(row).map(str::to_owned) }).collect();
    report.lost_bytes = recovery.lost().iter().take(MOST_LISTED).cloned().collect();
    report.findings = recovery.into_findings();
    Ok(())
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
    let options = VerifyOptions::default().with_threads(threads).with_progress(Arc::clone(bar));
    Reader::open(path)?.verify(&options, &mut |finding| {
        if finding.severity == Severity::Error {
            first.get_or_insert(finding.error);
        }
    })?;
    first.map_or(Ok(()), Err)
}
