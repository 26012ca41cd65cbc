//! Opens IDV files.

use container_core::{Error, Result};

use super::convert::IdvTarget;
use super::env::Opener;
use super::inputs::Location;

/// The name of the format.
pub(super) const IDV: &str = "idv";

/// Opens an input that must be an IDV file.
pub(super) fn open_idv(location: &Location, opener: &mut Opener<'_>, verb: &str) -> Result<idv::Reader> {
    let named = |error: Error| error.in_file(location.name());
    let input = location.input(opener).map_err(named)?;
    let format = opener.registry.detect(&input).map_err(named)?;
    match (format.name(), input.source()) {
        (IDV, Some(source)) => {
            let options = idv::OpenOptions::default().with_access(opener.access);
            idv::Reader::from_source(source.clone(), options).map_err(named)
        }
        (other, _) => Err(named(Error::usage(format!("{verb} works on IDV files, the input is {other}")))),
    }
}

/// The first option of the output that was set.
pub(super) fn given(options: &IdvTarget) -> Option<&'static str> {
    let IdvTarget { missing_as_double: _, compression, level, rows_per_block, bytes_per_block } = options;
    super::first_given(&[
        ("compression", compression.is_some()),
        ("level", level.is_some()),
        ("rows_per_block", rows_per_block.is_some()),
        ("bytes_per_block", bytes_per_block.is_some()),
    ])
}
