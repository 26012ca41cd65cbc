//! Writes files into a folder, a tar archive or a ZIP archive; all of them or none.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use container_core::{Error, Output, OutputFolder, OutputOptions, Overwrite, Result, SyncPolicy};
use rawzip::{CompressionMethod, ZipArchiveWriter};

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArchiveForm {
    /// A folder.
    Folder,
    /// A tar archive, such as a shard of WebDataset.
    Tar,
    /// A ZIP archive; its files are stored, not compressed.
    Zip,
}

impl ArchiveForm {
    /// The form that an extension stands for: a folder without one of an archive.
    ///
    /// # Errors
    /// The extension is that of a compressed archive, or the path is that of standard output.
    pub fn of(path: &Path) -> Result<Self> {
        const COMPRESSED: [&str; 9] = ["gz", "tgz", "bz2", "tbz2", "xz", "txz", "zst", "tzst", "7z"];
        if path == Path::new("-") {
            return Err(Error::usage(
                "files are written into a folder or an archive, not standard output: give a path",
            ));
        }
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        if COMPRESSED.iter().any(|compressed| extension == *compressed) {
            let error = Error::usage("compressed archives are not written; expected a folder, .tar or .zip");
            return Err(error.in_file(path.display().to_string()));
        }
        Ok(if extension == "tar" {
            Self::Tar
        } else if extension == "zip" {
            Self::Zip
        } else {
            Self::Folder
        })
    }
}

/// A folder or archive that is being written.
pub(super) enum Archive {
    Folder(OutputFolder),
    Tar(tar::Builder<BufWriter<Output>>),
    Zip(ZipArchiveWriter<BufWriter<Output>>),
}

impl Archive {
    pub(super) fn create(form: ArchiveForm, path: &Path, options: OutputOptions) -> Result<Self> {
        let buffered = |output| BufWriter::with_capacity(1 << 20, output);
        Ok(match form {
            ArchiveForm::Folder => Self::Folder(OutputFolder::create(path)?),
            ArchiveForm::Tar => Self::Tar(tar::Builder::new(buffered(Output::create(path, options)?))),
            ArchiveForm::Zip => Self::Zip(ZipArchiveWriter::new(buffered(Output::create(path, options)?))),
        })
    }

    pub(super) const fn is_tar(&self) -> bool {
        matches!(self, Self::Tar(_))
    }

    /// Adds a file. Its name has been checked.
    pub(super) fn add(&mut self, name: &str, content: &[u8]) -> Result<()> {
        let added = match self {
            Self::Folder(folder) => write_file(&folder.path().join(name), content),
            Self::Tar(tar) => {
                let mut header = tar::Header::new_gnu();
                header.set_size(content.len() as u64);
                header.set_mode(0o644);
                header.set_mtime(0);
                tar.append_data(&mut header, name, content)
            }
            Self::Zip(zip) => zip_file(zip, name, content),
        };
        added.map_err(|cause| Error::io("cannot write the file", cause).in_key(name.to_owned()))
    }

    /// Moves it into place.
    pub(super) fn finish(self, overwrite: Overwrite) -> Result<()> {
        let failed = |cause| Error::io("cannot write the archive", cause);
        let output = match self {
            Self::Folder(folder) => return folder.commit(overwrite, SyncPolicy::Disk),
            Self::Tar(tar) => tar.into_inner().map_err(failed)?,
            Self::Zip(zip) => zip.finish().map_err(|error| failed(io::Error::other(error)))?,
        };
        output.into_inner().map_err(|error| failed(error.into_error()))?.finish()
    }
}

fn write_file(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = File::create_new(path)?;
    file.write_all(content)?;
    file.sync_data()
}

fn zip_file(zip: &mut ZipArchiveWriter<BufWriter<Output>>, name: &str, content: &[u8]) -> io::Result<()> {
    let file = zip.new_file(name).compression_method(CompressionMethod::STORE).unix_permissions(0o644);
    let (mut entry, config) = file.start().map_err(io::Error::other)?;
    let mut writer = config.wrap(&mut entry);
    writer.write_all(content)?;
    let (_, written) = writer.finish().map_err(io::Error::other)?;
    entry.finish(written).map(drop).map_err(io::Error::other)
}
