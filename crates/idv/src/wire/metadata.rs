use container_core::{Cursor, Error, Limits, Result};

use super::toc::{CodecDefinition, PREALLOCATED_ENTRIES, position};
use super::{SlotNamesLocation, leb, string};

/// One item of metadata of a column. Offsets are not yet checked against the file, but for their sign.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetadataEntry {
    /// Where the entry begins in the file.
    pub offset: u64,
    /// What it says of the column: `KeyValues`, `SlotNames`, or anything else.
    pub kind: String,
    /// The type of its value.
    pub codec: CodecDefinition,
    /// How its block is compressed: the byte of a [`Compression`](crate::Compression), or another one.
    pub compression: u8,
    /// Where its block begins in the file.
    pub block_offset: u64,
    /// The bytes of its block in the file.
    pub block_len: u64,
}

/// Parses the metadata table of a column; the cursor may reach beyond its end.
///
/// # Errors
/// [`Truncated`](container_core::ErrorKind::Truncated); [`Invalid`](container_core::ErrorKind::Invalid) for a table of no entries, offsets
/// that are negative, lengths that are no numbers; [`Limit`](container_core::ErrorKind::Limit) for more entries than `limits` allow columns.
pub fn parse_metadata_toc(cursor: &mut Cursor<'_>, limits: &Limits) -> Result<Vec<MetadataEntry>> {
    let at = cursor.offset();
    let count = leb(cursor, "metadata count")?;
    if count == 0 {
        return Err(Error::invalid("a metadata table of 0 entries").at(at));
    }
    limits.check_columns("metadata count", count).map_err(|error| error.at(at))?;
    let mut entries = Vec::with_capacity(usize::try_from(count).unwrap_or(PREALLOCATED_ENTRIES).min(PREALLOCATED_ENTRIES));
    for _ in 0..count {
        let offset = cursor.offset();
        let kind = string(cursor, "metadata kind")?.into_owned();
        let codec = CodecDefinition::parse(cursor)?;
        let compression = cursor.u8("metadata compression kind")?;
        let block_offset = position(cursor, "metadata block offset")?;
        let block_len = leb(cursor, "metadata block length")?;
        entries.push(MetadataEntry { offset, kind, codec, compression, block_offset, block_len });
    }
    Ok(entries)
}

/// Parses the slot names of version 1.1.1.3: pairs of slot and name, slots rising and below `slots` where that is known.
/// Slots without a name, or with an empty one, may be left out.
///
/// # Errors
/// [`Truncated`](container_core::ErrorKind::Truncated), [`Invalid`](container_core::ErrorKind::Invalid) for slots in another order.
pub fn parse_slot_names(cursor: &mut Cursor<'_>, place: SlotNamesLocation, slots: u64) -> Result<Vec<(u32, String)>> {
    let mut names = Vec::with_capacity(usize::try_from(place.count).unwrap_or(PREALLOCATED_ENTRIES).min(PREALLOCATED_ENTRIES));
    let mut next = 0;
    for _ in 0..place.count {
        let at = cursor.offset();
        let slot = cursor.i32_le("slot index")?;
        let number = u32::try_from(slot).ok().filter(|&slot| slot >= next && (slots == 0 || u64::from(slot) < slots));
        let Some(number) = number else {
            return Err(Error::invalid(format!(
                "slot index {slot} is not between {next} and the vector's length {slots}"
            ))
            .at(at));
        };
        next = number.saturating_add(1);
        names.push((number, string(cursor, "slot name")?.into_owned()));
    }
    Ok(names)
}
