//! Compares datasets byte by byte.

use std::fs;
use std::path::Path;

use crate::ways::NAME;

/// Suffixes of the index files, which must be identical to Python's.
pub(crate) const INDEX: [&str; 4] = [".offsets", ".keys", ".key_hashes", ".filter"];

/// Compares data, index and checksums of two directories; returns the number of files.
pub(crate) fn same_files(ours: &Path, theirs: &Path) -> Result<u64, String> {
    let mut names: Vec<_> = fs::read_dir(ours)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.file_name())).collect())
        .map_err(|error: std::io::Error| format!("{}: {error}", ours.display()))?;
    names.sort();
    let mut expected: Vec<_> = ["", ".filter", ".key_hashes", ".keys", ".md5", ".offsets"]
        .map(|suffix| std::ffi::OsString::from(format!("{NAME}{suffix}")))
        .to_vec();
    expected.sort();
    if names != expected {
        return Err(format!("{}: expected {expected:?}, found {names:?}", ours.display()));
    }
    let mut files = 0;
    for name in names {
        same_file(&ours.join(&name), &theirs.join(&name))?;
        files += 1;
    }
    Ok(files)
}

/// Compares two files.
pub(crate) fn same_file(ours: &Path, theirs: &Path) -> Result<(), String> {
    let (left, right) = (read(ours)?, read(theirs)?);
    if left == right {
        return Ok(());
    }
    let at = left.iter().zip(&right).take_while(|(left, right)| left == right).count();
    Err(format!(
        "{} differs from Python's {} at byte {at} ({} and {} bytes)",
        ours.display(),
        theirs.display(),
        left.len(),
        right.len()
    ))
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}
