//! The files of a datadings dataset.

use std::path::{Path, PathBuf};

use container_core::{Error, Result};
use datadings::Part;

use super::inputs::{self, Location};

/// The name of the format.
pub const NAME: &str = "datadings";

/// Files that a dataset may have, the data first.
const PARTS: [Part; 7] =
    [Part::Data, Part::Offsets, Part::Keys, Part::KeyHashes, Part::Filter, Part::Md5, Part::LegacyIndex];

/// True when an index stands beside the data to which a path leads.
pub fn has_index(path: &Path) -> bool {
    [Part::Offsets, Part::LegacyIndex].iter().any(|&part| member(&data_of(path), part).is_file())
}

/// A file of the set whose data file this is.
pub fn member(data: &Path, part: Part) -> PathBuf {
    let mut name = data.file_name().unwrap_or_default().to_owned();
    name.push(part.suffix());
    data.with_file_name(name)
}

/// All files of that set, the data first.
pub fn members(data: &Path) -> impl Iterator<Item = PathBuf> {
    PARTS.iter().map(|&part| member(data, part))
}

/// The data file that a member of a set leads to.
pub fn data_of(path: &Path) -> PathBuf {
    let name = path.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
    let data = PARTS.iter().filter(|&&part| part != Part::Data).find_map(|part| name.strip_suffix(part.suffix()));
    match data.filter(|data| !data.is_empty()).map(|data| path.with_file_name(data)) {
        Some(data) if data.is_file() || !path.is_file() => data,
        _ => path.to_owned(),
    }
}

/// The data file of the set that a path is part of: where an index stands beside the data, or their name says that they are a dataset.
pub fn set_of(path: &Path) -> Option<PathBuf> {
    let data = data_of(path);
    let is_named = data.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("msgpack"));
    (is_named || has_index(&data)).then_some(data)
}

/// Refuses an output that would take the place of a file of an input, whatever the flags, or without `force` that of any file.
pub fn refuse(output: &Path, force: bool, inputs: &[Location]) -> Result<()> {
    if output == Path::new("-") {
        return Err(Error::usage("a datadings dataset is a set of files: standard output cannot take it"));
    }
    inputs::refuse_overlap(members(output), inputs)?;
    if output.is_dir() {
        return Err(Error::usage("the output is a directory").in_file(output.display().to_string()));
    }
    match members(output).find(|part| part.symlink_metadata().is_ok()) {
        Some(there) if !force => {
            let exists = Error::usage("the output exists").advising("{force} replaces it, with all files of its set");
            Err(exists.in_file(there.display().to_string()))
        }
        _ => Ok(()),
    }
}
