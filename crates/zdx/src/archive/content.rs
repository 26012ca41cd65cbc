//! An entry's bytes: where they lie, and what they inflate to.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use container_core::{Bytes, Cursor, Error, Result, Source};
use flate2::{Decompress, FlushDecompress, Status};

use super::directory::LOCAL;
use super::entry::{Entry, Kind};

/// Read, inflated and written at once.
pub(super) const PIECE: usize = 256 << 10;

/// The most that DEFLATE makes of a byte: four matches of 258 bytes at 2 bits each.
const RATIO: u64 = 1032;

pub(super) const STORE: u16 = 0;
pub(super) const DEFLATE: u16 = 8;

/// What an entry's own header says.
pub(super) struct Local {
    /// Where its data lie.
    pub(super) data: Range<u64>,
    pub(super) crc: u32,
    pub(super) size: u64,
    pub(super) packed: u64,
    /// CRC and sizes stand behind the data, and may be missing here.
    pub(super) described_behind: bool,
}

/// Checks an entry, and its own header against the directory, as far as reading takes it.
pub(super) fn locate(source: &Source, entry: &Entry, name: &str) -> Result<Local> {
    let refuse = |detail: &'static str| Err(Error::unsupported(detail).at(entry.offset));
    match entry.kind {
        Kind::File => {}
        Kind::Link => return refuse("the entry is a symbolic link, which is not followed"),
        Kind::Special => return refuse("the entry is neither a file nor a folder"),
    }
    if entry.encrypted {
        return refuse("the entry is encrypted");
    }
    match entry.method {
        STORE if entry.size != entry.packed => {
            let detail = format!("the entry is stored in {} bytes and declares {}", entry.packed, entry.size);
            return Err(Error::invalid(detail).at(entry.offset));
        }
        DEFLATE if entry.size > entry.packed.saturating_mul(RATIO) => {
            let detail =
                format!("the entry declares {} bytes, which {} of DEFLATE cannot hold", entry.size, entry.packed);
            return Err(Error::invalid(detail).at(entry.offset));
        }
        STORE | DEFLATE => {}
        other => {
            let detail = format!("the entry's compression is {other}; 0 (STORE) and 8 (DEFLATE) can be read");
            return Err(Error::unsupported(detail).at(entry.offset));
        }
    }
    local(source, entry, name).map_err(|error| error.at(entry.offset))
}

/// The local header.
fn local(source: &Source, entry: &Entry, name: &str) -> Result<Local> {
    let end = entry.offset.saturating_add(LOCAL).saturating_add(name.len() as u64);
    let head = source.read(entry.offset..end)?;
    let mut cursor = Cursor::at(&head, entry.offset);
    let signature: [u8; 4] = cursor.array("the entry's own header")?;
    if signature != *b"PK\x03\x04" {
        return Err(Error::invalid(format!(
            "the entry's own header begins with {signature:02x?}, not with \"PK\" 3 4"
        )));
    }
    let _version = cursor.u16_le("the entry's own header")?;
    let flags = cursor.u16_le("the entry's own header")?;
    let method = cursor.u16_le("the entry's own header")?;
    let _time = cursor.u32_le("the entry's own header")?;
    let crc = cursor.u32_le("the entry's own header")?;
    let packed = cursor.u32_le("the entry's own header")?;
    let size = cursor.u32_le("the entry's own header")?;
    let name_len = cursor.u16_le("the entry's own header")?;
    let extra_len = cursor.u16_le("the entry's own header")?;
    let here = cursor.rest();
    if usize::from(name_len) != name.len() || here != name.as_bytes() {
        let shown = if usize::from(name_len) <= here.len() { here.get(..name_len.into()) } else { Some(here) };
        let shown = String::from_utf8_lossy(shown.unwrap_or_default());
        let more = if usize::from(name_len) > here.len() { " and more" } else { "" };
        return Err(Error::invalid(format!("the entry's own header names {shown:?}{more}")));
    }
    if flags & 1 != 0 {
        return Err(Error::invalid("the entry is encrypted by its own header, and not by the directory"));
    }
    if method != entry.method {
        let detail = format!("the entry's own header has compression {method}, the directory {}", entry.method);
        return Err(Error::invalid(detail));
    }
    let start = end.saturating_add(extra_len.into());
    let data = start..start.saturating_add(entry.packed);
    if data.end > entry.room {
        let room = entry.room.saturating_sub(start);
        return Err(Error::truncated("the entry's data", entry.packed, room).at(start));
    }
    let mut local = Local { data, crc, size: size.into(), packed: packed.into(), described_behind: flags & 8 != 0 };
    if size == u32::MAX || packed == u32::MAX {
        large(&source.read(end..start)?, &mut local);
    }
    Ok(local)
}

/// The sizes of a ZIP64 entry, where they are.
fn large(extra: &[u8], local: &mut Local) {
    let mut cursor = Cursor::new(extra);
    while let (Ok(id), Ok(len)) = (cursor.u16_le("a field"), cursor.u16_le("a field")) {
        let Ok(field) = cursor.take(len.into(), "a field") else { return };
        if id == 1 {
            let mut field = Cursor::new(field);
            for place in [&mut local.size, &mut local.packed] {
                if *place == u64::from(u32::MAX)
                    && let Ok(number) = field.u64_le("a size")
                {
                    *place = number;
                }
            }
            return;
        }
    }
}

/// A range of a source as a stream, by pieces: without a copy where it lies in memory.
pub(super) struct Pieces {
    source: Source,
    next: u64,
    piece: Bytes,
}

impl Pieces {
    pub(super) fn new(source: Source) -> Self {
        Self { source, next: 0, piece: Bytes::new() }
    }

    /// What there is of the current piece, or the next one; nothing at the end.
    pub(super) fn fill(&mut self) -> Result<&[u8]> {
        if self.piece.is_empty() {
            let end = self.next.saturating_add(PIECE as u64).min(self.source.len());
            self.piece = self.source.read(self.next..end)?;
            self.next = end;
        }
        Ok(&self.piece)
    }

    pub(super) fn used(&mut self, bytes: usize) {
        let _ = self.piece.split_to(bytes.min(self.piece.len()));
    }
}

/// Decompressors that wait to be used again: one takes longer to make than a small document to inflate.
#[derive(Default)]
pub(super) struct Inflaters(Mutex<Vec<Decompress>>);

/// As many wait, at most.
const KEPT: usize = 16;

impl Inflaters {
    fn take(&self) -> Decompress {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| Decompress::new(false))
    }

    fn give(&self, mut used: Decompress) {
        used.reset(false);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(used);
        }
    }

    /// The content of an entry, of which `data` are the bytes, in one piece.
    ///
    /// Its declared size is allocated: the caller has held it against the limits.
    pub(super) fn whole(&self, entry: &Entry, data: Source) -> Result<Vec<u8>> {
        let size = usize::try_from(entry.size);
        let size = size.map_err(|_| Error::limit("the entry's size", entry.size, usize::MAX as u64))?;
        // A byte more than declared tells that there is more.
        let mut content = Vec::with_capacity(size.saturating_add(1));
        self.stream(entry, data, &mut content, &mut |_| Ok(()))?;
        Ok(content)
    }

    /// The content of an entry piece by piece.
    pub(super) fn pieces(&self, entry: &Entry, data: Source, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if entry.method == STORE {
            let mut pieces = Pieces::new(data);
            let mut crc = crc32fast::Hasher::new();
            loop {
                let piece = pieces.fill()?;
                let len = piece.len();
                if len == 0 {
                    return check_crc(entry, crc.finalize());
                }
                crc.update(piece);
                sink(piece)?;
                pieces.used(len);
            }
        }
        let mut buffer = Vec::with_capacity(PIECE);
        self.stream(entry, data, &mut buffer, &mut |full| {
            sink(full)?;
            full.clear();
            Ok(())
        })?;
        sink(&buffer)
    }

    /// Inflates into `buffer`, as much as it has room for; `full` is told when there is no more, and may make some.
    fn stream(
        &self,
        entry: &Entry,
        data: Source,
        buffer: &mut Vec<u8>,
        full: &mut dyn FnMut(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut inflater = self.take();
        let outcome = inflate(&mut inflater, entry, Pieces::new(data), buffer, full);
        self.give(inflater);
        check_crc(entry, outcome?)
    }
}

fn inflate(
    inflater: &mut Decompress,
    entry: &Entry,
    mut data: Pieces,
    buffer: &mut Vec<u8>,
    full: &mut dyn FnMut(&mut Vec<u8>) -> Result<()>,
) -> Result<u32> {
    let mut crc = crc32fast::Hasher::new();
    if entry.method == STORE {
        loop {
            let piece = data.fill()?;
            let len = piece.len();
            if len == 0 {
                return Ok(crc.finalize());
            }
            crc.update(piece);
            buffer.extend_from_slice(piece);
            data.used(len);
        }
    }
    loop {
        let piece = data.fill()?;
        let (read, written, had) = (inflater.total_in(), inflater.total_out(), buffer.len());
        let status = inflater.decompress_vec(piece, buffer, FlushDecompress::None);
        let status =
            status.map_err(|cause| Error::invalid("the entry's compressed data are damaged").caused_by(cause))?;
        crc.update(buffer.get(had..).unwrap_or_default());
        let read = inflater.total_in() - read;
        data.used(usize::try_from(read).unwrap_or(usize::MAX));
        let total = inflater.total_out();
        if total > entry.size {
            let detail = format!("the entry inflates to more than the {} bytes that it declares", entry.size);
            return Err(Error::invalid(detail));
        }
        if status == Status::StreamEnd {
            if total < entry.size {
                let detail = format!("the entry inflates to {total} bytes and declares {}", entry.size);
                return Err(Error::invalid(detail));
            }
            if inflater.total_in() < entry.packed {
                let left = entry.packed - inflater.total_in();
                return Err(Error::invalid(format!("{left} of the entry's bytes lie behind the end of its data")));
            }
            return Ok(crc.finalize());
        }
        // There was room: so nothing comes any more.
        if read == 0 && total == written {
            return Err(Error::invalid("the entry's compressed data have no end"));
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
    Err(Error::invalid(format!("the content's CRC-32 is {found:08x}, the directory says {:08x}", entry.crc)))
}
