//! `wharf verify`: reports every problem in files.

use std::ffi::OsString;
use std::sync::Arc;

use container_core::{Error, Finding, Progress, Result, Severity, VerifyOptions};
use serde_json::{Value, json};

use super::Outcome;
use super::display::{clean, counted};
use super::env::{Env, Stdout};
use super::inputs::{self, Location, Opened};
use super::progress::ProgressLine;
use super::report::error_object;

const EXAMPLES: &str = "\
Examples:
  wharf verify adult.idv
  wharf verify 'archive/*.idv' --json > report.jsonl";

/// Check files completely and report every problem
///
/// Reads all data and verifies structure, values and checksums. Exit code 1 if a file has an error or cannot be opened; the other files are
/// still checked. Warnings do not change the exit code.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Input files, or quoted glob patterns such as 'day-*.idv'; - for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,

    /// Maximum number of threads; 0 for all processors
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let mut outcome = Outcome::Done;
    let mut used_stdin = false;
    for file in &arguments.files {
        let locations = match inputs::expand_one(file) {
            Ok(locations) => locations.into_iter().map(Ok).collect(),
            Err(error) => vec![Err((file.display().to_string(), error))],
        };
        for location in locations {
            let location = match location {
                Ok(Location::Stdin) if used_stdin => {
                    return Err(Error::usage("standard input (-) can be given only once"));
                }
                other => other,
            };
            used_stdin |= matches!(location, Ok(Location::Stdin));
            outcome = outcome.max(verify(location, arguments.threads, env)?);
        }
    }
    Ok(outcome)
}

/// Verifies one file and prints each finding immediately.
fn verify(location: Result<Location, (String, Error)>, threads: usize, env: &mut Env<'_>) -> Result<Outcome> {
    let name = match &location {
        Ok(location) => location.name(),
        Err((name, _)) => name.clone(),
    };
    let opened = match location {
        Ok(location) => location.open(&mut env.opener),
        Err((_, error)) => Err(error),
    };
    let json = env.json();
    let progress = Arc::new(ProgressLine::new(env.report.terminal));
    progress.name(&name);
    let mut findings = Findings {
        name: &name,
        json,
        out: &mut env.stdout,
        progress: &progress,
        errors: 0,
        warnings: 0,
        failed: Ok(()),
    };
    match opened {
        Err(error) => {
            findings.begin(None)?;
            findings.take(Finding::error(error));
        }
        Ok(Opened { container, .. }) => {
            findings.begin(Some((container.format(), container.version())))?;
            let options = VerifyOptions::default().with_threads(threads).with_progress(progress.clone());
            if let Err(error) = container.verify(&options, &mut |finding| findings.take(finding)) {
                findings.take(Finding::error(error));
            }
        }
    }
    progress.clear();
    findings.end()
}

/// Prints findings one by one, so that memory does not grow with their number.
struct Findings<'a, 'o> {
    name: &'a str,
    json: bool,
    out: &'a mut Stdout<'o>,
    progress: &'a ProgressLine,
    errors: u64,
    warnings: u64,
    /// The first failure to print. Verification continues without printing.
    failed: Result<()>,
}

impl Findings<'_, '_> {
    fn begin(&mut self, format: Option<(&'static str, String)>) -> Result<()> {
        if !self.json {
            return Ok(());
        }
        let mut head = json!({"file": self.name});
        if let (Some((format, version)), Some(head)) = (format, head.as_object_mut()) {
            head.insert("format".into(), format.into());
            head.insert("version".into(), version.into());
        }
        let head = head.to_string();
        self.out.print(&format!("{},\"findings\":[", head.trim_end_matches('}')))
    }

    fn take(&mut self, finding: Finding) {
        let Finding { severity, error, .. } = finding;
        let (name, count) = match severity {
            Severity::Error => ("error", &mut self.errors),
            Severity::Warning => ("warning", &mut self.warnings),
        };
        *count += 1;
        let first = self.errors + self.warnings == 1;
        if self.failed.is_err() {
            return;
        }
        let line = if self.json {
            let mut object = serde_json::Map::new();
            object.insert("severity".into(), name.into());
            object.extend(error_object(&error));
            format!("{}{}", if first { "" } else { "," }, Value::Object(object))
        } else {
            format!("{name}: {}\n", clean(&error.in_file(self.name.to_owned()).to_string()))
        };
        self.failed = self.progress.suspend(|| self.out.print(&line));
    }

    fn end(self) -> Result<Outcome> {
        self.failed?;
        let line = if self.json {
            format!("],\"ok\":{}}}\n", self.errors == 0)
        } else {
            let verdict = match (self.errors, self.warnings) {
                (0, 0) => "ok".to_owned(),
                (0, warnings) => format!("ok, {}", counted(warnings, "warning")),
                (errors, 0) => counted(errors, "problem"),
                (errors, warnings) => format!("{}, {}", counted(errors, "problem"), counted(warnings, "warning")),
            };
            format!("{}: {verdict}\n", clean(self.name))
        };
        self.out.print(&line)?;
        Ok(if self.errors == 0 { Outcome::Done } else { Outcome::Failed })
    }
}
