//! The command `wharf` as a library: one module per verb, plus what the verbs share. `wharf --help` lists the verbs.
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     wharf_cli::main(&wharf::Registry::builtin())
//! }
//! ```

mod cat;
mod compact;
mod convert;
mod count;
mod diff;
mod display;
mod ds;
mod env;
mod escaping_writer;
mod external;
mod extract;
mod get;
mod head;
mod index;
mod info;
mod inputs;
mod memory;
mod merge;
mod netcdf;
mod options;
mod output_path;
mod pack;
mod paged_table;
#[doc(hidden)]
pub mod program;
mod progress;
mod put;
mod records;
mod recover;
mod rename;
mod report;
mod rm;
mod sample;
mod schema;
mod select;
mod set;
mod shuffle;
mod split;
mod stats;
#[cfg_attr(not(unix), path = "sys/other.rs")]
mod sys;
mod verify;
mod zds;

#[cfg(test)]
extern crate self as wharf_cli; // tests include examples/own_format.rs, which names the crate
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use container_core::{Access, Error, ErrorKind, Result};

use env::Env;
use wharf::Registry;

/// How a run of the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Success.
    Done,
    /// Success, but some information was lost.
    Loss,
    /// Failure, or `verify` found an error.
    Failed,
    /// Wrong usage.
    Usage,
}

impl Outcome {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Loss => 3,
        }
    }

    /// The outcome of finished work that reported these losses. Notes have a count of 0 and are no loss.
    pub(crate) fn after(lost: &[report::Lost]) -> Self {
        if lost.iter().all(|lost| lost.loss.count == 0) { Self::Done } else { Self::Loss }
    }

    fn from_error(error: &Error) -> Self {
        if error.kind() == ErrorKind::Usage { Self::Usage } else { Self::Failed }
    }
}

/// Inspect, verify, convert and repair dataset files of many formats
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
  wharf info adult.idv                 columns, types, sizes, metadata
  wharf cat adult.idv -n 10            the first ten rows
  wharf convert adult.idv adult.csv    the same rows as CSV

Exit codes: 0 success; 1 failure, or verify found an error, or diff a difference; 2 wrong usage; 3 success with loss (see the warnings).";

#[derive(Debug, Clone, Copy, clap::Args)]
struct Global {
    /// Print results as JSON, and errors and warnings as one JSON object per line on stderr
    #[arg(long, global = true, help_heading = "Options for every verb")]
    json: bool,

    /// How to read local files
    #[arg(long, global = true, value_enum, default_value_t = AccessChoice::Auto, value_name = "HOW",
          help_heading = "Options for every verb")]
    access: AccessChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AccessChoice {
    /// Map files into memory; read small ones at once. Fastest, but unsafe for files that another program modifies meanwhile
    #[value(alias = "mapped")]
    Auto,
    /// Read at explicit offsets: if another program shortens the file, reading fails with an error instead of a crash
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
    Schema(schema::Arguments),
    Cat(cat::Arguments),
    Head(head::HeadArguments),
    Tail(head::TailArguments),
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
    Count(count::Arguments),
    Diff(Box<diff::Arguments>),
    Extract(extract::Arguments),
    Rename(rename::Arguments),
    Rm(rm::Arguments),
    Set(set::Arguments),
    Put(put::Arguments),
    Compact(compact::Arguments),
    Pack(pack::Arguments),
    Unpack(pack::UnpackArguments),
}

/// Decides the exit status: locked by the signal thread before it ends the process, and by the main thread once its outcome is final.
/// Whoever locks first wins.
static EXIT: Mutex<()> = Mutex::new(());

fn lock_exit() -> MutexGuard<'static, ()> {
    EXIT.lock().unwrap_or_else(PoisonError::into_inner) // it guards no data
}

/// Does not print panics that are caught and become errors: the error is reported instead.
fn silence_caught_panics() {
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !dsfmt::netcdf::is_guarded() && !wharf::is_guarded() {
            default_hook(panic);
        }
    }));
}

/// Runs the command with these formats on the process's arguments and streams. Call it from `main` and do nothing else: it installs
/// process-wide handlers for signals and panics, and configures the allocator.
pub fn main(registry: &Registry) -> ExitCode {
    ExitCode::from(run_process(std::env::args_os(), registry))
}

/// As [`main`], for a process whose arguments are not those of the command, such as one of another language. The first of `arguments` is the
/// name of the command. Returns the exit code, with which the process must end.
pub fn run_process(arguments: impl IntoIterator<Item = OsString>, registry: &Registry) -> u8 {
    memory::configure();
    silence_caught_panics();
    sys::signals::install();
    let mut env = Env::from_process(registry);
    let outcome = run(arguments, &mut env);
    // Signals no longer change the exit status. Temporary files whose removal failed for lack of file handles are removed now.
    std::mem::forget((lock_exit(), container_core::remove_temporaries()));
    outcome.code()
}

/// Whether errors are reported as JSON, also those of the arguments.
fn has_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json")
}

/// Runs the command on these arguments. All input and output goes through `env`.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>, env: &mut Env<'_>) -> Outcome {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    env.report.json = has_json(&arguments);
    let registry = env.opener.registry.clone();
    let parse = |arguments: &[OsString]| options::with_flags_of(&registry, || Command::try_parse_from(arguments));
    match parse(&arguments) {
        Ok(command) => {
            env.opener.access = command.global.access.into();
            dispatch(&command, env).unwrap_or_else(|error| {
                drop(lock_exit()); // after a signal, do not report the error that removing temporary files caused
                let flags = options::with_flags_of(&registry, || flags_of_verb(&arguments));
                env.fail(&error.advising_only(|option| flags.contains(&option.replace('_', "-"))))
            })
        }
        Err(error) => {
            if let Some(program) = external::find(&arguments, &error) {
                return env.fail(&external::become_program(program));
            }
            // clap repeats arguments verbatim in its messages. Parse escaped ones so that a message cannot control the terminal.
            let escaped =
                arguments.iter().map(|argument| display::clean(&argument.to_string_lossy()).into_owned().into());
            env.print_clap(&parse(&escaped.collect::<Vec<_>>()).err().unwrap_or(error))
        }
    }
}

/// The long flags of the verb of these arguments.
fn flags_of_verb(arguments: &[OsString]) -> HashSet<String> {
    let command = Command::command();
    let matches = command.clone().try_get_matches_from(arguments).ok();
    let verb = matches.and_then(|matches| command.find_subcommand(matches.subcommand_name()?).cloned());
    let flags = verb.iter().flat_map(clap::Command::get_arguments).filter_map(clap::Arg::get_long);
    flags.map(str::to_owned).collect()
}

fn dispatch(command: &Command, env: &mut Env<'_>) -> Result<Outcome> {
    match &command.verb {
        Verb::Info(arguments) => info::run(arguments, env),
        Verb::Schema(arguments) => schema::run(arguments, env),
        Verb::Cat(arguments) => cat::run(arguments, env),
        Verb::Head(arguments) => head::head(arguments, env),
        Verb::Tail(arguments) => head::tail(arguments, env),
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
        Verb::Count(arguments) => count::run(arguments, env),
        Verb::Diff(arguments) => diff::run(arguments, env),
        Verb::Extract(arguments) => extract::run(arguments, env),
        Verb::Rename(arguments) => rename::run(arguments, env),
        Verb::Rm(arguments) => rm::run(arguments, env),
        Verb::Set(arguments) => set::run(arguments, env),
        Verb::Put(arguments) => put::run(arguments, env),
        Verb::Compact(arguments) => compact::run(arguments, env),
        Verb::Pack(arguments) => pack::run(arguments, env),
        Verb::Unpack(arguments) => pack::unpack(arguments, env),
    }
}
