//! Refuses outputs that would replace an input.

use std::fs;
use std::path::{Path, PathBuf};

use container_core::{Error, Format, Probe, Recognition, Result};
use dsfmt::container::TimeForm;

use super::dataset_files::{members, set_of};
use super::inputs::Location;
use super::zarr;
use crate::sys::{self, Identity, has_links, identity};

/// Fails when one of `outputs`, which are written, removed or replaced, is an input.
///
/// That is: a file of an input by any name (a symbolic or hard link); a file that would become part of it, as `m.msgpack.keys` of the dataset
/// `m.msgpack`; a folder that contains an input; a file in the folder of a store.
pub fn refuse_overlap(outputs: impl IntoIterator<Item = PathBuf>, inputs: &[Location]) -> Result<()> {
    let outputs: Vec<(PathBuf, File)> = outputs
        .into_iter()
        .map(|path| {
            let file = File::of(&path);
            (path, file)
        })
        .collect();
    for input in inputs {
        let files = files_of(input);
        let is_store = is_store(input);
        for (path, output) in &outputs {
            let is_inside =
                |folder: &Path| output.path.starts_with(folder) || (output.has_links && is_in(output, folder));
            let relation = if files.iter().any(|file| file.is(output)) {
                "is the input"
            } else if files.iter().any(|file| file.path.starts_with(&output.path)) {
                "is a folder that contains the input"
            } else if is_store && files.iter().any(|file| is_inside(&file.path)) {
                "is in the store"
            } else {
                continue;
            };
            let detail = format!("the output {relation} {}", input.name());
            return Err(Error::usage(detail).in_file(path.display().to_string()));
        }
    }
    Ok(())
}

/// The files of an input: all of a file set, or the path itself.
fn files_of(input: &Location) -> Vec<File> {
    let path = match input {
        Location::Path(path) => path,
        Location::Stdin => return stdin_file().into_iter().collect(),
        // Its files are not known.
        Location::Open(_) => return Vec::new(),
    };
    if let Some(data) = set_of(path) {
        return members(&data).chain([path.clone()]).map(|path| File::of(&path)).collect();
    }
    vec![File::of(path)]
}

/// Whether the input is the folder of a store.
fn is_store(input: &Location) -> bool {
    let Location::Path(path) = input else { return false };
    let is_of = |format: &dyn Format| format.recognize(&Probe::directory(path)) == Recognition::Content;
    path.is_dir() && (is_of(zdx::FORMAT) || zarr::format(TimeForm::Stored, false).is_some_and(is_of))
}

/// The path of a file in its canonical folder.
pub(super) fn absolute(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    folder.join(path.file_name().unwrap_or_default())
}

/// The file of a path, existing or not.
struct File {
    /// Canonical, as far as it exists.
    path: PathBuf,
    identity: Option<Identity>,
    /// It has several names.
    has_links: bool,
}

impl File {
    fn of(path: &Path) -> Self {
        let metadata = fs::metadata(path).ok();
        let real = path.canonicalize().unwrap_or_else(|_| absolute(path));
        let has_links = metadata.as_ref().is_some_and(has_links);
        Self { path: real, identity: metadata.as_ref().and_then(identity), has_links }
    }

    fn is(&self, other: &Self) -> bool {
        self.path == other.path || (self.identity.is_some() && self.identity == other.identity)
    }
}

/// Whether one of the files below a folder is this file, by another name.
fn is_in(file: &File, folder: &Path) -> bool {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) if identity(&metadata).is_some() && identity(&metadata) == file.identity => return true,
                _ => {}
            }
        }
    }
    false
}

/// The file behind standard input, if it is one.
fn stdin_file() -> Option<File> {
    let identity = sys::stdin().filter(fs::Metadata::is_file).as_ref().and_then(identity);
    identity.map(|identity| File { path: PathBuf::new(), identity: Some(identity), has_links: false })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn recognizes_a_file_by_another_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "").unwrap();
        fs::write(path("b"), "").unwrap();
        fs::hard_link(path("a"), path("hard")).unwrap();
        std::os::unix::fs::symlink(path("a"), path("soft")).unwrap();
        let location = Location::Path(path("a"));
        let is_refused = |other: &str| refuse_overlap([path(other)], std::slice::from_ref(&location)).is_err();
        for other in ["a", "hard", "soft", "../{}/a", "../{}"] {
            let other = other.replace("{}", folder.path().file_name().unwrap().to_str().unwrap());
            assert!(is_refused(&other), "{other}");
        }
        assert!(!is_refused("b") && !is_refused("none") && !is_refused("a.keys"));
    }
}
