//! `wharf compact`: a store without the lines of documents that are no more.

use std::ffi::OsString;

use container_core::{Error, Result};
use serde_json::json;

use super::Outcome;
use super::env::Env;
use super::human::{clean, size};
use super::inputs::{self, Location};
use super::zds;

const EXAMPLES: &str = "\
Examples:
  wharf compact trees.d
  wharf info trees.d            its dead bytes are what can be gained";

/// Leave the lines of deleted and replaced documents out of ZDS stores, in place
///
/// Each collection's data and index are written anew, in the order of the data, and take the places of the old ones; who reads meanwhile
/// reads the old ones on. Of several collections each is done; if one fails that is reported, and the exit code is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Stores, or folders of collections
    #[arg(value_name = "STORE", required = true)]
    stores: Vec<OsString>,

    /// Only this collection
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let mut all = Vec::new();
    for location in inputs::expand(&arguments.stores)? {
        let tables = zds::tables(&location, arguments.table.as_deref(), &mut env.opener)?;
        all.extend(tables.into_iter().map(|name| (location.clone(), name)));
    }
    // One that fails does not keep the others from being done.
    let mut outcome = Outcome::Done;
    for (location, name) in &all {
        if let Err(error) = one(location, name, env) {
            outcome = outcome.max(env.fail(&error).min(Outcome::Failed));
        }
    }
    Ok(outcome)
}

fn one(location: &Location, name: &str, env: &mut Env<'_>) -> Result<()> {
    let (root, name) = zds::open_writer(location, Some(name), zds::writer_options(false), "compact")?;
    let named = |error: Error| zds::located(error, location, &name);
    let mut writer = root.collection(&name).map_err(named)?;
    let repaired = zds::repaired(&writer, location);
    let done = writer.compact().map_err(named)?;
    let rows = writer.len();
    writer.finish().map_err(named)?;
    root.finish().map_err(named)?;
    repaired.iter().for_each(|note| env.report.lost(note));
    let text = if env.json() {
        json!({"file": location.name(), "table": name, "rows": rows, "bytes_before": done.before, "bytes": done.after})
            .to_string()
    } else {
        let gained = size(done.before.saturating_sub(done.after));
        clean(&format!("{}: table {name}: {}, {gained} less", location.name(), size(done.after))).into_owned()
    };
    env.stdout.print(&format!("{text}\n"))
}
