//! What a file is as a sample.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// A file as a sample.
pub(super) struct Sample<'a> {
    pub(super) key: &'a str,
    pub(super) path: &'a str,
    pub(super) label: Option<&'a str>,
    /// The label's number, where that is wanted.
    pub(super) number: Option<usize>,
    pub(super) more: &'a [String],
    pub(super) content: &'a [u8],
    pub(super) field: Option<&'a str>,
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
            map.serialize_entry("path", self.path)?;
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
