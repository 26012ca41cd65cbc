//! The ZIP archive: its directory, and the content of one entry, checked. The structures are rawzip's to parse; what they
//! declare is checked here before anything is allocated for it.

use std::io;

use container_core::{Cursor, Error, Limits, Result, Source};
use flate2::{Decompress, FlushDecompress};
use rawzip::{
    CompressionMethod, ErrorKind, ReaderAt, ZipArchive, ZipArchiveEntryWayfinder, ZipFileHeaderRecord, ZipLocator,
};

use super::MODEL_FORMAT_NAME;
use crate::inflate::Inflater;
use crate::wire::Compression;

/// What a ZIP archive with at least one entry begins with.
pub(super) const LOCAL_HEADER: [u8; 4] = *b"PK\x03\x04";

/// Compressed bytes that are looked at for the first few bytes of an entry: a DEFLATE block's own codes take less than 300.
const PEEKED: u64 = 1024;

/// A source, for rawzip.
struct Positional(Source);

impl ReaderAt for Positional {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = self.0.len().saturating_sub(offset);
        let len = left.min(buffer.len() as u64);
        let bytes = self.0.read(offset.min(self.0.len())..offset.saturating_add(len).min(self.0.len()));
        // The error comes out again in `place`.
        let bytes = bytes.map_err(io::Error::other)?;
        buffer.iter_mut().zip(bytes.iter()).for_each(|(to, from)| *to = *from);
        Ok(bytes.len())
    }
}

/// An archive whose end has been found.
pub(super) struct Archive {
    source: Source,
    zip: ZipArchive<Positional>,
}

/// An entry that is of interest, as the directory describes it.
#[derive(Clone)]
pub(super) struct Entry {
    /// The name for people: what is no UTF-8 in it is replaced.
    pub(super) name: String,
    /// Bytes once decompressed, as declared.
    pub(super) size: u64,
    /// Where the directory describes it.
    offset: u64,
    packed: u64,
    crc: u32,
    method: CompressionMethod,
    encrypted: bool,
    way: ZipArchiveEntryWayfinder,
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
            way: record.wayfinder(),
        }
    }

    /// Says of an error which entry it is about.
    pub(super) fn tell(&self, error: Error) -> Error {
        error.in_format(MODEL_FORMAT_NAME).in_key(self.name.clone())
    }

    /// Where the directory says all this.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }
}

impl Archive {
    /// Finds the end record. No entry is looked at.
    pub(super) fn open(source: &Source) -> Result<Self> {
        let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
        let found = ZipLocator::new().locate_in_reader(Positional(source.clone()), &mut buffer, source.len());
        match found {
            Ok(zip) => Ok(Self { source: source.clone(), zip }),
            Err((_, error)) => {
                let at = error.eocd_offset().unwrap_or(source.len());
                Err(place(error, "the archive's end record").at(at))
            }
        }
    }

    /// Shows every entry of the directory to `visit`, in order, until it says `false` or fails. Returns how many it was shown.
    pub(super) fn entries(&self, mut visit: impl FnMut(&ZipFileHeaderRecord<'_>) -> Result<bool>) -> Result<u64> {
        let mut buffer = vec![0; rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
        let mut entries = self.zip.entries(&mut buffer);
        let (mut count, mut last) = (0, self.zip.directory_offset());
        loop {
            let next = entries.next_entry();
            let next = next.map_err(|error| place(error, format!("entry {count} of the archive's directory")).at(last));
            let Some(record) = next? else { break };
            last = record.central_directory_offset();
            count += 1;
            if !visit(&record)? {
                return Ok(count);
            }
        }
        let declared = self.zip.entries_hint();
        if count != declared {
            let detail = format!("the directory has {count} entries, the end record declares {declared}");
            return Err(Error::invalid(detail).at(self.zip.eocd_offset()));
        }
        Ok(count)
    }

    /// The content of an entry: no more than declared, no more than the limits allow, and its CRC-32 is right.
    pub(super) fn content(&self, entry: &Entry, limits: &Limits) -> Result<Vec<u8>> {
        self.content_of(entry, limits).map_err(|error| entry.tell(error))
    }

    fn content_of(&self, entry: &Entry, limits: &Limits) -> Result<Vec<u8>> {
        let at = |error: Error| error.at(entry.offset);
        limits.check_metadata("the entry's size", entry.size).map_err(at)?;
        limits.check_metadata("the entry's compressed size", entry.packed).map_err(at)?;
        let size = usize::try_from(entry.size)
            .map_err(|_| at(Error::limit("the entry's size", entry.size, usize::MAX as u64)))?;
        let start = self.start(entry)?;
        let packed = self.source.read(start..start.saturating_add(entry.packed));
        // What is short is the entry, where it begins; a failing medium says itself where it failed.
        let packed = packed.map_err(|error| match error.kind() {
            container_core::ErrorKind::Truncated { needed, available } => {
                Error::truncated("the entry's data", needed, available).at(start)
            }
            _ => error,
        })?;
        let content = match entry.method {
            CompressionMethod::STORE if entry.packed == entry.size => packed.to_vec(),
            CompressionMethod::STORE => {
                let detail = format!("{} stored bytes are declared to be {}", entry.packed, entry.size);
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
            let detail = format!("the content's CRC-32 is {crc:08x}, the directory says {:08x}", entry.crc);
            return Err(Error::invalid(detail).at(start));
        }
        Ok(content)
    }

    /// True when the entry's content begins with `wanted`, eight bytes. Its CRC is not looked at.
    pub(super) fn begins_with(&self, entry: &Entry, wanted: [u8; 8]) -> bool {
        let Ok(start) = self.start(entry) else { return false };
        let Ok(packed) = self.source.read(start..start.saturating_add(entry.packed.min(PEEKED))) else { return false };
        if entry.method == CompressionMethod::STORE {
            return packed.starts_with(&wanted);
        }
        let (mut state, mut begin) = (Decompress::new(false), [0; 8]);
        let status = state.decompress(&packed, &mut begin, FlushDecompress::None);
        status.is_ok() && state.total_out() == begin.len() as u64 && begin == wanted
    }

    /// Where the entry's compressed bytes begin, of an entry that can be read.
    fn start(&self, entry: &Entry) -> Result<u64> {
        if entry.encrypted {
            return Err(Error::unsupported("the entry is encrypted").at(entry.offset));
        }
        if !matches!(entry.method, CompressionMethod::STORE | CompressionMethod::DEFLATE) {
            let detail = format!("the entry's compression is {}; 0 (STORE) and 8 (DEFLATE) can be read", entry.method);
            return Err(Error::unsupported(detail).at(entry.offset));
        }
        let found = self.zip.get_entry(entry.way);
        let found = found.map_err(|error| place(error, "the entry's own header").at(entry.offset))?;
        Ok(found.compressed_data_range().0)
    }
}

/// The name of the archive's first entry, out of the beginning of the file.
pub(super) fn first_name(head: &[u8]) -> Option<&[u8]> {
    /// What stands between the signature and the length of the name.
    const BETWEEN: usize = 22;
    let mut cursor = Cursor::new(head.strip_prefix(&LOCAL_HEADER)?);
    cursor.take(BETWEEN, "header").ok()?;
    let name = cursor.u16_le("name length").ok()?;
    cursor.u16_le("extra length").ok()?;
    cursor.take(usize::from(name), "name").ok()
}

/// An error of rawzip in the words of this project; `what` is what was being read.
fn place(error: rawzip::Error, what: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    let what = what.into();
    match error.into_kind() {
        ErrorKind::IO(cause) => match cause.downcast::<Error>() {
            Ok(error) => error,
            // Bytes that the source does not have.
            Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {
                Error::invalid(format!("{what} leaves the file"))
            }
            Err(cause) => Error::io(format!("cannot read {what}"), cause),
        },
        ErrorKind::Eof => Error::invalid(format!("{what} leaves the file")),
        ErrorKind::MissingEndOfCentralDirectory => {
            Error::invalid("it is no ZIP archive, or its end is missing: there is no end record")
        }
        ErrorKind::InvalidEndOfCentralDirectory => {
            Error::invalid(format!("{what} puts the directory's beginning behind its end"))
        }
        ErrorKind::InvalidSignature { expected, actual } => {
            Error::invalid(format!("{what} begins with {actual:08x}, {expected:08x} was expected"))
        }
        other => Error::invalid(format!("{what} is damaged: {other}")),
    }
}
