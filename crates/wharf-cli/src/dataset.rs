//! What the verbs share that write datadings: how an output is written, and how it is reported.

use container_core::{Error, Overwrite, Result};
use serde_json::{Map, Value};
pub(crate) use wharf::hub::dataset::{Dataset, NAME, data_of};
use wharf::subset::{Copying, Report, Written};

use super::Outcome;
use super::env::Env;
use super::human::counted;
use super::inputs::{self, Location};

/// How a dataset is written.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Placing {
    /// Replace the output if it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// Write no .md5: faster, where MD5 is slower than the disk
    #[arg(long)]
    pub(crate) no_md5: bool,

    /// Threads that may work at once; 0 for all the machine has
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
}

impl Placing {
    /// How records are copied.
    pub(crate) fn copying(&self, which: &Which) -> Copying {
        let mut copying = Copying::default();
        copying.table.clone_from(&which.table);
        (copying.no_md5, copying.threads) = (self.no_md5, self.threads);
        copying
    }

    pub(crate) const fn overwrite(&self) -> Overwrite {
        if self.force { Overwrite::Replace } else { Overwrite::Refuse }
    }
}

/// Which collection, of a format that has them.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Which {
    /// The collection, where a store has several
    #[arg(long, value_name = "NAME", help_heading = "Options for ZDS")]
    table: Option<String>,
}

/// The one input of a verb: a name, or a pattern that only one file matches.
pub(crate) fn single(argument: &std::ffi::OsStr, verb: &str) -> Result<Location> {
    let mut locations = inputs::expand_one(argument)?;
    match (locations.pop(), locations.len()) {
        (Some(location), 0) => Ok(location),
        (_, others) => {
            let detail = format!("the pattern matches {} files; {verb} takes one", others + 1);
            Err(Error::usage(detail).in_file(argument.display().to_string()))
        }
    }
}

/// What a record of a format is called.
pub(crate) fn word(format: &str) -> &'static str {
    match format {
        NAME => "sample",
        wharf::hub::zds::NAME => "document",
        _ => "row",
    }
}

/// What was written, for programs.
pub(crate) fn done(format: &str, written: &Written) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("file".into(), written.path.display().to_string().into());
    object.insert("to".into(), format.into());
    object.insert("rows".into(), written.rows.into());
    object.insert("bytes".into(), written.bytes.into());
    object
}

/// Tells what was written, and of how many, where that says anything.
pub(crate) fn told(report: &Report, are_some: bool, env: &mut Env<'_>) -> Result<Outcome> {
    report.losses.iter().for_each(|lost| env.report.lost(lost));
    for output in &report.outputs {
        let mut object = done(report.format, output);
        let mut line = format!("{}: {}", output.path.display(), counted(output.rows, word(report.format)));
        if are_some {
            object.insert("of".into(), report.of.into());
            line.push_str(&format!(" of {}", report.of));
        }
        if let Some(seed) = report.seed {
            object.insert("seed".into(), seed.into());
            line.push_str(&format!(", seed {seed}"));
        }
        tell(object, &line, env)?;
    }
    Ok(Outcome::after(&report.losses))
}

/// Prints what was done: an object for programs, or else this line.
pub(crate) fn tell(object: Map<String, Value>, line: &str, env: &mut Env<'_>) -> Result<()> {
    let text = if env.json() { Value::Object(object).to_string() } else { super::human::clean(line).into_owned() };
    env.stdout.print(&format!("{text}\n"))
}
