//! Sparse vectors: `{"$sparse": {"length": 4, "indices": [3], "values": [0.5]}}`, which samples made from IDV files have.

use crate::value::RawValue;

/// The key of the map around a sparse vector.
pub(crate) const SPARSE: &str = "$sparse";

/// A sparse vector. Elements without a value are zero.
#[derive(Debug)]
#[cfg_attr(not(feature = "arrow"), allow(dead_code, reason = "JSON keeps it as it is"))]
pub(crate) struct Sparse<'a> {
    pub(crate) length: u64,
    /// Ascending, one for each value.
    pub(crate) indices: Vec<u64>,
    /// An array.
    pub(crate) values: RawValue<'a>,
}

impl<'a> Sparse<'a> {
    /// Reads the value of [`SPARSE`]; `None` if it does not describe a sparse vector.
    pub(crate) fn read(content: RawValue<'a>) -> Option<Self> {
        let (mut length, mut indices, mut values) = (None, None, None);
        for entry in content.entries().ok()? {
            let (name, value) = entry.ok()?;
            match name.str().ok()? {
                "length" => length = Some(value.u64().ok()?),
                "indices" => {
                    let items = value.items().ok()?;
                    indices = Some(items.map(|item| item.ok()?.u64().ok()).collect::<Option<Vec<u64>>>()?);
                }
                "values" => values = Some(value),
                _ => return None,
            }
        }
        let (length, indices, values) = (length?, indices?, values?);
        let is_ascending = indices.is_sorted_by(|a, b| a < b) && indices.last().is_none_or(|last| *last < length);
        let count = values.items().ok()?.try_fold(0, |count, item| item.is_ok().then_some(count + 1));
        (is_ascending && count == Some(indices.len())).then_some(Self { length, indices, values })
    }
}
