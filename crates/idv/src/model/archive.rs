//! Reading a ZIP archive: its directory and the content of single entries. rawzip parses the structures; declared sizes are checked here
//! before anything is allocated.

use std::io;

use container_core::{Cursor, Error, Limits, Result, Source};
use flate2::{Decompress, FlushDecompress};
use rawzip::{
    CompressionMethod, ErrorKind, ReaderAt, ZipArchive, ZipArchiveEntryWayfinder, ZipFileHeaderRecord, ZipLocator,
};

use super::MODEL_FORMAT_NAME;
use crate::inflate::Inflater;
use crate::wire::Compression;

/// Start of a ZIP archive with at least one entry.
pub(super) const LOCAL_HEADER: [u8; 4] = *b"PK\x03\x04";

/// Compressed bytes read for the first eight bytes of an entry. The codes of a DEFLATE block take less than 300.
const PEEK_BYTES: u64 = 1024;

/// Adapts a source for rawzip.
struct Positional(Source);

impl ReaderAt for Positional {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = self.0.len().saturating_sub(offset);
        let len = left.min(buffer.len() as u64);
        let bytes = self.0.read(offset.min(self.0.len())..offset.saturating_add(len).min(self.0.len()));
        // Unwrapped again in `convert_error`.
        let bytes = bytes.map_err(io::Error::other)?;
        buffer.iter_mut().zip(bytes.iter()).for_each(|(to, from)| *to = *from);
        Ok(bytes.len())
    }
}

/// An open archive.
pub(super) struct Archive {
    source: Source,
    zip: ZipArchive<Positional>,
}

/// A relevant entry, as described by the directory.
#[derive(Clone)]
pub(super) struct Entry {
    /// Name, with invalid UTF-8 replaced.
    pub(super) name: String,
    /// Declared decompressed size in bytes.
    pub(super) size: u64,
    /// Offset of the directory record.
    offset: u64,
    packed: u64,
    crc: u32,
    method: CompressionMethod,
    encrypted: bool,
    wayfinder: ZipArchiveEntryWayfinder,
}

impl Entry {
    pub(super) fn new(record: &ZipFileHeaderRecord<'_>) -> Self {
        Self {
            name: String::from_utf8_lossy(record.file_path().as_bytes()).into_owned(),
            size: record.uncompressed_size_hint(),
            offset: record.central_directory_offset(),
            packed: record.compressed_size_hint(),
            crc: record.crc32(),
            method: record.compression_method(),
            encrypted: record.flags().is_encrypted() || record.flags().is_masked(),
            wayfinder: record.wayfinder(),
        }
    }

    /// Adds the entry to an error.
    pub(super) fn locate(&self, error: Error) -> Error {
        error.in_format(MODEL_FORMAT_NAME).in_key(self.name.clone())
    }

    /// Offset of the directory record.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }
}

impl Archive {
    /// Opens an archive by its end record, without reading entries.
    pub(super) fn open(source: &Source) -> Result<Self> {
        let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
        let found = ZipLocator::new().locate_in_reader(Positional(source.clone()), &mut buffer, source.len());
        match found {
            Ok(zip) => Ok(Self { source: source.clone(), zip }),
            Err((_, error)) => {
                let at = error.eocd_offset().unwrap_or(source.len());
                Err(convert_error(error, "the archive's end record").at(at))
            }
        }
    }

    /// Calls `visit` with every directory record, in order, until it returns `false` or fails. Returns the number of calls.
    pub(super) fn entries(&self, mut visit: impl FnMut(&ZipFileHeaderRecord<'_>) -> Result<bool>) -> Result<u64> {
        let mut buffer = vec![0; rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
        let mut entries = self.zip.entries(&mut buffer);
        let (mut count, mut last) = (0, self.zip.directory_offset());
        loop {
            let next = entries.next_entry();
            let next = next
                .map_err(|error| convert_error(error, format!("entry {count} of the archive's directory")).at(last));
            let Some(record) = next? else { break };
            last = record.central_directory_offset();
            count += 1;
            if !visit(&record)? {
                return Ok(count);
            }
        }
        let declared = self.zip.entries_hint();
        if count != declared {
            let detail = format!("the end record declares {declared} entries, the directory has {count}");
            return Err(Error::invalid(detail).at(self.zip.eocd_offset()));
        }
        Ok(count)
    }

    /// The content of an entry, within its declared size and the limits, with its CRC-32 checked.
    pub(super) fn content(&self, entry: &Entry, limits: &Limits) -> Result<Vec<u8>> {
        self.content_of(entry, limits).map_err(|error| entry.locate(error))
    }

    fn content_of(&self, entry: &Entry, limits: &Limits) -> Result<Vec<u8>> {
        let at = |error: Error| error.at(entry.offset);
        limits.check_metadata("the entry's size", entry.size).map_err(at)?;
        limits.check_metadata("the entry's compressed size", entry.packed).map_err(at)?;
        let size = usize::try_from(entry.size)
            .map_err(|_| at(Error::limit("the entry's size", entry.size, usize::MAX as u64)))?;
        let start = self.start(entry)?;
        let packed = self.source.read(start..start.saturating_add(entry.packed));
        // Truncation is reported at the start of the entry.
        let packed = packed.map_err(|error| match error.kind() {
            container_core::ErrorKind::Truncated { needed, available } => {
                Error::truncated("the entry's data", needed, available).at(start)
            }
            _ => error,
        })?;
        let content = match entry.method {
            CompressionMethod::STORE if entry.packed == entry.size => packed.to_vec(),
            CompressionMethod::STORE => {
                let detail = format!("the entry declares {} bytes but stores {}", entry.size, entry.packed);
                return Err(at(Error::invalid(detail)));
            }
            _ if entry.size > deflate_lanes::most_inflated(entry.packed) => {
                let detail = format!("{} compressed bytes cannot hold the {size} declared", entry.packed);
                return Err(at(Error::invalid(detail)));
            }
            _ => {
                let mut content = vec![0; size];
                let inflated = Inflater::default().inflate(Compression::Deflate, &packed, &mut content);
                inflated.map_err(|error| error.at(start))?;
                content
            }
        };
        let crc = rawzip::crc32(&content);
        if crc != entry.crc {
            let detail = format!("CRC-32 mismatch: expected {:08x}, found {crc:08x}", entry.crc);
            return Err(Error::invalid(detail).at(start));
        }
        Ok(content)
    }

    /// Whether the entry's content starts with these eight bytes. Does not check its CRC.
    pub(super) fn starts_with(&self, entry: &Entry, prefix: [u8; 8]) -> bool {
        let Ok(start) = self.start(entry) else { return false };
        let Ok(packed) = self.source.read(start..start.saturating_add(entry.packed.min(PEEK_BYTES))) else {
            return false;
        };
        if entry.method == CompressionMethod::STORE {
            return packed.starts_with(&prefix);
        }
        let (mut state, mut begin) = (Decompress::new(false), [0; 8]);
        let status = state.decompress(&packed, &mut begin, FlushDecompress::None);
        status.is_ok() && state.total_out() == begin.len() as u64 && begin == prefix
    }

    /// Offset of the compressed bytes of a supported entry.
    fn start(&self, entry: &Entry) -> Result<u64> {
        if entry.encrypted {
            return Err(Error::unsupported("the entry is encrypted").at(entry.offset));
        }
        if !matches!(entry.method, CompressionMethod::STORE | CompressionMethod::DEFLATE) {
            let detail = format!("unsupported entry compression {} (supported: 0 STORE, 8 DEFLATE)", entry.method);
            return Err(Error::unsupported(detail).at(entry.offset));
        }
        let found = self.zip.get_entry(entry.wayfinder);
        let found = found.map_err(|error| convert_error(error, "the entry's local header").at(entry.offset))?;
        Ok(found.compressed_data_range().0)
    }
}

/// Name of the archive's first entry, from the start of the file.
pub(super) fn first_name(head: &[u8]) -> Option<&[u8]> {
    /// Bytes between the signature and the name length.
    const NAME_LEN_GAP: usize = 22;
    let mut cursor = Cursor::new(head.strip_prefix(&LOCAL_HEADER)?);
    cursor.take(NAME_LEN_GAP, "header").ok()?;
    let name = cursor.u16_le("name length").ok()?;
    cursor.u16_le("extra length").ok()?;
    cursor.take(usize::from(name), "name").ok()
}

/// Converts an error of rawzip; `what` is the structure being read.
fn convert_error(error: rawzip::Error, what: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    let what = what.into();
    match error.into_kind() {
        ErrorKind::IO(cause) => match cause.downcast::<Error>() {
            Ok(error) => error,
            // Past the end of the source.
            Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {
                Error::invalid(format!("{what} extends past the end of the file"))
            }
            Err(cause) => Error::io(format!("cannot read {what}"), cause),
        },
        ErrorKind::Eof => Error::invalid(format!("{what} extends past the end of the file")),
        ErrorKind::MissingEndOfCentralDirectory => Error::invalid("no end record: not a ZIP archive, or truncated"),
        ErrorKind::InvalidEndOfCentralDirectory => {
            Error::invalid(format!("{what} has a directory start after its end"))
        }
        ErrorKind::InvalidSignature { expected, actual } => {
            Error::invalid(format!("{what}: expected signature {expected:08x}, found {actual:08x}"))
        }
        other => Error::invalid(format!("{what} is damaged: {other}")),
    }
}
