use std::collections::{HashMap, HashSet};
use std::fmt;

use container_core::Result;

use crate::codec::{Values, VectorRef};
use crate::schema::{ColumnSchema, MetadataSchema, Schema};

/// The first difference between a schema and the expected one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaDifference {
    /// The differing column; `None` when the column lists differ.
    pub column: Option<String>,
    /// Expected and found.
    pub detail: String,
}

/// `column "age": expected type Single, found Double`
impl fmt::Display for SchemaDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.column {
            Some(column) => write!(f, "column {column:?}: {}", self.detail),
            None => f.write_str(&self.detail),
        }
    }
}

impl Schema {
    /// The first reason why rows of `found` do not match this schema: names, types and metadata must be equal, in the same order.
    /// Compression may differ.
    #[must_use]
    pub fn difference(&self, found: &Self) -> Option<SchemaDifference> {
        let difference = |column: Option<&ColumnSchema>, detail: String| {
            Some(SchemaDifference { column: column.map(|column| column.name.clone()), detail })
        };
        let names = |schema: &Self| schema.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
        let (mine, theirs) = (names(self), names(found));
        if mine != theirs {
            return difference(None, differing_names(&mine, &theirs));
        }
        self.columns.iter().zip(&found.columns).find_map(|(mine, theirs)| {
            if mine.kind != theirs.kind {
                let codecs = match mine.kind.to_string() == theirs.kind.to_string() {
                    // Types that print alike differ in their codec, that is, in what can be missing.
                    true => (mine.kind.item().codec_name().to_owned(), theirs.kind.item().codec_name().to_owned()),
                    false => (mine.kind.to_string(), theirs.kind.to_string()),
                };
                return difference(Some(mine), format!("expected type {}, found {}", codecs.0, codecs.1));
            }
            let detail = differing_metadata(&mine.metadata, &theirs.metadata)?;
            difference(Some(mine), detail)
        })
    }
}

fn differing_names(expected: &[String], found: &[String]) -> String {
    let missing = missing_from(expected, found);
    let new = missing_from(found, expected);
    match (missing.as_slice(), new.as_slice()) {
        ([], []) if expected.len() == found.len() => {
            let index = expected.iter().zip(found).position(|(a, b)| a != b).unwrap_or(0);
            let name = |names: &[String]| names.get(index).cloned().unwrap_or_default();
            format!(
                "the columns are in a different order: expected column {:?} at index {index}, found {:?}",
                name(expected),
                name(found)
            )
        }
        ([], []) => format!("expected {} columns, found {}: names repeat", expected.len(), found.len()),
        (missing, []) => format!("{} missing", listed(missing)),
        ([], new) => format!("{} unexpected", listed(new)),
        (missing, new) => format!("{} missing, {} unexpected", listed(missing), listed(new)),
    }
}

/// Names that are not in `other`.
fn missing_from(names: &[String], other: &[String]) -> Vec<String> {
    let other: HashSet<&String> = other.iter().collect();
    names.iter().filter(|name| !other.contains(name)).cloned().collect()
}

/// `column "a" is` or `columns "a", "b" and 3 more are`.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let quoted: Vec<_> = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect();
    match names.len() {
        1 => format!("column {} is", quoted.concat()),
        all if all > SHOWN => format!("columns {} and {} more are", quoted.join(", "), all - SHOWN),
        _ => format!("columns {} are", quoted.join(", ")),
    }
}

fn differing_metadata(expected: &[MetadataSchema], found: &[MetadataSchema]) -> Option<String> {
    let by_kind = |all: &'_ [MetadataSchema]| -> HashMap<String, usize> {
        // The first of equal kinds counts.
        all.iter().enumerate().rev().map(|(index, metadata)| (metadata.kind.clone(), index)).collect()
    };
    let (mine, others) = (by_kind(expected), by_kind(found));
    for metadata in expected {
        let in_metadata = |detail: String| Some(format!("metadata {:?}: {detail}", metadata.kind));
        let Some(theirs) = others.get(&metadata.kind).and_then(|&index| found.get(index)) else {
            return in_metadata("missing".to_owned());
        };
        if metadata.value_type != theirs.value_type {
            return in_metadata(format!("expected type {}, found {}", metadata.value_type, theirs.value_type));
        }
        if metadata.value != theirs.value {
            return in_metadata(differing_values(&metadata.value, &theirs.value, metadata));
        }
    }
    let new = found.iter().find(|metadata| !mine.contains_key(&metadata.kind))?;
    Some(format!("metadata {:?}: unexpected", new.kind))
}

/// Describes the first difference between two metadata values.
fn differing_values(expected: &Values, found: &Values, metadata: &MetadataSchema) -> String {
    let to_json =
        |values: &Values, index: usize| to_json(metadata, values, index).unwrap_or_else(|| "nothing".to_owned());
    let (Values::Vector(mine), Values::Vector(theirs)) = (expected, found) else {
        return format!("expected {}, found {}", to_json(expected, 0), to_json(found, 0));
    };
    let (Some(mine), Some(theirs)) = (mine.get(0), theirs.get(0)) else { return "different value".to_owned() };
    if mine.length != theirs.length {
        return format!("expected {} items, found {}", mine.length, theirs.length);
    }
    if mine.indices != theirs.indices {
        return "different slots are stored".to_owned();
    }
    let differs = |&index: &usize| {
        let item_range = |vector: &VectorRef<'_>| vector.range.start + index..vector.range.start + index + 1;
        !mine.values.ranges_equal(item_range(&mine), theirs.values, item_range(&theirs))
    };
    match (0..mine.range.len()).find(differs) {
        Some(index) => {
            let slot = mine.indices.and_then(|indices| indices.get(index)).map_or(index as u64, |&slot| slot.into());
            let item = |vector: &VectorRef<'_>| to_json(vector.values, vector.range.start + index);
            format!("item {slot}: expected {}, found {}", item(&mine), item(&theirs))
        }
        None => "different value".to_owned(),
    }
}

/// An item as JSON.
fn to_json(metadata: &MetadataSchema, values: &Values, index: usize) -> Option<String> {
    let value = crate::value::ValueFormat::plain(metadata.value_type.item()).value(values, index);
    serde_json::to_string(&value).ok()
}

/// Fails when `found` differs from `expected`.
pub(crate) fn check_equal(expected: &Schema, found: &Schema) -> Result<()> {
    let Some(SchemaDifference { column, detail }) = expected.difference(found) else { return Ok(()) };
    let error = container_core::Error::usage(format!("the schema differs: {detail}")).in_format(crate::FORMAT_NAME);
    Err(match column {
        Some(column) => error.in_column(column),
        None => error,
    })
}
