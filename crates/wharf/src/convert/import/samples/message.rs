//! Assembles msgpack samples from encoded fields.

use container_core::{Error, Result};
use datadings::ser::extend;

use super::KEY;
use crate::text::records::location::Location;

/// The messages of a chunk's rows.
#[derive(Debug, Default)]
pub(super) struct Messages {
    bytes: Vec<u8>,
    /// Where each message ends, and the location of its row.
    ends: Vec<(usize, Location)>,
    /// Which of the selected columns were present.
    pub(super) present: Vec<bool>,
    /// The error in the row after the last message.
    pub(super) error: Option<Error>,
}

impl Messages {
    /// No messages. `present` has an entry for each selected column.
    pub(super) fn new(present: Vec<bool>) -> Self {
        Self { present, ..Self::default() }
    }

    pub(super) fn len(&self) -> u64 {
        self.ends.len() as u64
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], Location)> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, location)| {
            (self.bytes.get(std::mem::replace(&mut start, end)..end).unwrap_or_default(), location)
        })
    }

    /// Adds the message that `write` appends; nothing if it fails.
    pub(super) fn push(&mut self, location: Location, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let start = self.bytes.len();
        let done = write(&mut self.bytes);
        match done {
            Ok(()) => self.ends.push((self.bytes.len(), location)),
            Err(_) => self.bytes.truncate(start),
        }
        done
    }
}

/// Appends a sample: `key`, if given, and encoded fields.
pub(super) fn write_sample<'a>(
    out: &mut Vec<u8>,
    key: Option<&str>,
    fields: impl ExactSizeIterator<Item = (&'a str, &'a [u8])>,
) -> Result<()> {
    write_map_header(out, fields.len() + usize::from(key.is_some()))?;
    if let Some(key) = key {
        extend(out, KEY)?;
        extend(out, key)?;
    }
    for (name, value) in fields {
        extend(out, name)?;
        out.extend_from_slice(value);
    }
    Ok(())
}

/// Appends a sample with `key` before the fields of an encoded map.
pub(super) fn write_with_key(out: &mut Vec<u8>, key: &str, map: &[u8]) -> Result<()> {
    let count = datadings::RawValue::new(map).entries()?.remaining();
    let head = match map.first() {
        Some(0xde) => 3,
        Some(0xdf) => 5,
        _ => 1,
    };
    write_map_header(out, usize::try_from(count).unwrap_or(usize::MAX).saturating_add(1))?;
    extend(out, KEY)?;
    extend(out, key)?;
    out.extend_from_slice(map.get(head..).unwrap_or_default());
    Ok(())
}

/// Appends a map header in its shortest form.
pub(super) fn write_map_header(out: &mut Vec<u8>, len: usize) -> Result<()> {
    let too_many = |_| Error::limit("the number of fields", len as u64, u32::MAX.into());
    datadings::put_map_header(out, u32::try_from(len).map_err(too_many)?);
    Ok(())
}
