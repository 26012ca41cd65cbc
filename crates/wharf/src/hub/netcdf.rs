use container_core::{Error, Input, OpenOptions, Result};
use dsfmt::netcdf::{FORMAT_NAME, Kind, Reader};

use super::env::Opener;
use super::zarr;

/// The name of the format Zarr, which is read as NetCDF.
pub const ZARR: &str = Kind::Zarr.format();

/// Whether this format is read as NetCDF: its variables may be packed.
pub(super) fn is_netcdf(format: &str) -> bool {
    [FORMAT_NAME, ZARR].iter().any(|name| format.eq_ignore_ascii_case(name))
}

/// Opens bytes that are NetCDF, or a folder that is Zarr.
///
/// # Errors
/// The input is of another format, or damaged. The error does not name the file.
pub fn open_netcdf(input: &Input, opener: &Opener<'_>) -> Result<Reader> {
    let options = OpenOptions::default().with_access(opener.access);
    match (input.source(), input.path()) {
        (Some(source), _) => Reader::from_source(source.clone(), options),
        (None, Some(path)) => zarr::open(path, options),
        (None, None) => Err(Error::usage("expected a file, found a folder")),
    }
}
