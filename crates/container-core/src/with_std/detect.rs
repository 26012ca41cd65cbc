use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::with_std::container::{Container, Loss};
use crate::with_std::output::OutputOptions;
use crate::with_std::source::{Access, Source};

/// How many bytes of a file's beginning a [`Probe`] holds at most.
const HEAD: u64 = 4096;

/// A format, as the command knows it: how to recognize it and how to open it.
pub trait Format: Send + Sync {
    /// The name in lower case, such as `idv`.
    fn name(&self) -> &'static str;

    /// File extensions in lower case, without the dot.
    fn extensions(&self) -> &'static [&'static str];

    /// Looks at the beginning of a file, or at a directory.
    fn recognize(&self, probe: &Probe<'_>) -> Recognition;

    /// Opens the container.
    ///
    /// # Errors
    /// What keeps the container from being opened, with the place in it.
    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>>;

    /// Begins a file of this format with these columns.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where the format is only read, as it is unless this method is implemented, and for a
    /// column of a type that the format does not have; [`Usage`](crate::ErrorKind::Usage) for columns it cannot have; an output that exists
    /// and is not to be replaced.
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

    /// Writes what is whole in a damaged file of this format to a new one at `path`, which is there whole or not at all: for formats that know
    /// where a record begins behind a damaged one.
    ///
    /// `None` where the format has no such means, as unless this method is implemented. Then whoever recovers the file reads ranges of rows, as
    /// long as it can be opened and its table knows its [`len`](crate::Table::len), and writes them with [`batch_writer`](Self::batch_writer).
    ///
    /// # Errors
    /// The input cannot be read, or nothing in it is whole; the output exists and is not to be replaced, or cannot be written.
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

/// What [`Format::recover`] has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoverReport {
    /// Rows that were saved.
    pub rows: u64,
    /// What is lost.
    pub losses: Vec<Loss>,
}

impl RecoverReport {
    /// Of rows that were saved, and losses.
    #[must_use]
    pub fn new(rows: u64, losses: Vec<Loss>) -> Self {
        Self { rows, losses }
    }
}

/// How sure a [`Format`] is that an input is its own. Greater is surer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Recognition {
    /// It is something else.
    No,
    /// Its name says so.
    Name,
    /// Its content says so.
    Content,
}

/// What is looked at to recognize a format.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Probe<'a> {
    /// The path, if the input has one.
    pub path: Option<&'a Path>,
    /// True for a directory.
    pub directory: bool,
    /// The first bytes of the file, up to 4096.
    pub head: &'a [u8],
    /// The whole file, for formats whose mark does not stand at its beginning (a ZIP archive's directory is its end). To be
    /// read only where the head leaves a doubt, and no more of it than the answer takes: every file is shown to every format.
    pub source: Option<&'a Source>,
}

impl<'a> Probe<'a> {
    /// A probe of a file's beginning.
    #[must_use]
    pub const fn new(path: Option<&'a Path>, head: &'a [u8]) -> Self {
        Self { path, directory: false, head, source: None }
    }

    /// A probe of a directory.
    #[must_use]
    pub const fn directory(path: &'a Path) -> Self {
        Self { path: Some(path), directory: true, head: &[], source: None }
    }

    /// The same with the whole file behind it.
    #[must_use]
    pub const fn with_source(mut self, source: &'a Source) -> Self {
        self.source = Some(source);
        self
    }

    /// True when the path has one of these extensions, in whatever case.
    #[must_use]
    pub fn has_extension(&self, extensions: &[&str]) -> bool {
        let extension = self.path.and_then(Path::extension).and_then(OsStr::to_str);
        extension.is_some_and(|found| extensions.iter().any(|known| known.eq_ignore_ascii_case(found)))
    }
}

/// What is opened: a path (a file, a directory, one file of a set), or bytes without one (stdin).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Input {
    /// A file that is already open, with the path it came from.
    File {
        /// Where it came from.
        path: PathBuf,
        /// Its bytes.
        source: Source,
    },
    /// A directory.
    Directory(PathBuf),
    /// Bytes without a path.
    Stream(Source),
}

impl Input {
    /// Opens a path, be it a file or a directory.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) when there is nothing, or it cannot be read.
    pub fn open(path: impl Into<PathBuf>, access: Access) -> Result<Self> {
        let path = path.into();
        if path.is_dir() {
            return Ok(Self::Directory(path));
        }
        let source = Source::open_with(&path, access)?;
        Ok(Self::File { path, source })
    }

    /// The path, if there is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File { path, .. } | Self::Directory(path) => Some(path),
            Self::Stream(_) => None,
        }
    }

    /// The bytes, if it is not a directory.
    #[must_use]
    pub fn source(&self) -> Option<&Source> {
        match self {
            Self::File { source, .. } | Self::Stream(source) => Some(source),
            Self::Directory(_) => None,
        }
    }
}

/// How to open, for any format.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    /// How local files are reached.
    pub access: Access,
    /// What the reader may spend.
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

/// Finds the format of an input among `formats`: by content first, then by extension; the first of the surest wins.
///
/// # Errors
/// [`Unsupported`](crate::ErrorKind::Unsupported) when none recognizes it, naming those that were tried, and errors of
/// reading its beginning.
pub fn detect<'f>(formats: &[&'f dyn Format], input: &Input) -> Result<&'f dyn Format> {
    let head = match input.source() {
        Some(source) => source.read(0..source.len().min(HEAD))?,
        None => bytes::Bytes::new(),
    };
    let probe = match input {
        Input::Directory(path) => Probe::directory(path),
        Input::File { path, source } => Probe::new(Some(path), &head).with_source(source),
        Input::Stream(source) => Probe::new(None, &head).with_source(source),
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
        let beginning = match (input.source(), head.get(..head.len().min(8))) {
            (Some(_), Some([])) => "empty file".to_owned(),
            (Some(_), Some(start)) => format!("begins with {}", hex(start)),
            _ => "directory".to_owned(),
        };
        Error::unsupported(format!("unrecognized format (known: {}): {beginning}", names.join(", ")))
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

    /// A format whose mark is the last byte of the file.
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
    fn a_mark_may_stand_far_behind_the_head() {
        let mut bytes = vec![0; 100_000];
        let formats: [&dyn Format; 1] = [&Tail];
        let found = |input: Input| detect(&formats, &input).map(Format::name).ok();
        assert_eq!(found(Input::Stream(Source::from(bytes.clone()))), None);
        bytes.push(b'T');
        assert_eq!(found(Input::Stream(Source::from(bytes.clone()))), Some("tail"));
        assert_eq!(found(Input::File { path: "x".into(), source: Source::from(bytes) }), Some("tail"));
        assert_eq!(found(Input::Directory("x".into())), None);
    }

    #[test]
    fn content_wins_over_the_name() {
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
