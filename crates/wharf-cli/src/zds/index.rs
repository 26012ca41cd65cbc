//! The index of a store, made anew out of its data.

use std::collections::HashSet;
use std::path::Path;

use container_core::{Error, Loss, Position, Result, Source};
use serde_json::json;
use zdx::wire::lines::lines;
use zdx::{Collection, IndexState};

use super::super::Outcome;
use super::super::env::Env;
use super::super::human::{clean, counted};
use super::super::inputs::Location;
use super::super::report::Lost;
use super::{Stored, located, open_writer, writer_options};

/// Makes the index of a collection anew, unless it is valid.
pub(crate) fn index(location: &Location, table: &str, force: bool, env: &mut Env<'_>) -> Result<Outcome> {
    let named = |error: Error| error.in_file(location.name());
    let input = location.input(&mut env.opener).map_err(named)?;
    let stored = Stored::open(location, &input, &env.opener, Some(table))?;
    let condition = stored.collection.condition().map_err(named)?;
    let is_cut = condition.data_end_before.is_some();
    let before = if is_cut { "longer than the data" } else { word(&condition.index) };
    let is_valid = matches!(condition.index, IndexState::Valid | IndexState::Text) && !is_cut;
    let has_data = !matches!(condition.index, IndexState::NoData);
    let dead = if is_valid { dead(location, &stored.collection)? } else { Vec::new() };
    let is_made = has_data && (force || !is_valid);
    let (mut rows, mut notes) = (stored.count()?, Vec::new());
    let known = rows;
    drop(stored);
    if is_made {
        let (root, name) =
            open_writer(location, Some(table), writer_options(false).with_rebuild(force || is_cut), "index")?;
        let named = |error: Error| located(error, location, &name);
        let writer = root.collection(&name).map_err(named)?;
        // Of an index that was valid there is nothing to be told but what it had left out.
        notes = if is_valid { Vec::new() } else { writer.recovered().notes() };
        rows = writer.len();
        writer.finish().map_err(named)?;
        root.finish().map_err(named)?;
    }
    let back = if is_made { dead.len() } else { 0 };
    let text = if env.json() {
        json!({
            "file": location.name(), "table": table, "rows": rows, "before": before, "made": is_made, "brought_back": back,
            "deleted_in_data": dead.len() - back, "notes": notes,
        })
        .to_string()
    } else {
        let done = match (is_made, has_data) {
            (true, _) => "index made anew",
            (false, true) => "the index is valid",
            (false, false) => "there are no data",
        };
        let mut line = format!("{}: table {table}: {}, {done}", location.name(), counted(rows, "document"));
        match dead.first() {
            Some(first) if is_made => line.push_str(&format!("; {back} back that were deleted, such as {first:?}")),
            Some(_) => {
                let dead = counted(dead.len() as u64, "deleted document");
                line.push_str(&format!("; one made anew (--force) would bring back {dead}"));
            }
            None => {}
        }
        notes.iter().for_each(|note| line.push_str(&format!("; {note}")));
        clean(&line).into_owned()
    };
    env.stdout.print(&format!("{text}\n"))?;
    let Some(end) = condition.data_end_before else { return Ok(Outcome::Done) };
    let what = format!(
        "table {table}: the index named lines up to byte {end} of the data, which end before: {} before, {rows} now",
        counted(known, "document")
    );
    env.report.lost(&Lost { file: Some(location.name()), loss: Loss::new(what, 1, Position::default()) });
    Ok(Outcome::Loss)
}

/// A word for what there was.
const fn word(state: &IndexState) -> &'static str {
    match state {
        IndexState::Valid => "valid",
        IndexState::Text => "text",
        IndexState::Missing => "missing",
        IndexState::Damaged(_) => "damaged",
        IndexState::Stale => "older than the data",
        IndexState::Journal => "journal",
        _ => "no data",
    }
}

/// Ids of documents whose lines are there and that the index does not name.
fn dead(location: &Location, collection: &Collection) -> Result<Vec<String>> {
    let Location::Path(path) = location else { return Ok(Vec::new()) };
    let data = data_of(path, collection.name());
    let named = |error: Error| error.in_file(location.name());
    let source = Source::open(&data)?;
    let bytes = source.read(0..source.len()).map_err(named)?;
    let (mut seen, mut dead) = (HashSet::new(), Vec::new());
    for line in lines(&bytes) {
        let Ok(id) = line.plain_id().map_or_else(|| line.scan().map(|found| found.id), |id| Ok(Some(id.into()))) else {
            continue;
        };
        if let Some(id) = id.filter(|id| !seen.contains(id.as_ref()))
            && !collection.contains(&id).map_err(named)?
        {
            seen.insert(id.clone().into_owned());
            dead.push(id.into_owned());
        }
    }
    Ok(dead)
}

/// The data of a collection, of whatever leads to it.
fn data_of(path: &Path, name: &str) -> std::path::PathBuf {
    let folder = zdx::Store::open(path).ok().and_then(|store| store.folder().map(Path::to_owned)).unwrap_or_default();
    let collections = folder.join(zdx::layout::COLLECTIONS);
    let collection = if collections.is_dir() { collections.join(name) } else { folder };
    collection.join(zdx::layout::META).join(zdx::layout::DATA)
}
