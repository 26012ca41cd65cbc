//! A folder into an archive.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, Output, OutputOptions, Progress, Result, Source, Unit};

use super::content::PIECE;
use super::names::{check_name, check_path};
use super::write::{ArchiveWriter, Compression, WriteOptions};

/// How a folder is packed.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct PackOptions {
    /// How files are laid into the archive.
    pub compression: Compression,
    /// What happens when the archive exists, and whether to wait for the disk.
    pub output: OutputOptions,
    /// Files, by path from the root of the store, with content other than the one on disk; there they may be missing.
    pub replace: BTreeMap<String, Source>,
    /// Files, by path from the root of the store, that are left out.
    pub skip: BTreeSet<String>,
    /// Who listens to the progress: bytes of the files.
    pub progress: Option<Arc<dyn Progress>>,
}

impl PackOptions {
    /// Replaces [`compression`](Self::compression).
    #[must_use]
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Replaces [`output`](Self::output).
    #[must_use]
    pub fn with_output(mut self, output: OutputOptions) -> Self {
        self.output = output;
        self
    }

    /// Packs this content at a path, whatever is on disk there.
    #[must_use]
    pub fn replacing(mut self, path: impl Into<String>, content: Source) -> Self {
        self.replace.insert(path.into(), content);
        self
    }

    /// Leaves out the file at a path.
    #[must_use]
    pub fn skipping(mut self, path: impl Into<String>) -> Self {
        self.skip.insert(path.into());
        self
    }

    /// Tells `progress` how far the work is.
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = Some(progress);
        self
    }
}

impl fmt::Debug for PackOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackOptions")
            .field("compression", &self.compression)
            .field("output", &self.output)
            .field("replace", &self.replace)
            .field("skip", &self.skip)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}

/// What was packed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packed {
    /// Files in the archive.
    pub files: u64,
    /// Their bytes, before compression.
    pub bytes: u64,
    /// Bytes of the archive.
    pub packed: u64,
    /// Files of the folder that are none of a store's, and why; they are not in the archive. The lock and temporary files are not told.
    pub left_out: Vec<(String, &'static str)>,
}

/// Packs the store in the folder `tree` into an archive at `target`, which appears whole or not at all: `zds.json`, `collections/` and
/// `metadata/`, in order of their paths. The same tree makes the same bytes, whenever and wherever. Files are read once, piece by
/// piece; only their paths are held.
///
/// # Errors
/// [`Io`](container_core::ErrorKind::Io); [`Usage`](container_core::ErrorKind::Usage) for a folder that is no store, and as
/// [`ArchiveWriter::create`]; [`Unsupported`](container_core::ErrorKind::Unsupported) for a symbolic link or a device in it, with its path;
/// [`Invalid`](container_core::ErrorKind::Invalid) for a file that becomes longer or shorter meanwhile.
pub fn pack(tree: impl AsRef<Path>, target: impl AsRef<Path>, options: &PackOptions) -> Result<Packed> {
    let (output, packed) = pack_unplaced(tree, target, options)?;
    output.finish().map_err(|error| error.in_format("zds"))?;
    Ok(packed)
}

/// The same, up to the archive's place, which [`Output::finish`] gives it: for several outputs that appear together.
///
/// # Errors
/// Those of [`pack`].
pub fn pack_unplaced(
    tree: impl AsRef<Path>,
    target: impl AsRef<Path>,
    options: &PackOptions,
) -> Result<(Output, Packed)> {
    let (tree, target) = (tree.as_ref(), target.as_ref());
    let mut found = Found::default();
    found.walk(tree).map_err(|error| error.in_format("zds"))?;
    found.choose(options);
    let Found { files, folders, left_out, .. } = found;
    let write = WriteOptions::default().with_compression(options.compression).with_output(options.output);
    let mut writer = ArchiveWriter::create(target, &write)?;
    let progress = options.progress.as_deref();
    if let Some(progress) = progress {
        let size = |path: &String| match options.replace.get(path) {
            Some(content) => content.len(),
            None => fs::metadata(tree.join(path)).map_or(0, |metadata| metadata.len()),
        };
        progress.begin(Unit::Bytes, Some(files.iter().map(size).fold(0, u64::saturating_add)));
    }
    let mut packed = Packed { files: files.len() as u64, bytes: 0, packed: 0, left_out };
    // In the order of the directory, which has folders, too.
    let mut folders = folders.iter().peekable();
    for path in &files {
        while let Some(folder) = folders.next_if(|folder| *folder < path) {
            writer.add_folder(folder)?;
        }
        packed.bytes += match options.replace.get(path) {
            Some(content) => {
                writer.add(path, content)?;
                if let Some(progress) = progress {
                    progress.advance(content.len());
                }
                content.len()
            }
            None => add_file(&mut writer, path, &tree.join(path), progress)?,
        };
    }
    for folder in folders {
        writer.add_folder(folder)?;
    }
    let (output, len) = writer.end().map_err(|error| error.in_file(target.display().to_string()))?;
    packed.packed = len;
    Ok((output, packed))
}

fn add_file(writer: &mut ArchiveWriter, path: &str, place: &Path, progress: Option<&dyn Progress>) -> Result<u64> {
    let failed = |doing: &'static str| {
        move |cause| Error::io(doing, cause).in_format("zds").in_file(place.display().to_string())
    };
    let mut file = File::open(place).map_err(failed("cannot open"))?;
    let size = file.metadata().map_err(failed("cannot open"))?.len();
    let done = writer.add_from(path, size, |sink| {
        // A byte more than the size, to see the end.
        let most = size.saturating_add(1).min(PIECE as u64);
        let mut buffer = vec![0; usize::try_from(most).unwrap_or(PIECE)];
        loop {
            let read = match file.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(failed("cannot read")(cause)),
            };
            sink(buffer.get(..read).unwrap_or_default())?;
            if let Some(progress) = progress {
                progress.advance(read as u64);
            }
        }
    });
    done.map(|()| size)
}

/// What a folder holds of a store.
#[derive(Default)]
struct Found {
    files: Vec<String>,
    /// Folders of collections, with a slash.
    folders: Vec<String>,
    left_out: Vec<(String, &'static str)>,
    store: bool,
}

impl Found {
    fn walk(&mut self, tree: &Path) -> Result<()> {
        // Folders that are still to be looked into, by their path from the root, with a slash.
        let mut open = vec![String::new()];
        while let Some(folder) = open.pop() {
            let place = if folder.is_empty() { tree.to_owned() } else { tree.join(&folder) };
            let failed = |cause| Error::io("cannot read the folder", cause).in_file(place.display().to_string());
            for member in fs::read_dir(&place).map_err(failed)? {
                let member = member.map_err(failed)?;
                let name = member.file_name();
                let Some(name) = name.to_str() else {
                    self.left_out.push((format!("{folder}{}", name.to_string_lossy()), "its name is not UTF-8"));
                    continue;
                };
                let kind = member.file_type().map_err(failed)?;
                if passing(name, kind.is_dir()) || (folder.is_empty() && name == ".zds") {
                    continue;
                }
                let path = format!("{folder}{name}");
                let ours = !folder.is_empty() || matches!(name, "zds.json" | "collections" | "metadata");
                if !ours {
                    self.left_out.push((path, "its name is no path of the format"));
                } else if kind.is_dir() {
                    self.store |= path == "collections";
                    if folder == "collections/"
                        && check_path(&format!("{path}/any")).is_ok()
                        && check_name(&path).is_ok()
                    {
                        self.folders.push(format!("{path}/"));
                    }
                    open.push(path + "/");
                } else if kind.is_file() {
                    self.file(path);
                } else {
                    return Err(special(&member.path(), kind.is_symlink()));
                }
            }
        }
        if !self.store {
            let detail = "the folder holds no store: neither collections/ nor zds.json";
            return Err(Error::usage(detail).in_file(tree.display().to_string()));
        }
        Ok(())
    }

    fn file(&mut self, path: String) {
        match check_name(&path).and_then(|()| check_path(&path)) {
            Ok(()) => {
                self.store |= path == "zds.json";
                self.files.push(path);
            }
            Err(why) => self.left_out.push((path, why.text())),
        }
    }

    /// Applies what the caller wants otherwise, and puts all in order.
    fn choose(&mut self, options: &PackOptions) {
        self.files.retain(|path| !options.skip.contains(path) && !options.replace.contains_key(path));
        let added = options.replace.keys().filter(|path| !options.skip.contains(*path));
        self.files.extend(added.cloned());
        self.files.sort_unstable();
        self.left_out.sort_unstable();
        // A folder with files needs no entry of its own.
        let Self { files, folders, .. } = self;
        folders.retain(|folder| {
            let next = files.partition_point(|path| path < folder);
            files.get(next).is_none_or(|path| !path.starts_with(folder.as_str()))
        });
        folders.sort_unstable();
    }
}

/// Is it something that is not there for long?
fn passing(name: &str, folder: bool) -> bool {
    name.ends_with(".tmp") && (!folder || name.starts_with(".wharf-"))
}

fn special(path: &Path, link: bool) -> Error {
    let detail =
        if link { "a symbolic link is not packed" } else { "what is neither a file nor a folder is not packed" };
    Error::unsupported(detail).in_file(PathBuf::from(path).display().to_string())
}
