//! NetCDF files and Zarr stores for `info`, `get` and `stats`.

mod describe;

use container_core::{Input, Probe, Recognition, Result};
use dsfmt::netcdf::{FORMAT, Reader};

pub(crate) use describe::describe;

use wharf::hub::env::Opener;
use wharf::hub::{ZARR, open_netcdf};

/// The reader of a NetCDF file or a Zarr store; `None` if the input does not begin like one. Errors do not name the file.
pub(crate) fn reader(input: &Input, opener: &Opener<'_>) -> Result<Option<Reader>> {
    let Some(source) = input.source() else {
        let is_zarr = opener.registry.detect(input).is_ok_and(|format| format.name() == ZARR);
        return if is_zarr { open_netcdf(input, opener).map(Some) } else { Ok(None) };
    };
    let head = source.read(0..source.len().min(8))?;
    match FORMAT.recognize(&Probe::new(input.path(), &head)) {
        Recognition::Content => open_netcdf(input, opener).map(Some),
        _ => Ok(None),
    }
}
