//! The environment of a run: streams, formats and global options. Tests replace it with streams in memory.

use std::io::{self, IsTerminal, Write};

use container_core::{Error, Result};
use wharf::Registry;
pub(crate) use wharf::hub::env::Opener;

use super::Outcome;
use super::escaping_writer::EscapingWriter;
use super::report::{Lost, Report};

/// Streams, formats and global options of a run.
pub(crate) struct Env<'a> {
    pub(crate) opener: Opener<'a>,
    pub(crate) stdout: Stdout<'a>,
    pub(crate) report: Report<'a>,
}

impl Env<'static> {
    pub(crate) fn from_process(registry: &Registry) -> Self {
        let terminal = io::stdout().is_terminal();
        let width = terminal.then(terminal_size::terminal_size).flatten().map(|(width, _)| width.0);
        Self {
            opener: Opener::new(registry.clone()).with_stdin(io::stdin().lock()),
            stdout: Stdout::new(io::stdout(), terminal.then(|| width.unwrap_or(80))),
            report: Report::new(io::stderr(), io::stderr().is_terminal()),
        }
    }
}

impl Env<'_> {
    /// Whether results are printed as JSON.
    pub(crate) fn json(&self) -> bool {
        self.report.json
    }

    /// Reports an error and returns the outcome. A pipe closed by its reader is not an error.
    pub(crate) fn fail(&mut self, error: &Error) -> Outcome {
        if self.stdout.is_closed(error) {
            return Outcome::Done;
        }
        self.report.error(error);
        Outcome::from_error(error)
    }

    /// Reports losses and returns the outcome of the finished work.
    pub(crate) fn lost(&mut self, lost: &[Lost]) -> Outcome {
        lost.iter().for_each(|lost| self.report.lost(lost));
        Outcome::after(lost)
    }

    /// Prints what clap returns instead of arguments: help and version to standard output, usage errors to standard error.
    pub(crate) fn print_clap(&mut self, message: &clap::Error) -> Outcome {
        let text = message.render();
        if !message.use_stderr() {
            return match self.stdout.print_styled(&text) {
                Ok(()) => Outcome::Done,
                Err(error) => self.fail(&error),
            };
        }
        if self.json() {
            let plain = text.to_string();
            let first = plain.split("\n\n").next().unwrap_or_default();
            let first = first.strip_prefix("error: ").unwrap_or(first);
            let line = first.split_whitespace().collect::<Vec<_>>().join(" ");
            self.report.error(&Error::usage(line));
        } else {
            self.report.styled(&text);
        }
        Outcome::Usage
    }
}

/// Standard output. Records whether the reader closed the pipe.
pub(crate) struct Stdout<'a> {
    out: EscapingWriter<'a>,
    /// Width of the terminal; `None` for a file or pipe.
    pub(crate) terminal: Option<u16>,
    /// The reader has closed the pipe.
    pub(crate) closed: bool,
}

impl<'a> Stdout<'a> {
    pub(crate) fn new(out: impl Write + Send + 'a, terminal: Option<u16>) -> Self {
        Self { out: EscapingWriter::new(out, terminal.is_some()), terminal, closed: false }
    }

    /// Writes text and flushes. A closed pipe is not an error, so that a verb finishes its work; verbs that only print check
    /// [`closed`](Self::closed).
    pub(crate) fn print(&mut self, text: &str) -> Result<()> {
        let written = self.write_all(text.as_bytes()).and_then(|()| self.flush());
        self.unless_closed(written)
    }

    fn print_styled(&mut self, text: &clap::builder::StyledStr) -> Result<()> {
        let written = self.out.write_styled(text);
        let written = self.note_closed(written);
        self.unless_closed(written)
    }

    /// Turns a failed write into an error, unless the reader closed the pipe.
    pub(crate) fn unless_closed(&self, written: io::Result<()>) -> Result<()> {
        match written {
            Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe && self.closed => Ok(()),
            other => other.map_err(|cause| Error::io("cannot write to standard output", cause)),
        }
    }

    /// Whether the cause of the error is that the reader closed the pipe.
    pub(crate) fn is_closed(&self, error: &Error) -> bool {
        let mut causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
        let is_broken = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
        self.closed && causes.any(|cause| cause.downcast_ref().is_some_and(is_broken))
    }

    fn note_closed<T>(&mut self, outcome: io::Result<T>) -> io::Result<T> {
        self.closed |= outcome.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        outcome
    }
}

impl Write for Stdout<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let outcome = self.out.write(bytes);
        self.note_closed(outcome)
    }

    fn flush(&mut self) -> io::Result<()> {
        let outcome = self.out.flush();
        self.note_closed(outcome)
    }
}
