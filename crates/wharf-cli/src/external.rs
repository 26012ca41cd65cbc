//! Verbs that are programs of their own: `wharf VERB` runs `wharf-VERB` from the folder of this program, or from the PATH.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use container_core::Error;

use crate::sys;

/// The program for an unknown verb and its arguments; `None` if no file of that name is found.
pub(crate) fn find(arguments: &[OsString], error: &clap::Error) -> Option<Command> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(verb)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    // A path is no verb.
    if verb.is_empty() || !verb.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-') {
        return None;
    }
    let position = arguments.iter().skip(1).position(|argument| argument == OsStr::new(verb))? + 1;
    let mut command = Command::new(program(verb)?);
    // Options before the verb are those of every verb.
    command.args(arguments.get(1..position)?).args(arguments.get(position + 1..)?);
    Some(command)
}

fn program(verb: &str) -> Option<PathBuf> {
    let name = format!("wharf-{verb}{}", env::consts::EXE_SUFFIX);
    let own = env::current_exe().ok().and_then(|program| program.parent().map(PathBuf::from));
    let path = env::var_os("PATH").unwrap_or_default();
    own.into_iter()
        .chain(env::split_paths(&path))
        .map(|folder| folder.join(&name))
        .find(|program| sys::is_program(program))
}

/// Becomes the program: signals and the exit code are its own. Returns only if it cannot be started.
pub(crate) fn become_program(mut command: Command) -> Error {
    let cause = sys::exec(&mut command);
    Error::io("cannot run", cause).in_file(command.get_program().display().to_string())
}
