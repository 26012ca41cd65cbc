use container_core::{Cursor, Error, Limits, Result};

use super::toc::{CodecDefinition, PREALLOCATED_ENTRIES, read_offset};
use super::{SlotNamesLocation, leb, string};

/// One metadata item of a column. Offsets are checked for sign but not against the file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetadataEntry {
    /// Offset of the entry in the file.
    pub offset: u64,
    /// Metadata kind: `KeyValues`, `SlotNames`, or any other.
    pub kind: String,
    /// Codec of the value.
    pub codec: CodecDefinition,
    /// Compression kind of the block: a [`Compression`](crate::Compression) byte, or an unknown one.
    pub compression: u8,
    /// Offset of the block in the file.
    pub block_offset: u64,
    /// Length of the block in the file, in bytes.
    pub block_len: u64,
}

/// Parses the metadata table of a column; the cursor may extend past its end.
///
/// # Errors
/// [`Truncated`](container_core::ErrorKind::Truncated); [`Invalid`](container_core::ErrorKind::Invalid) for an empty table, negative offsets
/// or malformed lengths; [`Limit`](container_core::ErrorKind::Limit) for more entries than the column limit.
pub fn parse_metadata_toc(cursor: &mut Cursor<'_>, limits: &Limits) -> Result<Vec<MetadataEntry>> {
    let at = cursor.offset();
    let count = leb(cursor, "metadata count")?;
    if count == 0 {
        return Err(Error::invalid("the metadata table has 0 entries").at(at));
    }
    limits.check_columns("metadata count", count).map_err(|error| error.at(at))?;
    let mut entries =
        Vec::with_capacity(usize::try_from(count).unwrap_or(PREALLOCATED_ENTRIES).min(PREALLOCATED_ENTRIES));
    for _ in 0..count {
        let offset = cursor.offset();
        let kind = string(cursor, "metadata kind")?.into_owned();
        let codec = CodecDefinition::parse(cursor)?;
        let compression = cursor.u8("metadata compression kind")?;
        let block_offset = read_offset(cursor, "metadata block offset")?;
        let block_len = leb(cursor, "metadata block length")?;
        entries.push(MetadataEntry { offset, kind, codec, compression, block_offset, block_len });
    }
    Ok(entries)
}

/// Parses the slot names of version 1.1.1.3: pairs of slot and name, with increasing slots below `slots` (0: unknown). Slots with an empty
/// name may be omitted.
///
/// # Errors
/// [`Truncated`](container_core::ErrorKind::Truncated), [`Invalid`](container_core::ErrorKind::Invalid) for slots out of order or range.
pub fn parse_slot_names(
    cursor: &mut Cursor<'_>,
    location: SlotNamesLocation,
    slots: u64,
) -> Result<Vec<(u32, String)>> {
    let mut names =
        Vec::with_capacity(usize::try_from(location.count).unwrap_or(PREALLOCATED_ENTRIES).min(PREALLOCATED_ENTRIES));
    let mut next = 0;
    for _ in 0..location.count {
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
