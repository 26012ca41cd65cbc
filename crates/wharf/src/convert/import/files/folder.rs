//! Finds the files of a folder that match a pattern, following symbolic links safely.

use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::error::Error as _;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use container_core::{Error, Result};

use super::Collect;
use super::glob::{Pattern, State};
use crate::sys::{FolderIdentity, folder_identity};

/// The [source](std::error::Error::source) of an error for a link that leads out of the imported folder.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkOutside {
    /// The link.
    pub link: PathBuf,
    /// Its target.
    pub target: PathBuf,
}

impl LinkOutside {
    /// The cause of an error, if it is a link out of the folder.
    #[must_use]
    pub fn behind(error: &Error) -> Option<&Self> {
        error.source()?.downcast_ref()
    }
}

impl fmt::Display for LinkOutside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.target.display().fmt(f)
    }
}

impl std::error::Error for LinkOutside {}

/// Visits the files below `root` that match, sorted by path components.
///
/// A folder is visited once: by its own path, or, if that does not match, by the first link to it. So links cannot multiply files, and cycles
/// end. A link to a file is another name of it. A link out of `root` is an error unless `follow` is set; a broken link is an error.
pub(super) fn visit_files(root: &Path, pattern: &Pattern, follow: bool, visitor: &mut Collect<'_>) -> Result<()> {
    let inside = if follow { None } else { Some(canonical(root)?) };
    let mut scan = FolderScan {
        root,
        inside,
        pattern,
        folders: vec![(String::new(), pattern.start())],
        links: VecDeque::new(),
        visited: HashMap::new(),
        files: Vec::new(),
        duplicates: Vec::new(),
    };
    loop {
        while let Some((path, state)) = scan.folders.pop() {
            scan.folder(&path, &state, visitor)?;
        }
        // Links come last: a folder's own path takes precedence.
        match scan.links.pop_front() {
            Some(link) => scan.folders.push(link),
            None => break,
        }
    }
    scan.files.sort_unstable_by(|one, other| by_components(one, other));
    scan.files.iter().for_each(|path| visitor.file(path));
    for (link, visited) in &scan.duplicates {
        let start = scan.files.partition_point(|file| by_components(file, visited) == Ordering::Less);
        let is_below = |file: &String| file.strip_prefix(visited).is_some_and(|rest| rest.starts_with('/'));
        if scan.files.get(start).is_some_and(is_below) {
            visitor.duplicate_link(link);
        }
    }
    Ok(())
}

fn by_components(one: &str, other: &str) -> Ordering {
    one.split('/').cmp(other.split('/'))
}

/// Rejects a path out of `root`, a canonical path.
pub(super) fn check_inside(root: &Path, path: &Path) -> Result<()> {
    let target = path
        .canonicalize()
        .map_err(|cause| Error::io("cannot read the file", cause).in_file(path.display().to_string()))?;
    check_target(root, path, target)
}

/// The canonical path of a folder.
pub(super) fn canonical(folder: &Path) -> Result<PathBuf> {
    folder.canonicalize().map_err(|cause| read_dir_error(folder, cause))
}

#[cold]
fn read_dir_error(folder: &Path, cause: io::Error) -> Error {
    Error::io("cannot read the folder", cause).in_file(folder.display().to_string())
}

fn check_target(root: &Path, link: &Path, target: PathBuf) -> Result<()> {
    if target.starts_with(root) {
        return Ok(());
    }
    let error = Error::invalid("the path leads out of the folder").in_file(link.display().to_string());
    Err(error.caused_by(LinkOutside { link: link.to_owned(), target }).advising("{follow} imports it anyway"))
}

struct FolderScan<'a> {
    root: &'a Path,
    /// The canonical root, if links must not lead out of it.
    inside: Option<PathBuf>,
    pattern: &'a Pattern,
    /// Folders to visit, next one last.
    folders: Vec<(String, State)>,
    /// Links to folders, visited last.
    links: VecDeque<(String, State)>,
    /// Visited folders and their paths. The key includes the pattern state: a folder may match differently elsewhere.
    visited: HashMap<(FolderIdentity, Vec<bool>), String>,
    files: Vec<String>,
    /// Links to visited folders, and the paths by which these were visited.
    duplicates: Vec<(String, String)>,
}

impl FolderScan<'_> {
    fn folder(&mut self, path: &str, state: &State, visitor: &mut Collect<'_>) -> Result<()> {
        let folder = self.root.join(path);
        let cannot = |cause| read_dir_error(&folder, cause);
        match self.visited.entry((folder_identity(&folder).map_err(cannot)?, state.continuation().to_vec())) {
            Entry::Occupied(visited) => {
                self.duplicates.push((path.to_owned(), visited.get().clone()));
                return Ok(());
            }
            Entry::Vacant(new) => new.insert(path.to_owned()),
        };
        let mut entries = fs::read_dir(&folder).map_err(cannot)?.collect::<io::Result<Vec<_>>>().map_err(cannot)?;
        entries.sort_unstable_by_key(fs::DirEntry::file_name);
        let first = self.folders.len();
        for entry in entries {
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                // Only if it could match.
                if self.pattern.step(state, &name.to_string_lossy()).matters() {
                    let error = Error::unsupported("the file name is not valid UTF-8, as keys must be");
                    return Err(error.in_file(entry.path().display().to_string()));
                }
                continue;
            };
            let state = self.pattern.step(state, name);
            if state.matters() {
                let path = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
                self.entry(&entry, path, state, visitor)?;
            }
        }
        // The stack pops from the end.
        if let Some(new) = self.folders.get_mut(first..) {
            new.reverse();
        }
        Ok(())
    }

    fn entry(&mut self, entry: &fs::DirEntry, path: String, state: State, visitor: &mut Collect<'_>) -> Result<()> {
        let cannot = |cause| Error::io("cannot read its metadata", cause).in_file(entry.path().display().to_string());
        let mut kind = entry.file_type().map_err(cannot)?;
        let is_link = kind.is_symlink();
        if is_link {
            if visitor.table.is_excluded(&path) {
                return Ok(());
            }
            kind = match fs::metadata(entry.path()) {
                Ok(metadata) => metadata.file_type(),
                Err(_) if !visitor.table.is_included(&path) => return Ok(()),
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                    let target = fs::read_link(entry.path()).map_err(cannot)?;
                    let error = Error::invalid(format!("broken link: {} does not exist", target.display()));
                    return Err(error.in_file(entry.path().display().to_string()));
                }
                Err(cause) => return Err(cannot(cause)),
            };
            let is_wanted =
                if kind.is_dir() { state.may_continue() } else { state.is_match() && visitor.table.is_included(&path) };
            if !is_wanted {
                return Ok(());
            }
            let link = entry.path();
            let target = link.canonicalize().map_err(cannot)?;
            // A link to an enclosing folder is a cycle and adds nothing.
            if kind.is_dir()
                && link.parent().is_some_and(|folder| canonical(folder).is_ok_and(|path| path.starts_with(&target)))
            {
                return Ok(());
            }
            if let Some(inside) = &self.inside {
                check_target(inside, &link, target)?;
            }
        }
        if kind.is_dir() {
            if state.may_continue() {
                if is_link { self.links.push_back((path, state)) } else { self.folders.push((path, state)) }
            }
        } else if state.is_match() {
            if kind.is_file() { self.files.push(path) } else { visitor.other(&path) }
        }
        Ok(())
    }
}

impl State {
    /// Whether the path or a longer one may match.
    fn matters(&self) -> bool {
        self.is_match() || self.may_continue()
    }
}
