//! Locations of inputs: files, standard input, or open containers.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs, io};

use container_core::{Container, Error, Result};

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

/// The inputs that one argument names. The path of an existing file is never a pattern, whatever characters it contains.
pub fn expand_one(argument: &OsStr) -> Result<Vec<Location>> {
    if argument == "-" {
        return Ok(vec![Location::Stdin]);
    }
    let name = || argument.display().to_string();
    let missing = match fs::symlink_metadata(argument) {
        Ok(_) => return Ok(vec![Location::Path(argument.into())]),
        Err(cause) => Error::io("cannot open", cause).in_file(name()),
    };
    let Some(pattern) = argument.to_str().filter(|text| text.contains(['*', '?', '['])) else {
        return Err(missing);
    };
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::default() };
    let matches = glob::glob_with(pattern, options)
        .map_err(|cause| Error::usage("invalid pattern").caused_by(cause).in_file(name()))?;
    let mut locations = Vec::new();
    for entry in matches {
        let path = entry.map_err(|cause| {
            let folder = cause.path().display().to_string();
            Error::io("cannot read the folder", cause.into()).in_file(folder)
        })?;
        locations.push(Location::Path(path));
    }
    if locations.is_empty() {
        let cause = io::Error::new(io::ErrorKind::NotFound, "no file matches the pattern");
        return Err(Error::io("cannot open", cause).in_file(name()));
    }
    Ok(locations)
}
