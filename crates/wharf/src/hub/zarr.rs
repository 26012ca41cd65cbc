//! What the hub has for Zarr, except its target. `without_zarr.rs` has the same names.

use container_core::{Format, Result};
use dsfmt::container::TimeForm;
pub(super) use dsfmt::zarr::open;
use dsfmt::zarr::{FORMAT_NAME, WriteOptions, from_ds};

use super::convert::targets::NewTarget;
pub use super::convert::targets::zarr::ZarrTarget;
use super::convert::{Streaming, To};
use super::env::Opener;
use super::merge::ds::{ArraysKind, check, join, views};
use super::merge::{DsMerger, Merge, NewMerger, Report};
use super::output;

pub(super) const TARGETS: &[NewTarget] = &[|| Box::<ZarrTarget>::default()];
pub(super) const MERGERS: &[NewMerger] = &[|| Box::new(DsMerger::zarr())];

pub(super) fn format(times: TimeForm, packed: bool) -> Option<&'static dyn Format> {
    Some(times.zarr(packed))
}

const STORES: ArraysKind =
    ArraysKind { format: FORMAT_NAME, stream: Streaming::Unsupported("Zarr is merged into a folder"), run };

impl DsMerger {
    /// Merges Zarr stores.
    #[cfg_attr(docsrs, doc(cfg(feature = "zarr")))]
    #[must_use]
    pub fn zarr() -> Self {
        Self { kind: STORES, ..Self::default() }
    }
}

/// Merges Zarr stores. Chunks of the output have sizes by default.
fn run(job: &Merge, merger: &DsMerger, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
    let (path, force) = to.file();
    check(merger)?;
    let output = output::folder_options(path, force, &job.inputs)?;
    let readers = views(job, FORMAT_NAME, opener, report, |_| ())?;
    let reader = join((job, merger), &readers, report)?.into_reader(path)?;
    report.add(from_ds(&reader, path, &WriteOptions::default().with_output(output))?);
    Ok(())
}
