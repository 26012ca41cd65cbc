//! The files of a dataset and their names.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A file of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The samples.
    Data,
    /// The start offset of each sample and the end offset of the last.
    Offsets,
    /// The key of every sample.
    Keys,
    /// A hash of every key.
    KeyHashes,
    /// A Bloom filter over all keys.
    Filter,
    /// The MD5 sums of the other files.
    Md5,
    /// The index of older datasets: keys and offsets in one file.
    LegacyIndex,
}

impl Part {
    /// The suffix appended to the data file's name, such as `.offsets`; empty for the data.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Data => "",
            Self::Offsets => ".offsets",
            Self::Keys => ".keys",
            Self::KeyHashes => ".key_hashes",
            Self::Filter => ".filter",
            Self::Md5 => ".md5",
            Self::LegacyIndex => ".index",
        }
    }

    /// The index files that a writer makes, in the order in which Python lists their sums.
    pub(crate) const INDEX: [Self; 4] = [Self::Offsets, Self::Keys, Self::KeyHashes, Self::Filter];

    /// Every file that can accompany the data.
    pub(crate) const BESIDE: [Self; 6] =
        [Self::Offsets, Self::Keys, Self::KeyHashes, Self::Filter, Self::Md5, Self::LegacyIndex];
}

/// The paths of a dataset's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileSet {
    data: PathBuf,
}

impl FileSet {
    /// Whether either kind of index exists.
    pub(crate) fn has_index(&self) -> bool {
        [Part::Offsets, Part::LegacyIndex].into_iter().any(|part| self.path(part).is_file())
    }

    /// The set of this data file.
    pub(crate) fn new(data: impl Into<PathBuf>) -> Self {
        Self { data: data.into() }
    }

    /// The set of a companion file, derived from its name; the data file need not exist.
    pub(crate) fn beside(member: &Path) -> Option<Self> {
        let name = member.file_name()?.to_str()?;
        let part = Part::BESIDE.into_iter().find(|part| name.ends_with(part.suffix()))?;
        let data = name.strip_suffix(part.suffix()).filter(|data| !data.is_empty())?;
        Some(Self::new(member.with_file_name(data)))
    }

    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    pub(crate) fn path(&self, part: Part) -> PathBuf {
        let mut name: OsString = self.data.file_name().unwrap_or_default().to_owned();
        name.push(part.suffix());
        self.data.with_file_name(name)
    }

    /// The first companion file that exists.
    pub(crate) fn any_beside(&self) -> Option<PathBuf> {
        Part::BESIDE.into_iter().map(|part| self.path(part)).find(|path| path.symlink_metadata().is_ok())
    }

    /// A part's file name without its folder, as listed in `.md5`.
    pub(crate) fn name(&self, part: Part) -> String {
        self.path(part).file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn companion_paths_lead_to_the_data() {
        let set = FileSet::new("some/d.msgpack");
        for part in Part::BESIDE {
            assert_eq!(FileSet::beside(&set.path(part)).as_ref(), Some(&set), "{part:?}");
        }
        assert_eq!(FileSet::beside(Path::new("x/.keys")), None);
        assert_eq!(FileSet::new("x/d.msgpack").name(Part::KeyHashes), "d.msgpack.key_hashes");
        assert_eq!(FileSet::beside(Path::new("d.msgpack")), None);
    }
}
