mod ahead;
mod spool;

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::with_std::huge_pages::zeroed_vec;
use crate::with_std::{map, sys};

use ahead::ReadAhead;
pub use spool::Spool;

/// How a local file is read. Files up to 64 KiB are read into memory on opening, except with [`Positional`](Self::Positional).
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub enum Access {
    /// Positional reads, with read-ahead for sequential access.
    #[default]
    Auto,
    /// A function of the caller provides the content, usually by mapping the file. If it fails, the file is read as with
    /// [`Auto`](Self::Auto).
    Mapped(Map),
    /// One positional read per range, without read-ahead. A file that shrinks meanwhile is an error.
    Positional,
}

/// A function that provides all bytes of a file, for [`Access::Mapped`].
///
/// A mapping reflects changes by other processes: validated bytes may change, and reading past the end of a truncated file kills the process
/// with SIGBUS. Mapping is therefore `unsafe` and left to the caller.
///
/// ```
/// use container_core::{Access, Bytes, Map, OpenOptions};
///
/// fn map(file: &std::fs::File) -> std::io::Result<Bytes> {
///     // SAFETY: the files of this program do not change while it runs.
///     unsafe { memmap2::Mmap::map(file) }.map(Bytes::from_owner)
/// }
/// let options = OpenOptions::default().with_access(Access::Mapped(Map::new(map)));
/// ```
#[derive(Clone, Copy)]
pub struct Map(fn(&File) -> io::Result<Bytes>);

impl Map {
    /// Wraps a function that maps a whole file.
    #[must_use]
    pub const fn new(map: fn(&File) -> io::Result<Bytes>) -> Self {
        Self(map)
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Map")
    }
}

/// Files up to this many bytes are read on opening, which is cheaper than mapping or many reads.
const READ_WHOLE_LEN: u64 = 64 << 10;

/// Bytes of a stream kept in memory; the rest goes to a temporary file.
const SPOOL_MEMORY_LEN: usize = 64 << 20;

/// Random-access bytes, readable from any thread: a custom medium for [`Source::new`].
pub trait ReadAt: Send + Sync {
    /// The length in bytes. It must not change.
    fn len(&self) -> u64;

    /// Returns true if there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buffer` with the bytes that start at `offset`.
    ///
    /// # Errors
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if fewer bytes remain; errors of the medium.
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

/// A random-access byte source: a file, a mapped file, memory, or a custom [`ReadAt`] medium.
///
/// Clones share the underlying medium and cost O(1). There is no seek position and no background thread: any number of threads may read
/// concurrently, also after a `fork`.
#[derive(Clone)]
pub struct Source(Repr);

#[derive(Clone)]
enum Repr {
    Memory(Bytes),
    Medium(Arc<dyn ReadAt>),
}

impl Source {
    /// Opens a file with [`Access::Auto`].
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) with the path if the file cannot be opened or read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Access::Auto)
    }

    /// Opens a file. Pipes and devices are read to their end, as with [`from_reader`](Self::from_reader).
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) with the path if the file cannot be opened or read.
    pub fn open_with(path: impl AsRef<Path>, access: Access) -> Result<Self> {
        let path = path.as_ref();
        let failed = |action: &'static str| {
            let file = path.display().to_string();
            move |cause| Error::io(action, cause).in_file(file)
        };
        let mut file = File::open(path).map_err(failed("cannot open"))?;
        let metadata = file.metadata().map_err(failed("cannot open"))?;
        if metadata.is_dir() {
            let cause = io::Error::from(io::ErrorKind::IsADirectory);
            return Err(failed("cannot open")(cause));
        }
        if !metadata.is_file() {
            return Self::from_reader(file).map_err(|error| error.in_file(path.display().to_string()));
        }
        let len = metadata.len();
        if len <= READ_WHOLE_LEN && !matches!(access, Access::Positional) {
            return read_whole(&mut file, len).map(Self::from).map_err(failed("cannot read"));
        }
        match access {
            Access::Mapped(Map(map)) => Ok(map(&file).map_or_else(|_| Self::with_read_ahead(file, len), Self::from)),
            Access::Auto => Ok(Self::with_read_ahead(file, len)),
            Access::Positional => Ok(Self::new(PositionalFile { file, len })),
        }
    }

    /// Maps a file, so that reading a range does not copy.
    ///
    /// # Safety
    /// No process may change or truncate the file while the source, or bytes read from it, are alive.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) with the path if the file cannot be opened or mapped.
    #[allow(unsafe_code, reason = "the caller guarantees that the file does not change")]
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let failed = |cause| Error::io("cannot map", cause).in_file(path.display().to_string());
        let file = File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() == 0 {
            return Ok(Self::from(Vec::new()));
        }
        // SAFETY: guaranteed by the caller.
        unsafe { map::map(&file) }.map(Self::from).map_err(failed)
    }

    fn with_read_ahead(file: File, len: u64) -> Self {
        Self::new(ReadAhead::new(PositionalFile { file, len }))
    }

    /// Reads an open file by position. Bytes appended later are not visible.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) if the length cannot be determined.
    pub fn from_file(file: File) -> Result<Self> {
        let len = file.metadata().map_err(|cause| Error::io("cannot open", cause))?.len();
        Ok(Self::new(PositionalFile { file, len }))
    }

    /// Reads an open file: mapped with [`Access::Mapped`] if possible, else by position without read-ahead, so that overwritten bytes are
    /// visible. Bytes appended later are not.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) if the length cannot be determined.
    pub fn from_file_with(file: File, access: Access) -> Result<Self> {
        match access {
            Access::Mapped(Map(map)) => map(&file).map(Self::from).or_else(|_| Self::from_file(file)),
            Access::Auto | Access::Positional => Self::from_file(file),
        }
    }

    /// Reads from a custom medium.
    #[must_use]
    pub fn new(medium: impl ReadAt + 'static) -> Self {
        Self(Repr::Medium(Arc::new(medium)))
    }

    /// Reads a stream to its end. Up to 64 MiB are kept in memory; longer streams go to a temporary file, removed with the source.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) errors of the stream or of the temporary file.
    pub fn from_reader(mut reader: impl Read) -> Result<Self> {
        let mut spool = Spool::new(SPOOL_MEMORY_LEN);
        let mut buffer = vec![0; 256 << 10];
        loop {
            let read = match reader.read(&mut buffer) {
                Ok(0) => return spool.finish(),
                Ok(read) => read,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(Error::io("cannot read the stream", cause)),
            };
            spool.write_all(buffer.get(..read).unwrap_or_default()).map_err(Spool::failed)?;
        }
    }

    /// The length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        match &self.0 {
            Repr::Memory(bytes) => bytes.len() as u64,
            Repr::Medium(medium) => medium.len(),
        }
    }

    /// Returns true if there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All bytes if they are in memory or mapped, `None` otherwise.
    #[must_use]
    pub fn as_slice(&self) -> Option<&[u8]> {
        match &self.0 {
            Repr::Memory(bytes) => Some(bytes),
            Repr::Medium(_) => None,
        }
    }

    /// Reads a range of bytes. Zero-copy if the source is in memory or mapped.
    ///
    /// # Errors
    /// [`Truncated`](crate::ErrorKind::Truncated) if the range exceeds the source, in which case nothing is allocated;
    /// [`Io`](crate::ErrorKind::Io) errors of the medium. Both have the byte offset.
    pub fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let (start, len) = self.check(&range)?;
        match &self.0 {
            Repr::Memory(bytes) => Ok(bytes.slice(start..start + len)),
            Repr::Medium(medium) => {
                let out_of_memory = || failed(io::ErrorKind::OutOfMemory.into(), range.start);
                let mut buffer = zeroed_vec(len).ok_or_else(out_of_memory)?;
                medium.read_exact_at(range.start, &mut buffer).map_err(|cause| failed(cause, range.start))?;
                Ok(Bytes::from(buffer))
            }
        }
    }

    /// Like [`read`](Self::read), but reuses `buffer` where bytes have to be copied.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn view<'a>(&'a self, range: Range<u64>, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        let (start, len) = self.check(&range)?;
        match &self.0 {
            Repr::Memory(bytes) => Ok(bytes.get(start..start + len).unwrap_or_default()),
            Repr::Medium(medium) => {
                // All bytes are overwritten, so only growth is zeroed.
                if buffer.len() < len {
                    buffer.resize(len, 0);
                }
                let target = buffer.get_mut(..len).unwrap_or_default();
                medium.read_exact_at(range.start, target).map_err(|cause| failed(cause, range.start))?;
                Ok(target)
            }
        }
    }

    /// Like [`read`](Self::read), but reuses the buffer of `bytes` where bytes have to be copied and nothing else shares it. After an error
    /// `bytes` are empty.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_into(&self, range: Range<u64>, bytes: &mut Bytes) -> Result<()> {
        let old = std::mem::take(bytes);
        match &self.0 {
            Repr::Memory(_) => *bytes = self.read(range)?,
            Repr::Medium(medium) => {
                let (_, len) = self.check(&range)?;
                let mut buffer = old.try_into_mut().unwrap_or_default();
                buffer.resize(len, 0);
                medium.read_exact_at(range.start, &mut buffer).map_err(|cause| failed(cause, range.start))?;
                *bytes = buffer.freeze();
            }
        }
        Ok(())
    }

    /// Fills `buffer` with the bytes that start at `offset`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let (start, len) = self.check(&(offset..offset.saturating_add(buffer.len() as u64)))?;
        match &self.0 {
            Repr::Memory(bytes) => {
                buffer.copy_from_slice(bytes.get(start..start + len).unwrap_or_default()); // checked
                Ok(())
            }
            Repr::Medium(medium) => medium.read_exact_at(offset, buffer).map_err(|cause| failed(cause, offset)),
        }
    }

    /// Returns a range as a separate source, with offsets relative to its start. O(1); nothing is read or copied.
    ///
    /// # Errors
    /// [`Truncated`](crate::ErrorKind::Truncated) with the byte offset if the range exceeds the source.
    pub fn slice(&self, range: Range<u64>) -> Result<Self> {
        let available = self.len();
        let Some(len) = range.end.checked_sub(range.start).filter(|_| range.end <= available) else {
            let (needed, left) = (range.end.saturating_sub(range.start), available.saturating_sub(range.start));
            return Err(Error::truncated("the range", needed, left).at(range.start));
        };
        match &self.0 {
            Repr::Memory(_) => self.read(range).map(Self::from),
            Repr::Medium(medium) if len == available => Ok(Self(Repr::Medium(Arc::clone(medium)))),
            Repr::Medium(medium) => Ok(Self::new(Part { whole: Arc::clone(medium), start: range.start, len })),
        }
    }

    /// Checks a range against the length. Returns its start and length; the start is 0 if it exceeds the address space.
    fn check(&self, range: &Range<u64>) -> Result<(usize, usize)> {
        let len = self.len();
        let requested = range.end.checked_sub(range.start);
        let fits = requested.filter(|_| range.end <= len);
        let pair = fits.and_then(|len| Some((usize::try_from(range.start).ok()?, usize::try_from(len).ok()?)));
        match (pair, &self.0) {
            (Some(pair), _) => Ok(pair),
            // Files larger than the address space are read by position.
            (None, Repr::Medium(_)) if fits.is_some_and(|n| usize::try_from(n).is_ok()) => {
                Ok((0, fits.and_then(|n| usize::try_from(n).ok()).unwrap_or(0)))
            }
            _ => {
                let available = len.saturating_sub(range.start);
                Err(Error::truncated("the range", requested.unwrap_or(0), available).at(range.start))
            }
        }
    }
}

/// Reads the first `len` bytes of a small file, or fewer if it shrank.
fn read_whole(file: &mut File, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)]; // at most READ_WHOLE_LEN
    let mut read = 0;
    while let Some(unread) = bytes.get_mut(read..).filter(|unread| !unread.is_empty()) {
        match file.read(unread) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}

#[cold]
fn failed(cause: io::Error, offset: u64) -> Error {
    let detail = match cause.kind() {
        io::ErrorKind::UnexpectedEof => "the file shrank while it was being read",
        _ => "cannot read",
    };
    Error::io(detail, cause).at(offset)
}

impl From<Vec<u8>> for Source {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(Bytes::from(bytes))
    }
}

impl From<Bytes> for Source {
    fn from(bytes: Bytes) -> Self {
        Self(Repr::Memory(bytes))
    }
}

impl From<&'static [u8]> for Source {
    fn from(bytes: &'static [u8]) -> Self {
        Self::from(Bytes::from_static(bytes))
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.0 {
            Repr::Memory(_) => "memory",
            Repr::Medium(_) => "medium",
        };
        write!(f, "Source({kind}, {} bytes)", self.len())
    }
}

/// A file read by position, without a shared seek position.
struct PositionalFile {
    file: File,
    len: u64,
}

impl ReadAt for PositionalFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        sys::read_exact_at(&self.file, offset, buffer)
    }
}

/// A range of another medium.
struct Part {
    whole: Arc<dyn ReadAt>,
    start: u64,
    len: u64,
}

impl ReadAt for Part {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        // The medium may have bytes past the end of the part.
        if offset.checked_add(buffer.len() as u64).is_none_or(|end| end > self.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.whole.read_exact_at(self.start + offset, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_access(content: &[u8], check: impl Fn(&Source)) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        for access in [Access::Auto, Access::Mapped(Map::new(map::map_test_file)), Access::Positional] {
            check(&Source::open_with(file.path(), access).unwrap());
        }
        check(&Source::from(content.to_vec()));
        check(&Source::from_reader(content).unwrap());
    }

    #[test]
    fn every_access_reads_the_same_bytes() {
        let content: Vec<u8> = (0..200_000u32).map(|i| (i % 251) as u8).collect();
        every_access(&content, |source| {
            assert_eq!(source.len(), 200_000);
            assert_eq!(source.read(0..200_000).unwrap(), content);
            assert_eq!(source.read(70_000..70_003).unwrap(), content[70_000..70_003]);
            let mut buffer = vec![9; 10];
            assert_eq!(source.view(5..15, &mut buffer).unwrap(), &content[5..15]);
            let mut bytes = Bytes::new();
            for range in [5..15, 0..200_000, 70_000..70_003, 9..9] {
                source.read_into(range.start as u64..range.end as u64, &mut bytes).unwrap();
                assert_eq!(bytes, content[range.clone()]);
                let mut own = vec![9; range.len()];
                source.read_exact_at(range.start as u64, &mut own).unwrap();
                assert_eq!(own, content[range]);
            }
            assert_eq!(source.read(200_000..200_000).unwrap().len(), 0);
        });
    }

    #[test]
    fn read_into_reuses_only_buffers_of_its_own() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().write_all(&[7; 1000]).unwrap();
        let source = Source::open_with(file.path(), Access::Positional).unwrap();
        let mut bytes = Bytes::new();
        source.read_into(0..1000, &mut bytes).unwrap();
        let first = bytes.as_ptr();
        source.read_into(10..900, &mut bytes).unwrap();
        assert_eq!((bytes.as_ptr(), &bytes[..]), (first, &[7; 890][..]));
        // A shared buffer stays as it is.
        let shared = bytes.slice(1..3);
        std::fs::write(file.path(), [8; 1000]).unwrap();
        source.read_into(0..1000, &mut bytes).unwrap();
        assert_ne!(bytes.as_ptr(), first);
        assert_eq!((&shared[..], &bytes[..]), (&[7, 7][..], &[8; 1000][..]));
        assert!(source.read_into(999..1001, &mut bytes).is_err());
        assert!(bytes.is_empty());
    }

    #[test]
    fn rejects_range_past_the_end() {
        every_access(b"abc", |source| {
            let error = source.read(1..5).unwrap_err();
            assert_eq!(error.to_string(), "the range: needs 4 bytes, 2 available (byte 1)");
            assert!(source.read(u64::MAX - 1..u64::MAX).is_err());
            let error = source.read_exact_at(1, &mut [0; 4]).unwrap_err();
            assert_eq!(error.to_string(), "the range: needs 4 bytes, 2 available (byte 1)");
            assert!(source.read_exact_at(u64::MAX, &mut [0; 4]).is_err());
            #[allow(clippy::reversed_empty_ranges, reason = "tests an invalid range")]
            let reversed = 2..1;
            assert!(source.read(reversed).is_err());
        });
    }

    #[test]
    fn slice_is_a_separate_source() {
        let content: Vec<u8> = (0..200_000u32).map(|i| (i % 251) as u8).collect();
        every_access(&content, |source| {
            let part = source.slice(1_000..150_000).unwrap();
            assert_eq!(part.len(), 149_000);
            assert_eq!(part.read(0..149_000).unwrap(), content[1_000..150_000]);
            let inner = part.slice(500..600).unwrap();
            let mut buffer = Vec::new();
            assert_eq!(inner.view(10..20, &mut buffer).unwrap(), &content[1_510..1_520]);
            assert_eq!(inner.slice(0..100).unwrap().read(99..100).unwrap(), content[1_599..1_600]);
            // Bytes past the end of the part are unreachable.
            let error = inner.read(90..101).unwrap_err();
            assert_eq!(error.to_string(), "the range: needs 11 bytes, 10 available (byte 90)");
            let error = part.slice(148_000..149_001).unwrap_err();
            assert_eq!(error.to_string(), "the range: needs 1001 bytes, 1000 available (byte 148000)");
            assert!(part.slice(149_000..149_000).unwrap().is_empty());
            #[allow(clippy::reversed_empty_ranges, reason = "tests an invalid range")]
            let reversed = 2..1;
            assert!(part.slice(reversed).is_err());
            assert!(part.slice(u64::MAX - 1..u64::MAX).is_err());
        });
        let part = Source::from(content).slice(5..9).unwrap();
        assert!(part.as_slice().is_some(), "memory stays memory");
    }

    #[test]
    fn part_does_not_read_past_its_end() {
        let part = Part { whole: Arc::new(Zeros), start: 4, len: 4 };
        assert!(part.read_exact_at(0, &mut [0; 4]).is_ok());
        assert!(part.read_exact_at(1, &mut [0; 4]).is_err());
        assert!(part.read_exact_at(u64::MAX, &mut [0; 4]).is_err());
    }

    struct Zeros;

    impl ReadAt for Zeros {
        fn len(&self) -> u64 {
            100
        }

        fn read_exact_at(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn empty_file_opens_with_every_access() {
        every_access(b"", |source| assert!(source.is_empty()));
    }

    #[test]
    fn error_names_missing_file() {
        let error = Source::open("no/such/file.idv").unwrap_err();
        assert!(error.to_string().starts_with("no/such/file.idv: cannot open: "), "{error}");
    }

    #[test]
    fn from_file_reads_with_every_access() {
        for content in [&b""[..], b"abc"] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(content).unwrap();
            for access in [Access::Auto, Access::Mapped(Map::new(map::map_test_file)), Access::Positional] {
                let source = Source::from_file_with(file.reopen().unwrap(), access).unwrap();
                assert_eq!(source.read(0..source.len()).unwrap(), content);
            }
        }
    }

    #[test]
    fn shrinking_file_is_an_error() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[1; 100_000]).unwrap();
        let source = Source::open_with(file.path(), Access::Positional).unwrap();
        file.as_file().set_len(10).unwrap();
        let error = source.read(0..50_000).unwrap_err();
        assert!(error.to_string().contains("the file shrank while it was being read"), "{error}");
    }

    #[test]
    fn bytes_outlive_the_source() {
        let bytes = Source::from(vec![1, 2, 3]).read(1..3).unwrap();
        assert_eq!(bytes[..], [2, 3]);
    }
}
