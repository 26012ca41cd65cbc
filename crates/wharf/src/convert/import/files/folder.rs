//! The files of a folder.

use std::fs;
use std::path::{Path, PathBuf};

use container_core::{Error, Result};

use super::glob::{Pattern, State};

/// Folders may be nested so deep.
const MOST_DEPTH: usize = 256;

/// What is found in a folder.
pub(super) trait Found {
    /// A file whose path matches, with `/` between its components, relative to the folder.
    fn file(&mut self, path: &str) -> Result<()>;
    /// Something whose path matches and that is no file and no folder.
    fn other(&mut self, path: &str, why: &'static str);
}

/// Shows the files below `root` whose path matches, names in the order of their bytes. Links are followed, but for one that leads back to a
/// folder it lies in.
pub(super) fn walk(root: &Path, pattern: &Pattern, found: &mut dyn Found) -> Result<()> {
    let mut walk = Walk { root, pattern, found, above: Vec::new() };
    walk.folder("", &pattern.start())
}

struct Walk<'a> {
    root: &'a Path,
    pattern: &'a Pattern,
    found: &'a mut dyn Found,
    /// The folders that the current one lies in, by their real paths.
    above: Vec<PathBuf>,
}

impl Walk<'_> {
    fn folder(&mut self, path: &str, state: &State) -> Result<()> {
        let folder = self.root.join(path);
        let cannot = |cause| Error::io("cannot look into the folder", cause).in_file(folder.display().to_string());
        let real = folder.canonicalize().map_err(cannot)?;
        if self.above.contains(&real) {
            return Ok(());
        }
        if self.above.len() == MOST_DEPTH {
            let error = Error::limit("nesting of folders", MOST_DEPTH as u64 + 1, MOST_DEPTH as u64);
            return Err(error.in_file(folder.display().to_string()));
        }
        self.above.push(real);
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder).map_err(cannot)? {
            names.push(entry.map_err(cannot)?.file_name());
        }
        names.sort_unstable();
        for name in names {
            let Some(text) = name.to_str() else {
                // Only where it could have mattered.
                if self.pattern.step(state, &name.to_string_lossy()).matters() {
                    let error = Error::unsupported("the name is not UTF-8, which keys are");
                    return Err(error.in_file(folder.join(&name).display().to_string()));
                }
                continue;
            };
            let next = self.pattern.step(state, text);
            if next.matters() {
                let path = if path.is_empty() { text.to_owned() } else { format!("{path}/{text}") };
                self.entry(&path, &next)?;
            }
        }
        self.above.pop();
        Ok(())
    }

    fn entry(&mut self, path: &str, state: &State) -> Result<()> {
        let full = self.root.join(path);
        let whole = state.is_whole();
        match fs::metadata(&full) {
            Ok(metadata) if metadata.is_dir() => match state.goes_on() {
                true => self.folder(path, state),
                false => Ok(()),
            },
            Ok(metadata) if metadata.is_file() => {
                if whole {
                    self.found.file(path)
                } else {
                    Ok(())
                }
            }
            Ok(_) => {
                if whole {
                    self.found.other(path, "what is no file left out");
                }
                Ok(())
            }
            // A link is there, what it leads to is not.
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound && full.is_symlink() => {
                if whole {
                    self.found.other(path, "link that leads nowhere left out");
                }
                Ok(())
            }
            Err(cause) => Err(Error::io("cannot look at it", cause).in_file(full.display().to_string())),
        }
    }
}

impl State {
    /// The path matches, or one that goes on may.
    fn matters(&self) -> bool {
        self.is_whole() || self.goes_on()
    }
}
