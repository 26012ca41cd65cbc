//! Locations of inputs: files, standard input, or open containers.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
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
    glob::Pattern::new(pattern).map_err(|cause| Error::usage("invalid pattern").caused_by(cause).in_file(name()))?;
    let parts: Vec<Component<'_>> = Path::new(pattern).components().collect();
    let mut paths = Vec::new();
    add_matches(PathBuf::new(), &parts, &mut paths)?;
    paths.sort();
    paths.dedup();
    if pattern.ends_with(std::path::is_separator) {
        paths.retain(|path| path.is_dir());
    }
    if paths.is_empty() {
        let cause = io::Error::new(io::ErrorKind::NotFound, "no file matches the pattern");
        return Err(Error::io("cannot open", cause).in_file(name()));
    }
    Ok(Location::all(paths))
}

/// Adds the paths below a folder that match the parts of a pattern. A name that is not UTF-8 matches nothing, and one that begins with a dot only
/// a part that does. (`glob::glob_with` panics for the former.)
fn add_matches(folder: PathBuf, parts: &[Component<'_>], paths: &mut Vec<PathBuf>) -> Result<()> {
    let Some((part, rest)) = parts.split_first() else {
        paths.extend(Some(folder).filter(|folder| !folder.as_os_str().is_empty()));
        return Ok(());
    };
    let part = match part {
        Component::CurDir => return add_matches(folder, rest, paths),
        Component::Normal(name) => name.to_str().filter(|name| name.contains(['*', '?', '['])),
        Component::Prefix(_) | Component::RootDir | Component::ParentDir => None,
    };
    let Some(part) = part else {
        let path = parts.first().map_or_else(PathBuf::new, |part| folder.join(part));
        return if path.symlink_metadata().is_ok() { add_matches(path, rest, paths) } else { Ok(()) };
    };
    let is_recursive = part == "**";
    if is_recursive {
        add_matches(folder.clone(), rest, paths)?;
    }
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
    if !listed.is_dir() {
        return Ok(());
    }
    let named = |cause: io::Error| Error::io("cannot read the folder", cause).in_file(listed.display().to_string());
    // Without a part that is no valid pattern on its own nothing matches.
    let Ok(pattern) = glob::Pattern::new(part) else { return Ok(()) };
    for entry in fs::read_dir(listed).map_err(named)? {
        let name = entry.map_err(named)?.file_name();
        let Some(text) = name.to_str() else { continue };
        if (text.starts_with('.') && !part.starts_with('.')) || !pattern.matches(text) {
            continue;
        }
        let path = folder.join(&name);
        match is_recursive {
            true if path.is_dir() => add_matches(path, parts, paths)?,
            true => {}
            false => add_matches(path, rest, paths)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_by_components() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.csv", "b.csv", ".c.csv", "d/e.csv", "d/.f/g.csv", "d/h/i.csv", ".j/k.csv", "l[1].csv"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x\n1\n").unwrap();
        }
        // A name that is not UTF-8, where the file system has such.
        #[cfg(unix)]
        let _ = fs::write(folder.path().join(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff.csv")), "");
        let found = |pattern: &str| -> Vec<String> {
            let locations = expand_one(folder.path().join(pattern).as_os_str()).unwrap();
            let names = locations.iter().map(|location| match location {
                Location::Path(path) => path.strip_prefix(folder.path()).unwrap().to_str().unwrap().replace('\\', "/"),
                other => other.name(),
            });
            names.collect()
        };
        for (pattern, expected) in [
            ("*.csv", &["a.csv", "b.csv", "l[1].csv"][..]),
            ("[ab].csv", &["a.csv", "b.csv"]),
            ("?.csv", &["a.csv", "b.csv"]),
            (".*.csv", &[".c.csv"]),
            ("*/*.csv", &["d/e.csv"]),
            (".j/*", &[".j/k.csv"]),
            ("**/*.csv", &["a.csv", "b.csv", "d/e.csv", "d/h/i.csv", "l[1].csv"]),
            ("d/**/*.csv", &["d/e.csv", "d/h/i.csv"]),
            ("d/../[a]*", &["d/../a.csv"]),
            ("*/e.csv", &["d/e.csv"]),
            ("*/", &["d"]),
            ("l[1].csv", &["l[1].csv"]),
        ] {
            assert_eq!(found(pattern), expected, "{pattern}");
        }
        let error = |pattern: &str| expand_one(folder.path().join(pattern).as_os_str()).unwrap_err().to_string();
        assert!(error("x*.csv").contains("no file matches the pattern"));
        assert!(error("a.csv/*").contains("no file matches the pattern"));
        assert!(error("a[").contains("invalid pattern"));
    }
}
