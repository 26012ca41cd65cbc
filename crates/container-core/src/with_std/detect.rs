use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::with_std::container::{Container, Loss};
use crate::with_std::output::OutputOptions;
use crate::with_std::source::{Access, Source};

/// Maximum length of [`Probe::head`] in bytes.
const HEAD_LEN: u64 = 4096;

/// A dataset format: recognizes, opens and, where implemented, writes and recovers its files.
///
/// Formats are values in a registry; tools never match on a format's name.
pub trait Format: Send + Sync {
    /// The name in lower case, such as `idv`.
    fn name(&self) -> &'static str;

    /// File extensions in lower case, without the dot.
    fn extensions(&self) -> &'static [&'static str];

    /// Decides whether an input is of this format. Called for every input, so it should be cheap.
    fn recognize(&self, probe: &Probe<'_>) -> Recognition;

    /// Opens the container.
    ///
    /// # Errors
    /// Errors of the input with their position, and I/O errors.
    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>>;

    /// Whether [`batch_writer`](Self::batch_writer) is implemented.
    fn is_writable(&self) -> bool {
        false
    }

    /// Creates a file of this format at `path`. It appears when the writer is [finished](crate::arrow::BatchWriter::finish).
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if the format is read-only (the default), or has no equivalent of a column's type;
    /// [`Usage`](crate::ErrorKind::Usage) for a schema the format cannot represent, and for an output that exists and may not be replaced.
    #[cfg(feature = "arrow")]
    fn batch_writer(
        &self,
        path: &Path,
        schema: arrow_schema::SchemaRef,
        options: OutputOptions,
    ) -> Result<Box<dyn crate::arrow::BatchWriter>> {
        let _ = (path, schema, options);
        Err(Error::unsupported("writing this format is not supported").in_format(self.name()))
    }

    /// Salvages a damaged file: copies its intact records to a new file, which appears atomically at `path`. For formats that can find the
    /// next record after a damaged one.
    ///
    /// Returns `None` if the format has no recovery of its own (the default). Callers then read row ranges, provided that the file opens and
    /// its table knows its [`len`](crate::Table::len), and write them with [`batch_writer`](Self::batch_writer).
    ///
    /// # Errors
    /// The input cannot be read or has no intact record; the output exists and may not be replaced, or cannot be written.
    fn recover(
        &self,
        input: &Input,
        options: &OpenOptions,
        path: &Path,
        output: OutputOptions,
    ) -> Result<Option<RecoverReport>> {
        let _ = (input, options, path, output);
        Ok(None)
    }
}

/// The result of [`Format::recover`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoverReport {
    /// Number of recovered rows.
    pub rows: u64,
    /// What could not be recovered.
    pub losses: Vec<Loss>,
}

impl RecoverReport {
    /// Creates a report.
    #[must_use]
    pub fn new(rows: u64, losses: Vec<Loss>) -> Self {
        Self { rows, losses }
    }
}

/// How certain a [`Format`] is that an input is its own, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Recognition {
    /// The input is of another format.
    No,
    /// The file name matches.
    Name,
    /// The content matches.
    Content,
}

/// The part of an input that [`Format::recognize`] examines.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Probe<'a> {
    /// The path, unless the input is a stream.
    pub path: Option<&'a Path>,
    /// The input is a directory.
    pub directory: bool,
    /// The first bytes of the file, up to 4096.
    pub head: &'a [u8],
    /// The whole file, for formats whose signature is not at its beginning (the directory of a ZIP archive is at the end). Read it only
    /// if the head is inconclusive, and as little as possible: every format probes every file.
    pub source: Option<&'a Source>,
}

impl<'a> Probe<'a> {
    /// Creates a probe of a file from its first bytes.
    #[must_use]
    pub const fn new(path: Option<&'a Path>, head: &'a [u8]) -> Self {
        Self { path, directory: false, head, source: None }
    }

    /// Creates a probe of a directory.
    #[must_use]
    pub const fn directory(path: &'a Path) -> Self {
        Self { path: Some(path), directory: true, head: &[], source: None }
    }

    /// Replaces [`source`](Self::source).
    #[must_use]
    pub const fn with_source(mut self, source: &'a Source) -> Self {
        self.source = Some(source);
        self
    }

    /// Returns true if the path has one of these extensions, ignoring case.
    #[must_use]
    pub fn has_extension(&self, extensions: &[&str]) -> bool {
        let extension = self.path.and_then(Path::extension).and_then(OsStr::to_str);
        extension.is_some_and(|actual| extensions.iter().any(|known| known.eq_ignore_ascii_case(actual)))
    }

    /// By content, else a file by its extension.
    #[must_use]
    pub fn by_content_or_name(&self, is_content: bool, extensions: &[&str]) -> Recognition {
        match is_content {
            true => Recognition::Content,
            false if !self.directory && self.has_extension(extensions) => Recognition::Name,
            false => Recognition::No,
        }
    }
}

/// An input to open: a file, a directory, a stream without a path, or a container that is open already. A file may be one of a set.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Input {
    /// An open file and its path.
    File {
        /// The path.
        path: PathBuf,
        /// The content.
        source: Source,
    },
    /// A directory.
    Directory(PathBuf),
    /// Content without a path, such as stdin.
    Stream(Source),
    /// An open container, such as one made of values in memory. It is used as it is: no format has to recognize it.
    Container(Arc<dyn Container>),
}

impl Input {
    /// Opens a file or a directory.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) if the path does not exist or cannot be read.
    pub fn open(path: impl Into<PathBuf>, access: Access) -> Result<Self> {
        let path = path.into();
        if path.is_dir() {
            return Ok(Self::Directory(path));
        }
        let source = Source::open_with(&path, access)?;
        Ok(Self::File { path, source })
    }

    /// The path of a file or directory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File { path, .. } | Self::Directory(path) => Some(path),
            Self::Stream(_) | Self::Container(_) => None,
        }
    }

    /// The content of a file or stream.
    #[must_use]
    pub fn source(&self) -> Option<&Source> {
        match self {
            Self::File { source, .. } | Self::Stream(source) => Some(source),
            Self::Directory(_) | Self::Container(_) => None,
        }
    }
}

/// Options for [`Format::open`].
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    /// How local files are read.
    pub access: Access,
    /// Bounds on the resources the reader spends.
    pub limits: Limits,
}

impl OpenOptions {
    /// Replaces [`access`](Self::access).
    #[must_use]
    pub const fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Replaces [`limits`](Self::limits).
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

/// Finds the format of an input. A match by content beats a match by name; among equals the first in `formats` wins.
///
/// # Errors
/// [`Unsupported`](crate::ErrorKind::Unsupported) listing the known formats if none matches; I/O errors.
pub fn detect<'f>(formats: &[&'f dyn Format], input: &Input) -> Result<&'f dyn Format> {
    let head = match input.source() {
        Some(source) => source.read(0..source.len().min(HEAD_LEN))?,
        None => bytes::Bytes::new(),
    };
    let probe = match input {
        Input::Directory(path) => Probe::directory(path),
        Input::File { path, source } => Probe::new(Some(path), &head).with_source(source),
        Input::Stream(source) => Probe::new(None, &head).with_source(source),
        Input::Container(container) => {
            let name = container.format();
            let missing =
                || Error::unsupported(format!("an open container of the format {name}, which is not registered"));
            return formats.iter().find(|format| format.name() == name).copied().ok_or_else(missing);
        }
    };
    let mut best = (Recognition::No, None);
    for format in formats {
        let recognition = format.recognize(&probe);
        if recognition > best.0 {
            best = (recognition, Some(*format));
        }
    }
    best.1.ok_or_else(|| {
        let names: Vec<_> = formats.iter().map(|format| format.name()).collect();
        let description = match (input.source(), head.get(..head.len().min(8))) {
            (Some(_), Some([])) => "empty file".to_owned(),
            (Some(_), Some(start)) => format!("begins with {}", hex(start)),
            _ => "directory".to_owned(),
        };
        Error::unsupported(format!("unrecognized format (known: {}): {description}", names.join(", ")))
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Magic(&'static str, &'static [u8]);

    impl Format for Magic {
        fn name(&self) -> &'static str {
            self.0
        }
        fn extensions(&self) -> &'static [&'static str] {
            &["dat"]
        }
        fn recognize(&self, probe: &Probe<'_>) -> Recognition {
            if probe.head.starts_with(self.1) {
                Recognition::Content
            } else if probe.has_extension(self.extensions()) {
                Recognition::Name
            } else {
                Recognition::No
            }
        }
        fn open(&self, _: &Input, _: &OpenOptions) -> Result<Box<dyn Container>> {
            Err(Error::unsupported("a test format"))
        }
    }

    fn file(path: &str, content: &'static [u8]) -> Input {
        Input::File { path: path.into(), source: Source::from(content) }
    }

    /// A format whose signature is the last byte of the file.
    struct Tail;

    impl Format for Tail {
        fn name(&self) -> &'static str {
            "tail"
        }
        fn extensions(&self) -> &'static [&'static str] {
            &[]
        }
        fn recognize(&self, probe: &Probe<'_>) -> Recognition {
            let last = probe.source.and_then(|source| source.read(source.len().checked_sub(1)?..source.len()).ok());
            if last.is_some_and(|last| last == "T") { Recognition::Content } else { Recognition::No }
        }
        fn open(&self, _: &Input, _: &OpenOptions) -> Result<Box<dyn Container>> {
            Err(Error::unsupported("a test format"))
        }
    }

    #[test]
    fn signature_may_be_past_the_head() {
        let mut bytes = vec![0; 100_000];
        let formats: [&dyn Format; 1] = [&Tail];
        let detected = |input: Input| detect(&formats, &input).map(Format::name).ok();
        assert_eq!(detected(Input::Stream(Source::from(bytes.clone()))), None);
        bytes.push(b'T');
        assert_eq!(detected(Input::Stream(Source::from(bytes.clone()))), Some("tail"));
        assert_eq!(detected(Input::File { path: "x".into(), source: Source::from(bytes) }), Some("tail"));
        assert_eq!(detected(Input::Directory("x".into())), None);
    }

    #[test]
    fn content_beats_name() {
        let (one, two) = (Magic("one", b"1"), Magic("two", b"2"));
        let formats: [&dyn Format; 2] = [&one, &two];
        let name = |input: &Input| detect(&formats, input).map(Format::name).map_err(|error| error.to_string());
        assert_eq!(name(&file("x.DAT", b"2..")), Ok("two"));
        assert_eq!(name(&file("x.dat", b"3..")), Ok("one"));
        assert_eq!(
            name(&file("x.txt", b"3?")).unwrap_err(),
            "unrecognized format (known: one, two): begins with 33 3F"
        );
        assert_eq!(
            name(&Input::Stream(Source::from(&b""[..]))).unwrap_err(),
            "unrecognized format (known: one, two): empty file"
        );
    }
}
