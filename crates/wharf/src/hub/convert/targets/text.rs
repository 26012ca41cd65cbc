//! JSON lines, CSV and TSV.

use std::ffi::OsStr;
use std::io::Write;
use std::sync::Arc;

use container_core::{Error, Result};

use super::super::super::{copy_rows, output};
use super::super::job::{Context, Job, Report, finish, of_output};
use super::super::option::OptionSpec;
use super::{Streaming, Target, TargetInfo, TargetUnit, unknown_option};
use crate::convert::{Csv, Delimiter, JsonLines, Sink};

/// Text: one row per line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextTarget(TargetInfo);

const JSON_LINES: TargetInfo = TargetInfo {
    name: "jsonl",
    format: "jsonl",
    title: "JSON lines: one object per row",
    extensions: &["jsonl", "ndjson", "json"],
    stream: Streaming::Text,
    unit: TargetUnit::Rows,
};

impl TextTarget {
    /// JSON lines: one object per row.
    pub const JSON_LINES: Self = Self(JSON_LINES);
    /// Comma-separated values.
    pub const CSV: Self = Self(TargetInfo {
        name: "csv",
        format: "csv",
        title: "Comma-separated values",
        extensions: &["csv"],
        ..JSON_LINES
    });
    /// Tab-separated values.
    pub const TSV: Self = Self(TargetInfo {
        name: "tsv",
        format: "tsv",
        title: "Tab-separated values",
        extensions: &["tsv"],
        ..JSON_LINES
    });

    /// Writes rows to `out`.
    #[doc(hidden)]
    pub fn sink<'w>(self, out: impl Write + 'w) -> Box<dyn Sink + 'w> {
        match self {
            Self::CSV => Box::new(Csv::new(out)),
            Self::TSV => Box::new(Csv::new(out).with_delimiter(Delimiter::Tab)),
            _ => Box::new(JsonLines::new(out)),
        }
    }
}

impl Target for TextTarget {
    fn info(&self) -> TargetInfo {
        self.0
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[]
    }

    fn set(&mut self, option: &str, _: &OsStr) -> Result<()> {
        Err(unknown_option(option))
    }

    fn run(&self, job: &Job<'_>, context: &mut Context<'_, '_>, report: &mut Report) -> Result<()> {
        let progress = Arc::clone(context.progress);
        let rows = copy_rows::CopyRows {
            locations: &job.inputs,
            selection: &job.selection,
            max_columns: usize::MAX,
            union: job.union,
            same_columns: true,
            progress: progress.as_ref(),
        };
        let Some(path) = job.path else {
            let Context { opener, stream, .. } = context;
            let Some(stream) = stream else { return Err(Error::usage("there is no output")) };
            return rows.stream(self.sink(stream).as_mut(), opener, report);
        };
        let mut output = output::create(path, job.force, &job.inputs)?;
        let name = output.path().display().to_string();
        let mut sink = self.sink(&mut output);
        let outcome = rows.run(sink.as_mut(), context.opener, report).and_then(|()| sink.flush());
        rows.report_losses(sink.as_ref(), report);
        drop(sink);
        outcome.map_err(|error| of_output(error, &name))?;
        finish(output, report)
    }
}
