//! Rebuilds the index of collections of ZDS stores.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use container_core::{Error, Loss, Position, Result, Source};
use zdx::wire::json::Scanned;
use zdx::wire::lines::lines;
use zdx::{Collection, IndexState};

use super::super::Lost;
use super::super::convert::{OptionSpec, OptionValue, TargetInfo, text, unknown_option};
use super::super::env::Opener;
use super::super::inputs::Location;
use super::super::recover::{Survey, reason};
use super::super::zds::{self, Stored};
use super::{Before, Index, Operation, Reindex, Reindexer, Report};

/// Rebuilds the index of collections of ZDS stores.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ZdsReindexer {
    /// Only this collection.
    pub table: Option<String>,
    /// Rebuild a valid index, too: deleted documents whose lines are still there come back.
    pub force: bool,
}

impl Operation for ZdsReindexer {
    fn info(&self) -> TargetInfo {
        zds::INFO
    }

    fn options(&self) -> &'static [OptionSpec] {
        const ALL: OptionSpec = OptionSpec::flag("", "").with_group("Options for ZDS");
        const TABLE: OptionSpec = ALL.named("table", "Only this collection").with_value(OptionValue::Text, "NAME");
        const FORCE: OptionSpec =
            ALL.named("force", "Rebuild a valid index too. Restores deleted documents that the data still contain");
        &[TABLE, FORCE]
    }

    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        match option {
            "table" => self.table = Some(text(value)?.to_owned()),
            "force" => self.force = true,
            _ => return Err(unknown_option(option)),
        }
        Ok(())
    }
}

impl Reindexer for ZdsReindexer {
    fn parts(&self, job: &Reindex, opener: &mut Opener<'_>) -> Result<Vec<Reindex>> {
        zds::refuse_archive(&job.input, "index")?;
        let tables = zds::tables(&job.input, self.table.as_deref(), opener)?;
        Ok(tables.into_iter().map(|table| job.clone().with_option("table", table)).collect())
    }

    /// Where a collection fails, the others are done all the same.
    fn run(&self, job: &Reindex, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        zds::refuse_archive(&job.input, "index")?;
        let mut outcome = Ok(());
        for table in zds::tables(&job.input, self.table.as_deref(), opener)? {
            outcome = outcome.and(self.collection(&job.input, &table, opener, report));
        }
        outcome
    }
}

impl ZdsReindexer {
    /// Rebuilds the index of a collection, unless it is valid.
    fn collection(&self, location: &Location, table: &str, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let named = |error: Error| error.in_file(location.name());
        let input = location.input(opener).map_err(named)?;
        let stored = Stored::open(location, &input, opener, Some(table))?;
        let condition = stored.collection.condition().map_err(named)?;
        let is_cut = condition.lost_until.is_some();
        let before = if is_cut { Before::LongerThanData } else { Before::of(&condition.index) };
        let is_plausible = matches!(before, Before::Valid | Before::Text);
        let misfit = if is_plausible { Survey::of(&stored)?.misfit } else { None };
        let before = if misfit.is_some() { Before::Damaged } else { before };
        let is_valid = matches!(before, Before::Valid | Before::Text);
        let deleted = if is_valid { deleted_ids(location, &stored.collection)? } else { Vec::new() };
        let mut index = Index::new(before, stored.count()?);
        let known = index.rows;
        index.table = Some(table.to_owned());
        index.is_made = !matches!(condition.index, IndexState::NoData) && (self.force || !is_valid);
        index.deleted = deleted.first().map(|first| (first.clone(), deleted.len() as u64));
        drop(stored);
        if index.is_made {
            let options = zds::writer_options(false).with_rebuild(self.force || is_cut || misfit.is_some());
            let (root, name) = zds::open_writer(location, Some(table), options, "index")?;
            let named = |error: Error| zds::located(error, location, &name);
            let writer = root.collection(&name).map_err(named)?;
            // A valid index has no defects to report, only deleted documents.
            index.notes = if is_valid { Vec::new() } else { writer.recovered().notes() };
            index.rows = writer.len();
            writer.finish().map_err(named)?;
            root.finish().map_err(named)?;
        }
        if let Some(error) = misfit {
            let what =
                format!("table {table}: deleted documents come back, since the index was rebuilt: {}", reason(&error));
            let loss = Loss::new(what, 1, error.position().clone());
            report.losses.push(Lost { file: Some(location.name()), loss });
        }
        if let Some(end) = condition.lost_until {
            let s = if known == 1 { "" } else { "s" };
            let what = format!(
                "table {table}: the index listed lines up to byte {end}, after the end of the data: {known} document{s} before, {} now",
                index.rows
            );
            report.losses.push(Lost { file: Some(location.name()), loss: Loss::new(what, 1, Position::default()) });
        }
        report.indexes.push(index);
        Ok(())
    }
}

/// Ids of documents whose lines are there but not in the index: they were deleted.
fn deleted_ids(location: &Location, collection: &Collection) -> Result<Vec<String>> {
    let Location::Path(path) = location else { return Ok(Vec::new()) };
    let named = |error: Error| error.in_file(location.name());
    let source = Source::open(data_of(path, collection.name()))?;
    let bytes = source.read(0..source.len()).map_err(named)?;
    let (mut ids, mut deleted) = (HashSet::new(), Vec::new());
    for line in lines(&bytes) {
        let Ok(id) = line.plain_id().map_or_else(|| line.scan().map(Scanned::into_id), |id| Ok(Some(id.into()))) else {
            continue;
        };
        if let Some(id) = id.filter(|id| !ids.contains(id.as_ref()))
            && !collection.contains(&id).map_err(named)?
        {
            ids.insert(id.clone().into_owned());
            deleted.push(id.into_owned());
        }
    }
    Ok(deleted)
}

impl Before {
    const fn of(state: &IndexState) -> Self {
        match state {
            IndexState::Valid => Self::Valid,
            IndexState::Text => Self::Text,
            IndexState::Missing => Self::Missing,
            IndexState::Damaged(_) => Self::Damaged,
            IndexState::Stale => Self::Stale,
            IndexState::Journal => Self::Journal,
            _ => Self::NoData,
        }
    }
}

/// The data file of a collection, from any path inside its store.
fn data_of(path: &Path, name: &str) -> PathBuf {
    let folder = zdx::Store::open(path).ok().and_then(|store| store.folder().map(Path::to_owned)).unwrap_or_default();
    let collections = folder.join(zdx::layout::COLLECTIONS);
    let collection = if collections.is_dir() { collections.join(name) } else { folder };
    collection.join(zdx::layout::META).join(zdx::layout::DATA)
}
