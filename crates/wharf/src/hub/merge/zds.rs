//! Merges ZDS stores.

use std::collections::BTreeMap;
use std::path::Path;

use container_core::{Error, Loss, Position, Result, Unit};
use zdx::CollectionWriter;
use zdx::container::losses;

use super::super::Lost;
use super::super::env::Opener;
use super::super::zds::{self, NewZds, Stored};
use super::{Merge, OnDuplicate, Report};

/// Documents between two progress reports.
const STRIDE: u64 = 256;

pub(super) fn run(job: &Merge, path: &Path, force: bool, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
    if job.on_duplicate == Some(OnDuplicate::Rename) {
        return Err(Error::usage("rename is for datadings: an id cannot contain #").in_option("on_duplicate"));
    }
    let mut inputs: Vec<Stored> = Vec::new();
    for location in &job.inputs {
        let named = |error: Error| error.in_file(location.name());
        let input = location.input(opener).map_err(named)?;
        if !zds::is_store(&input, opener) {
            return Err(named(Error::unsupported("expected a ZDS store like the first input")));
        }
        let store = Stored::store(location, &input, opener)?;
        let mut names = store.names().map_err(named)?;
        names.retain(|name| job.zds.table.as_ref().is_none_or(|table| table == name));
        for name in names {
            let collection = store.collection(&name).map_err(named)?;
            inputs.push(Stored { location: location.clone(), collection });
        }
    }
    if inputs.is_empty() {
        let name = job.zds.table.as_ref().map(|name| format!(" {name:?}")).unwrap_or_default();
        return Err(Error::usage(format!("no input has a table{name}")));
    }
    let new = NewZds::create(path, force, &job.inputs)?;
    let bar = job.bar();
    bar.name(&path.display().to_string());
    let mut total = 0_u64;
    for input in &inputs {
        total = total.saturating_add(input.count()?);
    }
    bar.begin(Unit::Rows, Some(total));
    let on_duplicate = job.on_duplicate.unwrap_or(OnDuplicate::Error);
    let mut writers: BTreeMap<String, CollectionWriter> = BTreeMap::new();
    report.inputs = inputs.len();
    for input in &inputs {
        let named = |error: Error| input.named(error);
        let name = job.zds.into.as_deref().unwrap_or(input.collection.name());
        if !writers.contains_key(name) {
            writers.insert(name.to_owned(), new.collection(name)?);
        }
        let Some(writer) = writers.get_mut(name) else { continue };
        let condition = input.collection.condition().map_err(named)?;
        report.losses.extend(Lost::all(losses(&condition), Some(&input.location.name())));
        let (mut row, mut again) = (0_u64, Loss::new("document left out: duplicate id", 0, Position::default()));
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
                        again.what = "document replaced an earlier one: duplicate id".to_owned();
                        if again.count == 0 {
                            again.first.row = Some(row);
                            again.first.key = Some(document.id().to_owned().into());
                        }
                        again.count += 1;
                    }
                    OnDuplicate::Error | OnDuplicate::Rename => {
                        let error = Error::invalid("another document has the same id").in_key(document.id().to_owned());
                        let error = error.advising("{on_duplicate} first or last keeps one of them");
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
            report.losses.push(Lost { file: Some(input.location.name()), loss: again });
        }
    }
    let written = new.finish(writers.into_values().collect())?;
    (report.rows, report.bytes) = (written.documents, written.bytes);
    Ok(())
}
