//! Recovers the intact columns and rows of a damaged IDV file into a new one.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

use container_core::{Error, Input, Output, Result, Severity, Unit, VerifyOptions};
use idv::{Reader, RecoverOptions, Recovery};

use super::super::convert::{
    IdvTarget, OptionSpec, OptionValue, Streaming, Target as _, TargetInfo, TargetUnit, To, text,
};
use super::super::env::Opener;
use super::super::idv_file::{IDV, OPTIONS as ALL, WRITER_OPTIONS};
use super::super::inputs::Location;
use super::super::{Lost, output, schema_file, select};
use super::{Operation, Recover, Recoverer, Report};

/// Recovers IDV files: the columns and rows that keep the most values.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct IdvRecoverer {
    /// Keep these columns, in this order, even if that costs rows: names separated by commas; a name with a comma is quoted.
    pub columns: Vec<String>,
    /// A file with the schema, when the table of contents is lost: an IDV file with the same columns, or JSON.
    pub schema: Option<PathBuf>,
    /// How it is written; `missing_as_double` is for conversions.
    pub output: IdvTarget,
}

impl Operation for IdvRecoverer {
    fn info(&self) -> TargetInfo {
        let stream = Streaming::Unsupported("IDV is recovered into a file");
        TargetInfo { title: "IDV", ..TargetInfo::new(IDV, TargetUnit::TypedRows, stream) }
    }

    fn options(&self) -> &'static [OptionSpec] {
        const COLUMNS: OptionSpec = ALL.named(
            "columns",
            "Keep these columns, in this order, even if that loses more rows: comma-separated names (quote a name that contains a comma: \
             '\"a,b\",c'). Repeatable",
        )
        .with_value(OptionValue::Texts, "NAMES");
        const SCHEMA: OptionSpec = ALL.named(
            "schema",
            "Take the columns from this file, written with the same schema, if the table of contents at the end is lost: an IDV file, or the \
             output of `wharf info --json` for one. Works only for files with blocks in order, as wharf writes them",
        )
        .with_value(OptionValue::File, "FILE");
        const OPTIONS: [OptionSpec; 6] = {
            let [compression, level, rows, bytes] = WRITER_OPTIONS;
            [COLUMNS, SCHEMA, compression, level, rows, bytes]
        };
        &OPTIONS
    }

    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        match option {
            "columns" => self.columns.push(text(value)?.to_owned()),
            "schema" => self.schema = Some(value.into()),
            _ => self.output.set(option, value)?,
        }
        Ok(())
    }

    /// What no format recognizes can be the remains of an IDV file, unless it is empty.
    fn accepts(&self, input: &Input, format: Option<&str>) -> bool {
        let has_bytes = || input.source().is_some_and(|source| !source.is_empty());
        format.map_or_else(has_bytes, |format| format == IDV)
    }
}

impl Recoverer for IdvRecoverer {
    fn run(&self, job: &Recover, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let (path, force) = to.file();
        let location = &job.input;
        let named = |error: Error| error.in_file(location.name());
        let input = location.input(opener).map_err(named)?;
        let mut inputs = vec![location.clone()];
        inputs.extend(self.schema.clone().map(Location::Path));
        let output = output::create(path, force, &inputs)?;
        let name = output.path().display().to_string();
        let source = input.source().ok_or_else(|| named(Error::usage("expected an IDV file, found a directory")))?;

        let bar = job.progress();
        bar.name(&location.name());
        let mut options = RecoverOptions::default().with_threads(job.threads).with_progress(Arc::clone(bar));
        if !self.columns.is_empty() {
            let mut names = Vec::new();
            for argument in &self.columns {
                names.extend(select::split(argument)?);
            }
            options = options.with_columns(names);
        }
        if let Some(schema) = &self.schema {
            options = options.with_schema(schema_file::read(schema)?.0);
        }
        let recovery = Recovery::survey(source.clone(), &options).map_err(named)?;
        bar.name(&name);
        bar.begin(Unit::Rows, Some(recovery.row_count()));
        let options = self.output.writer_options(job.threads, Arc::clone(bar));
        let (output, losses) = recovery.write(output, options).map_err(named)?;
        report.losses.extend(Lost::all(losses, Some(&location.name())));
        check(&output, job.threads).map_err(|error| error.in_file(name))?;
        report.verified = true;
        report.bytes = output.file().metadata().map_or(0, |metadata| metadata.len());
        output.finish()?;
        (report.rows, report.declared) = (recovery.row_count(), Some(recovery.rows_declared()));
        report.columns = recovery.column_names().iter().map(|name| (*name).to_owned()).collect();
        report.findings = recovery.into_findings();
        Ok(())
    }
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
