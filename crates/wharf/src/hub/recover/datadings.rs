//! Recovers the intact samples of a damaged datadings dataset into a new one.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use container_core::{Error, Input, OpenOptions, Result, Severity, Unit, VerifyOptions};
use datadings::{OnDuplicateKey, Reader, RecoverOptions, Recovery, WriterOptions};

use super::super::convert::{OptionSpec, TargetInfo, To, unknown_option};
use super::super::env::Opener;
use super::super::inputs::Location;
use super::super::transaction::Transaction;
use super::super::{Bar, Lost, dataset};
use super::{LostRow, MAX_LISTED, Operation, Recover, Recoverer, Report};

/// Recovers datadings datasets: every intact sample.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct DatadingsRecoverer {
    /// Keep samples with duplicate keys: `#2`, `#3` and so on are appended to the later ones.
    pub rename_duplicates: bool,
    /// Write no `.md5` file.
    pub no_md5: bool,
}

impl Operation for DatadingsRecoverer {
    fn info(&self) -> TargetInfo {
        dataset::INFO
    }

    fn options(&self) -> &'static [OptionSpec] {
        const ALL: OptionSpec = OptionSpec::flag("", "").with_group("Options for datadings");
        const RENAME: OptionSpec =
            ALL.named("rename_duplicates", "Keep samples with an existing key, and append #2, #3, ... to the key");
        const NO_MD5: OptionSpec = ALL.named("no_md5", "Write no .md5 file");
        &[RENAME, NO_MD5]
    }

    fn set(&mut self, option: &str, _: &OsStr) -> Result<()> {
        match option {
            "rename_duplicates" => self.rename_duplicates = true,
            "no_md5" => self.no_md5 = true,
            _ => return Err(unknown_option(option)),
        }
        Ok(())
    }

    fn accepts(&self, input: &Input, format: Option<&str>) -> bool {
        dataset::is_of(input, format)
    }
}

impl Recoverer for DatadingsRecoverer {
    fn run(&self, job: &Recover, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let (path, force) = to.file();
        let location = &job.input;
        let named = |error: Error| error.in_file(location.name());
        let input = location.input(opener).map_err(named)?;
        dataset::refuse(path, force, std::slice::from_ref(location))?;
        let bar = job.progress();
        bar.name(&location.name());
        let on_duplicate_key = if self.rename_duplicates { OnDuplicateKey::Rename } else { OnDuplicateKey::Drop };
        let options = RecoverOptions::default()
            .with_open(OpenOptions::default().with_access(opener.access))
            .with_on_duplicate_key(on_duplicate_key)
            .with_progress(Arc::clone(bar));
        let recovery = match location {
            Location::Path(path) => Recovery::survey(path, &options),
            Location::Stdin | Location::Open(_) => {
                let source = input
                    .source()
                    .ok_or_else(|| named(Error::usage("expected a datadings dataset, found a directory")))?;
                Recovery::survey_source(source.clone(), &options)
            }
        };
        let recovery = recovery.map_err(named)?;
        report.declared = recovery.samples_declared();

        // The new dataset is complete and verified before it appears.
        let mut transaction = Transaction::new(force);
        let temporary = transaction.path(path)?;
        let writing = WriterOptions::default().with_threads(job.threads).with_md5(!self.no_md5);
        let (written, losses) =
            recovery.write(&temporary, writing).map_err(|error| with_final_name(error, &temporary, location))?;
        report.losses.extend(Lost::all(losses, Some(&location.name())));
        bar.name(&path.display().to_string());
        bar.begin(Unit::Bytes, Some(written.bytes));
        check(&temporary, written.rejected > 0, job.threads, bar)
            .map_err(|error| with_final_name(error, &temporary, &Location::Path(path.to_owned())))?;
        transaction.commit()?;
        report.verified = written.rejected == 0;
        (report.rows, report.bytes) = (written.samples, written.bytes);
        let rows = recovery.lost_rows(MAX_LISTED).map_err(named)?.into_iter();
        report.lost_rows = rows.map(|row| LostRow { row, key: recovery.listed_key(row).map(str::to_owned) }).collect();
        report.lost_bytes = recovery.lost().iter().take(MAX_LISTED).cloned().collect();
        report.findings = recovery.into_findings();
        Ok(())
    }
}

/// Replaces the name of the temporary file in an error.
fn with_final_name(error: Error, temporary: &Path, location: &Location) -> Error {
    let file = error.position().file.clone();
    match file {
        Some(file) if Path::new(file.as_ref()).starts_with(temporary.parent().unwrap_or(temporary)) => {
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

/// Verifies the new dataset. With `has_rejected`, some of its samples are reported as losses already: then only the other files and their
/// consistency with the data count.
fn check(path: &Path, has_rejected: bool, threads: usize, bar: &Arc<Bar>) -> Result<()> {
    let mut first = None;
    let data = path.display().to_string();
    let is_of_sample = |error: &Error| match &error.position().file {
        Some(file) => error.position().row.is_some() && **file == *data,
        // How many more there are.
        None => true,
    };
    let options = VerifyOptions::default().with_threads(threads).with_progress(Arc::clone(bar));
    Reader::open(path)?.verify(&options, &mut |finding| {
        if finding.severity == Severity::Error && !(has_rejected && is_of_sample(&finding.error)) {
            first.get_or_insert(finding.error);
        }
    })?;
    first.map_or(Ok(()), Err)
}
