//! Verifies a file: the header against itself and against the body.

mod extents;
mod header;
mod values;

use std::collections::HashMap;

use container_core::{Error, ErrorKind, Finding, Result, Unit, VerifyOptions};

use crate::FORMAT_NAME;
use crate::read::{Reader, Variable};
use crate::types::DataType;
use crate::wire::{Entry, VERSION_LINE, short};
use crate::write::Builder;

/// Passes findings to the caller.
struct Report<'f>(&'f mut dyn FnMut(Finding));

impl Report<'_> {
    fn error(&mut self, error: Error) {
        (self.0)(Finding::error(error.in_format(FORMAT_NAME)));
    }

    fn warning(&mut self, error: Error) {
        (self.0)(Finding::warning(error.in_format(FORMAT_NAME)));
    }

    /// Reports an error as a finding, unless it is an I/O error.
    fn failed(&mut self, error: Error) -> Result<()> {
        match error.kind() {
            ErrorKind::Io => return Err(error),
            _ => self.error(error),
        }
        Ok(())
    }
}

impl<'a> Builder<'a> {
    /// Checks the values to copy from other files: padding bits, string lengths, UTF-8. [`Reader::verify`] would find the same in the written file.
    /// Each finding comes with the reader of its file.
    ///
    /// # Errors
    /// As [`Reader::verify`].
    pub fn verify_copied(&self, report: &mut dyn FnMut(&'a Reader, Finding)) -> Result<()> {
        let copied = self.fields.iter().filter_map(|(_, field)| field.source().1);
        // Values of other formats are checked when they are read.
        for variable in copied.filter(|variable| variable.reader.foreign.is_none()) {
            let mut report = |finding| report(variable.reader, finding);
            let mut report = Report(&mut report);
            if let Err(error) = values::check(variable, &mut report) {
                report.failed(error)?;
            }
        }
        Ok(())
    }
}

impl Reader {
    /// Checks everything: duplicate names and members, each variable's description, conflicting dimension sizes, overlapping and unused ranges of
    /// the body, masks against the number of stored values, padding bits, string lengths, and UTF-8. Reports all findings; for invalid strings of
    /// one variable the first hundred and the number of others.
    ///
    /// Python's writer declares a `.len` that is 2 bytes too large per missing string, and so displaces the variables after it; this is
    /// recognized and reported as such.
    ///
    /// When variables declare more than four times the file's bytes, that is one more finding, and strings are not checked.
    ///
    /// Numbers are not read. Takes a few bytes per variable, and a hundredth of a variable's mask and lengths.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) when the file cannot be read; everything else goes to `report`.
    pub fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        let progress = options.progress.as_deref();
        if let Some(progress) = progress {
            // May exceed the file size when variables overlap.
            let total = self.variables().fold(0u64, |sum, variable| sum.saturating_add(variable.stored_bytes()));
            progress.begin(Unit::Bytes, Some(total));
        }
        let mut report = Report(report);
        header::check(self, &mut report);
        for variable in self.variables() {
            if let Some(problem) = variable.problem() {
                report.error(problem.at(self.header_offset(&variable)));
            }
        }
        self.check_sizes(self.variables().filter(|variable| variable.problem().is_none()), &mut report);
        let declared = self.check_declared_bytes(self.variables());
        let check_strings = declared.is_ok();
        if let Err(error) = declared {
            report.error(error);
        }
        let mut surplus = HashMap::new();
        for variable in self.variables().filter(|variable| variable.problem().is_none()) {
            // Strings shared by thousands of variables would be scanned thousands of times.
            if !check_strings && variable.data_type().is_some_and(DataType::is_text) {
                continue;
            }
            match values::check(&variable, &mut report) {
                Ok(0) => {}
                Ok(unused) => drop(surplus.insert(variable.name(), unused)),
                Err(error) => report.failed(error)?,
            }
            if let Some(progress) = progress {
                progress.advance(variable.stored_bytes())?;
            }
        }
        extents::check(self, &surplus, &mut report);
        Ok(())
    }

    /// File offset of a variable's header member.
    pub(crate) fn header_offset(&self, variable: &Variable<'_>) -> u64 {
        let entry: &Entry = variable.entry;
        VERSION_LINE + entry.text.start as u64
    }

    /// Checks that variables agree on the sizes of shared dimensions.
    fn check_sizes<'v>(&self, variables: impl Iterator<Item = Variable<'v>>, report: &mut Report<'_>) {
        let mut known: HashMap<&str, (u64, &str)> = HashMap::new();
        for variable in variables {
            for (name, size) in variable.dimensions().iter().zip(variable.shape().unwrap_or_default()) {
                let (first, of) = *known.entry(name).or_insert((*size, variable.name()));
                if first != *size {
                    let (name, of) = (short(name), short(of));
                    let detail = format!("dimension {name:?} has size {size}, in {of:?} {first}");
                    report.error(variable.in_variable(Error::invalid(detail)).at(self.header_offset(&variable)));
                }
            }
        }
    }
}
