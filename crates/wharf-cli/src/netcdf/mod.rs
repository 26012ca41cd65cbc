//! What `info` shows of NetCDF files, which the other verbs take as ds files only.

mod attributes;
mod container;
mod describe;

use container_core::{Error, Input, Result};
use dsfmt::netcdf::Reader;

pub(crate) use container::NetcdfContainer;
pub(crate) use describe::describe;

use wharf::hub::env::Opener;
use wharf::hub::open_netcdf;

use super::inputs;

/// The reader of a NetCDF file; `None` for what does not begin as one.
///
/// # Errors
/// What is wrong with the file; its name is not among what is known here.
pub(crate) fn reader(input: &Input, opener: &Opener<'_>) -> Result<Option<Reader>> {
    match (inputs::netcdf_kind(input), input.source()) {
        (Some(_), Some(source)) => open_netcdf(source.clone(), opener).map(Some),
        _ => Ok(None),
    }
}

/// The error of whoever asks for rows.
pub(crate) fn not_read() -> Error {
    Error::unsupported(
        "only the layout of a NetCDF file is shown: `wharf convert FILE.nc FILE.ds` makes a ds file of it",
    )
    .in_format(dsfmt::netcdf::FORMAT_NAME)
}
