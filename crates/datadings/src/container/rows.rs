//! Samples as the rows of a table.

use std::collections::HashMap;

use container_core::{Error, Limits, Loss, Result, Rows};
use serde_core::ser::{Error as _, SerializeMap};
use serde_core::{Serialize, Serializer};

use super::columns::{Field, FieldName};
use crate::FORMAT_NAME;
use crate::json::{self, Json};
use crate::read::{Sample, Samples};
use crate::value::RawValue;
use crate::wire::Token;

/// Up to this many columns, names are compared one by one.
const LINEAR_SEARCH: usize = 8;

/// Iterates over samples.
pub(super) struct SampleRows<'a> {
    samples: Samples<'a>,
    current: Option<Sample<'a>>,
    projection: Option<Projection<'a>>,
    limits: Limits,
    failed: bool,
}

/// The selected fields in the requested order, with their names as JSON.
struct Projection<'a> {
    fields: Vec<(&'a Field, Vec<u8>)>,
    indexes: HashMap<&'a FieldName, Vec<usize>>,
}

impl<'a> Projection<'a> {
    fn new(fields: Vec<&'a Field>) -> Self {
        let mut indexes: HashMap<&FieldName, Vec<usize>> = HashMap::new();
        for (index, field) in fields.iter().enumerate() {
            indexes.entry(&field.name).or_default().push(index);
        }
        let named = fields.into_iter().map(|field| {
            // Serializing a string cannot fail.
            let name = serde_json::to_vec(&field.unique).unwrap_or_default();
            (field, name)
        });
        Self { fields: named.collect(), indexes }
    }

    /// The values of the fields in one sample. If a field occurs twice, the first.
    fn values<'s>(&self, sample: RawValue<'s>) -> Result<Vec<Option<RawValue<'s>>>> {
        let mut values = vec![None; self.fields.len()];
        if !matches!(sample.tokens().next()?, Token::Map(_)) {
            return Ok(values);
        }
        let mut left = values.len();
        for entry in sample.entries()? {
            if left == 0 {
                break;
            }
            let (name, value) = entry?;
            let (bytes, text) = match name.tokens().next()? {
                Token::Str(bytes) => (bytes, true),
                _ => (name.as_bytes(), false),
            };
            let mut set = |index: usize| {
                if let Some(slot @ None) = values.get_mut(index) {
                    *slot = Some(value);
                    left -= 1;
                }
            };
            if self.fields.len() <= LINEAR_SEARCH {
                for (index, (field, _)) in self.fields.iter().enumerate() {
                    if field.name.text == text && *field.name.bytes == *bytes {
                        set(index);
                    }
                }
            } else if let Some(indexes) = self.indexes.get(&FieldName { bytes: bytes.into(), text }) {
                indexes.iter().copied().for_each(set);
            }
        }
        Ok(values)
    }
}

impl<'a> SampleRows<'a> {
    pub(super) fn new(samples: Samples<'a>, projection: Option<Vec<&'a Field>>, limits: Limits) -> Self {
        Self { samples, current: None, projection: projection.map(Projection::new), limits, failed: false }
    }

    fn sample(&self) -> Result<&Sample<'a>> {
        self.current.as_ref().ok_or_else(|| Error::usage("no current row").in_format(FORMAT_NAME))
    }

    fn write(&self, sample: &Sample<'_>, projection: &Projection<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = projection.values(sample.raw())?;
        out.push(b'{');
        let mut separate = false;
        for ((_, name), value) in projection.fields.iter().zip(values) {
            // A missing field is left out, since null would mean nil.
            let Some(value) = value else { continue };
            if std::mem::replace(&mut separate, true) {
                out.push(b',');
            }
            out.extend_from_slice(name);
            out.push(b':');
            json::write(value, out, &self.limits)?;
        }
        out.push(b'}');
        Ok(())
    }
}

impl Rows for SampleRows<'_> {
    fn advance(&mut self) -> Result<bool> {
        self.current = None;
        if self.failed {
            return Ok(false);
        }
        match self.samples.next() {
            None => Ok(false),
            Some(Ok(sample)) => {
                self.current = Some(sample);
                Ok(true)
            }
            Some(Err(error)) => {
                self.failed = true;
                Err(error)
            }
        }
    }

    fn index(&self) -> u64 {
        self.current.as_ref().map_or(0, Sample::index)
    }

    fn row(&self) -> &dyn erased_serde::Serialize {
        self
    }

    fn json(&self, out: &mut Vec<u8>) -> Result<()> {
        let sample = self.sample()?;
        let start = out.len();
        let result = match &self.projection {
            None => sample.check_end().and_then(|()| json::write(sample.raw(), out, &self.limits)),
            Some(projection) => self.write(sample, projection, out),
        };
        result.map_err(|error| {
            out.truncate(start);
            sample.in_sample(error)
        })
    }

    fn losses(&self) -> Vec<Loss> {
        Vec::new()
    }
}

/// Serializes the current row as a map of the selected fields.
impl Serialize for SampleRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sample = self.sample().map_err(S::Error::custom)?;
        let Some(projection) = &self.projection else {
            sample.check_end().map_err(|error| S::Error::custom(sample.in_sample(error)))?;
            return Json(sample.raw()).serialize(serializer);
        };
        let values = projection.values(sample.raw()).map_err(|error| S::Error::custom(sample.in_sample(error)))?;
        let mut map = serializer.serialize_map(None)?;
        for ((field, _), value) in projection.fields.iter().zip(values) {
            if let Some(value) = value {
                map.serialize_entry(&field.unique, &Json(value))?;
            }
        }
        map.end()
    }
}
