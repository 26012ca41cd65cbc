//! Locations of inputs: files, standard input, or open containers.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::Container;

/// One input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    Path(PathBuf),
    Stdin,
    Open(OpenContainer),
}

/// A container that a program has opened, or made of values in memory. Two are equal if they are the same object.
#[derive(Clone)]
pub struct OpenContainer {
    pub(super) container: Arc<dyn Container>,
    name: String,
}

impl fmt::Debug for OpenContainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenContainer").field(&self.name).finish()
    }
}

impl PartialEq for OpenContainer {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.container, &other.container)
    }
}

impl Eq for OpenContainer {}

impl Location {
    /// Files.
    pub(crate) fn all<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Vec<Self> {
        paths.into_iter().map(|path| Self::Path(path.into())).collect()
    }

    /// A container that is open already; `name` stands for it in messages.
    pub fn open_container(name: impl Into<String>, container: Arc<dyn Container>) -> Self {
        Self::Open(OpenContainer { container, name: name.into() })
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "<stdin>".to_owned(),
            Self::Open(open) => open.name.clone(),
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
