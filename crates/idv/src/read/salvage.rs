//! Opening a truncated or damaged file, for recovery.

use std::sync::Arc;

use container_core::{Cursor, Error, OpenOptions, Result, Source};

use super::Reader;
use super::open::{Column, Inner, column_type, unique_names};
use crate::FORMAT_NAME;
use crate::wire::{self, HEADER_LEN, Header, LOOKUP_ENTRY_LEN, SIGNATURE, TAIL_LEN, Version};

impl Reader {
    /// Opens what is left of a file: plausible header fields, the columns of the table of contents that parse, and the part of lookup
    /// tables inside the file. Also returns the problems found.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); a missing header; a lost table of contents.
    pub(crate) fn salvage(source: Source, options: OpenOptions) -> Result<(Self, Vec<Error>)> {
        let mut problems = Vec::new();
        let inner = salvage(source, options, &mut problems).map_err(|error| error.in_format(FORMAT_NAME))?;
        let problems = problems.into_iter().map(|error| error.in_format(FORMAT_NAME)).collect();
        Ok((Self(Arc::new(inner)), problems))
    }
}

fn salvage(source: Source, options: OpenOptions, problems: &mut Vec<Error>) -> Result<Inner> {
    let len = source.len();
    if len < HEADER_LEN {
        return Err(Error::truncated("the header", HEADER_LEN, len).at(0));
    }
    let header = salvage_header(&source, problems)?;
    options.limits.check_columns("column count", header.columns.into()).map_err(|error| error.at(48))?;
    let end = header.tail_offset.min(header.toc_offset.saturating_add(options.limits.metadata_bytes));
    let bytes = source.read(header.toc_offset..end)?;
    let mut cursor = Cursor::at(&bytes, header.toc_offset);
    let mut entries = Vec::new();
    for index in 0..header.columns {
        match wire::parse_toc_entry(&mut cursor, header.version) {
            Ok(entry) => entries.push(entry),
            Err(error) => {
                let lost = header.columns - index;
                let s = if lost == 1 { "" } else { "s" };
                let detail =
                    format!("the table of contents is damaged: the last {lost} column{s} of {}", header.columns);
                let at = error.position().byte.unwrap_or(header.toc_offset);
                problems.push(Error::invalid(detail).at(at).caused_by(error));
                break;
            }
        }
    }
    let toc = header.toc_offset..cursor.offset();
    let names = unique_names(entries.iter().map(|entry| entry.name.as_str()));
    let columns = entries.into_iter().zip(names).enumerate().map(|(index, (entry, unique_name))| {
        // Keep the lookup entries inside the file.
        let room = header.tail_offset.saturating_sub(entry.lookup_offset) / LOOKUP_ENTRY_LEN;
        let room = if entry.lookup_offset < HEADER_LEN { 0 } else { room };
        let blocks = header.block_count(entry.rows_per_block).unwrap_or(0);
        let within = Header { rows: header.rows.min(room.saturating_mul(entry.rows_per_block)), ..header };
        let kind = column_type(&entry, &within);
        Column { index, unique_name, kind, entry, blocks: blocks.min(room) }
    });
    let columns = columns.collect();
    Ok(Inner { source, options, header, columns, toc })
}

/// Parses the header, replacing implausible fields.
fn salvage_header(source: &Source, problems: &mut Vec<Error>) -> Result<Header> {
    let len = source.len();
    let head = source.read(0..HEADER_LEN)?;
    let mut cursor = Cursor::new(&head);
    let signature = cursor.u64_le("signature")?;
    let version = Version::from_bits(cursor.u64_le("version")?);
    let compatible = Version::from_bits(cursor.u64_le("compatible version")?);
    let (toc, tail, rows) =
        (cursor.i64_le("table of contents offset")?, cursor.i64_le("tail offset")?, cursor.i64_le("row count")?);
    let columns = cursor.i32_le("column count")?;
    let known = |version: Version| (Version::V1..=Version::V6).contains(&version);
    if signature != SIGNATURE {
        let found = String::from_utf8_lossy(head.get(..8).unwrap_or_default()).into_owned();
        let error = Error::invalid(format!("the signature is {found:?}, not \"CML\\0DVB\\0\"")).at(0);
        // A zeroed file or another format has no known version either.
        if !known(version) && !known(compatible) {
            return Err(error);
        }
        problems.push(error);
    }
    let version = match (known(version), known(compatible)) {
        (true, _) => version,
        (false, true) => {
            problems.push(Error::invalid(format!("version {version} is unknown; read as {compatible}")).at(8));
            compatible
        }
        (false, false) => {
            return Err(Error::unsupported(format!(
                "version {version} needs a reader of version {compatible}, this one reads 1.1.1.1 to {}",
                Version::V6
            ))
            .at(16));
        }
    };
    let columns = u32::try_from(columns)
        .map_err(|_| Error::invalid(format!("column count {columns} is negative: the columns are unknown")).at(48))?;
    let rows = u64::try_from(rows).map_err(|_| {
        Error::invalid(format!("row count {rows} is negative: the end of the last block is unknown")).at(40)
    })?;
    let toc_offset = u64::try_from(toc).ok().filter(|&toc| toc >= HEADER_LEN && toc < len);
    let Some(toc_offset) = toc_offset else {
        let detail = format!(
            "the table of contents is lost (at byte {toc} of {len}), and with it column names, types and block locations"
        );
        return Err(Error::invalid(detail).at(24));
    };
    let tail_offset = salvage_tail(source, tail, problems)?;
    let tail_offset = if tail_offset >= toc_offset { tail_offset } else { len };
    Ok(Header { version, compatible, toc_offset, tail_offset, rows, columns })
}

/// The end of the file's data: the tail, or the end of the file.
fn salvage_tail(source: &Source, tail: i64, problems: &mut Vec<Error>) -> Result<u64> {
    let len = source.len();
    let offset = u64::try_from(tail).ok().filter(|&tail| tail.checked_add(TAIL_LEN).is_some_and(|end| end <= len));
    let Some(offset) = offset else {
        problems.push(
            Error::invalid(format!(
                "the file is truncated: its tail should be at byte {tail}, the file has {len} bytes"
            ))
            .at(32),
        );
        return Ok(len);
    };
    let header = Header { tail_offset: offset, ..Header::empty() };
    if let Err(error) = header.check_tail(&source.read(offset..offset + TAIL_LEN)?) {
        problems.push(error);
    }
    Ok(offset)
}
