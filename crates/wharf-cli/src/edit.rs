//! What the verbs share that change a ds file: where it is read and written, and how its parts are named.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use container_core::{Error, Loss, OpenOptions, OutputOptions, Overwrite, Result, Source};
use dsfmt::{Edit, Reader, Written};
use serde_json::{Map, Value};

use super::Outcome;
use super::env::Env;
use super::human::counted;
use super::inputs::{self, Location};
use super::report::Lost;

pub(crate) use wharf::hub::{DS as NAME, open_ds as open, rejected_by_ds as rejected};
use wharf::hub::{Saved, put_ds, stream_ds};

/// Where a changed file goes.
#[derive(Debug, Clone, clap::Args)]
#[group(id = "target", multiple = false, args = ["output", "in_place"])]
pub(crate) struct Target {
    /// The file to write; - is standard output
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Replace the file itself, whole or not at all
    #[arg(long)]
    in_place: bool,
}

impl Target {
    /// Is there a file to write?
    pub(crate) fn given(&self) -> bool {
        self.output.is_some()
    }
}

/// Changes one file.
pub(crate) fn run(
    file: &OsStr,
    target: &Target,
    force: bool,
    verb: &str,
    env: &mut Env<'_>,
    change: impl FnOnce(&mut Edit<'_>) -> Result<Vec<Loss>>,
) -> Result<Outcome> {
    if target.output.is_none() && !target.in_place {
        return Err(Error::usage(format!("where {verb} is to write is not said: <--output <OUT>|--in-place>")));
    }
    let mut locations = inputs::expand_one(file)?;
    let location = match (locations.pop(), locations.len()) {
        (Some(location), 0) => location,
        (_, others) => {
            let detail = format!("the pattern matches {} files; {verb} takes one", others + 1);
            return Err(Error::usage(detail).in_file(file.display().to_string()));
        }
    };
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
    match (&target.output, &location) {
        (Some(path), _) => put(path, force, std::slice::from_ref(&location), env, write),
        (None, Location::Path(path)) => {
            let options = OutputOptions::default().with_overwrite(Overwrite::Replace);
            let (written, lost) = write(path, options)?;
            tell(&location.name(), written, lost, env)
        }
        (None, Location::Stdin) => Err(Error::usage("standard input cannot be replaced: --output says where it goes")),
    }
}

/// Makes a file: changes an empty dataset.
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

/// Writes a file that is no input, or to standard output, and tells of it and of what was lost.
pub(crate) fn put(
    path: &Path,
    force: bool,
    locations: &[Location],
    env: &mut Env<'_>,
    write: impl FnOnce(&Path, OutputOptions) -> Result<Saved>,
) -> Result<Outcome> {
    if path != Path::new("-") {
        let (written, lost) = put_ds(path, force, locations, write)?;
        return tell(&path.display().to_string(), written, lost, env);
    }
    if env.stdout.terminal.is_some() {
        return Err(Error::usage("ds is not for a terminal: give a file, or a pipe"));
    }
    let (_, lost) = stream_ds(&mut env.stdout, write)?;
    Ok(warn(lost, env))
}

fn warn(lost: Vec<Lost>, env: &mut Env<'_>) -> Outcome {
    lost.iter().for_each(|lost| env.report.lost(lost));
    Outcome::after(&lost)
}

fn tell(name: &str, written: Written, lost: Vec<Lost>, env: &mut Env<'_>) -> Result<Outcome> {
    let outcome = warn(lost, env);
    if env.json() {
        let mut object = Map::new();
        object.insert("file".into(), name.into());
        object.insert("to".into(), NAME.into());
        object.insert("variables".into(), written.variables.into());
        object.insert("bytes".into(), written.bytes.into());
        env.stdout.print(&format!("{}\n", Value::Object(object)))?;
    } else {
        env.report.note(format!("{name}: {}", counted(written.variables, "variable")));
    }
    Ok(outcome)
}

/// A part of a dataset that an argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// A variable, which may not be there.
    Variable(&'a str),
    /// An attribute of a variable, or of the dataset; it may not be there.
    Attribute(Option<&'a str>, &'a str),
}

impl<'a> Part<'a> {
    /// `VAR`, `VAR@ATTR` or `@ATTR`. A name that is there wins, whatever characters it has.
    pub(crate) fn of(argument: &'a str, edit: &Edit<'_>) -> Self {
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

    fn is_there(self, edit: &Edit<'_>) -> bool {
        match self {
            Self::Variable(name) => edit.has_variable(name),
            Self::Attribute(variable, name) => edit.has_attribute(variable, name),
        }
    }
}

/// `PART=VALUE`: at the first sign of equality before which something stands that is there, or else at the first.
pub(crate) fn assignment<'a>(argument: &'a str, edit: &Edit<'_>) -> Option<(Part<'a>, &'a str)> {
    let pairs =
        || argument.match_indices('=').filter_map(|(at, _)| Some((argument.get(..at)?, argument.get(at + 1..)?)));
    let mut parts = pairs().map(|(name, value)| (Part::of(name, edit), value));
    let first = parts.next()?;
    if first.0.is_there(edit) {
        return Some(first);
    }
    Some(parts.find(|(part, _)| part.is_there(edit)).unwrap_or(first))
}
