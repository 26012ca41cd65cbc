//! Checks a file: what the header says against itself, and against the body.

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

/// Findings, on their way to who wants them.
struct Report<'f>(&'f mut dyn FnMut(Finding));

impl Report<'_> {
    fn error(&mut self, error: Error) {
        (self.0)(Finding::error(error.in_format(FORMAT_NAME)));
    }

    fn warning(&mut self, error: Error) {
        (self.0)(Finding::warning(error.in_format(FORMAT_NAME)));
    }

    /// What a check has failed with: a finding, unless the source fails.
    fn failed(&mut self, error: Error) -> Result<()> {
        match error.kind() {
            ErrorKind::Io => return Err(error),
            _ => self.error(error),
        }
        Ok(())
    }
}

impl<'a> Builder<'a> {
    /// Checks the values that are copied from other files byte for byte: bits that should be 0, lengths of strings, and that texts are
    /// UTF-8. [`Reader::verify`] finds the same in the file that is written. Each finding comes with the reader of its file.
    ///
    /// # Errors
    /// As [`Reader::verify`].
    pub fn verify_copied(&self, report: &mut dyn FnMut(&'a Reader, Finding)) -> Result<()> {
        for variable in self.fields.iter().filter_map(|(_, field)| field.source().1) {
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
    /// Checks everything that can be: names and members that are there twice, every variable's description, sizes of dimensions on which
    /// variables disagree, ranges of the body that overlap or belong to nothing, masks against the number of stored values, bits that
    /// should be 0, lengths of strings, and that texts are UTF-8. All findings are told, of the texts of one variable the first hundred and
    /// how many more there are.
    ///
    /// What Python's writer does to a masked text variable is known and said: it states a `.len` that is 2 too large for each missing
    /// element, and so misplaces the variables behind.
    ///
    /// Where variables state more than four times the bytes that there are, that is one finding more, and strings are not looked into.
    ///
    /// Numbers are not read. Memory: some bytes for each variable, and a hundredth of a variable's mask and lengths.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) when the file cannot be read; everything that is wrong with it goes to `report`.
    pub fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        let progress = options.progress.as_deref();
        if let Some(progress) = progress {
            // Variables that overlap may have more than all bytes there are.
            let all = self.variables().fold(0u64, |all, variable| all.saturating_add(variable.stored_bytes()));
            progress.begin(Unit::Bytes, Some(all));
        }
        let mut report = Report(report);
        header::check(self, &mut report);
        for variable in self.variables() {
            if let Some(problem) = variable.problem() {
                report.error(problem.at(self.place_of(&variable)));
            }
        }
        self.check_sizes(self.variables().filter(|variable| variable.problem().is_none()), &mut report);
        let together = self.check_together(self.variables());
        let looked_into = together.is_ok();
        if let Err(error) = together {
            report.error(error);
        }
        let mut spare = HashMap::new();
        for variable in self.variables().filter(|variable| variable.problem().is_none()) {
            // Strings that thousands of variables share would be gone through thousands of times.
            if !looked_into && variable.data_type().is_some_and(DataType::is_text) {
                continue;
            }
            match values::check(&variable, &mut report) {
                // What a masked text variable does not take of its `.len`.
                Ok(0) => {}
                Ok(less) => drop(spare.insert(variable.name(), less)),
                Err(error) => report.failed(error)?,
            }
            if let Some(progress) = progress {
                progress.advance(variable.stored_bytes());
            }
        }
        extents::check(self, &spare, &mut report);
        Ok(())
    }

    /// Where a variable's member of the header begins in the file.
    pub(crate) fn place_of(&self, variable: &Variable<'_>) -> u64 {
        let entry: &Entry = variable.entry;
        VERSION_LINE + entry.text.start as u64
    }

    /// Variables that share a dimension have the same size along it.
    fn check_sizes<'v>(&self, variables: impl Iterator<Item = Variable<'v>>, report: &mut Report<'_>) {
        let mut known: HashMap<&str, (u64, &str)> = HashMap::new();
        for variable in variables {
            for (name, size) in variable.dimensions().iter().zip(variable.shape().unwrap_or_default()) {
                let (first, of) = *known.entry(name).or_insert((*size, variable.name()));
                if first != *size {
                    let (name, of) = (short(name), short(of));
                    let detail = format!("its dimension {name:?} has {size} elements, that of {of:?} {first}");
                    report.error(variable.place(Error::invalid(detail)).at(self.place_of(&variable)));
                }
            }
        }
    }
}
