use container_core::{OpenOptions, Result, Source};
use dsfmt::netcdf::Reader;

use super::env::Opener;

/// Opens bytes that are NetCDF.
///
/// # Errors
/// What is wrong with the file; its name is not among what is known here.
pub fn open_netcdf(source: Source, opener: &Opener<'_>) -> Result<Reader> {
    Reader::from_source(source, OpenOptions::default().with_access(opener.access))
}
