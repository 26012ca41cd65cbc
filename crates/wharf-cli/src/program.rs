//! What programs that run as verbs of `wharf`, such as `wharf-sql`, share with it: options, output of rows, messages, signals, exit codes.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use container_core::{Access, Error, Overwrite, Progress, Result};
use wharf::convert::{Convert, Location, Report, Selection, TextTarget, To};
use wharf::hub::Lost;
use wharf::{BatchContainer, BoxedBatches, Registry};

use super::cat::{self, FormatOptions};
use super::convert;
use super::env::Env;
use super::options::{Options, OutputOptions};
use super::progress::{self, ProgressLine};
use super::{Global, Outcome, display, lock_exit, memory, silence_caught_panics, sys};

/// The options of every verb, and those of rows on standard output or in a file.
#[derive(Debug, clap::Args)]
pub struct RowOptions {
    #[command(flatten)]
    global: Global,

    #[command(flatten)]
    format: FormatOptions,

    /// Write a file of any format; its extension selects the format. - is standard output
    #[arg(short, long, value_name = "OUT")]
    output: Option<OsString>,

    /// The format of the output, whatever the extension
    #[arg(long, value_name = "FORMAT", requires = "output")]
    to: Option<String>,

    /// Replace the output if it exists
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    options: Options<OutputOptions>,
}

impl RowOptions {
    /// How to read local files.
    #[must_use]
    pub fn access(&self) -> Access {
        self.global.access.into()
    }

    /// Whether an existing output may be replaced.
    #[must_use]
    pub const fn overwrite(&self) -> Overwrite {
        if self.force { Overwrite::Replace } else { Overwrite::Refuse }
    }

    /// Whether rows go to a file.
    #[must_use]
    pub const fn is_file(&self) -> bool {
        self.output.is_some()
    }
}

/// The progress line on standard error while a query reads its tables. It is gone when this is dropped.
pub struct ReadingLine(Arc<ProgressLine>);

impl ReadingLine {
    /// What shows progress there.
    #[must_use]
    pub fn progress(&self) -> Arc<dyn Progress> {
        Arc::clone(&self.0) as Arc<dyn Progress>
    }
}

impl Drop for ReadingLine {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The streams of the process, and the exit code so far.
pub struct Console {
    env: Env<'static>,
    outcome: Outcome,
}

impl Console {
    /// Whether rows are printed as tables.
    #[must_use]
    pub fn prints_tables(&self, options: &RowOptions) -> bool {
        let FormatOptions { csv, tsv, pretty } = options.format;
        pretty || (self.env.stdout.terminal.is_some() && !csv && !tsv && !self.env.json())
    }

    /// Prints rows, or writes them to a file, as the options say.
    ///
    /// # Errors
    /// Errors of the rows and of the output.
    pub fn rows(&mut self, batches: BoxedBatches, options: &RowOptions) -> Result<()> {
        if let (None, Some((name, _))) = (&options.output, options.options.given().next()) {
            let error = Error::usage(format!("{} applies to rows that are written to a file", flag(name)));
            return Err(error.advising("{output} names one"));
        }
        let container = Arc::new(BatchContainer::from_reader(batches));
        let location = Location::open_container("query", container);
        let outcome = match &options.output {
            Some(output) => self.save(location, output, options)?,
            None => cat::print((&[location], &Selection::default()), false, &options.format, &mut self.env)?,
        };
        self.outcome = self.outcome.max(outcome);
        Ok(())
    }

    /// A progress line for the time before the first row of a query. It shows nothing unless standard error is a terminal.
    #[must_use]
    pub fn reading_line(&self) -> ReadingLine {
        ReadingLine(Arc::new(ProgressLine::new(self.env.report.terminal)))
    }

    fn save(&mut self, rows: Location, output: &OsString, options: &RowOptions) -> Result<Outcome> {
        let (env, stdout, path) = (&mut self.env, output == "-", Path::new(output));
        let registry = env.opener.registry.clone();
        let mut target = match &options.to {
            Some(name) => convert::by_name(name, &registry)?,
            None if stdout => Box::new(TextTarget::JSON_LINES),
            None => convert::by_extension(path, &registry)?,
        };
        let mut convert = Convert::default();
        for (name, value) in options.options.given() {
            convert.set(target.as_mut(), name, value, &registry)?;
        }
        convert.inputs = vec![rows];
        if stdout {
            convert::check_stream(target.as_ref(), env.stdout.terminal.is_some())?;
        }
        let is_shown = env.report.terminal && (!stdout || env.stdout.terminal.is_none());
        let to = if stdout { To::Stream(&mut env.stdout) } else { To::Path(path, options.overwrite()) };
        let mut report = Report::default();
        let outcome = progress::with_line(is_shown, |progress| {
            convert.with_progress(progress).run(target.as_ref(), to, &mut env.opener, &mut report)
        });
        let outcome = cat::finish(outcome, &report, env)?;
        if !stdout {
            convert::print_report(target.as_ref(), path, report, env)?;
        }
        Ok(outcome)
    }

    /// Reads standard input to its end.
    ///
    /// # Errors
    /// It cannot be read, or is not UTF-8.
    pub fn read_input(&mut self) -> Result<String> {
        let source = self.env.opener.stdin()?;
        let bytes = source.read(0..source.len())?;
        match std::str::from_utf8(&bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(error) => {
                Err(Error::invalid("the text is not UTF-8").at(error.valid_up_to() as u64).in_file("<stdin>"))
            }
        }
    }

    /// Prints text.
    ///
    /// # Errors
    /// Standard output cannot be written. A closed pipe is not an error.
    pub fn print(&mut self, text: &str) -> Result<()> {
        self.env.stdout.print(text)
    }

    /// Whether the reader of standard output has closed the pipe: nothing more needs to be printed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.env.stdout.closed
    }

    /// Reports an error, and remembers its exit code.
    pub fn fail(&mut self, error: &Error) {
        let outcome = self.env.fail(error);
        self.outcome = self.outcome.max(outcome);
    }

    /// Reports losses, and remembers the exit code.
    pub fn lost(&mut self, lost: &[Lost]) {
        self.outcome = self.outcome.max(self.env.lost(lost));
    }

    /// Writes a message to standard error, escaped for a terminal.
    pub fn message(&mut self, text: &str) {
        self.env.report.message(text);
    }

    /// Sets how messages name the options of the library, which are flags by default.
    pub fn name_options(&mut self, name: fn(&str) -> String) {
        self.env.report.option_name = name;
    }

    /// Forgets the exit code: at a prompt, errors end only the statement.
    pub const fn reset(&mut self) {
        self.outcome = Outcome::Done;
    }
}

/// Runs a program on the arguments of the process: `body` gets the parsed ones. Call it from `main` and do nothing else.
pub fn run<A: clap::Parser>(registry: &Registry, body: impl FnOnce(&A, &mut Console) -> Result<()>) -> ExitCode {
    memory::configure();
    silence_caught_panics();
    sys::signals::install();
    let mut console = Console { env: Env::from_process(registry), outcome: Outcome::Done };
    let arguments: Vec<OsString> = std::env::args_os().collect();
    console.env.report.json = super::has_json(&arguments);
    match A::try_parse_from(&arguments) {
        Ok(parsed) => {
            if let Err(error) = body(&parsed, &mut console) {
                drop(lock_exit()); // after a signal, do not report the error that removing temporary files caused
                console.fail(&error);
            }
        }
        Err(error) => {
            let escaped = arguments.iter().map(|argument| display::clean(&argument.to_string_lossy()).into_owned());
            console.outcome = console.env.print_clap(&A::try_parse_from(escaped).err().unwrap_or(error));
        }
    }
    std::mem::forget((lock_exit(), container_core::remove_temporaries()));
    ExitCode::from(console.outcome.code())
}

/// Leaves SIGINT to the caller: at a prompt it ends a query, not the program. Call it before [`run`]. Does nothing on systems other than Unix.
pub fn keep_interrupts() {
    sys::signals::keep_interrupts();
}

/// The flag of an option of the library: `--rows-per-block` of `rows_per_block`.
#[must_use]
pub fn flag(option: &str) -> String {
    super::report::flag(option)
}

/// Whether standard input is a terminal.
#[must_use]
pub fn is_interactive() -> bool {
    std::io::stdin().is_terminal()
}
