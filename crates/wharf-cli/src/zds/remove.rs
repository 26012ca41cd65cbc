//! `wharf rm` for ZDS stores.

use container_core::{Error, Result};
use serde_json::json;

use super::super::Outcome;
use super::super::display::counted;
use super::super::env::Env;
use super::super::inputs::Location;
use super::super::records;
use super::{located, open_writer, repaired, writer_options};

/// Deletes the documents with these ids, all or none. A missing id is an error unless `ignore_missing`.
pub(crate) fn remove(
    location: &Location,
    ids: &[String],
    table: Option<&str>,
    ignore_missing: bool,
    env: &mut Env<'_>,
) -> Result<Outcome> {
    let (root, name) = open_writer(location, table, writer_options(false), "rm")?;
    let named = |error: Error| located(error, location, &name);
    let mut writer = root.collection(&name).map_err(named)?;
    // Before `begin`: an error leaves the store unchanged, not even repaired.
    if !ignore_missing && let Some(missing) = ids.iter().find(|id| !writer.contains(id)) {
        let error = Error::usage("no document has this id; nothing was deleted (use --ignore-missing to skip it)");
        return Err(named(error.in_key(missing.clone())));
    }
    writer.begin().map_err(named)?;
    let mut deleted = 0_u64;
    for id in ids {
        deleted += u64::from(writer.delete(id).map_err(named)?);
    }
    let rows = writer.len();
    let repaired = repaired(&writer, location);
    writer.finish().map_err(named)?;
    root.finish().map_err(named)?;
    repaired.iter().for_each(|note| env.report.lost(note));
    let file = location.name();
    let object = json!({"file": file, "table": name, "deleted": deleted, "rows": rows});
    let (deleted, left) = (counted(deleted, "document"), counted(rows, "document"));
    records::print_result(object, &format!("{file}: table {name}: {deleted} deleted, {left} left"), env)?;
    Ok(Outcome::Done)
}
