//! Samples as msgpack, put together from their fields.

use container_core::{Error, Result};
use datadings::ser::extend;

use super::KEY;
use crate::text::records::place::Place;

/// Messages of the rows of a chunk.
#[derive(Debug, Default)]
pub(super) struct Messages {
    bytes: Vec<u8>,
    /// Where each message ends, and where its row came from.
    ends: Vec<(usize, Place)>,
    /// Which of the chosen columns were there.
    pub(super) seen: Vec<bool>,
    /// What is wrong with the row behind the last one here.
    pub(super) error: Option<Error>,
}

impl Messages {
    /// None yet; `seen` has a place for each of the chosen columns.
    pub(super) fn of(seen: Vec<bool>) -> Self {
        Self { seen, ..Self::default() }
    }

    pub(super) fn len(&self) -> u64 {
        self.ends.len() as u64
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], Place)> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, place)| {
            (self.bytes.get(std::mem::replace(&mut start, end)..end).unwrap_or_default(), place)
        })
    }

    /// Adds the message that `put` appends; nothing when it fails.
    pub(super) fn push(&mut self, place: Place, put: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let start = self.bytes.len();
        let done = put(&mut self.bytes);
        match done {
            Ok(()) => self.ends.push((self.bytes.len(), place)),
            Err(_) => self.bytes.truncate(start),
        }
        done
    }
}

/// Appends a sample: `key` in front, where one is given, and fields that are encoded already.
pub(super) fn put_sample<'a>(
    out: &mut Vec<u8>,
    key: Option<&str>,
    fields: impl ExactSizeIterator<Item = (&'a str, &'a [u8])>,
) -> Result<()> {
    put_map_head(out, fields.len() + usize::from(key.is_some()))?;
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

/// Appends a sample with a key in front of the fields that a whole map has.
pub(super) fn put_key_before(out: &mut Vec<u8>, key: &str, map: &[u8]) -> Result<()> {
    let count = datadings::RawValue::new(map).entries()?.remaining();
    let head = match map.first() {
        Some(0xde) => 3,
        Some(0xdf) => 5,
        _ => 1,
    };
    put_map_head(out, usize::try_from(count).unwrap_or(usize::MAX).saturating_add(1))?;
    extend(out, KEY)?;
    extend(out, key)?;
    out.extend_from_slice(map.get(head..).unwrap_or_default());
    Ok(())
}

/// The head of a map, in its shortest form.
fn put_map_head(out: &mut Vec<u8>, len: usize) -> Result<()> {
    match (u8::try_from(len), u16::try_from(len), u32::try_from(len)) {
        (Ok(len @ 0..16), ..) => out.push(0x80 | len),
        (_, Ok(len), _) => {
            out.push(0xde);
            out.extend_from_slice(&len.to_be_bytes());
        }
        (_, _, Ok(len)) => {
            out.push(0xdf);
            out.extend_from_slice(&len.to_be_bytes());
        }
        _ => return Err(Error::limit("the number of fields", len as u64, u32::MAX.into())),
    }
    Ok(())
}
