//! The golden files of the workspace, for tests.

use std::path::PathBuf;

use container_core::testkit::golden;

/// All of them, in order; `None` in a package, which has none.
pub(crate) fn all() -> Option<Vec<PathBuf>> {
    let folders = ["idv", "idv-older"].map(|name| golden(env!("CARGO_MANIFEST_DIR"), name));
    let folders = folders.into_iter().collect::<Option<Vec<_>>>()?;
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "idv"));
    files.sort();
    assert!(files.len() >= 65, "{} files", files.len());
    Some(files)
}
