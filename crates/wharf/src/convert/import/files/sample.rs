//! A file as a datadings sample.

use container_core::{Error, Result};
use datadings::ser::to_vec;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// A file as a sample.
pub(super) struct Sample<'a> {
    pub(super) key: &'a str,
    pub(super) path: String,
    pub(super) label: Option<&'a str>,
    /// The label's number, if numbers are written.
    pub(super) number: Option<usize>,
    pub(super) more: &'a [String],
    pub(super) content: &'a [u8],
    pub(super) field: Option<&'a str>,
}

impl Sample<'_> {
    /// The message before and after a content of `len` bytes. The content of this sample must be empty.
    pub(super) fn envelope(&self, len: u64) -> Result<(Vec<u8>, Vec<u8>)> {
        let tail = match (self.field, self.number, self.label) {
            (Some(_), Some(number), _) => [to_vec("label")?, to_vec(&number)?].concat(),
            (Some(_), None, Some(label)) => [to_vec("label")?, to_vec(label)?].concat(),
            _ => Vec::new(),
        };
        let mut head = to_vec(self)?;
        let empty = to_vec(&Bytes(&[]))?;
        head.truncate(head.len().saturating_sub(empty.len() + tail.len()));
        let too_long = |_| Error::limit("the length of the file", len, u32::MAX.into());
        datadings::put_bin_header(&mut head, u32::try_from(len).map_err(too_long)?);
        Ok((head, tail))
    }
}

impl Serialize for Sample<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("key", self.key)?;
        if let Some(field) = self.field {
            map.serialize_entry(field, &Bytes(self.content))?;
        }
        match (self.number, self.label) {
            (Some(number), _) => map.serialize_entry("label", &number)?,
            (None, Some(label)) => map.serialize_entry("label", label)?,
            (None, None) => {}
        }
        if self.field.is_none() {
            map.serialize_entry("path", &self.path)?;
            map.serialize_entry("_additional_info", self.more)?;
            if let (Some(_), Some(label)) = (self.number, self.label) {
                map.serialize_entry("_label", label)?;
            }
            map.serialize_entry("data", &Bytes(self.content))?;
        }
        map.end()
    }
}

struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelope_and_content_form_the_message() {
        let more = ["x".to_owned(), "y".to_owned()];
        for (field, label, number) in [
            (None, None, None),
            (None, Some("cat"), None),
            (None, Some("cat"), Some(70_000)),
            (Some("image"), None, None),
            (Some("image"), Some("cat"), None),
            (Some("image"), Some("cat"), Some(3)),
        ] {
            for len in [0, 1, 255, 256, 65_535, 65_536, 70_000] {
                let content = vec![7; len];
                let sample = |content| Sample {
                    key: "k/\u{fc}",
                    path: "p".to_owned(),
                    label,
                    number,
                    more: &more,
                    content,
                    field,
                };
                let (head, tail) = sample(&[]).envelope(len as u64).unwrap();
                assert_eq!(
                    [head, content.clone(), tail].concat(),
                    to_vec(&sample(&content)).unwrap(),
                    "{field:?} {label:?} {len}"
                );
            }
        }
    }
}
