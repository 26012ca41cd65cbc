//! Previews of is_long metadata values: the first items, in constant memory.

use std::io::{self, Read};

use container_core::{Cursor, Error, Limits, Result};

use crate::codec::{self, Texts, Values, Vectors};
use crate::wire::{ItemType, Type};

/// Items of a preview.
const PREVIEW_ITEMS: u64 = 16;

/// Bytes of text of a preview.
const PREVIEW_BYTES: u64 = 4096;

/// Limits above which a value is is_long.
pub(super) struct PreviewThreshold {
    items: u64,
    bytes: u64,
}

/// The preview of a is_long value.
pub(crate) struct Preview {
    /// One value of the same type with the first items, or the start of a text.
    pub(crate) values: Values,
    /// Number of items of the full value; for a text, of bytes.
    pub(crate) count: u64,
}

impl PreviewThreshold {
    /// With the default limits: 1,048,576 items or 16 MiB.
    pub(super) const fn new(limits: &Limits) -> Self {
        Self { items: limits.memory_bytes / 384, bytes: limits.memory_bytes / 24 }
    }

    /// The preview of a value, if it is is_long.
    pub(super) fn preview(&self, value_type: &Type, source: impl Read) -> Result<Option<Preview>> {
        let mut stream = Stream(source);
        match value_type {
            Type::Vector { item, .. } => self.vector(*item, &mut stream),
            Type::Item(ItemType::Text) => {
                let Some((texts, bytes)) = stream.texts(1)? else { return Ok(None) };
                let is_long = bytes > self.bytes;
                Ok(is_long.then_some(Preview { values: Values::Text(texts), count: bytes }))
            }
            Type::Item(_) => Ok(None),
        }
    }

    fn vector(&self, item: ItemType, stream: &mut Stream<impl Read>) -> Result<Option<Preview>> {
        stream.count()?; // number of vectors, checked when the full value is decoded
        let length = match stream.count()? {
            0 => stream.count()?,
            length => length,
        };
        let stored = i32::from_le_bytes(stream.array()?);
        stream.count()?;
        let indices = match u64::try_from(stored) {
            Err(_) => None,
            Ok(stored) => {
                let preview_len = stored.min(PREVIEW_ITEMS);
                let indices =
                    (0..preview_len).map(|_| Ok(u32::from_le_bytes(stream.array()?))).collect::<Result<Vec<_>>>()?;
                stream.skip(4 * (stored - preview_len))?;
                Some(indices)
            }
        };
        let count = u64::try_from(stored).unwrap_or(length);
        let (values, bytes) = match item {
            ItemType::Text => match stream.texts(count)? {
                Some((texts, bytes)) => (Values::Text(texts), bytes),
                None => return Ok(None),
            },
            item => (stream.items(item, count)?, 0),
        };
        if count <= self.items && bytes <= self.bytes {
            return Ok(None);
        }
        let mut vectors = Vectors::of(item);
        let preview_len = values.len();
        *vectors.items_mut() = values;
        match indices {
            None => vectors.close_dense()?,
            Some(indices) => {
                let length = u32::try_from(length).unwrap_or(u32::MAX);
                vectors.close_sparse(length, indices.get(..preview_len).unwrap_or_default())?;
            }
        }
        Ok(Some(Preview { values: Values::Vector(Box::new(vectors)), count }))
    }
}

/// A stream of the decompressed bytes of a value.
struct Stream<R>(R);

impl<R: Read> Stream<R> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes).map_err(damaged)?;
        Ok(bytes)
    }

    /// Reads a non-negative count or length.
    fn count(&mut self) -> Result<u64> {
        let count = i32::from_le_bytes(self.array()?);
        u64::try_from(count).map_err(|_| Error::invalid(format!("count {count} is negative")))
    }

    fn skip(&mut self, len: u64) -> Result<()> {
        let skipped = io::copy(&mut self.0.by_ref().take(len), &mut io::sink()).map_err(damaged)?;
        if skipped == len { Ok(()) } else { Err(Error::truncated("the value", len, skipped)) }
    }

    /// Reads the next `len` bytes, which must be few.
    fn bytes(&mut self, len: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.0.by_ref().take(len).read_to_end(&mut bytes).map_err(damaged)?;
        let found = bytes.len() as u64;
        if found == len { Ok(bytes) } else { Err(Error::truncated("the value", len, found)) }
    }

    /// Reads the first of `count` fixed-width items.
    fn items(&mut self, item: ItemType, count: u64) -> Result<Values> {
        let preview_len = count.min(PREVIEW_ITEMS);
        let mut bytes = Vec::new();
        if matches!(item, ItemType::DateTimeOffset | ItemType::DvDateTimeZone) {
            // All offsets precede the times.
            bytes = self.bytes(2 * preview_len)?;
            self.skip(2 * (count - preview_len))?;
            bytes.extend(self.bytes(8 * preview_len)?);
        } else {
            bytes.extend(self.bytes(codec::min_len(item, preview_len).unwrap_or(0))?);
        }
        let mut values = Values::of_item(item);
        codec::decode_items(item, usize::try_from(preview_len).unwrap_or(0), &mut Cursor::new(&bytes), &mut values)?;
        Ok(values)
    }

    /// Reads the first of `count` texts, up to the byte limit, and the length of all in bytes. `None` if the value is damaged, which decoding
    /// reports.
    fn texts(&mut self, count: u64) -> Result<Option<(Texts, u64)>> {
        if self.count()? != count {
            return Ok(None);
        }
        let preview_len = count.min(PREVIEW_ITEMS);
        let ends = (0..preview_len).map(|_| Ok(u32::from_le_bytes(self.array()?))).collect::<Result<Vec<_>>>()?;
        self.skip(4 * (count - preview_len))?;
        let len = self.leb()?;
        let bytes = self.bytes(len.min(PREVIEW_BYTES))?;
        let whole = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let (mut texts, mut rest, mut start) = (Texts::default(), whole, 0);
        for end in ends {
            let units = usize::try_from((end & !codec::MISSING_TEXT).saturating_sub(start)).unwrap_or(usize::MAX);
            start = end & !codec::MISSING_TEXT;
            if end & codec::MISSING_TEXT != 0 {
                texts.push_missing();
                continue;
            }
            match codec::len_of_units(rest, units) {
                Some(len) => texts.push(rest.get(..len).unwrap_or_default())?,
                // A single long text is truncated.
                None if count == 1 => texts.push(rest)?,
                None => break,
            }
            // Exactly the joined text has been consumed.
            rest = whole.get(texts.parts().0.len()..).unwrap_or_default();
        }
        Ok(Some((texts, len)))
    }

    fn leb(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::invalid("the length of the joined text has more than 64 bits"))
    }
}

fn damaged(cause: io::Error) -> Error {
    Error::invalid("metadata are truncated or their compressed data are corrupt").caused_by(cause)
}
