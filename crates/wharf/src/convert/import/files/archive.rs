//! Reads files of a ZIP archive. `rawzip` parses the structures; declared sizes are checked here before anything is allocated.

use std::io::{self, Read};

use container_core::{Error, Limits, Result, Source};
use flate2::read::DeflateDecoder;
use rawzip::{
    CompressionMethod, Crc32, ReaderAt, ZipArchive, ZipArchiveEntryWayfinder, ZipFileHeaderRecord, ZipLocator,
};

/// Maximum bytes per read.
const MAX_READ: u64 = 256 << 10;

/// A buffer for reading a file of this length. One extra byte detects longer content.
pub(super) fn read_buffer(len: u64) -> Vec<u8> {
    let bytes = len.saturating_add(1).min(MAX_READ);
    vec![0; usize::try_from(bytes).unwrap_or(0)] // at most MAX_READ
}

/// A source for rawzip.
#[derive(Debug)]
struct Positional(Source);

impl ReaderAt for Positional {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = offset.saturating_add(buffer.len() as u64).min(self.0.len());
        let bytes = self.0.read(offset.min(end)..end).map_err(io::Error::other)?;
        buffer.iter_mut().zip(bytes.iter()).for_each(|(to, from)| *to = *from);
        Ok(bytes.len())
    }
}

/// An archive with its directory read.
#[derive(Debug)]
pub(super) struct Archive {
    name: String,
    source: Source,
    zip: ZipArchive<Positional>,
}

/// A directory entry of a file.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Declared decompressed size in bytes.
    pub(super) size: u64,
    offset: u64,
    packed: u64,
    crc: u32,
    method: CompressionMethod,
    encrypted: bool,
    way: ZipArchiveEntryWayfinder,
}

/// A member of an archive.
#[derive(Debug, Clone)]
pub(super) enum Member {
    File(Entry),
    Folder,
    /// A symbolic link; its content is the target.
    Link(Entry),
}

/// Whether this is an archive, whatever it begins with.
pub(super) fn has_end_record(source: &Source) -> bool {
    locate(source).is_ok()
}

fn locate(source: &Source) -> Result<ZipArchive<Positional>> {
    let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
    let found = ZipLocator::new().locate_in_reader(Positional(source.clone()), &mut buffer, source.len());
    found.map_err(|(_, error)| zip_error(error, "the archive's end record"))
}

impl Archive {
    /// Opens an archive and reads its directory. Returns the members by path, in order.
    pub(super) fn open(name: String, source: &Source) -> Result<(Self, Vec<(String, Member)>)> {
        let named = |error: Error| error.in_format("zip").in_file(name.clone());
        let zip = locate(source).map_err(named)?;
        let mut buffer = vec![0; rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
        let mut entries = zip.entries(&mut buffer);
        let mut count = 0;
        let mut members = Vec::new();
        // Extents of files. Overlapping entries are a sign of a ZIP bomb.
        let mut extents = Vec::new();
        loop {
            let next = entries
                .next_entry()
                .map_err(|error| zip_error(error, format!("entry {count} of the archive's directory")));
            let Some(record) = next.map_err(named)? else { break };
            count += 1;
            let shown = || String::from_utf8_lossy(record.file_path().as_bytes()).into_owned();
            let path = std::str::from_utf8(record.file_path().as_bytes()).map_err(|_| {
                named(Error::unsupported("the name of an entry is not valid UTF-8, as keys must be").in_key(shown()))
            })?;
            if path.starts_with(['/', '\\']) || path.split(['/', '\\']).any(|name| name == "..") {
                return Err(named(Error::invalid("the name of an entry leads out of the archive").in_key(shown())));
            }
            let entry = Entry::new(&record);
            if record.is_dir() {
                members.push((path.to_owned(), Member::Folder));
                continue;
            }
            extents.push((record.local_header_offset(), entry.packed, entry.offset));
            let member = if record.mode().is_symlink() { Member::Link(entry) } else { Member::File(entry) };
            members.push((path.to_owned(), member));
        }
        let declared = zip.entries_hint();
        if count != declared {
            let detail = format!("the directory has {count} entries, the end record declares {declared}");
            return Err(named(Error::invalid(detail).at(zip.eocd_offset())));
        }
        extents.sort_unstable();
        let overlap = extents.windows(2).find_map(|pair| match pair {
            [(start, len, _), (next, _, at)] if start.saturating_add(*len) > *next => Some(*at),
            _ => None,
        });
        match overlap {
            Some(at) => Err(named(Error::invalid("two entries of the archive share bytes").at(at))),
            None => Ok((Self { name, source: source.clone(), zip }, members)),
        }
    }

    /// The name in errors.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Opens the content of a file, checking its declared size, the limits and the CRC-32 while reading.
    pub(super) fn content<'a>(&'a self, path: &'a str, entry: &'a Entry, limits: &Limits) -> Result<Content<'a>> {
        let content = self.content_of(path, entry, limits);
        content.map_err(|error| self.named(error, path))
    }

    fn named(&self, error: Error, path: &str) -> Error {
        error.in_format("zip").in_file(self.name.clone()).in_key(path.to_owned())
    }

    fn content_of<'a>(&'a self, path: &'a str, entry: &'a Entry, limits: &Limits) -> Result<Content<'a>> {
        let at = |error: Error| error.at(entry.offset);
        if entry.encrypted {
            return Err(at(Error::unsupported("the entry is encrypted")));
        }
        if !matches!(entry.method, CompressionMethod::STORE | CompressionMethod::DEFLATE) {
            let detail = format!("the entry's compression is {}; 0 (STORE) and 8 (DEFLATE) can be read", entry.method);
            return Err(at(Error::unsupported(detail)));
        }
        limits.check_block("the entry's size", entry.size).map_err(at)?;
        let found = self.zip.get_entry(entry.way).map_err(|error| at(zip_error(error, "the entry's own header")))?;
        let (start, _) = found.compressed_data_range();
        let available = self.source.len().saturating_sub(start);
        if available < entry.packed {
            return Err(Error::truncated("the entry's data", entry.packed, available).at(start));
        }
        let packed = Packed { source: &self.source, at: start, end: start.saturating_add(entry.packed) };
        let bytes: Box<dyn Read + 'a> = if entry.method == CompressionMethod::STORE {
            Box::new(packed)
        } else {
            Box::new(DeflateDecoder::new_with_buf(packed, read_buffer(entry.packed)))
        };
        Ok(Content {
            archive: self,
            path,
            entry,
            start,
            bytes,
            buffer: read_buffer(entry.size),
            read: 0,
            crc: Crc32::new(),
        })
    }
}

/// The content of a file in an archive.
pub(super) struct Content<'a> {
    archive: &'a Archive,
    path: &'a str,
    entry: &'a Entry,
    start: u64,
    bytes: Box<dyn Read + 'a>,
    buffer: Vec<u8>,
    read: u64,
    crc: Crc32,
}

impl Content<'_> {
    /// The declared length.
    pub(super) fn len(&self) -> u64 {
        self.entry.size
    }

    /// The next bytes; `None` after all were read and match the directory.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>> {
        let len = self.read_next().map_err(|error| self.archive.named(error.at(self.start), self.path))?;
        Ok(self.buffer.get(..len).filter(|buffer| !buffer.is_empty()))
    }

    fn read_next(&mut self) -> Result<usize> {
        let len = self.bytes.read(&mut self.buffer).map_err(|cause| match cause.downcast::<Error>() {
            Ok(error) => error,
            Err(cause) => Error::invalid("damaged compressed data of the entry").caused_by(cause),
        })?;
        let Entry { size, crc, .. } = *self.entry;
        self.read += len as u64;
        if self.read > size || (len == 0 && self.read < size) {
            let more = if self.read > size { "more than " } else { "" };
            let found = self.read.min(size);
            return Err(Error::invalid(format!("the entry has {more}{found} bytes, the directory declares {size}")));
        }
        self.crc.update(self.buffer.get(..len).unwrap_or_default());
        if len == 0 && self.crc.checksum() != crc {
            let detail = format!("the content's CRC-32 is {:08x}, the directory says {crc:08x}", self.crc.checksum());
            return Err(Error::invalid(detail));
        }
        Ok(len)
    }

    /// Reads everything. Check the entry's size first.
    pub(super) fn all(mut self) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(buffer) = self.next()? {
            all.extend_from_slice(buffer);
        }
        Ok(all)
    }
}

/// The stored bytes of an entry.
struct Packed<'a> {
    source: &'a Source,
    at: u64,
    end: u64,
}

impl Read for Packed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = self.at.saturating_add(buffer.len() as u64).min(self.end);
        let bytes = self.source.read(self.at..end).map_err(io::Error::other)?;
        buffer.iter_mut().zip(bytes.iter()).for_each(|(to, from)| *to = *from);
        self.at = end;
        Ok(bytes.len())
    }
}

impl Entry {
    fn new(record: &ZipFileHeaderRecord<'_>) -> Self {
        Self {
            size: record.uncompressed_size_hint(),
            offset: record.central_directory_offset(),
            packed: record.compressed_size_hint(),
            crc: record.crc32(),
            method: record.compression_method(),
            encrypted: record.flags().is_encrypted() || record.flags().is_masked(),
            way: record.wayfinder(),
        }
    }
}

/// Converts an error of rawzip; `what` was being read.
fn zip_error(error: rawzip::Error, what: impl Into<String>) -> Error {
    let what = what.into();
    match error.into_kind() {
        rawzip::ErrorKind::IO(cause) => match cause.downcast::<Error>() {
            Ok(error) => error,
            Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {
                Error::invalid(format!("{what} extends beyond the file"))
            }
            Err(cause) => Error::io(format!("cannot read {what}"), cause),
        },
        rawzip::ErrorKind::Eof => Error::invalid(format!("{what} extends beyond the file")),
        rawzip::ErrorKind::MissingEndOfCentralDirectory => {
            Error::invalid("not a ZIP archive, or truncated: missing end record")
        }
        other => Error::invalid(format!("{what} is damaged: {other}")),
    }
}
