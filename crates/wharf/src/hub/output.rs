//! Output files.

use std::io;
use std::path::Path;

use container_core::{Error, Output, OutputOptions, Overwrite, Result};

use super::inputs::Location;
use super::overlap::refuse_overlap;

/// The error when a stream cannot be written.
pub fn stream_failed(cause: io::Error) -> Error {
    Error::io("cannot write to standard output", cause)
}

/// Creates the output. One that is a file of an input is refused, also with `force`.
pub fn create(path: &Path, force: bool, locations: &[Location]) -> Result<Output> {
    Output::create(path, options(path, force, locations)?)
}

/// Options for creating an output that is a folder. An empty folder is always replaced.
pub fn folder_options(path: &Path, force: bool, locations: &[Location]) -> Result<OutputOptions> {
    let has_entries = path.is_dir() && std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    if !force && has_entries {
        return Err(Error::usage("the output exists")
            .advising("{force} replaces it")
            .in_file(path.display().to_string()));
    }
    options(path, force, locations)
}

/// Options for creating the output. One that is a file of an input is refused, also with `force`.
pub fn options(path: &Path, force: bool, locations: &[Location]) -> Result<OutputOptions> {
    refuse_overlap([path.to_owned()], locations)?;
    if !force && path.is_file() {
        return Err(Error::usage("the output exists")
            .advising("{force} replaces it")
            .in_file(path.display().to_string()));
    }
    let overwrite = if force { Overwrite::Replace } else { Overwrite::Refuse };
    Ok(OutputOptions::default().with_overwrite(overwrite))
}
