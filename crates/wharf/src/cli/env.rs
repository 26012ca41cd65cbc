//! What a run of the command reads, writes and knows.

use std::io::{self, IsTerminal, Read, Write};

use container_core::{Access, Container, Error, Format, Input, OpenOptions, Result, Source};

use super::Outcome;
use super::report::Report;
use super::said::Said;

/// Streams, formats and global options of a run.
pub(crate) struct Env<'a> {
    pub(crate) opener: Opener<'a>,
    pub(crate) stdout: Stdout<'a>,
    pub(crate) report: Report<'a>,
}

/// What opening an input takes.
pub(crate) struct Opener<'a> {
    pub(crate) formats: &'a [&'static dyn Format],
    pub(crate) access: Access,
    pub(crate) stdin: Box<dyn Read + 'a>,
    /// What stood there, once it was read: who asks again gets the same.
    pub(crate) stdin_read: Option<Source>,
    /// What is said of inputs.
    pub(crate) said: Said,
    /// What of documents is shown.
    #[cfg(feature = "zds")]
    pub(crate) view: super::zds::View,
}

impl Opener<'_> {
    /// Standard input, read to its end.
    pub(crate) fn stdin(&mut self) -> Result<Source> {
        if let Some(read) = &self.stdin_read {
            return Ok(read.clone());
        }
        let read = Source::from_reader(&mut self.stdin)?;
        self.stdin_read = Some(read.clone());
        Ok(read)
    }

    /// Opens an input.
    pub(crate) fn container(&self, input: &Input) -> Result<Box<dyn Container>> {
        let options = OpenOptions::default().with_access(self.access);
        if let Some(container) = self.said.open(input, self.formats, &options)? {
            return Ok(container);
        }
        #[cfg(feature = "zds")]
        if let Some(container) = self.view.open(input, self.formats, &options)? {
            return Ok(container);
        }
        wharf::open_among(self.formats, input, &options).map_err(|error| self.said.helped(error))
    }
}

impl Env<'static> {
    pub(crate) fn of_the_process() -> Self {
        let terminal = io::stdout().is_terminal();
        let width = terminal.then(|| comfy_table::Table::new().width()).flatten();
        Self {
            opener: Opener {
                formats: wharf::formats(),
                access: Access::Auto,
                stdin: Box::new(io::stdin().lock()),
                stdin_read: None,
                said: Said::default(),
                #[cfg(feature = "zds")]
                view: super::zds::View::default(),
            },
            stdout: Stdout {
                out: Box::new(io::stdout()),
                terminal: terminal.then(|| width.unwrap_or(80)),
                closed: false,
            },
            report: Report { out: Box::new(io::stderr()), terminal: io::stderr().is_terminal(), json: false },
        }
    }
}

impl Env<'_> {
    /// True when results are wanted as JSON.
    pub(crate) fn json(&self) -> bool {
        self.report.json
    }

    /// Tells an error, unless it is only that nobody reads any more.
    pub(crate) fn fail(&mut self, error: &Error) -> Outcome {
        if !self.stdout.closed {
            self.report.error(error);
        }
        Outcome::of(error)
    }

    /// What clap has to say: help and version are results, all else is wrong usage.
    pub(crate) fn answer(&mut self, said: &clap::Error) -> Outcome {
        let text = said.render();
        if !said.use_stderr() {
            let shown = if colour(self.stdout.terminal.is_some()) { text.ansi().to_string() } else { text.to_string() };
            return match self.stdout.print(&shown) {
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
            self.report.plain(&if colour(self.report.terminal) { text.ansi().to_string() } else { text.to_string() });
        }
        Outcome::Usage
    }
}

/// Colours are for terminals whose owner has nothing against them (<https://no-color.org>).
fn colour(terminal: bool) -> bool {
    terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Standard output: it remembers when the other end of the pipe is gone.
pub(crate) struct Stdout<'a> {
    pub(crate) out: Box<dyn Write + Send + 'a>,
    /// The width, when it is a terminal.
    pub(crate) terminal: Option<u16>,
    /// The reader is gone.
    pub(crate) closed: bool,
}

impl Stdout<'_> {
    /// Writes a whole text and flushes.
    pub(crate) fn print(&mut self, text: &str) -> Result<()> {
        let written = self.write_all(text.as_bytes()).and_then(|()| self.flush());
        written.map_err(|cause| Error::io("cannot write to standard output", cause))
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
