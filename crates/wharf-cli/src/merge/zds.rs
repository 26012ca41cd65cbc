//! ZDS stores into one.

use std::collections::BTreeMap;
use std::path::Path;

use container_core::{Error, Loss, Position, Progress, Result, Unit};
use zdx::CollectionWriter;

use super::super::Outcome;
use super::super::bar::Bar;
use super::super::env::Env;
use super::super::human::counted;
use super::super::inputs::Location;
use super::super::report::Lost;
use super::super::zds::{self, NewZds, Stored};
use super::{Arguments, OnDuplicate};

/// Documents between two words to the bar.
const STRIDE: u64 = 256;

/// Options that only ZDS has.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(id = "zds")]
#[command(next_help_heading = "Options for ZDS")]
pub(super) struct Options {
    /// Only collections of this name
    #[arg(long, value_name = "NAME")]
    table: Option<String>,

    /// Join all collections into one of this name
    #[arg(long, value_name = "NAME")]
    into: Option<String>,
}

impl Options {
    /// An option that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        match (&self.table, &self.into) {
            (Some(_), _) => Some("--table"),
            (_, Some(_)) => Some("--into"),
            _ => None,
        }
    }
}

pub(super) fn run(arguments: &Arguments, locations: &[Location], env: &mut Env<'_>) -> Result<Outcome> {
    let mut inputs: Vec<Stored> = Vec::new();
    for location in locations {
        let named = |error: Error| error.in_file(location.name());
        let input = location.input(&mut env.opener).map_err(named)?;
        if !zds::is_store(&input, &env.opener) {
            return Err(named(Error::unsupported("merge joins files of one format, and this one is no ZDS store")));
        }
        let store = Stored::store(location, &input, &env.opener)?;
        let mut names = store.names().map_err(named)?;
        names.retain(|name| arguments.zds.table.as_ref().is_none_or(|table| table == name));
        for name in names {
            let collection = store.collection(&name).map_err(named)?;
            inputs.push(Stored { location: location.clone(), collection });
        }
    }
    if inputs.is_empty() {
        let wanted = arguments.zds.table.as_ref().map(|name| format!(" {name:?}")).unwrap_or_default();
        return Err(Error::usage(format!("no input has a table{wanted}")));
    }
    let path: &Path = &arguments.output;
    let new = NewZds::create(path, arguments.force, locations)?;
    let bar = Bar::new(env.report.terminal);
    bar.name(&path.display().to_string());
    let mut total = 0_u64;
    for input in &inputs {
        total = total.saturating_add(input.count()?);
    }
    bar.begin(Unit::Rows, Some(total));
    let on_duplicate = arguments.on_duplicate.unwrap_or(OnDuplicate::Error);
    let mut writers: BTreeMap<String, CollectionWriter> = BTreeMap::new();
    let mut lost: Vec<Lost> = Vec::new();
    for input in &inputs {
        let named = |error: Error| input.named(error);
        let name = arguments.zds.into.as_deref().unwrap_or(input.collection.name());
        if !writers.contains_key(name) {
            writers.insert(name.to_owned(), new.collection(name)?);
        }
        let Some(writer) = writers.get_mut(name) else { continue };
        let condition = input.collection.condition().map_err(named)?;
        lost.extend(zds::losses(&condition).into_iter().map(|loss| Lost { file: Some(input.location.name()), loss }));
        let (mut row, mut again) = (0_u64, Loss::new("document left out: its id came before", 0, Position::default()));
        let mut documents = input.collection.documents().map_err(named)?;
        while let Some(document) = documents.try_next().map_err(named)? {
            if writer.contains(document.id()) {
                match on_duplicate {
                    OnDuplicate::First => {
                        if again.count == 0 {
                            again.first.row = Some(row);
                            again.first.key = Some(document.id().to_owned().into());
                        }
                        again.count += 1;
                        row += 1;
                        continue;
                    }
                    OnDuplicate::Last => {
                        again.what = "document put in place of one before: the ids are the same".to_owned();
                        if again.count == 0 {
                            again.first.row = Some(row);
                            again.first.key = Some(document.id().to_owned().into());
                        }
                        again.count += 1;
                    }
                    OnDuplicate::Error | OnDuplicate::Rename => {
                        let detail = "another document has the same id: --on-duplicate first or last keeps one of both";
                        let error = Error::invalid(detail).in_key(document.id().to_owned());
                        return Err(named(error.in_row(row)));
                    }
                }
            }
            input.put(&document, writer)?;
            row += 1;
            if row.is_multiple_of(STRIDE) {
                bar.advance(STRIDE);
            }
        }
        if again.count > 0 {
            lost.push(Lost { file: Some(input.location.name()), loss: again });
        }
    }
    let written = new.finish(writers.into_values().collect())?;
    bar.clear();
    lost.iter().for_each(|lost| env.report.lost(lost));
    if env.json() {
        let mut object = zds::done(path, written);
        object.insert("inputs".into(), inputs.len().into());
        env.stdout.print(&format!("{}\n", serde_json::Value::Object(object)))?;
    } else {
        let (documents, from) = (counted(written.documents, "document"), counted(inputs.len(), "collection"));
        env.report.note(format!("{}: {documents} of {from}", path.display()));
    }
    Ok(Outcome::after(&lost))
}
