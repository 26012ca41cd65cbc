//! The file names of a datadings dataset.

use std::path::{Path, PathBuf};

use datadings::Part;

/// All files that a dataset can have, the data first.
const PARTS: [Part; 7] =
    [Part::Data, Part::Offsets, Part::Keys, Part::KeyHashes, Part::Filter, Part::Md5, Part::LegacyIndex];

/// Whether there is an index beside the data of a path.
pub fn has_index(path: &Path) -> bool {
    [Part::Offsets, Part::LegacyIndex].iter().any(|&part| member(&data_of(path), part).is_file())
}

/// A file of the set with this data file.
pub fn member(data: &Path, part: Part) -> PathBuf {
    let mut name = data.file_name().unwrap_or_default().to_owned();
    name.push(part.suffix());
    data.with_file_name(name)
}

/// All file names of the set, the data first.
pub fn members(data: &Path) -> impl Iterator<Item = PathBuf> {
    PARTS.iter().map(|&part| member(data, part))
}

/// The data file of the set that a path belongs to.
pub fn data_of(path: &Path) -> PathBuf {
    let name = path.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
    let data = PARTS.iter().filter(|&&part| part != Part::Data).find_map(|part| name.strip_suffix(part.suffix()));
    match data.filter(|data| !data.is_empty()).map(|data| path.with_file_name(data)) {
        Some(data) if data.is_file() || !path.is_file() => data,
        _ => path.to_owned(),
    }
}

/// The data file of the dataset that a path belongs to: when there is an index beside the data, or their extension is that of datadings.
pub fn set_of(path: &Path) -> Option<PathBuf> {
    let data = data_of(path);
    let is_named = data.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("msgpack"));
    (is_named || has_index(&data)).then_some(data)
}
