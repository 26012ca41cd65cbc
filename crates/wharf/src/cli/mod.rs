//! The command: one file per verb, and what they share.

mod bar;
mod cat;
#[cfg(feature = "zds")]
mod compact;
mod convert;
#[cfg(feature = "datadings")]
mod dataset;
#[cfg(feature = "ds")]
mod ds;
#[cfg(feature = "ds")]
mod edit;
mod env;
mod get;
mod human;
#[cfg(any(feature = "datadings", feature = "zds"))]
mod index;
mod info;
mod inputs;
#[cfg(any(feature = "idv", feature = "datadings", feature = "ds", feature = "zds"))]
mod merge;
#[cfg(feature = "netcdf")]
mod netcdf;
mod output;
#[cfg(feature = "zds")]
mod pack;
mod pages;
mod pour;
#[cfg(feature = "zds")]
mod put;
#[cfg(feature = "datadings")]
mod records;
#[cfg(any(feature = "idv", feature = "datadings", feature = "zds"))]
mod recover;
#[cfg(feature = "ds")]
mod rename;
mod report;
#[cfg(any(feature = "ds", feature = "zds"))]
mod rm;
mod said;
#[cfg(feature = "datadings")]
mod sample;
mod select;
#[cfg(feature = "ds")]
mod set;
#[cfg(feature = "datadings")]
mod shuffle;
#[cfg(unix)]
mod signals;
#[cfg(feature = "datadings")]
mod split;
#[cfg(feature = "datadings")]
mod staged;
#[cfg(feature = "ds")]
mod stats;
mod stream;
mod verify;
#[cfg(feature = "idv")]
mod writing;
#[cfg(feature = "zds")]
mod zds;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::{Parser, Subcommand, ValueEnum};
use container_core::{Access, Error, ErrorKind, Result};

use env::Env;

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
    /// Small files are read at once, others mapped into memory
    Auto,
    /// Mapped into memory: fastest; not for files that another program may shorten meanwhile
    Mapped,
    /// Read piece by piece: a file that is shortened meanwhile is an error and no crash
    Positional,
}

impl From<AccessChoice> for Access {
    fn from(choice: AccessChoice) -> Self {
        match choice {
            AccessChoice::Auto => Self::Auto,
            AccessChoice::Mapped => Self::Mapped,
            AccessChoice::Positional => Self::Positional,
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
    #[cfg(any(feature = "idv", feature = "datadings", feature = "ds", feature = "zds"))]
    Merge(merge::Arguments),
    #[cfg(any(feature = "idv", feature = "datadings", feature = "zds"))]
    Recover(recover::Arguments),
    #[cfg(any(feature = "datadings", feature = "zds"))]
    Index(index::Arguments),
    #[cfg(feature = "datadings")]
    Split(split::Arguments),
    #[cfg(feature = "datadings")]
    Shuffle(shuffle::Arguments),
    #[cfg(feature = "datadings")]
    Sample(sample::Arguments),
    #[cfg(feature = "ds")]
    Stats(stats::Arguments),
    #[cfg(feature = "ds")]
    Rename(rename::Arguments),
    #[cfg(any(feature = "ds", feature = "zds"))]
    Rm(rm::Arguments),
    #[cfg(feature = "ds")]
    Set(set::Arguments),
    #[cfg(feature = "zds")]
    Put(put::Arguments),
    #[cfg(feature = "zds")]
    Compact(compact::Arguments),
    #[cfg(feature = "zds")]
    Pack(pack::Arguments),
    #[cfg(feature = "zds")]
    Unpack(pack::UnpackArguments),
}

/// Held by the thread that ends the process after a signal, and by the main thread once its result is final. So the exit status is the signal,
/// or the result of work that was done.
static END: Mutex<()> = Mutex::new(());

fn end() -> MutexGuard<'static, ()> {
    END.lock().unwrap_or_else(PoisonError::into_inner) // it guards no data
}

/// Runs the command on this process's arguments and streams.
pub(crate) fn main() -> Outcome {
    #[cfg(unix)]
    signals::handle();
    let mut env = Env::of_the_process();
    let outcome = run(std::env::args_os(), &mut env);
    // From here on a signal is too late. Files that could not be removed while too many were open can be removed by now.
    std::mem::forget((end(), container_core::remove_temporaries()));
    outcome
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
        #[cfg(any(feature = "idv", feature = "datadings", feature = "ds", feature = "zds"))]
        Verb::Merge(arguments) => merge::run(arguments, env),
        #[cfg(any(feature = "idv", feature = "datadings", feature = "zds"))]
        Verb::Recover(arguments) => recover::run(arguments, env),
        #[cfg(any(feature = "datadings", feature = "zds"))]
        Verb::Index(arguments) => index::run(arguments, env),
        #[cfg(feature = "datadings")]
        Verb::Split(arguments) => split::run(arguments, env),
        #[cfg(feature = "datadings")]
        Verb::Shuffle(arguments) => shuffle::run(arguments, env),
        #[cfg(feature = "datadings")]
        Verb::Sample(arguments) => sample::run(arguments, env),
        #[cfg(feature = "ds")]
        Verb::Stats(arguments) => stats::run(arguments, env),
        #[cfg(feature = "ds")]
        Verb::Rename(arguments) => rename::run(arguments, env),
        #[cfg(any(feature = "ds", feature = "zds"))]
        Verb::Rm(arguments) => rm::run(arguments, env),
        #[cfg(feature = "ds")]
        Verb::Set(arguments) => set::run(arguments, env),
        #[cfg(feature = "zds")]
        Verb::Put(arguments) => put::run(arguments, env),
        #[cfg(feature = "zds")]
        Verb::Compact(arguments) => compact::run(arguments, env),
        #[cfg(feature = "zds")]
        Verb::Pack(arguments) => pack::run(arguments, env),
        #[cfg(feature = "zds")]
        Verb::Unpack(arguments) => pack::unpack(arguments, env),
    }
}
