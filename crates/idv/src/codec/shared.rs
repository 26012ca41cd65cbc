//! Zero-copy decoding: items stay in the block's shared buffer. Used by Arrow.

use container_core::{Bytes, Cursor, Result};

use super::vector::{self, Vectors};
use super::{Texts, Values, min_len};
use crate::wire::{ItemType, Type};

/// A decoded block.
#[derive(Debug)]
pub(crate) struct SharedBlock {
    /// For vectors: their layout, without the items.
    pub(crate) vectors: Option<Box<Vectors>>,
    /// All items in row order.
    pub(crate) items: SharedItems,
}

#[derive(Debug)]
pub(crate) enum SharedItems {
    /// Fixed-width little-endian numbers.
    Fixed(Bytes),
    /// Times with offset: minutes as `i16` and ticks as `i64`, little-endian.
    Zoned { minutes: Bytes, ticks: Bytes },
    /// One bit each, least significant first.
    Bits(Bytes),
    /// Decoded values of types that cannot be shared.
    Values(Values),
}

impl Texts {
    /// The joined text, the end of each text in bytes, and the missing flags (empty: none missing).
    pub(crate) fn into_parts(self) -> (String, Vec<u32>, Vec<bool>) {
        (self.joined, self.ends, self.missing)
    }

    /// Appends joined texts; `ends` are byte offsets into `joined`, the last one its length.
    pub(crate) fn extend_joined(&mut self, joined: &str, ends: impl Iterator<Item = u32>) -> Result<()> {
        let base = self.end_with(0)?;
        self.end_with(joined.len())?;
        self.joined.push_str(joined);
        self.ends.extend(ends.map(|end| base + end));
        if !self.missing.is_empty() {
            self.missing.resize(self.ends.len(), false);
        }
        Ok(())
    }
}

/// Whether items of this type can be shared.
pub(crate) fn is_shared(item: ItemType) -> bool {
    !matches!(item, ItemType::Text | ItemType::DvBool)
}

/// Decodes a block of `n` values whose items can be [shared](is_shared). `cursor` is at the start of `bytes`; trailing bytes are rejected.
pub(crate) fn decode_shared(kind: &Type, n: usize, bytes: &Bytes, mut cursor: Cursor<'_>) -> Result<SharedBlock> {
    let item = kind.item();
    let (vectors, total) = match kind {
        Type::Item(_) => (None, n),
        Type::Vector { .. } => {
            let mut vectors = Box::<Vectors>::default();
            let total = vector::decode_layout(item, kind.size(), n, &mut cursor, &mut vectors)?;
            (Some(vectors), total)
        }
    };
    let mut take = |len: Option<u64>, what: &'static str| -> Result<Bytes> {
        let start = bytes.len() - cursor.remaining();
        let taken = cursor.take_u64(len.unwrap_or(u64::MAX), what)?;
        Ok(bytes.slice(start..start + taken.len()))
    };
    let count = total as u64;
    let items = match item {
        ItemType::Boolean => SharedItems::Bits(take(min_len(item, count), "bits")?),
        ItemType::DateTimeOffset | ItemType::DvDateTimeZone => {
            let minutes = take(count.checked_mul(2), "values")?;
            SharedItems::Zoned { minutes, ticks: take(count.checked_mul(8), "values")? }
        }
        item => SharedItems::Fixed(take(min_len(item, count), "values")?),
    };
    cursor.finish("the block")?;
    Ok(SharedBlock { vectors, items })
}

impl From<Values> for SharedBlock {
    fn from(values: Values) -> Self {
        match values {
            Values::Vector(mut vectors) => {
                let items = std::mem::take(vectors.items_mut());
                Self { vectors: Some(vectors), items: SharedItems::Values(items) }
            }
            values => Self { vectors: None, items: SharedItems::Values(values) },
        }
    }
}
