//! What `set`, `rename` and `rm` share: reading and writing the file, and arguments that name variables and attributes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use container_core::{Error, Loss, OpenOptions, OutputOptions, Overwrite, Result, Source};
use dsfmt::{Edit, Reader, Written};
use serde_json::json;

use crate::Outcome;
use crate::display::counted;
use crate::env::Env;
use crate::inputs::{self, Location};
use crate::report::Lost;

pub(crate) use wharf::hub::{DS as NAME, open_ds as open, rejected_by_ds as rejected};
use wharf::hub::{Saved, put_ds, stream_ds};

/// Where the edited file is written.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(crate) struct Destination {
    /// Overwrite existing output
    #[arg(long, conflicts_with = "in_place")]
    pub(crate) force: bool,

    /// Output file; - for standard output
    #[arg(short, long, value_name = "OUT", group = "target")]
    output: Option<PathBuf>,

    /// Replace the input file, atomically
    #[arg(long, group = "target")]
    in_place: bool,
}

impl Destination {
    /// Whether `--output` was given.
    pub(crate) fn has_output(&self) -> bool {
        self.output.is_some()
    }
}

/// Edits one file.
pub(crate) fn run(
    file: &OsStr,
    destination: &Destination,
    verb: &str,
    env: &mut Env<'_>,
    change: impl FnOnce(&mut Edit<'_>) -> Result<Vec<Loss>>,
) -> Result<Outcome> {
    if destination.output.is_none() && !destination.in_place {
        return Err(Error::usage(format!("{verb} needs an output: <--output <OUT>|--in-place>")));
    }
    let location = inputs::expand_single(file, verb)?;
    let reader = open(&location, &mut env.opener, verb)?;
    let mut edit = Edit::new(&reader);
    let losses = change(&mut edit).map_err(|error| error.in_file(location.name()))?;
    let builder = edit.into_builder();
    let mut lost: Vec<Lost> = losses.into_iter().map(|loss| Lost { file: Some(location.name()), loss }).collect();
    let write = |path: &Path, options: OutputOptions| {
        let written = builder.write(path, options)?;
        lost.extend(rejected(&builder, &|_| Some(location.name()))?);
        Ok((written, lost))
    };
    match (&destination.output, &location) {
        (Some(path), _) => put(path, destination.force, std::slice::from_ref(&location), env, write),
        (None, Location::Path(path)) => {
            let options = OutputOptions::default().with_overwrite(Overwrite::Replace);
            let (written, lost) = write(path, options)?;
            report_written(&location.name(), written, lost, env)
        }
        (None, _) => Err(Error::usage("cannot edit standard input in place; use --output")),
    }
}

/// Creates a file by editing an empty dataset.
pub(crate) fn create(
    file: &OsStr,
    force: bool,
    env: &mut Env<'_>,
    change: impl FnOnce(&mut Edit<'_>) -> Result<Vec<Loss>>,
) -> Result<Outcome> {
    let name = file.display().to_string();
    let empty = Source::from(&b"ds-1.0\n{\".\": {}}\n"[..]);
    let reader = Reader::from_source(empty, OpenOptions::default())?;
    let mut edit = Edit::new(&reader);
    let losses = change(&mut edit).map_err(|error| error.in_file(name.clone()))?;
    let builder = edit.into_builder();
    let lost: Vec<Lost> = losses.into_iter().map(|loss| Lost { file: Some(name.clone()), loss }).collect();
    put(Path::new(file), force, &[], env, |path, options| Ok((builder.write(path, options)?, lost)))
}

/// Writes a new file or standard output, and reports the result and losses.
pub(crate) fn put(
    path: &Path,
    force: bool,
    locations: &[Location],
    env: &mut Env<'_>,
    write: impl FnOnce(&Path, OutputOptions) -> Result<Saved>,
) -> Result<Outcome> {
    if path != Path::new("-") {
        let (written, lost) = put_ds(path, force, locations, write)?;
        return report_written(&path.display().to_string(), written, lost, env);
    }
    if env.stdout.terminal.is_some() {
        return Err(Error::usage("cannot write ds to a terminal; use a file or a pipe"));
    }
    let (_, lost) = stream_ds(&mut env.stdout, write)?;
    Ok(env.lost(&lost))
}

fn report_written(name: &str, written: Written, losses: Vec<Lost>, env: &mut Env<'_>) -> Result<Outcome> {
    let outcome = env.lost(&losses);
    if env.json() {
        let object = json!({"file": name, "to": NAME, "variables": written.variables, "bytes": written.bytes});
        env.stdout.print(&format!("{object}\n"))?;
    } else {
        env.report.note(format!("{name}: {}", counted(written.variables, "variable")));
    }
    Ok(outcome)
}

/// What an argument names. The variable or attribute may not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    Variable(&'a str),
    /// An attribute of a variable, or of the dataset.
    Attribute(Option<&'a str>, &'a str),
}

impl<'a> Item<'a> {
    /// Parses `VAR`, `VAR@ATTR` or `@ATTR`. The name of an existing variable takes precedence, even if it contains `@`.
    pub(crate) fn parse(argument: &'a str, edit: &Edit<'_>) -> Self {
        if edit.has_variable(argument) {
            return Self::Variable(argument);
        }
        let pairs =
            || argument.match_indices('@').filter_map(|(at, _)| Some((argument.get(..at)?, argument.get(at + 1..)?)));
        let owner = |name: &'a str| (!name.is_empty()).then_some(name);
        let known = pairs().find(|(variable, _)| variable.is_empty() || edit.has_variable(variable));
        match known.or_else(|| pairs().next()) {
            Some((variable, attribute)) => Self::Attribute(owner(variable), attribute),
            None => Self::Variable(argument),
        }
    }

    fn exists(self, edit: &Edit<'_>) -> bool {
        match self {
            Self::Variable(name) => edit.has_variable(name),
            Self::Attribute(variable, name) => edit.has_attribute(variable, name),
        }
    }
}

/// Parses `ITEM=VALUE`. Splits at the first `=` after an existing item, or else at the first `=`.
pub(crate) fn assignment<'a>(argument: &'a str, edit: &Edit<'_>) -> Option<(Item<'a>, &'a str)> {
    let pairs =
        || argument.match_indices('=').filter_map(|(at, _)| Some((argument.get(..at)?, argument.get(at + 1..)?)));
    let mut items = pairs().map(|(name, value)| (Item::parse(name, edit), value));
    let first = items.next()?;
    if first.0.exists(edit) {
        return Some(first);
    }
    Some(items.find(|(item, _)| item.exists(edit)).unwrap_or(first))
}
