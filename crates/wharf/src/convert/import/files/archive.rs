//! The files of a ZIP archive. The structures are rawzip's to parse; what they declare is checked here before anything is
//! allocated for it.

use std::io::{self, Read};

use container_core::{Error, ErrorKind, Limits, Result, Source};
use flate2::read::DeflateDecoder;
use rawzip::{CompressionMethod, ReaderAt, ZipArchive, ZipArchiveEntryWayfinder, ZipFileHeaderRecord, ZipLocator};

/// A source, for rawzip.
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

/// An archive, whose directory has been read.
#[derive(Debug)]
pub(super) struct Archive {
    name: String,
    source: Source,
    zip: ZipArchive<Positional>,
}

/// A file in an archive, as the directory describes it.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Bytes once decompressed, as declared.
    pub(super) size: u64,
    offset: u64,
    packed: u64,
    crc: u32,
    method: CompressionMethod,
    encrypted: bool,
    way: ZipArchiveEntryWayfinder,
}

impl Archive {
    /// Opens an archive and shows the files of its directory, in its order, to `visit`: their names and what they are. `other` is told
    /// of links.
    pub(super) fn open(
        name: String,
        source: &Source,
        mut visit: impl FnMut(&str, Entry) -> Result<()>,
        mut other: impl FnMut(&str),
    ) -> Result<Self> {
        let named = |error: Error| error.in_format("zip").in_file(name.clone());
        let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
        let found = ZipLocator::new().locate_in_reader(Positional(source.clone()), &mut buffer, source.len());
        let zip = found.map_err(|(_, error)| named(told(error, "the archive's end record")))?;
        let mut buffer = vec![0; rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
        let mut entries = zip.entries(&mut buffer);
        let mut count = 0;
        // Where files lie: no two of an honest archive share bytes.
        let mut extents = Vec::new();
        loop {
            let next =
                entries.next_entry().map_err(|error| told(error, format!("entry {count} of the archive's directory")));
            let Some(record) = next.map_err(named)? else { break };
            count += 1;
            let shown = || String::from_utf8_lossy(record.file_path().as_bytes()).into_owned();
            if record.is_dir() {
                continue;
            }
            let path = std::str::from_utf8(record.file_path().as_bytes()).map_err(|_| {
                named(Error::unsupported("the name of an entry is not UTF-8, which keys are").in_key(shown()))
            })?;
            if record.mode().is_symlink() {
                other(path);
                continue;
            }
            let entry = Entry::new(&record);
            extents.push((record.local_header_offset(), entry.packed, entry.offset));
            visit(path, entry).map_err(named)?;
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
            None => Ok(Self { name, source: source.clone(), zip }),
        }
    }

    /// How it is called in errors.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The content of a file: no more than declared, no more than the limits allow, and its CRC-32 is right.
    pub(super) fn content(&self, path: &str, entry: &Entry, limits: &Limits) -> Result<Vec<u8>> {
        let content = self.content_of(entry, limits);
        content.map_err(|error| error.in_format("zip").in_file(self.name.clone()).in_key(path.to_owned()))
    }

    fn content_of(&self, entry: &Entry, limits: &Limits) -> Result<Vec<u8>> {
        let at = |error: Error| error.at(entry.offset);
        if entry.encrypted {
            return Err(at(Error::unsupported("the entry is encrypted")));
        }
        if !matches!(entry.method, CompressionMethod::STORE | CompressionMethod::DEFLATE) {
            let detail = format!("the entry's compression is {}; 0 (STORE) and 8 (DEFLATE) can be read", entry.method);
            return Err(at(Error::unsupported(detail)));
        }
        limits.check_block("the entry's size", entry.size).map_err(at)?;
        limits.check_block("the entry's compressed size", entry.packed).map_err(at)?;
        let found = self.zip.get_entry(entry.way).map_err(|error| at(told(error, "the entry's own header")))?;
        let (start, _) = found.compressed_data_range();
        let packed =
            self.source.read(start..start.saturating_add(entry.packed)).map_err(|error| match error.kind() {
                ErrorKind::Truncated { needed, available } => {
                    Error::truncated("the entry's data", needed, available).at(start)
                }
                _ => error,
            })?;
        let mut content = Vec::new();
        if entry.method == CompressionMethod::STORE {
            content.extend_from_slice(&packed);
        } else {
            // One byte more than declared tells that there is more.
            let mut decoder = DeflateDecoder::new(&packed[..]).take(entry.size.saturating_add(1));
            let read = decoder.read_to_end(&mut content);
            read.map_err(|cause| Error::invalid("the entry's compressed data are damaged").caused_by(cause).at(start))?;
        }
        if content.len() as u64 != entry.size {
            let more = if content.len() as u64 > entry.size { "more than " } else { "" };
            let found = (content.len() as u64).min(entry.size);
            let detail = format!("the entry has {more}{found} bytes, the directory declares {}", entry.size);
            return Err(Error::invalid(detail).at(start));
        }
        let crc = rawzip::crc32(&content);
        if crc != entry.crc {
            let detail = format!("the content's CRC-32 is {crc:08x}, the directory says {:08x}", entry.crc);
            return Err(Error::invalid(detail).at(start));
        }
        Ok(content)
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

/// An error of rawzip in the words of this project; `what` is what was being read.
fn told(error: rawzip::Error, what: impl Into<String>) -> Error {
    let what = what.into();
    match error.into_kind() {
        rawzip::ErrorKind::IO(cause) => match cause.downcast::<Error>() {
            Ok(error) => error,
            Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {
                Error::invalid(format!("{what} leaves the file"))
            }
            Err(cause) => Error::io(format!("cannot read {what}"), cause),
        },
        rawzip::ErrorKind::Eof => Error::invalid(format!("{what} leaves the file")),
        rawzip::ErrorKind::MissingEndOfCentralDirectory => {
            Error::invalid("it is no ZIP archive, or its end is missing: there is no end record")
        }
        other => Error::invalid(format!("{what} is damaged: {other}")),
    }
}
