//! Blocks whose values stay in the bytes they came in, to be handed on without a copy.

use container_core::{Bytes, Cursor, Result};

use super::vector::{self, Vectors};
use super::{Texts, Values, min_len};
use crate::wire::{ItemType, Type};

/// The values of a block.
#[derive(Debug)]
pub(crate) struct SharedBlock {
    /// For vectors: where the items of each lie. It has no items itself.
    pub(crate) vectors: Option<Box<Vectors>>,
    /// All items, of vectors one vector after the other.
    pub(crate) items: SharedItems,
}

#[derive(Debug)]
pub(crate) enum SharedItems {
    /// Numbers of a fixed width, little-endian: as many as fit.
    Fixed(Bytes),
    /// Of times with an offset: the offsets in minutes and the ticks, both the same.
    Zoned { minutes: Bytes, ticks: Bytes },
    /// A bit each, least significant first.
    Bits(Bytes),
    /// What lies otherwise in a file than anybody wants it.
    Values(Values),
}

impl Texts {
    /// All texts joined, where each ends in bytes, and which are missing (empty: none is).
    pub(crate) fn into_parts(self) -> (String, Vec<u32>, Vec<bool>) {
        (self.joined, self.ends, self.missing)
    }

    /// Appends texts that are joined already; each ends at a byte of `joined`, the last one at its end.
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

/// Whether items of this type lie in a block as they are wanted.
pub(crate) fn is_shared(item: ItemType) -> bool {
    !matches!(item, ItemType::Text | ItemType::DvBool)
}

/// Takes a block of `n` values apart, of items that [are shared](is_shared). `cursor` stands at the beginning of `bytes`, all of which
/// must belong to them.
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
