//! The hub without the feature `zarr`.

use std::path::Path;

use container_core::{Error, Format, OpenOptions, Result};
use dsfmt::container::TimeForm;
use dsfmt::netcdf::Reader;

use super::convert::targets::NewTarget;
use super::merge::NewMerger;

pub(super) const TARGETS: &[NewTarget] = &[];
pub(super) const MERGERS: &[NewMerger] = &[];

pub(super) fn format(_: TimeForm, _: bool) -> Option<&'static dyn Format> {
    None
}

pub(super) fn open(_: &Path, _: OpenOptions) -> Result<Reader> {
    Err(Error::usage("expected a file, found a folder"))
}
