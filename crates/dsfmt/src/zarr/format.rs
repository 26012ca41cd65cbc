//! Zarr as a format of the registry.

use container_core::{Container, Error, Format, Input, OpenOptions, Probe, Recognition, Result};

use super::{FORMAT_NAME, open, store, version2};
use crate::container::TimeForm;
use crate::netcdf::{NetcdfContainer, ReadOptions};

/// The Zarr format, with times as stored, and packed numbers as the values they mean.
pub const FORMAT: &dyn Format = &Zarr { times: TimeForm::Stored, packed: false };

struct Zarr {
    times: TimeForm,
    /// Packed numbers stay packed.
    packed: bool,
}

impl TimeForm {
    /// The Zarr format with this representation of times, and of packed numbers as for [NetCDF](Self::netcdf).
    #[must_use]
    pub fn zarr(self, packed: bool) -> &'static dyn Format {
        const fn format(times: TimeForm, packed: bool) -> Zarr {
            Zarr { times, packed }
        }
        match (self, packed) {
            (Self::Stored, false) => FORMAT,
            (Self::Stored, true) => const { &format(Self::Stored, true) },
            (Self::Iso, false) => const { &format(Self::Iso, false) },
            (Self::Iso, true) => const { &format(Self::Iso, true) },
            (Self::Julian, false) => const { &format(Self::Julian, false) },
            (Self::Julian, true) => const { &format(Self::Julian, true) },
        }
    }
}

impl Format for Zarr {
    fn name(&self) -> &'static str {
        FORMAT_NAME
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["zarr"]
    }

    /// A folder that has metadata of Zarr.
    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let Some(path) = probe.path.filter(|_| probe.directory) else { return Recognition::No };
        let files = [store::METADATA, version2::GROUP, version2::ARRAY];
        if files.iter().any(|file| path.join(file).is_file()) {
            Recognition::Content
        } else if probe.has_extension(self.extensions()) {
            Recognition::Name
        } else {
            Recognition::No
        }
    }

    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        let Some(path) = input.path().filter(|_| input.source().is_none()) else {
            return Err(Error::usage("expected a folder, found a file").in_format(FORMAT_NAME));
        };
        let reading = ReadOptions::default().with_scaled(!self.packed);
        let container = NetcdfContainer::new(open(path, *options)?, *options, &reading)?;
        Ok(Box::new(container.with_times(self.times)))
    }
}
