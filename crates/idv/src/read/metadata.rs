use container_core::{Cursor, Error, Result};
use flate2::bufread::{DeflateDecoder, ZlibDecoder};

use super::Reader;
use super::budget::Budget;
use super::open::{Column, parse_growing};
use super::preview::{Preview, PreviewThreshold};
use crate::FORMAT_NAME;
use crate::codec::{self, Texts, Values, Vectors};
use crate::inflate::Inflater;
use crate::wire::{
    self, Compression, HEADER_LEN, ItemType, MetadataEntry, SlotNamesLocation, Type, parse_metadata_toc,
    parse_slot_names,
};

/// A metadata item of a column: kind, type and location of its value.
#[derive(Debug, Clone)]
pub struct Metadata {
    kind: String,
    value_type: Result<Type, super::Unreadable>,
    location: ValueLocation,
}

#[derive(Debug, Clone)]
enum ValueLocation {
    Block(MetadataEntry),
    /// Slot names of version 1.1.1.3.
    SlotNames(SlotNamesLocation),
}

impl Metadata {
    /// Metadata kind, such as `SlotNames`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Type of the value.
    ///
    /// # Errors
    /// Why the value cannot be read: an unknown codec or compression, or invalid parameters.
    pub fn value_type(&self) -> Result<&Type, &super::Unreadable> {
        self.value_type.as_ref()
    }

    /// Offset and length of the value in the file.
    #[must_use]
    pub(crate) fn location(&self) -> (u64, u64) {
        match &self.location {
            ValueLocation::Block(entry) => (entry.block_offset, entry.block_len),
            ValueLocation::SlotNames(location) => (location.offset, location.len),
        }
    }
}

impl Reader {
    /// The metadata of a column: kinds and types. [`metadata_value`](Self::metadata_value) reads the values. Slot names of version 1.1.1.3
    /// appear as `SlotNames`, as in later versions.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a column that does not exist; any defect of the metadata table.
    pub fn metadata(&self, column: usize) -> Result<Vec<Metadata>> {
        let column = self.column_at(column)?;
        self.metadata_of(column)
            .map(|(metadata, _)| metadata)
            .map_err(|error| error.in_column(column.unique_name().to_owned()).in_format(FORMAT_NAME))
    }

    /// The metadata and the byte range of their table.
    pub(super) fn metadata_of(&self, column: &Column) -> Result<(Vec<Metadata>, Option<std::ops::Range<u64>>)> {
        if let Some(location) = column.entry.slot_names.as_deref().copied() {
            let value_type = Type::Vector { item: ItemType::Text, dimensions: vec![slots(column)] };
            let metadata = Metadata {
                kind: "SlotNames".to_owned(),
                value_type: Ok(value_type),
                location: ValueLocation::SlotNames(location),
            };
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
                            "unknown compression kind {} (known: 0 none, 1 deflate, 2 zlib)",
                            entry.compression
                        );
                        Err(Error::unsupported(detail).at(entry.offset))
                    }
                });
            Metadata {
                kind: entry.kind.clone(),
                value_type: value_type.map_err(|error| super::Unreadable::from_error(&error)),
                location: ValueLocation::Block(entry),
            }
        });
        Ok((metadata.collect(), Some(offset..stop)))
    }

    /// The value of a [`metadata`](Self::metadata) item: [`Values`] that hold exactly one value of its type.
    ///
    /// # Errors
    /// Why the value cannot be read; any defect of it; [`Limit`](container_core::ErrorKind::Limit) when it inflates to more than
    /// [`Limits::metadata_bytes`](container_core::Limits::metadata_bytes) or takes more memory than
    /// [`Limits::memory_bytes`](container_core::Limits::memory_bytes).
    pub fn metadata_value(&self, column: usize, metadata: &Metadata) -> Result<Values> {
        self.metadata_value_within(column, metadata, &mut self.memory_budget())
    }

    /// Like [`metadata_value`](Self::metadata_value), charged to a budget.
    pub(crate) fn metadata_value_within(
        &self,
        column: usize,
        metadata: &Metadata,
        budget: &mut Budget,
    ) -> Result<Values> {
        let column = self.column_at(column)?;
        self.value_of(column, metadata, budget).map_err(|error| located(column, metadata, &error))
    }

    fn value_of(&self, column: &Column, metadata: &Metadata, budget: &mut Budget) -> Result<Values> {
        let value_type = metadata.value_type().map_err(super::Unreadable::to_error)?;
        let limits = self.0.options.limits;
        let mut scratch = Vec::new();
        let (offset, bytes) = self.stored_value(column, metadata, &mut scratch)?;
        let mut charge = |raw: u64, inflated: u64| -> Result<()> {
            let decoded = codec::memory_bytes(value_type, 1, raw);
            budget.take("memory for metadata", decoded.saturating_add(inflated)).map_err(|error| error.at(offset))?;
            budget.release(inflated);
            Ok(())
        };
        let compression = match &metadata.location {
            ValueLocation::SlotNames(location) => {
                // Names are separate strings while they are read.
                charge(bytes.len() as u64, u64::from(location.count).saturating_mul(32).min(8 * bytes.len() as u64))?;
                return slot_names(column, *location, Cursor::at(bytes, offset));
            }
            ValueLocation::Block(entry) => Compression::from_byte(entry.compression).unwrap_or(Compression::None),
        };
        let mut values = Values::default();
        if compression == Compression::None {
            charge(bytes.len() as u64, 0)?;
            codec::decode(value_type, 1, Cursor::at(bytes, offset), limits.metadata_bytes, &mut values)?;
            return Ok(values);
        }
        let mut inflater = Inflater::default();
        let at = |error: Error| error.at(offset);
        let len = inflater.measure(compression, bytes, limits.metadata_bytes).map_err(at)?;
        charge(len, len)?;
        let mut raw = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
        inflater.inflate(compression, bytes, &mut raw).map_err(at)?;
        codec::decode(value_type, 1, Cursor::new(&raw), limits.metadata_bytes, &mut values)
            .map_err(|error| super::block::inside(&error, offset))?;
        Ok(values)
    }

    /// Offset and bytes of a value in the file.
    fn stored_value<'a>(
        &'a self,
        column: &Column,
        metadata: &Metadata,
        scratch: &'a mut Vec<u8>,
    ) -> Result<(u64, &'a [u8])> {
        let (offset, len) = metadata.location();
        let end = self.header().tail_offset;
        if offset < HEADER_LEN || offset.checked_add(len).is_none_or(|stop| stop > end) {
            let detail = format!(
                "{len} bytes at byte {offset} are not between the header's end, {HEADER_LEN}, and the tail, {end}"
            );
            let at = match &metadata.location {
                ValueLocation::Block(entry) => entry.offset,
                ValueLocation::SlotNames(_) => column.entry.offset,
            };
            return Err(Error::invalid(detail).at(at));
        }
        self.0.options.limits.check_metadata("metadata bytes", len).map_err(|error| error.at(offset))?;
        Ok((offset, self.source().view(offset..offset + len, scratch)?))
    }

    /// The preview of a long value; `None` for a short one. Memory does not grow with the value.
    ///
    /// # Errors
    /// As [`metadata_value`](Self::metadata_value), except for defects past the preview.
    pub(crate) fn metadata_preview(&self, column: usize, metadata: &Metadata) -> Result<Option<Preview>> {
        let column = self.column_at(column)?;
        self.preview_of(column, metadata).map_err(|error| located(column, metadata, &error))
    }

    fn preview_of(&self, column: &Column, metadata: &Metadata) -> Result<Option<Preview>> {
        let (Ok(value_type), ValueLocation::Block(entry)) = (metadata.value_type(), &metadata.location) else {
            return Ok(None);
        };
        let mut scratch = Vec::new();
        let (offset, bytes) = self.stored_value(column, metadata, &mut scratch)?;
        let threshold = PreviewThreshold::new(&self.0.options.limits);
        let preview = match Compression::from_byte(entry.compression) {
            None | Some(Compression::None) => threshold.preview(value_type, bytes),
            Some(Compression::Deflate) => threshold.preview(value_type, DeflateDecoder::new(bytes)),
            Some(Compression::Zlib) => threshold.preview(value_type, ZlibDecoder::new(bytes)),
        };
        preview.map_err(|error| error.at(offset))
    }
}

fn located(column: &Column, metadata: &Metadata, error: &Error) -> Error {
    in_metadata(error, &metadata.kind).in_column(column.unique_name().to_owned()).in_format(FORMAT_NAME)
}

/// Prefixes an error with the metadata kind.
fn in_metadata(error: &Error, kind: &str) -> Error {
    let detail = format!("metadata {kind:?}: {}", error.detail());
    let mut outer = Error::new(error.kind(), detail);
    if let Some(byte) = error.position().byte {
        outer = outer.at(byte);
    }
    outer
}

/// Number of slots of a vector column; 0 if unknown.
fn slots(column: &Column) -> u32 {
    match &column.kind {
        Ok(kind) if kind.is_vector() => kind.size(),
        _ => 0,
    }
}

fn slot_names(column: &Column, location: SlotNamesLocation, mut cursor: Cursor<'_>) -> Result<Values> {
    let known = slots(column);
    let names = parse_slot_names(&mut cursor, location, known.into())?;
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
