//! HDF5 object headers: locates messages, and edits headers.
//!
//! [`super::walk`] reads every header with this before the library does. Continuations are followed in the library's order, each once.

use std::collections::HashSet;
use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian};
use container_core::{Cursor, Error, Result};
use hdf5_reader::checksum::jenkins_lookup3;
use hdf5_reader::{Storage, StorageBuffer};

use super::storage::Blocks;

pub(super) const NIL: u16 = 0x00;
pub(super) const LINK_INFO: u16 = 0x02;
pub(super) const LINK: u16 = 0x06;
pub(super) const LAYOUT: u16 = 0x08;
pub(super) const FILTERS: u16 = 0x0b;
pub(super) const ATTRIBUTE: u16 = 0x0c;
pub(super) const CONTINUATION: u16 = 0x10;
pub(super) const SYMBOL_TABLE: u16 = 0x11;
pub(super) const ATTRIBUTE_INFO: u16 = 0x15;

/// Maximum length of a message, which has 16 bits.
pub(super) const MAX_BODY: usize = u16::MAX as usize;

/// Maximum number of parts of a header, and of empty messages in a part: the library's loops are quadratic in the latter.
const MAX_PARTS: usize = 1024;

/// Widths in bytes of offsets and lengths in the file.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) offset: u8,
    pub(super) length: u8,
}

/// A contiguous part of a header.
struct Part {
    address: u64,
    /// Including the checksum of version 2.
    bytes: StorageBuffer,
}

pub(super) struct Message {
    pub(super) kind: u16,
    /// The body refers to a message elsewhere.
    pub(super) shared: bool,
    part: usize,
    /// Offset of the message in its part, before its body.
    start: usize,
    body: Range<usize>,
}

pub(super) struct Header {
    version: u8,
    /// Messages have a creation index.
    numbered: bool,
    parts: Vec<Part>,
    pub(super) messages: Vec<Message>,
    /// Total length of all parts.
    pub(super) len: u64,
}

/// A change to a message.
pub(super) enum Edit {
    Hide,
    /// Replaces it with messages of this kind.
    Replace(u16, Vec<Vec<u8>>),
}

impl Header {
    /// Reads a header; `None` when the library cannot read it either. Calls `spend` with the length of each part before reading it, and with
    /// each number of messages.
    pub(super) fn read(
        storage: &dyn Storage,
        sizes: Sizes,
        address: u64,
        mut spend: impl FnMut(u64, u64) -> Result<()>,
    ) -> Result<Option<Self>> {
        let Some((mut header, start, len)) = Self::head(storage, address) else { return Ok(None) };
        let mut open = vec![(address, start, len)];
        let mut visited = HashSet::new();
        while let Some((address, start, len)) = open.pop() {
            spend(len, 0)?;
            let bytes = usize::try_from(len).ok().and_then(|len| storage.read_range(address, len).ok());
            let end = bytes.as_ref().and_then(|bytes| bytes.len().checked_sub(header.checksum_len()));
            let (Some(bytes), Some(end)) = (bytes, end) else { return Ok(None) };
            header.len += len;
            header.parts.push(Part { address, bytes });
            let before = header.messages.len();
            if header.read_part(start, end)?.is_none() {
                return Ok(None);
            }
            spend(0, (header.messages.len() - before) as u64)?;
            for message in header.messages.get(before..).unwrap_or_default() {
                if message.kind == CONTINUATION && !message.shared {
                    let Some(place) = header.continuation(message, sizes) else { return Ok(None) };
                    // The library rejects repeated parts, and more parts.
                    if !visited.insert(place.0) || visited.len() > MAX_PARTS {
                        return Ok(None);
                    }
                    open.push(place);
                }
            }
        }
        Ok(Some(header))
    }

    /// Parses the prefix of a header: returns the offset of the first message, and the length of the first part.
    fn head(storage: &dyn Storage, address: u64) -> Option<(Self, usize, u64)> {
        let header = |version, numbered| Self { version, numbered, parts: Vec::new(), messages: Vec::new(), len: 0 };
        if &*storage.read_range(address, 4).ok()? != b"OHDR" {
            let bytes = storage.read_range(address, 16).ok()?;
            let len = LittleEndian::read_u32(bytes.get(8..12)?);
            return (*bytes.first()? == 1).then(|| (header(1, false), 16, u64::from(len) + 16));
        }
        let flags = *storage.read_range(address, 6).ok()?.get(5)?;
        let (times, phases) = (if flags & 0x20 == 0 { 0 } else { 16 }, if flags & 0x10 == 0 { 0 } else { 4 });
        let width = 1usize << (flags & 0b11);
        let start = 6 + times + phases + width;
        let bytes = storage.read_range(address, start).ok()?;
        let len =
            LittleEndian::read_uint(bytes.get(start - width..)?, width).checked_add(start as u64)?.checked_add(4)?;
        (*bytes.get(4)? == 2).then(|| (header(2, flags & 0b100 != 0), start, len))
    }

    fn checksum_len(&self) -> usize {
        if self.version == 1 { 0 } else { 4 }
    }

    /// Length of a message's prefix.
    fn envelope_len(&self) -> usize {
        match (self.version, self.numbered) {
            (1, _) => 8,
            (_, true) => 6,
            (_, false) => 4,
        }
    }

    /// Parses the messages in a range of the last part; `None` when it is malformed.
    fn read_part(&mut self, start: usize, end: usize) -> Result<Option<()>> {
        let part = self.parts.len().saturating_sub(1);
        let Some(bytes) = self.parts.get(part).and_then(|part| part.bytes.get(start..end)) else { return Ok(None) };
        let envelope = self.envelope_len();
        let mut cursor = Cursor::new(bytes);
        let (mut empty, mut messages) = (0, Vec::new());
        while cursor.remaining() >= envelope {
            let at = bytes.len() - cursor.remaining();
            let (kind, len, flags) = if self.version == 1 {
                (cursor.u16_le("message")?, cursor.u16_le("message")?, cursor.u32_le("message")?)
            } else {
                let kind = cursor.u8("message")?.into();
                let (len, flags) = (cursor.u16_le("message")?, cursor.u8("message")?.into());
                cursor.take(envelope - 4, "message")?;
                (kind, len, flags)
            };
            if cursor.take(len.into(), "message").is_err() {
                return Ok(None);
            }
            if (self.version, kind, len) == (2, NIL, 0) {
                empty += 1;
                if empty > MAX_PARTS {
                    let rest = bytes.get(at..).unwrap_or_default();
                    if rest.iter().all(|byte| *byte == 0) {
                        break;
                    }
                    return Err(Error::limit("empty messages of an object header", empty as u64, MAX_PARTS as u64));
                }
            }
            let body = start + at + envelope;
            let body = body..body + usize::from(len);
            messages.push(Message { kind, shared: flags & 0b10 != 0, part, start: start + at, body });
        }
        self.messages.append(&mut messages);
        Ok(Some(()))
    }

    /// The target of a continuation: address, offset of the first message, and length.
    fn continuation(&self, message: &Message, sizes: Sizes) -> Option<(u64, usize, u64)> {
        let mut fields = hdf5_reader::io::Cursor::new(self.body(message));
        let target = hdf5_reader::messages::continuation::parse(&mut fields, sizes.offset, sizes.length, 0).ok()?;
        Some((target.offset, if self.version == 1 { 0 } else { 4 }, target.length))
    }

    pub(super) fn body(&self, message: &Message) -> &[u8] {
        self.parts.get(message.part).and_then(|part| part.bytes.get(message.body.clone())).unwrap_or_default()
    }

    /// Edits messages by index. Adds the changed parts to `blocks`, which are relative to `base`; new parts are placed at `next`, beyond the
    /// end of the file.
    pub(super) fn edit(&self, edits: Vec<(usize, Edit)>, sizes: Sizes, base: u64, next: &mut u64, blocks: &mut Blocks) {
        let mut parts: Vec<Option<Vec<u8>>> = self.parts.iter().map(|_| None).collect();
        for (index, edit) in edits {
            let Some(message) = self.messages.get(index) else { continue };
            let (Some(part), Some(changed)) = (self.parts.get(message.part), parts.get_mut(message.part)) else {
                continue;
            };
            // Damaged parts stay damaged.
            if !self.is_sound(part) {
                continue;
            }
            let bytes = changed.get_or_insert_with(|| part.bytes.to_vec());
            let (kind, place) = match edit {
                Edit::Hide => (NIL, None),
                Edit::Replace(kind, bodies) => {
                    let block = self.block(kind, &bodies);
                    let place = (*next, block.len() as u64);
                    *next += place.1;
                    blocks.insert(base + place.0, block.into());
                    (CONTINUATION, Some(place))
                }
            };
            let kind = kind.to_le_bytes();
            let kind = if self.version == 1 { &kind[..] } else { &kind[..1] };
            if let Some(field) = bytes.get_mut(message.start..message.start + kind.len()) {
                field.copy_from_slice(kind);
            }
            if let (Some((address, len)), Some(body)) = (place, bytes.get_mut(message.body.clone())) {
                let (address, len) = (address.to_le_bytes(), len.to_le_bytes());
                let new = address.iter().take(sizes.offset.into()).chain(len.iter().take(sizes.length.into()));
                body.fill(0);
                body.iter_mut().zip(new).for_each(|(byte, new)| *byte = *new);
            }
        }
        for (part, changed) in self.parts.iter().zip(parts) {
            if let Some(mut bytes) = changed {
                bytes.truncate(bytes.len() - self.checksum_len());
                blocks.insert(base + part.address, self.with_checksum(bytes).into());
            }
        }
    }

    fn is_sound(&self, part: &Part) -> bool {
        let bytes = part.bytes.get(..part.bytes.len().saturating_sub(self.checksum_len())).unwrap_or_default();
        self.with_checksum(bytes.to_vec()) == part.bytes[..]
    }

    fn with_checksum(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        if self.version == 2 {
            bytes.extend_from_slice(&jenkins_lookup3(&bytes).to_le_bytes());
        }
        bytes
    }

    /// A continuation part with messages of one kind. Messages that are too long are left out.
    fn block(&self, kind: u16, bodies: &[Vec<u8>]) -> Vec<u8> {
        let mut block = if self.version == 1 { Vec::new() } else { b"OCHK".to_vec() };
        for (index, body) in bodies.iter().enumerate() {
            let Ok(len) = u16::try_from(body.len()) else { continue };
            let kind = kind.to_le_bytes();
            if self.version == 1 {
                block.extend_from_slice(&kind);
                block.extend_from_slice(&len.to_le_bytes());
                block.extend_from_slice(&[0; 4]);
            } else {
                block.push(kind[0]);
                block.extend_from_slice(&len.to_le_bytes());
                block.push(0);
                if self.numbered {
                    block.extend_from_slice(&u16::try_from(index).unwrap_or(u16::MAX).to_le_bytes());
                }
            }
            block.extend_from_slice(body);
        }
        self.with_checksum(block)
    }
}
