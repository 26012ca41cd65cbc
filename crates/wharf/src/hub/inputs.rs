//! Locations of inputs: files, or standard input.

use std::path::{Path, PathBuf};

/// One input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    Path(PathBuf),
    Stdin,
}

impl Location {
    /// Files.
    pub(crate) fn all<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Vec<Self> {
        paths.into_iter().map(|path| Self::Path(path.into())).collect()
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "<stdin>".to_owned(),
        }
    }

    /// Whether it can be opened again, with the same bytes. A pipe cannot.
    pub fn is_reopenable(&self) -> bool {
        matches!(self, Self::Path(path) if is_reopenable(path))
    }
}

/// Whether a path is that of a file or folder, not of a pipe.
pub(super) fn is_reopenable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() || metadata.is_dir())
}
