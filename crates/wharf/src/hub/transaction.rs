//! Replaces several datasets, or files, together.
//!
//! They are written into temporary folders, and synced before [`Transaction::commit`] begins. Signals wait until it ends. For each dataset that is
//! replaced, a kill or a power cut leaves one of these states:
//!
//! 1. *The old index is moved into the temporary folder,* `.offsets` first: the old data without an index. No reader opens them, and `wharf index`
//!    rebuilds the index.
//! 2. *The new data are moved into place:* the complete new data without an index, for which `wharf index` rebuilds it.
//! 3. *The rest of the new index is moved, then `.offsets`, then the checksums:* as in 2; with `.offsets` it is the new dataset.
//!
//! A dataset that did not exist begins at 2. At no point does an index stand beside the data of another dataset. The next run removes the
//! temporary folder.
//!
//! After an error, every move is undone. On a file system without hard links, a dataset whose data have been replaced stays in state 2.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use container_core::{Error, Output, Result, TemporaryFolder, sync_directory_of, uninterrupted};
use datadings::Part;

use super::{dataset, output};

/// Datasets, or single files, in temporary folders beside their destinations. Dropping it before [`commit`](Self::commit) removes them.
pub(super) struct Transaction {
    force: bool,
    /// Each output is a datadings file set, not a single file.
    are_sets: bool,
    /// The temporary folder in each destination folder.
    folders: HashMap<PathBuf, TemporaryFolder>,
    /// From and to.
    moves: Vec<(PathBuf, PathBuf)>,
}

impl Transaction {
    pub(super) fn new(force: bool) -> Self {
        Self { force, are_sets: true, folders: HashMap::new(), moves: Vec::new() }
    }

    /// For single files.
    pub(super) fn files(force: bool) -> Self {
        Self { are_sets: false, ..Self::new(force) }
    }

    /// Where to write the output whose destination is `path`. The file name is the same, as checksum files contain it.
    pub(super) fn path(&mut self, path: &Path) -> Result<PathBuf> {
        let destination = if self.are_sets { path.to_owned() } else { Output::destination(path)? };
        let path = destination.as_path();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !self.folders.contains_key(folder) {
            let temporary = TemporaryFolder::beside(path);
            let temporary = temporary.map_err(|cause| named("cannot create the output", cause, path))?;
            self.folders.insert(folder.to_owned(), temporary);
        }
        // Outputs in one folder have different names. Two spellings of a folder have a temporary folder each.
        let temporary = self.folders.get(folder).map_or(folder, TemporaryFolder::path);
        let temporary = temporary.join(path.file_name().unwrap_or_default());
        self.moves.push((temporary.clone(), path.to_owned()));
        Ok(temporary)
    }

    /// Moves all outputs to their destinations. Only renames are left to do.
    pub(super) fn commit(self) -> Result<()> {
        uninterrupted(|| self.move_all())
    }

    fn move_all(&self) -> Result<()> {
        if !self.force {
            for (_, to) in &self.moves {
                match self.are_sets {
                    true => dataset::refuse(to, false, &[])?,
                    false => drop(output::options(to, false, &[])?),
                }
            }
        }
        // Nothing is replaced when somebody has emptied the temporary folder.
        for (from, to) in &self.moves {
            for &part in if self.are_sets { &[Part::Data, Part::Offsets][..] } else { &[Part::Data] } {
                fs::symlink_metadata(dataset::member(from, part)).map_err(|cause| failed(cause, to))?;
            }
        }
        let mut undo = Vec::new();
        self.replace(&mut undo).inspect_err(|_| {
            for step in undo.into_iter().rev() {
                // The first error is reported.
                let _ = match step.old {
                    Some(old) => fs::rename(old, step.path),
                    None => fs::remove_file(step.path),
                };
            }
        })
    }

    /// Moves all files, and records how to undo each move.
    fn replace(&self, undo: &mut Vec<Undo>) -> Result<()> {
        let all = [Part::Offsets, Part::LegacyIndex, Part::Md5, Part::Keys, Part::KeyHashes, Part::Filter];
        let index = if self.are_sets { &all[..] } else { &[] };
        for (set, (from, to)) in self.moves.iter().enumerate() {
            for &part in index {
                let (path, old) = (dataset::member(to, part), backup_path(from, part));
                match fs::rename(&path, &old) {
                    Ok(()) => undo.push(Undo { set, path, old: Some(old) }),
                    moved => ignore_missing(moved).map_err(|cause| failed(cause, to))?,
                }
            }
        }
        // Even after a power cut, the old index is gone before the new data appear, and the new data are there before their index.
        self.sync();
        let beside = [Part::Data, Part::Keys, Part::KeyHashes, Part::Filter];
        let (one, steps) = ([&[Part::Data][..]], [&beside[..], &[Part::Offsets], &[Part::Md5]]);
        for parts in if self.are_sets { &steps[..] } else { &one } {
            for (set, (from, to)) in self.moves.iter().enumerate() {
                for &part in *parts {
                    let (path, old) = (dataset::member(to, part), backup_path(from, part));
                    let is_new = fs::symlink_metadata(&path).is_err();
                    let is_kept = !is_new && fs::hard_link(&path, &old).is_ok();
                    match fs::rename(dataset::member(from, part), &path) {
                        Ok(()) if is_new || is_kept => undo.push(Undo { set, path, old: is_kept.then_some(old) }),
                        // Without hard links the old data are gone, and their index must not come back.
                        Ok(()) => undo.retain(|step| step.set != set),
                        moved => ignore_missing(moved).map_err(|cause| failed(cause, to))?,
                    }
                }
            }
            self.sync();
        }
        Ok(())
    }

    /// Syncs the destination folders.
    fn sync(&self) {
        for folder in self.folders.keys() {
            sync_directory_of(&folder.join("any"));
        }
    }
}

/// How to undo the move of a file.
struct Undo {
    set: usize,
    path: PathBuf,
    /// The file that it replaced; without one, the new file is removed.
    old: Option<PathBuf>,
}

/// Where a replaced file is kept until the commit ends: in the temporary folder.
fn backup_path(from: &Path, part: Part) -> PathBuf {
    let mut path = dataset::member(from, part).into_os_string();
    path.push(".old");
    path.into()
}

/// Ignores that a file does not exist.
fn ignore_missing(outcome: io::Result<()>) -> io::Result<()> {
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
    fn replaces_files_that_appear_meanwhile_only_when_forced() {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("d.msgpack");
        for force in [false, true] {
            let mut transaction = Transaction::new(force);
            let path = transaction.path(&to).unwrap();
            for part in [Part::Data, Part::Offsets] {
                fs::write(dataset::member(&path, part), "new").unwrap();
            }
            for part in [Part::Data, Part::Offsets, Part::LegacyIndex] {
                fs::write(dataset::member(&to, part), "of somebody else").unwrap();
            }
            assert_eq!(transaction.commit().is_ok(), force);
            let there = |part| fs::read_to_string(dataset::member(&to, part)).unwrap_or_default();
            let expected = if force { ["new", "new", ""] } else { ["of somebody else"; 3] };
            assert_eq!([Part::Data, Part::Offsets, Part::LegacyIndex].map(there), expected);
            let left = fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(left, if force { 2 } else { 3 }, "no folder stays");
        }
    }
    #[test]
    fn replaces_nothing_when_the_temporary_files_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("d.msgpack");
        fs::write(&to, "old").unwrap();
        fs::write(dataset::member(&to, Part::Offsets), "old").unwrap();
        let mut transaction = Transaction::new(true);
        fs::write(transaction.path(&to).unwrap(), "new").unwrap();
        let error = transaction.commit().unwrap_err().to_string();
        assert!(error.contains("d.msgpack: cannot move the output into place: No such file"), "{error}");
        assert_eq!(
            [to.clone(), dataset::member(&to, Part::Offsets)].map(|path| fs::read(path).unwrap()),
            [b"old", b"old"]
        );
    }
}
