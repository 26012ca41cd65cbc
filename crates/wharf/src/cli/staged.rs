//! Datasets that get their places together.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use container_core::{Error, Result, Unfinished, sync_directory_of};
use datadings::Part;
use tempfile::TempDir;

use super::dataset;

/// Datasets written whole into folders of their own beside their places, and not yet in place.
///
/// Dropped before [`commit`](Self::commit), nothing of them is left.
pub(crate) struct Staged {
    force: bool,
    /// A folder for each one that outputs go to.
    folders: HashMap<PathBuf, (TempDir, Unfinished)>,
    moves: Vec<(PathBuf, PathBuf)>,
}

impl Staged {
    pub(crate) fn new(force: bool) -> Self {
        Self { force, folders: HashMap::new(), moves: Vec::new() }
    }

    /// Where to write the dataset that will stand at `path`: under the same name, which stands in its sums.
    pub(crate) fn path(&mut self, path: &Path) -> Result<PathBuf> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !self.folders.contains_key(folder) {
            let made = tempfile::Builder::new().prefix(".wharf-").suffix(".tmp").tempdir_in(folder);
            let made = made.map_err(|cause| named("cannot create the output", cause, path))?;
            let unfinished = Unfinished::new(made.path());
            self.folders.insert(folder.to_owned(), (made, unfinished));
        }
        // Outputs of one folder have different names, and folders of different spellings have folders of their own.
        let staged = self.folders.get(folder).map_or(folder, |(staged, _)| staged.path());
        let staged = staged.join(path.file_name().unwrap_or_default());
        self.moves.push((staged.clone(), path.to_owned()));
        Ok(staged)
    }

    /// Gives all of them their places. What can fail has been done: these are renames.
    ///
    /// As everywhere the index goes first and comes last: whoever looks meanwhile sees the old dataset, the new one, or none.
    pub(crate) fn commit(self) -> Result<()> {
        if !self.force {
            for (_, to) in &self.moves {
                dataset::refuse(to, false, &[])?;
            }
        }
        let failed = |cause, to: &Path| named("cannot put the output in place", cause, to);
        for (_, to) in &self.moves {
            for part in [Part::Offsets, Part::LegacyIndex, Part::Md5] {
                absent(fs::remove_file(dataset::member(to, part))).map_err(|cause| failed(cause, to))?;
            }
        }
        // What is gone must be so before other data are there, and those before their index: after a power failure too.
        self.sync();
        let beside = [Part::Data, Part::Keys, Part::KeyHashes, Part::Filter, Part::Md5];
        for parts in [&beside[..], &[Part::Offsets]] {
            for (from, to) in &self.moves {
                for &part in parts {
                    let moved = fs::rename(dataset::member(from, part), dataset::member(to, part));
                    absent(moved).map_err(|cause| failed(cause, to))?;
                }
            }
            self.sync();
        }
        Ok(())
    }

    /// Waits until the folders that outputs go to are on the disk.
    fn sync(&self) {
        for folder in self.folders.keys() {
            sync_directory_of(&folder.join("any"));
        }
    }
}

/// A file that is not there needs nothing.
fn absent(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn named(doing: &'static str, cause: io::Error, path: &Path) -> Error {
    Error::io(doing, cause).in_file(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_appears_meanwhile_is_left_alone_unless_forced() {
        let place = tempfile::tempdir().unwrap();
        let to = place.path().join("d.msgpack");
        for force in [false, true] {
            let mut staged = Staged::new(force);
            let path = staged.path(&to).unwrap();
            for part in [Part::Data, Part::Offsets] {
                fs::write(dataset::member(&path, part), "new").unwrap();
            }
            for part in [Part::Data, Part::Offsets, Part::LegacyIndex] {
                fs::write(dataset::member(&to, part), "of somebody else").unwrap();
            }
            assert_eq!(staged.commit().is_ok(), force);
            let there = |part| fs::read_to_string(dataset::member(&to, part)).unwrap_or_default();
            let expected = if force { ["new", "new", ""] } else { ["of somebody else"; 3] };
            assert_eq!([Part::Data, Part::Offsets, Part::LegacyIndex].map(there), expected);
            let left = fs::read_dir(place.path()).unwrap().count();
            assert_eq!(left, if force { 2 } else { 3 }, "no folder stays");
        }
    }
}
