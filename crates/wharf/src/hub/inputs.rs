//! What a verb works on: files, or standard input.

use std::path::{Path, PathBuf};

/// One input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    Path(PathBuf),
    Stdin,
}

impl Location {
    /// Files.
    pub(crate) fn all<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Vec<Self> {
        paths.into_iter().map(|path| Self::Path(path.into())).collect()
    }

    /// How it is called in messages.
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "<stdin>".to_owned(),
        }
    }

    /// Can it be opened a second time, and have the same bytes? A pipe cannot.
    pub fn is_lasting(&self) -> bool {
        matches!(self, Self::Path(path) if is_lasting(path))
    }
}

/// Is a path that of a file or a folder, which have the same bytes whenever they are opened?
pub(super) fn is_lasting(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() || metadata.is_dir())
}
