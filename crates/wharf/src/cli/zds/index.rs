//! The index of a store, made anew out of its data.

use std::collections::HashSet;
use std::path::Path;

use container_core::{Error, Result, Source};
use serde_json::json;
use zdx::wire::lines::lines;
use zdx::{Collection, IndexState};

use super::super::Outcome;
use super::super::env::Env;
use super::super::human::{clean, counted};
use super::super::inputs::Place;
use super::{Stored, located, open_writer, tables, writer_options};

/// Makes the indexes of a store anew, or of one collection.
pub(crate) fn index(place: &Place, table: Option<&str>, force: bool, env: &mut Env<'_>) -> Result<Outcome> {
    let named = |error: Error| error.in_file(place.name());
    for name in tables(place, table, &mut env.opener)? {
        let input = place.input(&mut env.opener).map_err(named)?;
        let stored = Stored::open(place, &input, &env.opener, Some(&name))?;
        let condition = stored.collection.condition().map_err(named)?;
        let before = word(&condition.index);
        let mut back = Vec::new();
        let was_valid = matches!(condition.index, IndexState::Valid | IndexState::Text | IndexState::NoData);
        if was_valid {
            if matches!(condition.index, IndexState::NoData) {
                continue;
            }
            back = dead(place, &stored.collection)?;
            if !force {
                let detail = match back.len() {
                    0 => "the index is valid, and the data hold nothing else: --force makes it anew all the same"
                        .to_owned(),
                    count => format!(
                        "the index is valid, and one out of the data would bring back {}: --force makes it all the same",
                        counted(count, "deleted document")
                    ),
                };
                let error = Error::usage(detail).in_column(name);
                return Err(named(match back.first() {
                    Some(first) => error.in_key(first.clone()),
                    None => error,
                }));
            }
        }
        drop(stored);
        let (root, name) = open_writer(place, Some(&name), writer_options(false).with_rebuild(force), "index")?;
        let named = |error: Error| located(error, place, &name);
        let writer = root.collection(&name).map_err(named)?;
        // Of an index that was valid there is nothing to be told but what it had left out.
        let notes = if was_valid { Vec::new() } else { writer.recovered().notes() };
        let rows = writer.len();
        writer.finish().map_err(named)?;
        root.finish().map_err(named)?;
        let text = if env.json() {
            json!({
                "file": place.name(), "table": name, "rows": rows, "before": before, "brought_back": back.len(), "notes": notes,
            })
            .to_string()
        } else {
            let mut line = format!("{}: table {name}: {}, index made anew", place.name(), counted(rows, "document"));
            if let Some(first) = back.first() {
                line.push_str(&format!("; {} back that were deleted, such as {first:?}", back.len()));
            }
            notes.iter().for_each(|note| line.push_str(&format!("; {note}")));
            clean(&line).into_owned()
        };
        env.stdout.print(&format!("{text}\n"))?;
    }
    Ok(Outcome::Done)
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
fn dead(place: &Place, collection: &Collection) -> Result<Vec<String>> {
    let Place::Path(path) = place else { return Ok(Vec::new()) };
    let data = data_of(path, collection.name());
    let named = |error: Error| error.in_file(place.name());
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
