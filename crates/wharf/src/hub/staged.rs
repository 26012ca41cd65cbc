//! Datasets that are put in place together.
//!
//! They are written into a temporary folder, and all of their files are on the disk before [`Staged::commit`] begins. A signal waits for
//! its end. What a kill or a power cut in it leaves of each dataset that is replaced, step by step:
//!
//! 1. *Its index is moved into the temporary folder,* `.offsets` first: the old data without an index. No reader opens them, and `wharf index` makes an index of all
//!    their samples.
//! 2. *Its data are moved into place:* the new data without an index, whole, from which `wharf index` makes the new dataset.
//! 3. *The rest of the index is moved, then `.offsets`, then the sums:* as in 2; with `.offsets` it is the new dataset.
//!
//! A dataset that is new begins at 2. So there is at no point an index beside data of another dataset. The next run removes the temporary
//! folder with what was not moved: index files, and datasets that had no place yet.
//!
//! After an error in between every move is undone, and all is as it was. Where the file system has no hard links, a dataset whose data are
//! replaced by then is left as in 2.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use container_core::{Error, Result, TemporaryFolder, sync_directory_of, uninterrupted};
use datadings::Part;

use super::{dataset, output};

/// Datasets, or single files, in temporary folders beside their places, each written whole. Dropped before [`commit`](Self::commit), they are gone.
pub(super) struct Staged {
    force: bool,
    /// Each is a set of files.
    are_sets: bool,
    /// A folder for each one that outputs go to.
    folders: HashMap<PathBuf, TemporaryFolder>,
    moves: Vec<(PathBuf, PathBuf)>,
}

impl Staged {
    pub(super) fn new(force: bool) -> Self {
        Self { force, are_sets: true, folders: HashMap::new(), moves: Vec::new() }
    }

    /// Of single files.
    pub(super) fn files(force: bool) -> Self {
        Self { are_sets: false, ..Self::new(force) }
    }

    /// Where to write the dataset that will stand at `path`: under the same name, which stands in its sums.
    pub(super) fn path(&mut self, path: &Path) -> Result<PathBuf> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !self.folders.contains_key(folder) {
            let temporary = TemporaryFolder::beside(path);
            let temporary = temporary.map_err(|cause| named("cannot create the output", cause, path))?;
            self.folders.insert(folder.to_owned(), temporary);
        }
        // Outputs of one folder have different names, and folders of different spellings have folders of their own.
        let staged = self.folders.get(folder).map_or(folder, TemporaryFolder::path);
        let staged = staged.join(path.file_name().unwrap_or_default());
        self.moves.push((staged.clone(), path.to_owned()));
        Ok(staged)
    }

    /// Puts all of them in place. What can fail has been done: these are renames.
    pub(super) fn commit(self) -> Result<()> {
        uninterrupted(|| self.place())
    }

    fn place(&self) -> Result<()> {
        if !self.force {
            for (_, to) in &self.moves {
                match self.are_sets {
                    true => dataset::refuse(to, false, &[])?,
                    false => drop(output::options(to, false, &[])?),
                }
            }
        }
        // Nothing is removed for a dataset that somebody has removed from its temporary folder.
        for (from, to) in &self.moves {
            for &part in if self.are_sets { &[Part::Data, Part::Offsets][..] } else { &[Part::Data] } {
                fs::symlink_metadata(dataset::member(from, part)).map_err(|cause| failed(cause, to))?;
            }
        }
        let mut undo = Vec::new();
        self.replace(&mut undo).inspect_err(|_| {
            for step in undo.into_iter().rev() {
                // The first error is the one that is reported.
                let _ = match step.old {
                    Some(old) => fs::rename(old, step.path),
                    None => fs::remove_file(step.path),
                };
            }
        })
    }

    /// Moves all files, and lists how each move is undone.
    fn replace(&self, undo: &mut Vec<Undo>) -> Result<()> {
        let all = [Part::Offsets, Part::LegacyIndex, Part::Md5, Part::Keys, Part::KeyHashes, Part::Filter];
        let index = if self.are_sets { &all[..] } else { &[] };
        for (set, (from, to)) in self.moves.iter().enumerate() {
            for &part in index {
                let (path, old) = (dataset::member(to, part), aside(from, part));
                match fs::rename(&path, &old) {
                    Ok(()) => undo.push(Undo { set, path, old: Some(old) }),
                    moved => absent(moved).map_err(|cause| failed(cause, to))?,
                }
            }
        }
        // What is gone must be so before other data are there, and those before their index: after a power cut too.
        self.sync();
        let beside = [Part::Data, Part::Keys, Part::KeyHashes, Part::Filter];
        let (one, steps) = ([&[Part::Data][..]], [&beside[..], &[Part::Offsets], &[Part::Md5]]);
        for parts in if self.are_sets { &steps[..] } else { &one } {
            for (set, (from, to)) in self.moves.iter().enumerate() {
                for &part in *parts {
                    let (path, old) = (dataset::member(to, part), aside(from, part));
                    let is_new = fs::symlink_metadata(&path).is_err();
                    let is_kept = !is_new && fs::hard_link(&path, &old).is_ok();
                    match fs::rename(dataset::member(from, part), &path) {
                        Ok(()) if is_new || is_kept => undo.push(Undo { set, path, old: is_kept.then_some(old) }),
                        // The file system has no second names. The old data are gone, and their index must not come back.
                        Ok(()) => undo.retain(|step| step.set != set),
                        moved => absent(moved).map_err(|cause| failed(cause, to))?,
                    }
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

/// How the move of a file of one of the datasets is undone.
struct Undo {
    set: usize,
    path: PathBuf,
    /// What it has replaced; without it the file is removed.
    old: Option<PathBuf>,
}

/// Where a file that is replaced is kept until all are in place: in the temporary folder.
fn aside(from: &Path, part: Part) -> PathBuf {
    let mut path = dataset::member(from, part).into_os_string();
    path.push(".old");
    path.into()
}

/// A file that is not there needs nothing.
fn absent(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn failed(cause: io::Error, to: &Path) -> Error {
    named("cannot move the output into place", cause, to)
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
    #[test]
    fn a_dataset_that_has_lost_its_files_replaces_nothing() {
        let place = tempfile::tempdir().unwrap();
        let to = place.path().join("d.msgpack");
        fs::write(&to, "old").unwrap();
        fs::write(dataset::member(&to, Part::Offsets), "old").unwrap();
        let mut staged = Staged::new(true);
        fs::write(staged.path(&to).unwrap(), "new").unwrap();
        let error = staged.commit().unwrap_err().to_string();
        assert!(error.contains("d.msgpack: cannot move the output into place: No such file"), "{error}");
        assert_eq!(
            [to.clone(), dataset::member(&to, Part::Offsets)].map(|path| fs::read(path).unwrap()),
            [b"old", b"old"]
        );
    }
}
