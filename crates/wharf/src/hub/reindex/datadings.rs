//! Rebuilds the index of datadings datasets.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

use container_core::{Access, Error, Input, OpenOptions, Result};
use datadings::{Part, RebuildOptions, RebuildSummary, rebuild_index};

use super::super::convert::{OptionSpec, TargetInfo, unknown_option};
use super::super::dataset;
use super::super::env::Opener;
use super::super::inputs::Location;
use super::{Before, Index, Operation, Reindex, Reindexer, Report, no_index_beside};

/// Rebuilds the index files beside the data of datadings datasets.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct DatadingsReindexer {
    /// Cut off what an interrupted append left after the last complete sample: the only change to the data.
    pub truncate: bool,
    /// Remove a legacy `.index` file once the new index is complete.
    pub remove_older: bool,
    /// Write no `.md5` file, and remove the old one.
    pub no_md5: bool,
}

impl Operation for DatadingsReindexer {
    fn info(&self) -> TargetInfo {
        dataset::INFO
    }

    fn options(&self) -> &'static [OptionSpec] {
        const TRUNCATE: OptionSpec = OptionSpec::flag(
            "truncate",
            "Remove the incomplete sample that an interrupted append left at the end of the data",
        );
        const REMOVE_OLDER: OptionSpec =
            OptionSpec::flag("remove_older", "Remove a legacy .index file after writing the new index");
        const NO_MD5: OptionSpec = OptionSpec::flag("no_md5", "Write no .md5 file, and remove an existing one");
        &[TRUNCATE, REMOVE_OLDER, NO_MD5]
    }

    fn set(&mut self, option: &str, _: &OsStr) -> Result<()> {
        match option {
            "truncate" => self.truncate = true,
            "remove_older" => self.remove_older = true,
            "no_md5" => self.no_md5 = true,
            _ => return Err(unknown_option(option)),
        }
        Ok(())
    }

    /// Data without an index, and index files, need not be recognized as datadings. What is certainly another format is refused later.
    fn accepts(&self, _: &Input, _: Option<&str>) -> bool {
        true
    }
}

impl Reindexer for DatadingsReindexer {
    /// The job for the data file, whichever file of the dataset the path is.
    fn parts(&self, job: &Reindex, opener: &mut Opener<'_>) -> Result<Vec<Reindex>> {
        let input = Location::Path(data(&job.input, opener)?);
        Ok(vec![Reindex { input, ..job.clone() }])
    }

    fn run(&self, job: &Reindex, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let path = data(&job.input, opener)?;
        let there = |part| dataset::member(&path, part).is_file();
        let before = match (there(Part::Offsets), there(Part::LegacyIndex)) {
            (true, _) => Before::Offsets,
            (false, true) => Before::Older,
            (false, false) => Before::Missing,
        };
        let bar = job.progress();
        bar.name(&path.display().to_string());
        // A mapping of a file that is truncated would be unsound.
        let access = if self.truncate { Access::Auto } else { opener.access };
        let options = RebuildOptions::default()
            .with_open(OpenOptions::default().with_access(access))
            .with_threads(job.threads)
            .with_md5(!self.no_md5)
            .with_truncate(self.truncate)
            .with_keep_legacy(!self.remove_older)
            .with_progress(Arc::clone(bar));
        let RebuildSummary { samples, bytes, truncated_bytes, kept_legacy, .. } = rebuild_index(&path, &options)?;
        report.indexes.push(Index {
            is_made: true,
            bytes,
            bytes_cut: truncated_bytes,
            kept_older: kept_legacy,
            ..Index::new(before, samples)
        });
        Ok(())
    }
}

/// The data file of an input, which is not certainly another format.
fn data(location: &Location, opener: &mut Opener<'_>) -> Result<PathBuf> {
    let named = |error: Error| error.in_file(location.name());
    let Location::Path(path) = location else { return Err(no_index_beside(location)) };
    if path.is_dir() {
        return Err(named(Error::usage("expected a datadings dataset, found a directory")));
    }
    dataset::check(location, opener, "index").map_err(named)?;
    Ok(dataset::data_of(path))
}
