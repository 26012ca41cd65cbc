//! Samples as rows.

use std::collections::HashMap;

use container_core::{Error, Limits, Loss, Result, Rows};
use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};

use super::columns::{Field, FieldName};
use crate::FORMAT_NAME;
use crate::json::{self, Json};
use crate::read::{Sample, Samples};
use crate::value::RawValue;
use crate::wire::Token;

/// Columns that are looked for one by one.
const FEW: usize = 8;

/// A walk over samples.
pub(super) struct SampleRows<'a> {
    samples: Samples<'a>,
    current: Option<Sample<'a>>,
    chosen: Option<Chosen<'a>>,
    limits: Limits,
    failed: bool,
}

/// The fields that are shown, with their names as JSON, in the order wanted.
struct Chosen<'a> {
    fields: Vec<(&'a Field, Vec<u8>)>,
    places: HashMap<&'a FieldName, Vec<usize>>,
}

impl<'a> Chosen<'a> {
    fn new(fields: Vec<&'a Field>) -> Self {
        let mut places: HashMap<&FieldName, Vec<usize>> = HashMap::new();
        for (place, field) in fields.iter().enumerate() {
            places.entry(&field.name).or_default().push(place);
        }
        let named = fields.into_iter().map(|field| {
            // A text is always JSON.
            let name = serde_json::to_vec(&field.unique).unwrap_or_default();
            (field, name)
        });
        Self { fields: named.collect(), places }
    }

    /// The values of the fields in one sample. Where a field is there twice, the first.
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
            let mut set = |place: usize| {
                if let Some(slot @ None) = values.get_mut(place) {
                    *slot = Some(value);
                    left -= 1;
                }
            };
            if self.fields.len() <= FEW {
                for (place, (field, _)) in self.fields.iter().enumerate() {
                    if field.name.text == text && *field.name.bytes == *bytes {
                        set(place);
                    }
                }
            } else if let Some(places) = self.places.get(&FieldName { bytes: bytes.into(), text }) {
                places.iter().copied().for_each(set);
            }
        }
        Ok(values)
    }
}

impl<'a> SampleRows<'a> {
    pub(super) fn new(samples: Samples<'a>, chosen: Option<Vec<&'a Field>>, limits: Limits) -> Self {
        Self { samples, current: None, chosen: chosen.map(Chosen::new), limits, failed: false }
    }

    fn sample(&self) -> Result<&Sample<'a>> {
        self.current.as_ref().ok_or_else(|| Error::usage("there is no current row").in_format(FORMAT_NAME))
    }

    fn write(&self, sample: &Sample<'_>, chosen: &Chosen<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = chosen.values(sample.raw())?;
        out.push(b'{');
        let mut between = false;
        for ((_, name), value) in chosen.fields.iter().zip(values) {
            // A field that the sample has not is not there: null would say that it is nil.
            let Some(value) = value else { continue };
            if std::mem::replace(&mut between, true) {
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
        let written = match &self.chosen {
            None => json::write(sample.raw(), out, &self.limits),
            Some(chosen) => self.write(sample, chosen, out),
        };
        written.map_err(|error| {
            out.truncate(start);
            sample.in_sample(error)
        })
    }

    fn losses(&self) -> Vec<Loss> {
        Vec::new()
    }
}

/// The current row: a map of the fields that are shown.
impl Serialize for SampleRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sample = self.sample().map_err(S::Error::custom)?;
        let Some(chosen) = &self.chosen else { return Json(sample.raw()).serialize(serializer) };
        let values = chosen.values(sample.raw()).map_err(|error| S::Error::custom(sample.in_sample(error)))?;
        let mut map = serializer.serialize_map(None)?;
        for ((field, _), value) in chosen.fields.iter().zip(values) {
            if let Some(value) = value {
                map.serialize_entry(&field.unique, &Json(value))?;
            }
        }
        map.end()
    }
}
