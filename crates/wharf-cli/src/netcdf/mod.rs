//! NetCDF files as `info`, `get` and `stats` read them.

mod describe;

use container_core::{Input, OpenOptions, Probe, Recognition, Result};
use dsfmt::netcdf::{FORMAT, Reader, as_ds};

pub(crate) use describe::describe;

use wharf::hub::env::Opener;
use wharf::hub::open_netcdf;

/// The reader of a NetCDF file; `None` for what does not begin as one.
///
/// # Errors
/// What is wrong with the file; its name is not among what is known here.
pub(crate) fn reader(input: &Input, opener: &Opener<'_>) -> Result<Option<Reader>> {
    let Some(source) = input.source() else { return Ok(None) };
    let head = source.read(0..source.len().min(8))?;
    match FORMAT.recognize(&Probe::new(input.path(), &head)) {
        Recognition::Content => open_netcdf(source.clone(), opener).map(Some),
        _ => Ok(None),
    }
}

/// The variables of a ds or a NetCDF file; `None` for another format.
///
/// # Errors
/// What is wrong with the file; its name is not among what is known here.
pub(crate) fn variables(input: &Input, opener: &Opener<'_>) -> Result<Option<dsfmt::Reader>> {
    let options = OpenOptions::default().with_access(opener.access);
    match reader(input, opener)? {
        Some(reader) => as_ds(reader, options).map(Some),
        None => super::ds::reader(input, opener),
    }
}
