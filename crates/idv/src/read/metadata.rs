use container_core::{Cursor, Error, Result};

use super::open::{Column, parse_growing};
use super::{Reader, Scratch};
use crate::FORMAT_NAME;
use crate::codec::{self, Texts, Values, Vectors};
use crate::wire::{
    self, Compression, HEADER_LEN, ItemType, MetadataEntry, SlotNamesPlace, Type, parse_metadata_toc, parse_slot_names,
};

/// One item of metadata of a column: its kind, its type and where its value lies.
#[derive(Debug, Clone)]
pub struct Metadata {
    kind: String,
    value_type: Result<Type, super::Unreadable>,
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    Block(MetadataEntry),
    /// Slot names as version 1.1.1.3 has them.
    SlotNames(SlotNamesPlace),
}

impl Metadata {
    /// What it says of the column, such as `SlotNames`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The type of its value.
    ///
    /// # Errors
    /// Why the value cannot be read: an unknown codec or compression, parameters that cannot be.
    pub fn value_type(&self) -> Result<&Type, &super::Unreadable> {
        self.value_type.as_ref()
    }

    /// Where its value lies: byte and length.
    #[must_use]
    pub(crate) fn place(&self) -> (u64, u64) {
        match &self.place {
            Place::Block(entry) => (entry.block_offset, entry.block_len),
            Place::SlotNames(place) => (place.offset, place.len),
        }
    }
}

impl Reader {
    /// The metadata of a column: kinds and types; the values are read by [`metadata_value`](Self::metadata_value).
    /// Slot names of version 1.1.1.3 appear as `SlotNames`, as later versions have them.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a column that does not exist, and what is wrong with the table of its metadata.
    pub fn metadata(&self, column: usize) -> Result<Vec<Metadata>> {
        let column = self.column_at(column)?;
        self.metadata_of(column)
            .map(|(metadata, _)| metadata)
            .map_err(|error| error.in_column(column.unique_name().to_owned()).in_format(FORMAT_NAME))
    }

    /// The metadata and where their table lies.
    pub(super) fn metadata_of(&self, column: &Column) -> Result<(Vec<Metadata>, Option<std::ops::Range<u64>>)> {
        if let Some(place) = column.entry.slot_names {
            let value_type = Type::Vector { item: ItemType::Text, dimensions: vec![slots(column)] };
            let metadata =
                Metadata { kind: "SlotNames".to_owned(), value_type: Ok(value_type), place: Place::SlotNames(place) };
            return Ok((vec![metadata], None));
        }
        let Some(offset) = column.entry.metadata_offset else { return Ok((Vec::new(), None)) };
        let end = self.header().tail_offset;
        if offset < HEADER_LEN || offset >= end {
            let detail =
                format!("metadata offset {offset} is not between the header's end, {HEADER_LEN}, and the tail, {end}");
            return Err(Error::invalid(detail).at(column.entry.offset));
        }
        let limits = &self.0.options.limits;
        let (entries, stop) = parse_growing(self.source(), offset..end, limits.metadata_bytes, |cursor| {
            let entries = parse_metadata_toc(cursor, limits)?;
            Ok((entries, cursor.offset()))
        })?;
        let metadata = entries.into_iter().map(|entry| {
            let value_type =
                wire::parse_type(&entry.codec).and_then(|value_type| match Compression::from_byte(entry.compression) {
                    Some(_) => Ok(value_type),
                    None => {
                        let detail = format!(
                            "compression kind {} is none of 0 (none), 1 (deflate), 2 (zlib)",
                            entry.compression
                        );
                        Err(Error::unsupported(detail).at(entry.offset))
                    }
                });
            Metadata {
                kind: entry.kind.clone(),
                value_type: value_type.map_err(|error| super::Unreadable::from_error(&error)),
                place: Place::Block(entry),
            }
        });
        Ok((metadata.collect(), Some(offset..stop)))
    }

    /// The value of one of a column's [`metadata`](Self::metadata): [`Values`] that hold exactly one value of its type.
    ///
    /// # Errors
    /// Why the value cannot be read, what is wrong with it, [`Limit`](container_core::ErrorKind::Limit) when it inflates to more than
    /// [`Limits::metadata_bytes`](container_core::Limits::metadata_bytes).
    pub fn metadata_value(&self, column: usize, metadata: &Metadata) -> Result<Values> {
        let column = self.column_at(column)?;
        self.value_of(column, metadata).map_err(|error| {
            let detail_of = |error: Error| error.in_column(column.unique_name().to_owned()).in_format(FORMAT_NAME);
            detail_of(about(&error, &metadata.kind))
        })
    }

    fn value_of(&self, column: &Column, metadata: &Metadata) -> Result<Values> {
        let value_type = metadata.value_type().map_err(super::Unreadable::to_error)?;
        let limits = self.0.options.limits;
        let (offset, len) = metadata.place();
        let end = self.header().tail_offset;
        if offset < HEADER_LEN || offset.checked_add(len).is_none_or(|stop| stop > end) {
            let detail = format!(
                "{len} bytes at byte {offset} are not between the header's end, {HEADER_LEN}, and the tail, {end}"
            );
            let at = match &metadata.place {
                Place::Block(entry) => entry.offset,
                Place::SlotNames(_) => column.entry.offset,
            };
            return Err(Error::invalid(detail).at(at));
        }
        limits.check_metadata("metadata bytes", len).map_err(|error| error.at(offset))?;
        let mut scratch = Vec::new();
        let bytes = self.source().view(offset..offset + len, &mut scratch)?;
        let entry = match &metadata.place {
            Place::SlotNames(place) => return slot_names(column, *place, Cursor::at(bytes, offset)),
            Place::Block(entry) => entry,
        };
        let mut values = Values::default();
        match Compression::from_byte(entry.compression) {
            None | Some(Compression::None) => {
                codec::decode(value_type, 1, Cursor::at(bytes, offset), limits.metadata_bytes, &mut values)?;
            }
            Some(compression) => {
                let mut raw = Vec::new();
                let mut inflater = Scratch::default();
                inflater
                    .inflate_unsized(compression, bytes, &mut raw, limits.metadata_bytes)
                    .map_err(|error| error.at(offset))?;
                codec::decode(value_type, 1, Cursor::new(&raw), limits.metadata_bytes, &mut values)
                    .map_err(|error| super::block::inside(&error, offset))?;
            }
        }
        Ok(values)
    }
}

/// The same error, saying which metadata it is about.
fn about(error: &Error, kind: &str) -> Error {
    let detail = format!("metadata {kind:?}: {}", error.detail());
    let mut outer = Error::new(error.kind(), detail);
    if let Some(byte) = error.position().byte {
        outer = outer.at(byte);
    }
    outer
}

/// How many slots the names of version 1.1.1.3 are for; 0 where that is not known.
fn slots(column: &Column) -> u32 {
    match &column.kind {
        Ok(kind) if kind.is_vector() => kind.size(),
        _ => 0,
    }
}

fn slot_names(column: &Column, place: SlotNamesPlace, mut cursor: Cursor<'_>) -> Result<Values> {
    let known = slots(column);
    let names = parse_slot_names(&mut cursor, place, known.into())?;
    cursor.finish("the slot names")?;
    let length = match known {
        0 => names.last().map_or(0, |(slot, _)| slot.saturating_add(1)),
        known => known,
    };
    let mut texts = Texts::default();
    let mut indices = Vec::with_capacity(names.len());
    for (slot, name) in names {
        indices.push(slot);
        texts.push(&name)?;
    }
    Ok(Values::Vector(Box::new(Vectors::of_texts(length, indices, texts))))
}
