//! Snapshots of a directory's content.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::shell;

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Folder,
    File(Vec<u8>),
    Link(PathBuf),
}

/// All entries below a directory, by relative path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Snapshot(pub(crate) BTreeMap<String, Entry>);

impl Snapshot {
    /// Reads everything below a directory.
    pub(crate) fn take(folder: &Path) -> Result<Self, String> {
        let mut entries = BTreeMap::new();
        let mut pending = vec![(folder.to_owned(), String::new())];
        while let Some((folder, prefix)) = pending.pop() {
            for path in shell::entries(&folder)? {
                let name = format!("{prefix}{}", shell::file_name(&path));
                let failed = |error| format!("cannot read {}: {error}", path.display());
                let kind = fs::symlink_metadata(&path).map_err(failed)?;
                let entry = if kind.is_symlink() {
                    Entry::Link(fs::read_link(&path).map_err(failed)?)
                } else if kind.is_dir() {
                    pending.push((path.clone(), format!("{name}/")));
                    Entry::Folder
                } else {
                    Entry::File(fs::read(&path).map_err(failed)?)
                };
                entries.insert(name, entry);
            }
        }
        Ok(Self(entries))
    }

    /// Replaces the content of a directory with these entries.
    pub(crate) fn restore(&self, folder: &Path) -> Result<(), String> {
        shell::empty_directory(folder)?;
        for (name, entry) in &self.0 {
            let path = folder.join(name);
            let failed = |error| format!("cannot write {}: {error}", path.display());
            match entry {
                Entry::Folder => fs::create_dir(&path).map_err(failed)?,
                Entry::File(bytes) => fs::write(&path, bytes).map_err(failed)?,
                Entry::Link(to) => std::os::unix::fs::symlink(to, &path).map_err(failed)?,
            }
        }
        Ok(())
    }

    /// The entries whose paths satisfy the predicate.
    pub(crate) fn only(&self, predicate: impl Fn(&str) -> bool) -> Self {
        Self(
            self.0
                .iter()
                .filter(|(name, _)| predicate(name))
                .map(|(name, entry)| (name.clone(), entry.clone()))
                .collect(),
        )
    }

    /// The paths that differ or exist in only one of the two.
    pub(crate) fn difference(&self, other: &Self) -> Vec<String> {
        let changed = self.0.iter().filter(|(name, entry)| other.0.get(*name) != Some(entry)).map(|(name, _)| name);
        let added = other.0.keys().filter(|name| !self.0.contains_key(*name));
        changed.chain(added).cloned().collect()
    }
}

/// Whether a path is a temporary file of the command, or in a temporary directory.
pub(super) fn is_temporary(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with(".wharf-") || part.starts_with(".tmp") || part.ends_with(".tmp"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restores_a_snapshot() {
        let folder = tempfile::tempdir().unwrap();
        let entries = [("a", Entry::Folder), ("a/b", Entry::File(b"text".to_vec())), ("c", Entry::Link("a/b".into()))];
        let snapshot = Snapshot(entries.into_iter().map(|(name, entry)| (name.to_owned(), entry)).collect());
        snapshot.restore(folder.path()).unwrap();
        let taken = Snapshot::take(folder.path()).unwrap();
        assert_eq!(taken, snapshot);
        fs::write(folder.path().join("a/b"), "other").unwrap();
        fs::write(folder.path().join("a/.wharf-1.tmp"), "").unwrap();
        let now = Snapshot::take(folder.path()).unwrap();
        assert_eq!(snapshot.difference(&now), ["a/b", "a/.wharf-1.tmp"]);
        assert!(is_temporary("a/.wharf-1.tmp") && is_temporary(".wharf-2/x") && !is_temporary("a/b"));
    }
}
