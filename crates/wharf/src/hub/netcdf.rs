use container_core::{OpenOptions, Result, Source};
use dsfmt::netcdf::Reader;

use super::env::Opener;

/// Opens bytes that are NetCDF.
///
/// # Errors
/// The bytes are not NetCDF, or damaged. The error does not name the file.
pub fn open_netcdf(source: Source, opener: &Opener<'_>) -> Result<Reader> {
    Reader::from_source(source, OpenOptions::default().with_access(opener.access))
}
