//! `wharf compact`: reclaims the space of deleted documents of a store.

use std::ffi::OsString;

use container_core::{Error, Result};
use serde_json::json;

use super::Outcome;
use super::display::size;
use super::env::Env;
use super::inputs::{self, Location};
use super::{records, zds};

const EXAMPLES: &str = "\
Examples:
  wharf compact trees.d
  wharf info trees.d            \"dead bytes\" is the space to reclaim";

/// Reclaim the space of deleted and replaced documents in ZDS stores, in place
///
/// Rewrites the data and index of each collection, keeping the order of documents, and replaces the old files atomically. Concurrent readers
/// keep reading the old files. Collections are processed one by one; if one fails, the others are still processed, and the exit code is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Stores, or folders of collections; or quoted glob patterns
    #[arg(value_name = "STORE", required = true)]
    stores: Vec<OsString>,

    /// Only this collection
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let mut collections = Vec::new();
    for location in inputs::expand(&arguments.stores)? {
        let tables = zds::tables(&location, arguments.table.as_deref(), &mut env.opener)?;
        collections.extend(tables.into_iter().map(|name| (location.clone(), name)));
    }
    let mut outcome = Outcome::Done;
    for (location, name) in &collections {
        if let Err(error) = compact(location, name, env) {
            outcome = outcome.max(env.fail(&error).min(Outcome::Failed));
        }
    }
    Ok(outcome)
}

fn compact(location: &Location, name: &str, env: &mut Env<'_>) -> Result<()> {
    let (root, name) = zds::open_writer(location, Some(name), zds::writer_options(false), "compact")?;
    let named = |error: Error| zds::located(error, location, &name);
    let mut writer = root.collection(&name).map_err(named)?;
    let repaired = zds::repaired(&writer, location);
    let sizes = writer.compact().map_err(named)?;
    let rows = writer.len();
    writer.finish().map_err(named)?;
    root.finish().map_err(named)?;
    repaired.iter().for_each(|note| env.report.lost(note));
    let file = location.name();
    let object = json!({"file": file, "table": name, "rows": rows, "bytes_before": sizes.before, "bytes": sizes.after});
    let reclaimed = size(sizes.before.saturating_sub(sizes.after));
    let line = format!("{file}: table {name}: {}, {reclaimed} reclaimed", size(sizes.after));
    records::print_result(object, &line, env)
}
