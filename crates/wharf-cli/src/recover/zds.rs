//! What is whole in a damaged ZDS store, into a new one, or in its place.

use std::path::Path;

use container_core::{Error, ErrorKind, Input, Loss, Position, Progress, Result, Unit};
use serde_json::json;

use super::super::Outcome;
use super::super::bar::Bar;
use super::super::env::Env;
use super::super::human::{clean, counted, size};
use super::super::inputs::Location;
use super::super::report::{Lost, error_object};
use super::super::zds::{self, NewZds, Stored};
use super::Arguments;

/// Documents that are lost and told one by one.
const TOLD: usize = 20;

/// Every whole document into a new store.
pub(super) fn run(
    arguments: &Arguments,
    location: &Location,
    input: &Input,
    out: &Path,
    env: &mut Env<'_>,
) -> Result<Outcome> {
    let named = |error: Error| error.in_file(location.name());
    let store = Stored::store(location, input, &env.opener)?;
    let new = NewZds::create(out, arguments.force, std::slice::from_ref(location))?;
    let bar = Bar::new(env.report.terminal);
    bar.name(&location.name());
    let (mut writers, mut lost, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for name in store.names().map_err(named)? {
        let stored = Stored { location: location.clone(), collection: store.collection(&name).map_err(named)? };
        let condition = stored.collection.condition().map_err(named)?;
        lost.extend(zds::losses(&condition).into_iter().map(|loss| Lost { file: Some(location.name()), loss }));
        let mut writer = new.collection(&name)?;
        let len = stored.count()?;
        bar.begin(Unit::Rows, Some(len));
        let mut loss = Loss::new(format!("document of {name:?} lost"), 0, Position::default());
        let mut next = 0;
        while next < len {
            // A walk ends with an error: the next one goes on behind it.
            let mut documents = stored.collection.documents_in(next..len).map_err(named)?;
            loop {
                let row = documents.row();
                next = row + 1;
                let put = match documents.try_next() {
                    Ok(None) => break,
                    Ok(Some(document)) => stored.put(&document, &mut writer),
                    Err(error) => Err(stored.named(error)),
                };
                bar.advance(1);
                let Err(error) = put else { continue };
                if error.kind() == ErrorKind::Io {
                    return Err(error);
                }
                if loss.count == 0 {
                    loss.what = format!("document of {name:?} lost: {}", error.detail());
                    loss.first = error.position().clone();
                    loss.first.file = None;
                }
                loss.count += 1;
                if errors.len() < TOLD {
                    errors.push(serde_json::Value::Object(error_object(&error)));
                }
            }
        }
        if loss.count > 0 {
            lost.push(Lost { file: Some(location.name()), loss });
        }
        writers.push(writer);
    }
    let written = new.finish(writers)?;
    bar.clear();
    lost.iter().for_each(|lost| env.report.lost(lost));
    let text = if env.json() {
        let mut object = zds::done(out, written);
        object.insert("lost".into(), lost.iter().map(|lost| lost.loss.count).sum::<u64>().into());
        object.insert("findings".into(), errors.into());
        serde_json::Value::Object(object).to_string()
    } else {
        let (documents, bytes) = (counted(written.documents, "document"), size(written.bytes));
        clean(&format!("{}: {documents}, {bytes}", out.display())).into_owned()
    };
    env.stdout.print(&format!("{text}\n"))?;
    Ok(Outcome::after(&lost))
}

/// Puts a store right where it is: a torn end is cut off, and a fresh index written. One that does not fit the data is made anew out of them.
pub(super) fn in_place(location: &Location, env: &mut Env<'_>) -> Result<Outcome> {
    let mut outcome = Outcome::Done;
    for name in zds::tables(location, None, &mut env.opener)? {
        let named = |error: Error| zds::located(error, location, &name);
        let options = zds::writer_options(false);
        let (mut root, _) = zds::open_writer(location, Some(&name), options.clone(), "recover")?;
        let mut lost = Vec::new();
        let writer = match root.collection(&name) {
            Ok(writer) => writer,
            Err(error) if matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Truncated { .. }) => {
                root.finish().map_err(named)?;
                root = zds::open_writer(location, Some(&name), options.with_rebuild(true), "recover")?.0;
                let writer = root.collection(&name).map_err(named)?;
                let what = format!(
                    "the index was made anew out of the data, deleted documents among them: {}",
                    error.detail()
                );
                lost.push(Loss::new(what, 1, Position::default()));
                writer
            }
            Err(error) => return Err(named(error)),
        };
        let condition = writer.recovered().clone();
        let rows = writer.len();
        writer.finish().map_err(named)?;
        root.finish().map_err(named)?;
        lost.extend(zds::losses(&condition));
        for loss in lost {
            env.report.lost(&Lost { file: Some(location.name()), loss });
            outcome = Outcome::Loss;
        }
        let notes = condition.notes();
        let text = if env.json() {
            json!({"file": location.name(), "table": name, "rows": rows, "notes": notes}).to_string()
        } else {
            let state = if notes.is_empty() { "nothing was wrong".to_owned() } else { notes.join("; ") };
            clean(&format!("{}: table {name}: {}: {state}", location.name(), counted(rows, "document"))).into_owned()
        };
        env.stdout.print(&format!("{text}\n"))?;
    }
    Ok(outcome)
}
