//! Packs a directory into an archive.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, Output, OutputOptions, Progress, Result, Source, Unit};

use super::content::BLOCK_BYTES;
use super::names::{check_name, check_path};
use super::write::{ArchiveWriter, Compression, WriteOptions};

/// Options for packing.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct PackOptions {
    /// Compression of files.
    pub compression: Compression,
    /// What to do if the archive exists, and whether to sync it.
    pub output: OutputOptions,
    /// Contents to pack for these paths, instead of the files on disk, which may be missing.
    pub replace: BTreeMap<String, Source>,
    /// Paths to leave out.
    pub skip: BTreeSet<String>,
    /// Receives progress reports, in bytes of the files.
    pub progress: Option<Arc<dyn Progress>>,
}

impl PackOptions {
    /// Sets [`compression`](Self::compression).
    #[must_use]
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Sets [`output`](Self::output).
    #[must_use]
    pub fn with_output(mut self, output: OutputOptions) -> Self {
        self.output = output;
        self
    }

    /// Adds a path to [`replace`](Self::replace).
    #[must_use]
    pub fn replacing(mut self, path: impl Into<String>, content: Source) -> Self {
        self.replace.insert(path.into(), content);
        self
    }

    /// Adds a path to [`skip`](Self::skip).
    #[must_use]
    pub fn skipping(mut self, path: impl Into<String>) -> Self {
        self.skip.insert(path.into());
        self
    }

    /// Sets [`progress`](Self::progress).
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

/// Result of [`pack`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackSummary {
    /// Number of files in the archive.
    pub files: u64,
    /// Their total length in bytes, before compression.
    pub bytes: u64,
    /// Length of the archive in bytes.
    pub packed: u64,
    /// Files in the directory that do not belong to a store, and why. They are not packed. Does not list the lock and temporary files.
    pub skipped: Vec<(String, &'static str)>,
}

/// Packs the store in the directory `tree` into an archive at `target`, atomically: `zds.json`, `collections/` and `metadata/`, sorted by path.
/// The same files always give the same bytes. Files are read once, block by block; only their paths are kept in memory.
///
/// # Errors
/// [`Io`](container_core::ErrorKind::Io); [`Usage`](container_core::ErrorKind::Usage) if the directory is not a store, and as
/// [`ArchiveWriter::create`]; [`Unsupported`](container_core::ErrorKind::Unsupported) for a symbolic link or special file, with its path;
/// [`Invalid`](container_core::ErrorKind::Invalid) if a file changes its length in the meantime.
pub fn pack(tree: impl AsRef<Path>, target: impl AsRef<Path>, options: &PackOptions) -> Result<PackSummary> {
    let (output, packed) = pack_to_output(tree, target, options)?;
    output.finish().map_err(|error| error.in_format("zds"))?;
    Ok(packed)
}

/// As [`pack`], but leaves it to the caller to call [`Output::finish`], so that several outputs can appear together.
///
/// # Errors
/// Those of [`pack`].
pub fn pack_to_output(
    tree: impl AsRef<Path>,
    target: impl AsRef<Path>,
    options: &PackOptions,
) -> Result<(Output, PackSummary)> {
    let (tree, target) = (tree.as_ref(), target.as_ref());
    let mut store_files = StoreFiles::default();
    store_files.scan(tree).map_err(|error| error.in_format("zds"))?;
    store_files.apply(options);
    let StoreFiles { files, folders, skipped, .. } = store_files;
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
    let mut packed = PackSummary { files: files.len() as u64, bytes: 0, packed: 0, skipped };
    // Sorted, with directories in between.
    let mut folders = folders.iter().peekable();
    for path in &files {
        while let Some(folder) = folders.next_if(|folder| *folder < path) {
            writer.add_folder(folder)?;
        }
        packed.bytes += match options.replace.get(path) {
            Some(content) => {
                writer.add(path, content)?;
                if let Some(progress) = progress {
                    progress.advance(content.len())?;
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

fn add_file(
    writer: &mut ArchiveWriter,
    path: &str,
    path_on_disk: &Path,
    progress: Option<&dyn Progress>,
) -> Result<u64> {
    let failed = |doing: &'static str| {
        move |cause| Error::io(doing, cause).in_format("zds").in_file(path_on_disk.display().to_string())
    };
    let mut file = File::open(path_on_disk).map_err(failed("cannot open"))?;
    let size = file.metadata().map_err(failed("cannot open"))?.len();
    let done = writer.add_from(path, size, |sink| {
        // One byte more than the size, to detect the end.
        let len = size.saturating_add(1).min(BLOCK_BYTES as u64);
        let mut buffer = vec![0; usize::try_from(len).unwrap_or(BLOCK_BYTES)];
        loop {
            let read = match file.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(failed("cannot read")(cause)),
            };
            sink(buffer.get(..read).unwrap_or_default())?;
            if let Some(progress) = progress {
                progress.advance(read as u64)?;
            }
        }
    });
    done.map(|()| size)
}

/// The files of a store in a directory.
#[derive(Default)]
struct StoreFiles {
    files: Vec<String>,
    /// Directories of collections, with a trailing slash.
    folders: Vec<String>,
    skipped: Vec<(String, &'static str)>,
    has_store: bool,
}

impl StoreFiles {
    fn scan(&mut self, tree: &Path) -> Result<()> {
        // Directories still to be scanned, by path from the root with a trailing slash.
        let mut open = vec![String::new()];
        while let Some(folder) = open.pop() {
            let path_on_disk = if folder.is_empty() { tree.to_owned() } else { tree.join(&folder) };
            let failed =
                |cause| Error::io("cannot read the directory", cause).in_file(path_on_disk.display().to_string());
            for member in fs::read_dir(&path_on_disk).map_err(failed)? {
                let member = member.map_err(failed)?;
                let name = member.file_name();
                let Some(name) = name.to_str() else {
                    self.skipped.push((format!("{folder}{}", name.to_string_lossy()), "the name is not valid UTF-8"));
                    continue;
                };
                let kind = member.file_type().map_err(failed)?;
                if is_temporary(name, kind.is_dir()) || (folder.is_empty() && name == ".zds") {
                    continue;
                }
                let path = format!("{folder}{name}");
                let is_ours = !folder.is_empty() || matches!(name, "zds.json" | "collections" | "metadata");
                if !is_ours {
                    self.skipped.push((path, "not a path of a store"));
                } else if kind.is_dir() {
                    self.has_store |= path == "collections";
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
                    return Err(unsupported(&member.path(), kind.is_symlink()));
                }
            }
        }
        if !self.has_store {
            let detail = "the directory is not a store: neither collections/ nor zds.json in it";
            return Err(Error::usage(detail).in_file(tree.display().to_string()));
        }
        Ok(())
    }

    fn file(&mut self, path: String) {
        match check_name(&path).and_then(|()| check_path(&path)) {
            Ok(()) => {
                self.has_store |= path == "zds.json";
                self.files.push(path);
            }
            Err(reason) => self.skipped.push((path, reason.text())),
        }
    }

    /// Applies the options, and sorts.
    fn apply(&mut self, options: &PackOptions) {
        self.files.retain(|path| !options.skip.contains(path) && !options.replace.contains_key(path));
        let added = options.replace.keys().filter(|path| !options.skip.contains(*path));
        self.files.extend(added.cloned());
        self.files.sort_unstable();
        self.skipped.sort_unstable();
        // Directories with files need no entry.
        let Self { files, folders, .. } = self;
        folders.retain(|folder| {
            let next = files.partition_point(|path| path < folder);
            files.get(next).is_none_or(|path| !path.starts_with(folder.as_str()))
        });
        folders.sort_unstable();
    }
}

/// Whether a file or directory is temporary.
fn is_temporary(name: &str, folder: bool) -> bool {
    name.ends_with(".tmp") && (!folder || name.starts_with(".wharf-"))
}

fn unsupported(path: &Path, link: bool) -> Error {
    let detail = if link { "cannot pack a symbolic link" } else { "cannot pack a special file" };
    Error::unsupported(detail).in_file(PathBuf::from(path).display().to_string())
}
