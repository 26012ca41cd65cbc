//! The contents of an entry: location and decompression.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use container_core::{Bytes, Cursor, Error, Result, Source};
use flate2::{Decompress, FlushDecompress, Status};

use super::directory::LOCAL_HEADER_LEN;
use super::entry::{Entry, Kind};

/// Bytes read, decompressed and written at once.
pub(super) const BLOCK_BYTES: usize = 256 << 10;

/// Maximum compression ratio of DEFLATE: four matches of 258 bytes at 2 bits each per byte.
const MAX_RATIO: u64 = 1032;

pub(super) const STORE: u16 = 0;
pub(super) const DEFLATE: u16 = 8;

/// An entry's local header.
pub(super) struct Local {
    /// Range of its data.
    pub(super) data: Range<u64>,
    pub(super) crc: u32,
    pub(super) size: u64,
    pub(super) packed: u64,
    /// CRC and sizes follow the data, and may be missing here.
    pub(super) has_descriptor: bool,
}

/// Validates an entry, and its local header against the directory, as far as needed for reading.
pub(super) fn locate(source: &Source, entry: &Entry, name: &str) -> Result<Local> {
    let refuse = |detail: &'static str| Err(Error::unsupported(detail).at(entry.offset));
    match entry.kind {
        Kind::File => {}
        Kind::Link => return refuse("the entry is a symbolic link, which is not followed"),
        Kind::Special => return refuse("the entry is neither a file nor a directory"),
    }
    if entry.encrypted {
        return refuse("the entry is encrypted");
    }
    match entry.method {
        STORE if entry.size != entry.packed => {
            let detail = format!("the entry is stored in {} bytes, but declares {}", entry.packed, entry.size);
            return Err(Error::invalid(detail).at(entry.offset));
        }
        DEFLATE if entry.size > entry.packed.saturating_mul(MAX_RATIO) => {
            let detail = format!(
                "the entry declares {} bytes, more than {} bytes of DEFLATE can hold",
                entry.size, entry.packed
            );
            return Err(Error::invalid(detail).at(entry.offset));
        }
        STORE | DEFLATE => {}
        other => {
            let detail = format!("compression method: expected 0 (STORE) or 8 (DEFLATE), found {other}");
            return Err(Error::unsupported(detail).at(entry.offset));
        }
    }
    read_local_header(source, entry, name).map_err(|error| error.at(entry.offset))
}

/// Reads and checks the local header.
fn read_local_header(source: &Source, entry: &Entry, name: &str) -> Result<Local> {
    let end = entry.offset.saturating_add(LOCAL_HEADER_LEN).saturating_add(name.len() as u64);
    let head = source.read(entry.offset..end)?;
    let mut cursor = Cursor::at(&head, entry.offset);
    let signature: [u8; 4] = cursor.array("the local header")?;
    if signature != *b"PK\x03\x04" {
        return Err(Error::invalid(format!("local header: expected \"PK\" 3 4, found {signature:02x?}")));
    }
    let _version = cursor.u16_le("the local header")?;
    let flags = cursor.u16_le("the local header")?;
    let method = cursor.u16_le("the local header")?;
    let _time = cursor.u32_le("the local header")?;
    let crc = cursor.u32_le("the local header")?;
    let packed = cursor.u32_le("the local header")?;
    let size = cursor.u32_le("the local header")?;
    let name_len = cursor.u16_le("the local header")?;
    let extra_len = cursor.u16_le("the local header")?;
    let here = cursor.rest();
    if usize::from(name_len) != name.len() || here != name.as_bytes() {
        let found = if usize::from(name_len) <= here.len() { here.get(..name_len.into()) } else { Some(here) };
        let found = String::from_utf8_lossy(found.unwrap_or_default());
        let more = if usize::from(name_len) > here.len() { " and more" } else { "" };
        return Err(Error::invalid(format!("the local header has another name, {found:?}{more}")));
    }
    if flags & 1 != 0 {
        return Err(Error::invalid("the entry is encrypted according to its local header, but not the directory"));
    }
    if method != entry.method {
        let detail = format!("compression method {method} in the local header, but {} in the directory", entry.method);
        return Err(Error::invalid(detail));
    }
    let start = end.saturating_add(extra_len.into());
    let data = start..start.saturating_add(entry.packed);
    if data.end > entry.end {
        let available = entry.end.saturating_sub(start);
        return Err(Error::truncated("the entry's data", entry.packed, available).at(start));
    }
    let mut local = Local { data, crc, size: size.into(), packed: packed.into(), has_descriptor: flags & 8 != 0 };
    if size == u32::MAX || packed == u32::MAX {
        read_zip64_sizes(&source.read(end..start)?, &mut local);
    }
    Ok(local)
}

/// Reads the sizes in a ZIP64 extra field, if there are any.
fn read_zip64_sizes(extra: &[u8], local: &mut Local) {
    let mut cursor = Cursor::new(extra);
    while let (Ok(id), Ok(len)) = (cursor.u16_le("a field"), cursor.u16_le("a field")) {
        let Ok(field) = cursor.take(len.into(), "a field") else { return };
        if id == 1 {
            let mut field = Cursor::new(field);
            for target in [&mut local.size, &mut local.packed] {
                if *target == u64::from(u32::MAX)
                    && let Ok(number) = field.u64_le("a size")
                {
                    *target = number;
                }
            }
            return;
        }
    }
}

/// Streams a range of a source in blocks, without copying if it is in memory.
pub(super) struct Blocks {
    source: Source,
    next: u64,
    block: Bytes,
}

impl Blocks {
    pub(super) fn new(source: Source) -> Self {
        Self { source, next: 0, block: Bytes::new() }
    }

    /// The rest of the current block, or the next one; empty at the end.
    pub(super) fn fill(&mut self) -> Result<&[u8]> {
        if self.block.is_empty() {
            let end = self.next.saturating_add(BLOCK_BYTES as u64).min(self.source.len());
            self.block = self.source.read(self.next..end)?;
            self.next = end;
        }
        Ok(&self.block)
    }

    pub(super) fn consume(&mut self, bytes: usize) {
        let _ = self.block.split_to(bytes.min(self.block.len()));
    }
}

/// Idle decompressors: creating one takes longer than decompressing a small document.
#[derive(Default)]
pub(super) struct Inflaters(Mutex<Vec<Decompress>>);

/// Maximum number of idle decompressors.
const MAX_IDLE: usize = 16;

impl Inflaters {
    fn take(&self) -> Decompress {
        let idle = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.unwrap_or_else(|| Decompress::new(false))
    }

    fn put_back(&self, mut inflater: Decompress) {
        inflater.reset(false);
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.push(inflater);
        }
    }

    /// Decompresses an entry at once, given its `data`.
    ///
    /// Allocates its declared size, which the caller must have checked against the limits.
    pub(super) fn decompress(&self, entry: &Entry, data: Source) -> Result<Vec<u8>> {
        let size = usize::try_from(entry.size);
        let size = size.map_err(|_| Error::limit("the entry's size", entry.size, usize::MAX as u64))?;
        // One byte more than declared, to detect excess data.
        let mut content = Vec::with_capacity(size.saturating_add(1));
        self.stream(entry, data, &mut content, &mut |_| Ok(()))?;
        Ok(content)
    }

    /// Reads the contents of an entry block by block.
    pub(super) fn read_blocks(
        &self,
        entry: &Entry,
        data: Source,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        if entry.method == STORE {
            let mut blocks = Blocks::new(data);
            let mut crc = crc32fast::Hasher::new();
            loop {
                let block = blocks.fill()?;
                let len = block.len();
                if len == 0 {
                    return check_crc(entry, crc.finalize());
                }
                crc.update(block);
                sink(block)?;
                blocks.consume(len);
            }
        }
        let mut buffer = Vec::with_capacity(BLOCK_BYTES);
        self.stream(entry, data, &mut buffer, &mut |full| {
            sink(full)?;
            full.clear();
            Ok(())
        })?;
        sink(&buffer)
    }

    /// Decompresses into `buffer`, up to its capacity; then calls `full`, which may drain it.
    fn stream(
        &self,
        entry: &Entry,
        data: Source,
        buffer: &mut Vec<u8>,
        full: &mut dyn FnMut(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut inflater = self.take();
        let outcome = inflate(&mut inflater, entry, Blocks::new(data), buffer, full);
        self.put_back(inflater);
        check_crc(entry, outcome?)
    }
}

fn inflate(
    inflater: &mut Decompress,
    entry: &Entry,
    mut data: Blocks,
    buffer: &mut Vec<u8>,
    full: &mut dyn FnMut(&mut Vec<u8>) -> Result<()>,
) -> Result<u32> {
    let mut crc = crc32fast::Hasher::new();
    if entry.method == STORE {
        loop {
            let block = data.fill()?;
            let len = block.len();
            if len == 0 {
                return Ok(crc.finalize());
            }
            crc.update(block);
            buffer.extend_from_slice(block);
            data.consume(len);
        }
    }
    loop {
        let block = data.fill()?;
        let (read, written, had) = (inflater.total_in(), inflater.total_out(), buffer.len());
        let status = inflater.decompress_vec(block, buffer, FlushDecompress::None);
        let status = status.map_err(|cause| Error::invalid("the compressed data are damaged").caused_by(cause))?;
        crc.update(buffer.get(had..).unwrap_or_default());
        let read = inflater.total_in() - read;
        data.consume(usize::try_from(read).unwrap_or(usize::MAX));
        let total = inflater.total_out();
        if total > entry.size {
            let detail = format!("the entry decompresses to more than the declared {} bytes", entry.size);
            return Err(Error::invalid(detail));
        }
        if status == Status::StreamEnd {
            if total < entry.size {
                let detail = format!("the entry decompresses to {total} bytes, but declares {}", entry.size);
                return Err(Error::invalid(detail));
            }
            if inflater.total_in() < entry.packed {
                let left = entry.packed - inflater.total_in();
                return Err(Error::invalid(format!("{left} unexpected bytes after the entry's compressed data")));
            }
            return Ok(crc.finalize());
        }
        // There was space in the buffer, so there is no more input.
        if read == 0 && total == written {
            return Err(Error::invalid("the compressed data are incomplete"));
        }
        if buffer.len() == buffer.capacity() {
            full(buffer)?;
        }
    }
}

pub(super) fn check_crc(entry: &Entry, found: u32) -> Result<()> {
    if found == entry.crc {
        return Ok(());
    }
    Err(Error::invalid(format!("CRC-32: expected {:08x}, found {found:08x}", entry.crc)))
}
