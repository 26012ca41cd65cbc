//! The command `wharf` as a library: one file per verb, and what they share. `wharf --help` says what it can do.
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     wharf_cli::main(&wharf::Registry::builtin())
//! }
//! ```

mod bar;
mod cat;
mod compact;
mod convert;
mod dataset;
mod ds;
mod edit;
mod env;
mod get;
mod human;
mod index;
mod info;
mod inputs;
mod memory;
mod merge;
mod netcdf;
mod output;
mod pack;
mod pages;
mod put;
mod recover;
mod rename;
mod report;
mod rm;
mod sample;
mod select;
mod set;
mod shuffle;
#[cfg(unix)]
mod signals;
mod split;
mod stats;
mod stream;
mod verify;
mod writing;
mod zds;

#[cfg(test)]
extern crate self as wharf_cli; // an example is a test as well
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::{Parser, Subcommand, ValueEnum};
use container_core::{Access, Error, ErrorKind, Result};

use env::Env;
use wharf::Registry;

/// How a run of the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// All was done.
    Done,
    /// All was done, but something could not be kept.
    Loss,
    /// It failed, or `verify` found something.
    Failed,
    /// It was asked for something that cannot be.
    Usage,
}

impl Outcome {
    /// The exit code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Loss => 3,
        }
    }

    /// Of work that is done, and of which this was told.
    pub(crate) fn after(lost: &[report::Lost]) -> Self {
        if lost.iter().all(|lost| lost.loss.count == 0) { Self::Done } else { Self::Loss }
    }

    fn of(error: &Error) -> Self {
        if error.kind() == ErrorKind::Usage { Self::Usage } else { Self::Failed }
    }
}

/// Open, check and convert dataset containers, whatever their format.
#[derive(Debug, Parser)]
#[command(name = "wharf", version, propagate_version = true, arg_required_else_help = true, after_help = EXIT_CODES)]
struct Command {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    global: Global,
}

const EXIT_CODES: &str = "\
Examples:
  wharf info adult.idv                 what is in it
  wharf cat adult.idv -n 10            its first ten rows
  wharf convert adult.idv adult.csv    the same data for another tool

Exit codes: 0 done; 1 failed, or verify found something; 2 wrong usage; 3 done, but something could not be kept \
(the warnings say what).";

#[derive(Debug, Clone, Copy, clap::Args)]
struct Global {
    /// JSON for programs: results, and errors and warnings too (one object per line, on stderr)
    #[arg(long, global = true, help_heading = "Options for every verb")]
    json: bool,

    /// How local files are read
    #[arg(long, global = true, value_enum, default_value_t = AccessChoice::Auto, value_name = "HOW",
          help_heading = "Options for every verb")]
    access: AccessChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AccessChoice {
    /// Small files are read at once, others mapped into memory: fastest; not for files that another program changes meanwhile
    #[value(alias = "mapped")]
    Auto,
    /// Read piece by piece: a file that is shortened meanwhile is an error and no crash
    Positional,
}

impl From<AccessChoice> for Access {
    fn from(choice: AccessChoice) -> Self {
        match choice {
            AccessChoice::Auto => memory::mapped(),
            AccessChoice::Positional => Self::Auto,
        }
    }
}

#[derive(Debug, Subcommand)]
enum Verb {
    Info(info::Arguments),
    Cat(cat::Arguments),
    Get(get::Arguments),
    Verify(verify::Arguments),
    Convert(Box<convert::Arguments>),
    Merge(merge::Arguments),
    Recover(recover::Arguments),
    Index(index::Arguments),
    Split(split::Arguments),
    Shuffle(shuffle::Arguments),
    Sample(sample::Arguments),
    Stats(stats::Arguments),
    Rename(rename::Arguments),
    Rm(rm::Arguments),
    Set(set::Arguments),
    Put(put::Arguments),
    Compact(compact::Arguments),
    Pack(pack::Arguments),
    Unpack(pack::UnpackArguments),
}

/// Held by the thread that ends the process after a signal, and by the main thread once its result is final. So the exit status is the signal,
/// or the result of work that was done.
static END: Mutex<()> = Mutex::new(());

fn end() -> MutexGuard<'static, ()> {
    END.lock().unwrap_or_else(PoisonError::into_inner) // it guards no data
}

/// Panics that become errors are not printed: they are reported as errors.
fn quieten() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !dsfmt::netcdf::is_guarded() && !wharf::is_guarded() {
            usual(panic);
        }
    }));
}

/// Runs the command with these formats on this process's arguments and streams, for a program that does nothing else: what is set up for memory, signals and
/// panics is the process's, and standard output is closed by the reader, or not.
pub fn main(registry: &Registry) -> ExitCode {
    memory::prepare();
    quieten();
    #[cfg(unix)]
    signals::handle();
    let mut env = Env::of_the_process(registry);
    let outcome = run(std::env::args_os(), &mut env);
    // From here on a signal is too late. Files that could not be removed while too many were open can be removed by now.
    std::mem::forget((end(), container_core::remove_temporaries()));
    ExitCode::from(outcome.code())
}

/// Runs the command: everything it reads, writes and knows is in `env`.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>, env: &mut Env<'_>) -> Outcome {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    env.report.json = arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json");
    match Command::try_parse_from(&arguments) {
        Ok(command) => {
            env.opener.access = command.global.access.into();
            dispatch(&command, env).unwrap_or_else(|error| {
                drop(end()); // an error because files were removed after a signal is not reported
                env.fail(&error)
            })
        }
        Err(error) => {
            // clap repeats arguments as they are: it is asked again, about arguments that are harmless.
            let escaped = arguments.iter().map(|argument| human::clean(&argument.to_string_lossy()).into_owned());
            env.answer(&Command::try_parse_from(escaped).err().unwrap_or(error))
        }
    }
}

fn dispatch(command: &Command, env: &mut Env<'_>) -> Result<Outcome> {
    match &command.verb {
        Verb::Info(arguments) => info::run(arguments, env),
        Verb::Cat(arguments) => cat::run(arguments, env),
        Verb::Get(arguments) => get::run(arguments, env),
        Verb::Verify(arguments) => verify::run(arguments, env),
        Verb::Convert(arguments) => convert::run(arguments, env),
        Verb::Merge(arguments) => merge::run(arguments, env),
        Verb::Recover(arguments) => recover::run(arguments, env),
        Verb::Index(arguments) => index::run(arguments, env),
        Verb::Split(arguments) => split::run(arguments, env),
        Verb::Shuffle(arguments) => shuffle::run(arguments, env),
        Verb::Sample(arguments) => sample::run(arguments, env),
        Verb::Stats(arguments) => stats::run(arguments, env),
        Verb::Rename(arguments) => rename::run(arguments, env),
        Verb::Rm(arguments) => rm::run(arguments, env),
        Verb::Set(arguments) => set::run(arguments, env),
        Verb::Put(arguments) => put::run(arguments, env),
        Verb::Compact(arguments) => compact::run(arguments, env),
        Verb::Pack(arguments) => pack::run(arguments, env),
        Verb::Unpack(arguments) => pack::unpack(arguments, env),
    }
}
