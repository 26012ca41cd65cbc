//! What a run of the command reads, writes and knows.

use std::io::{self, IsTerminal, Write};

use container_core::{Error, Result};
use wharf::Registry;
pub(crate) use wharf::hub::env::Opener;

use super::Outcome;
use super::report::Report;
use super::stream::Stream;

/// Streams, formats and global options of a run.
pub(crate) struct Env<'a> {
    pub(crate) opener: Opener<'a>,
    pub(crate) stdout: Stdout<'a>,
    pub(crate) report: Report<'a>,
}

impl Env<'static> {
    pub(crate) fn of_the_process(registry: &Registry) -> Self {
        let terminal = io::stdout().is_terminal();
        let width = terminal.then(|| comfy_table::Table::new().width()).flatten();
        Self {
            opener: Opener::new(registry.clone()).with_stdin(io::stdin().lock()),
            stdout: Stdout::new(io::stdout(), terminal.then(|| width.unwrap_or(80))),
            report: Report::new(io::stderr(), io::stderr().is_terminal()),
        }
    }
}

impl Env<'_> {
    /// True when results are wanted as JSON.
    pub(crate) fn json(&self) -> bool {
        self.report.json
    }

    /// Reports an error. A closed pipe is none: who closed it has seen enough.
    pub(crate) fn fail(&mut self, error: &Error) -> Outcome {
        if self.stdout.is_closed(error) {
            return Outcome::Done;
        }
        self.report.error(error);
        Outcome::of(error)
    }

    /// Prints what clap answers: help and version are results, all else is wrong usage.
    pub(crate) fn answer(&mut self, answer: &clap::Error) -> Outcome {
        let text = answer.render();
        if !answer.use_stderr() {
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

/// Standard output: it remembers when the other end of the pipe is gone.
pub(crate) struct Stdout<'a> {
    out: Stream<'a>,
    /// The width, when it is a terminal.
    pub(crate) terminal: Option<u16>,
    /// The reader is gone.
    pub(crate) closed: bool,
}

impl<'a> Stdout<'a> {
    pub(crate) fn new(out: impl Write + Send + 'a, terminal: Option<u16>) -> Self {
        Self { out: Stream::new(out, terminal.is_some()), terminal, closed: false }
    }

    /// Writes a whole text and flushes. A reader who is gone does not end the work that the text reports: where there is nothing to do
    /// but to print, look at [`closed`](Self::closed), or write.
    pub(crate) fn print(&mut self, text: &str) -> Result<()> {
        let written = self.write_all(text.as_bytes()).and_then(|()| self.flush());
        self.unless_closed(written)
    }

    fn print_styled(&mut self, text: &clap::builder::StyledStr) -> Result<()> {
        let written = self.out.write_styled(text);
        let written = self.watch(written);
        self.unless_closed(written)
    }

    /// The outcome of writing, for work that goes on when nobody reads.
    pub(crate) fn unless_closed(&self, written: io::Result<()>) -> Result<()> {
        match written {
            Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe && self.closed => Ok(()),
            other => other.map_err(|cause| Error::io("cannot write to standard output", cause)),
        }
    }

    /// Is the error only that the reader is gone?
    pub(crate) fn is_closed(&self, error: &Error) -> bool {
        let mut causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
        let is_broken = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
        self.closed && causes.any(|cause| cause.downcast_ref().is_some_and(is_broken))
    }

    fn watch<T>(&mut self, outcome: io::Result<T>) -> io::Result<T> {
        self.closed |= outcome.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        outcome
    }
}

impl Write for Stdout<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let outcome = self.out.write(bytes);
        self.watch(outcome)
    }

    fn flush(&mut self) -> io::Result<()> {
        let outcome = self.out.flush();
        self.watch(outcome)
    }
}
