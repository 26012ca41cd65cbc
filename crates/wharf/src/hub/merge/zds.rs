//! Merges ZDS stores.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use container_core::{Error, Loss, Position, Result, Unit};
use zdx::CollectionWriter;
use zdx::container::losses;

use super::super::convert::{OptionSpec, OptionValue, TargetInfo, text, unknown_option};
use super::super::env::Opener;
use super::super::select::Reading;
use super::super::zds::{self, NewZds, Stored};
use super::super::{Lost, tick};
use super::{Merge, Merger, OnDuplicate, Operation, Report, To};

/// Merges ZDS stores: documents of collections of the same name, byte for byte.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ZdsMerger {
    /// Only collections of this name.
    pub table: Option<String>,
    /// Merge all collections into one of this name.
    pub into: Option<String>,
    /// What becomes of a document with a duplicate id.
    pub on_duplicate: OnDuplicate,
}

impl Operation for ZdsMerger {
    fn info(&self) -> TargetInfo {
        zds::INFO
    }

    fn options(&self) -> &'static [OptionSpec] {
        const ALL: OptionSpec = OptionSpec::flag("", "").with_group("Options for ZDS");
        const TABLE: OptionSpec =
            ALL.named("table", "Only collections with this name").with_value(OptionValue::Text, "NAME");
        const INTO: OptionSpec =
            ALL.named("into", "Join all collections into one with this name").with_value(OptionValue::Text, "NAME");
        &[TABLE, INTO, OnDuplicate::OPTION]
    }

    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        match option {
            "table" => self.table = Some(text(value)?.to_owned()),
            "into" => self.into = Some(text(value)?.to_owned()),
            "on_duplicate" => self.on_duplicate = OnDuplicate::of(value),
            _ => return Err(unknown_option(option)),
        }
        Ok(())
    }
}

impl Merger for ZdsMerger {
    fn run(&self, job: &Merge, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let (path, force) = to.file();
        if self.on_duplicate == OnDuplicate::Rename {
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
            names.retain(|name| self.table.as_ref().is_none_or(|table| table == name));
            for name in names {
                let collection = store.collection(&name).map_err(named)?;
                inputs.push(Stored { location: location.clone(), collection });
            }
        }
        if inputs.is_empty() {
            let name = self.table.as_ref().map(|name| format!(" {name:?}")).unwrap_or_default();
            return Err(Error::usage(format!("no input has a table{name}")));
        }
        let new = NewZds::create(path, force, &job.inputs)?;
        let bar = job.progress();
        bar.name(&path.display().to_string());
        let mut total = 0_u64;
        for input in &inputs {
            total = total.saturating_add(input.count()?);
        }
        bar.begin(Unit::Rows, Some(total));
        let mut writers: BTreeMap<String, CollectionWriter> = BTreeMap::new();
        report.inputs = inputs.len();
        for input in &inputs {
            let named = |error: Error| input.named(error);
            let name = self.into.as_deref().unwrap_or(input.collection.name());
            if !writers.contains_key(name) {
                writers.insert(name.to_owned(), new.collection(name)?);
            }
            let Some(writer) = writers.get_mut(name) else { continue };
            let condition = input.collection.condition().map_err(named)?;
            report.losses.extend(Lost::all(losses(&condition), Some(&input.location.name())));
            let mut picked = match &job.filter {
                None => None,
                Some(condition) => {
                    let reading = Reading::new(Some(input.collection.name().to_owned()), job.threads, false);
                    let opened = input.location.input(opener).map_err(named)?;
                    let matches = opener.matching_rows(&opened, &reading, condition).map_err(named)?;
                    Some(matches.rows.into_iter().peekable())
                }
            };
            let (mut row, mut again) = (0_u64, Loss::new("document left out: duplicate id", 0, Position::default()));
            let mut documents = input.collection.documents().map_err(named)?;
            while let Some(document) = documents.try_next().map_err(named)? {
                if picked.as_mut().is_some_and(|picked| picked.next_if_eq(&row).is_none()) {
                    row += 1;
                    continue;
                }
                if writer.contains(document.id()) {
                    match self.on_duplicate {
                        OnDuplicate::First | OnDuplicate::Last => {
                            if again.count == 0 {
                                again.first.row = Some(row);
                                again.first.key = Some(document.id().to_owned().into());
                            }
                            again.count += 1;
                            if self.on_duplicate == OnDuplicate::First {
                                row += 1;
                                continue;
                            }
                            again.what = "document replaced an earlier one: duplicate id".to_owned();
                        }
                        OnDuplicate::Error | OnDuplicate::Rename => {
                            let error =
                                Error::invalid("another document has the same id").in_key(document.id().to_owned());
                            let error = error.advising("{on_duplicate} first or last keeps one of them");
                            return Err(named(error.in_row(row)));
                        }
                    }
                }
                input.put(&document, writer)?;
                row += 1;
                tick(bar.as_ref(), row)?;
            }
            if again.count > 0 {
                report.losses.push(Lost { file: Some(input.location.name()), loss: again });
            }
        }
        let written = new.finish(writers.into_values().collect())?;
        (report.rows, report.bytes) = (written.documents, written.bytes);
        Ok(())
    }
}
