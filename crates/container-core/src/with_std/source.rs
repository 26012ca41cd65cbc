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
use crate::with_std::{map, sys};

use ahead::ReadAhead;
pub use spool::Spool;

/// How a local file is reached.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub enum Access {
    /// Files up to 64 KiB are read at once, of others every range by a positional read; where ranges follow each other, more is read ahead.
    #[default]
    Auto,
    /// Files up to 64 KiB are read at once; of others all bytes are given by a function of the caller's, most likely by mapping the file. Where
    /// it fails, the file is reached as with [`Auto`](Self::Auto).
    Mapped(Map),
    /// Every range is read by a positional read into memory of its own. A file that is cut short meanwhile is an error.
    Positional,
}

/// What gives all bytes of a file, for [`Access::Mapped`].
///
/// A mapping shows what other processes do to the file: bytes that have been checked may be others a moment later, and a file that is cut short
/// ends this process with a signal (SIGBUS). Rust knows no such memory, so whoever maps has to answer for it (`unsafe`), and this crate does not
/// do it by itself.
///
/// ```
/// use container_core::{Access, Bytes, Map, OpenOptions};
///
/// fn map(file: &std::fs::File) -> std::io::Result<Bytes> {
///     // SAFETY: nobody changes the files of this program while it runs.
///     unsafe { memmap2::Mmap::map(file) }.map(Bytes::from_owner)
/// }
/// let options = OpenOptions::default().with_access(Access::Mapped(Map::new(map)));
/// ```
#[derive(Clone, Copy)]
pub struct Map(fn(&File) -> io::Result<Bytes>);

impl Map {
    /// By this function.
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

/// Files up to this size are read at once: mapping them costs more, and reading them in pieces.
const SMALL: u64 = 64 << 10;

/// A stream (a pipe, stdin) is held in memory up to this size, then in a temporary file.
const SPOOL: usize = 64 << 20;

/// Something that gives bytes by position, from any thread: what [`Source::new`] takes.
pub trait ReadAt: Send + Sync {
    /// The length in bytes.
    fn len(&self) -> u64;

    /// True when there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills the buffer with the bytes from `offset` on; less is an error.
    ///
    /// # Errors
    /// The medium's own; [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) when the bytes end before.
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

/// Ranges of bytes, shared and cheap to clone: a file by positional reads, a mapped file, memory, or your own [`ReadAt`].
///
/// It holds no seek position and starts no thread; all threads may read at once, and it survives a `fork`.
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
    /// [`Io`](crate::ErrorKind::Io) when it cannot be opened or read, with the path.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Access::Auto)
    }

    /// Opens a file.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) when it cannot be opened, read or mapped, with the path.
    pub fn open_with(path: impl AsRef<Path>, access: Access) -> Result<Self> {
        let path = path.as_ref();
        let failed = |doing: &'static str| {
            let file = path.display().to_string();
            move |cause| Error::io(doing, cause).in_file(file)
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
        if len <= SMALL && !matches!(access, Access::Positional) {
            return whole(&mut file, len).map(Self::from).map_err(failed("cannot read"));
        }
        match access {
            Access::Mapped(Map(map)) => Ok(map(&file).map_or_else(|_| Self::ahead(file, len), Self::from)),
            Access::Auto => Ok(Self::ahead(file, len)),
            Access::Positional => Ok(Self::new(PositionalFile { file, len })),
        }
    }

    /// Maps a file: all of its bytes are there, and ranges cost no copy.
    ///
    /// # Safety
    /// Nobody, no other process either, may change or shorten the file as long as the source is there, or bytes of it.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) when it cannot be opened or mapped, with the path.
    #[allow(unsafe_code, reason = "the caller answers for the file")]
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let failed = |cause| Error::io("cannot map", cause).in_file(path.display().to_string());
        let file = File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() == 0 {
            return Ok(Self::from(Vec::new()));
        }
        // SAFETY: the caller's.
        unsafe { map::map(&file) }.map(Self::from).map_err(failed)
    }

    fn ahead(file: File, len: u64) -> Self {
        Self::new(ReadAhead::new(PositionalFile { file, len }))
    }

    /// A file that is open, by positional reads. Bytes that are appended later are not seen.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) when its length cannot be had.
    pub fn from_file(file: File) -> Result<Self> {
        let len = file.metadata().map_err(|cause| Error::io("cannot open", cause))?.len();
        Ok(Self::new(PositionalFile { file, len }))
    }

    /// A file that is open, mapped where `access` says so and it can be, else by positional reads: nothing of it is kept, so that what is
    /// overwritten is seen. Bytes that are appended later are not.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) when its length cannot be had.
    pub fn from_file_with(file: File, access: Access) -> Result<Self> {
        match access {
            Access::Mapped(Map(map)) => map(&file).map(Self::from).or_else(|_| Self::from_file(file)),
            Access::Auto | Access::Positional => Self::from_file(file),
        }
    }

    /// Any medium that gives bytes by position.
    #[must_use]
    pub fn new(medium: impl ReadAt + 'static) -> Self {
        Self(Repr::Medium(Arc::new(medium)))
    }

    /// Reads a stream to its end: up to 64 MiB are held in memory, more in a temporary file that vanishes with the source.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) of the stream or of the temporary file.
    pub fn from_reader(mut reader: impl Read) -> Result<Self> {
        let mut spool = Spool::new(SPOOL);
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

    /// True when there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All bytes at once, where they lie in memory or are mapped; `None` for other media.
    #[must_use]
    pub fn as_slice(&self) -> Option<&[u8]> {
        match &self.0 {
            Repr::Memory(bytes) => Some(bytes),
            Repr::Medium(_) => None,
        }
    }

    /// The bytes of a range, sharing the memory where it is mapped or held.
    ///
    /// # Errors
    /// [`Truncated`](crate::ErrorKind::Truncated) when the range leaves the source (nothing is allocated then),
    /// [`Io`](crate::ErrorKind::Io) of the medium; both with the byte position.
    pub fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let (start, len) = self.check(&range)?;
        match &self.0 {
            Repr::Memory(bytes) => Ok(bytes.slice(start..start + len)),
            Repr::Medium(medium) => {
                let mut buffer = vec![0; len];
                medium.read_exact_at(range.start, &mut buffer).map_err(|cause| failed(cause, range.start))?;
                Ok(Bytes::from(buffer))
            }
        }
    }

    /// The bytes of a range without a copy where they lie in memory, else read into `buffer`, which is reused.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn view<'a>(&'a self, range: Range<u64>, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        let (start, len) = self.check(&range)?;
        match &self.0 {
            Repr::Memory(bytes) => Ok(bytes.get(start..start + len).unwrap_or_default()),
            Repr::Medium(medium) => {
                // Every byte is overwritten, so old content may stay; only growth is zeroed.
                if buffer.len() < len {
                    buffer.resize(len, 0);
                }
                let target = buffer.get_mut(..len).unwrap_or_default();
                medium.read_exact_at(range.start, target).map_err(|cause| failed(cause, range.start))?;
                Ok(target)
            }
        }
    }

    /// A part of this source as a source of its own, which counts from the part's first byte. Shares the memory or the medium; nothing is
    /// read or copied.
    ///
    /// # Errors
    /// [`Truncated`](crate::ErrorKind::Truncated) with the byte position when the range leaves the source.
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

    /// Start and length of a range that lies inside.
    fn check(&self, range: &Range<u64>) -> Result<(usize, usize)> {
        let len = self.len();
        let wanted = range.end.checked_sub(range.start);
        let fits = wanted.filter(|_| range.end <= len);
        let pair = fits.and_then(|wanted| Some((usize::try_from(range.start).ok()?, usize::try_from(wanted).ok()?)));
        match (pair, &self.0) {
            (Some(pair), _) => Ok(pair),
            // A file larger than the address space still reads by position.
            (None, Repr::Medium(_)) if fits.is_some_and(|n| usize::try_from(n).is_ok()) => {
                Ok((0, fits.and_then(|n| usize::try_from(n).ok()).unwrap_or(0)))
            }
            _ => {
                let available = len.saturating_sub(range.start);
                Err(Error::truncated("the range", wanted.unwrap_or(0), available).at(range.start))
            }
        }
    }
}

/// All bytes of a small file. In one call if it stays as long as it is; what has become longer ends where it did.
fn whole(file: &mut File, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)]; // small: it fits
    let mut read = 0;
    while let Some(room) = bytes.get_mut(read..).filter(|room| !room.is_empty()) {
        match file.read(room) {
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

/// A plain file read by position; it has no cursor that threads would fight over.
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
        // What lies behind the part is there, but is not the part's.
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
        for access in [Access::Auto, Access::Mapped(Map::new(map::map_of_tests)), Access::Positional] {
            check(&Source::open_with(file.path(), access).unwrap());
        }
        check(&Source::from(content.to_vec()));
        check(&Source::from_reader(content).unwrap());
    }

    #[test]
    fn all_ways_in_give_the_same_bytes() {
        let content: Vec<u8> = (0..200_000u32).map(|i| (i % 251) as u8).collect();
        every_access(&content, |source| {
            assert_eq!(source.len(), 200_000);
            assert_eq!(source.read(0..200_000).unwrap(), content);
            assert_eq!(source.read(70_000..70_003).unwrap(), content[70_000..70_003]);
            let mut buffer = vec![9; 10];
            assert_eq!(source.view(5..15, &mut buffer).unwrap(), &content[5..15]);
            assert_eq!(source.read(200_000..200_000).unwrap().len(), 0);
        });
    }

    #[test]
    fn a_range_outside_is_an_error_with_its_place() {
        every_access(b"abc", |source| {
            let error = source.read(1..5).unwrap_err();
            assert_eq!(error.to_string(), "the range: needs 4 bytes, 2 available (byte 1)");
            assert!(source.read(u64::MAX - 1..u64::MAX).is_err());
            #[allow(clippy::reversed_empty_ranges, reason = "a hostile range is what is tested")]
            let reversed = 2..1;
            assert!(source.read(reversed).is_err());
        });
    }

    #[test]
    fn a_part_is_a_source_of_its_own() {
        let content: Vec<u8> = (0..200_000u32).map(|i| (i % 251) as u8).collect();
        every_access(&content, |source| {
            let part = source.slice(1_000..150_000).unwrap();
            assert_eq!(part.len(), 149_000);
            assert_eq!(part.read(0..149_000).unwrap(), content[1_000..150_000]);
            let inner = part.slice(500..600).unwrap();
            let mut buffer = Vec::new();
            assert_eq!(inner.view(10..20, &mut buffer).unwrap(), &content[1_510..1_520]);
            assert_eq!(inner.slice(0..100).unwrap().read(99..100).unwrap(), content[1_599..1_600]);
            // What lies behind the part cannot be reached through it.
            let error = inner.read(90..101).unwrap_err();
            assert_eq!(error.to_string(), "the range: needs 11 bytes, 10 available (byte 90)");
            let error = part.slice(148_000..149_001).unwrap_err();
            assert_eq!(error.to_string(), "the range: needs 1001 bytes, 1000 available (byte 148000)");
            assert!(part.slice(149_000..149_000).unwrap().is_empty());
            #[allow(clippy::reversed_empty_ranges, reason = "a hostile range is what is tested")]
            let reversed = 2..1;
            assert!(part.slice(reversed).is_err());
            assert!(part.slice(u64::MAX - 1..u64::MAX).is_err());
        });
        let part = Source::from(content).slice(5..9).unwrap();
        assert!(part.as_slice().is_some(), "memory stays memory");
    }

    #[test]
    fn a_part_does_not_read_past_its_end_by_itself() {
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
    fn an_empty_file_opens_in_every_way() {
        every_access(b"", |source| assert!(source.is_empty()));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Source::open("no/such/file.idv").unwrap_err();
        assert!(error.to_string().starts_with("no/such/file.idv: cannot open: "), "{error}");
    }

    #[test]
    fn an_open_file_is_reached_in_every_way() {
        for content in [&b""[..], b"abc"] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(content).unwrap();
            for access in [Access::Auto, Access::Mapped(Map::new(map::map_of_tests)), Access::Positional] {
                let source = Source::from_file_with(file.reopen().unwrap(), access).unwrap();
                assert_eq!(source.read(0..source.len()).unwrap(), content);
            }
        }
    }

    #[test]
    fn a_file_that_shrinks_is_an_error_and_not_a_signal() {
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
