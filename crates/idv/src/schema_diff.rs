use std::collections::{HashMap, HashSet};
use std::fmt;

use container_core::Result;

use crate::codec::{Values, VectorRef};
use crate::schema::{ColumnSchema, MetadataSchema, Schema};

/// The first thing in which a schema differs from the one expected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaDifference {
    /// The column, where it is one column that differs.
    pub column: Option<String>,
    /// What was found and what was expected.
    pub detail: String,
}

/// `column "age": type Double where Single is expected`
impl fmt::Display for SchemaDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.column {
            Some(column) => write!(f, "column {column:?}: {}", self.detail),
            None => f.write_str(&self.detail),
        }
    }
}

impl Schema {
    /// What keeps rows of `found` from being rows of this schema: names, types and all metadata have to be equal, in the same
    /// order. Compression may differ.
    #[must_use]
    pub fn difference(&self, found: &Self) -> Option<SchemaDifference> {
        let about = |column: Option<&ColumnSchema>, detail: String| {
            Some(SchemaDifference { column: column.map(|column| column.name.clone()), detail })
        };
        let names = |schema: &Self| schema.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
        let (mine, theirs) = (names(self), names(found));
        if mine != theirs {
            return about(None, differing_names(&mine, &theirs));
        }
        self.columns.iter().zip(&found.columns).find_map(|(mine, theirs)| {
            if mine.kind != theirs.kind {
                let codecs = match mine.kind.to_string() == theirs.kind.to_string() {
                    // Types that look the same differ in what can be missing.
                    true => (mine.kind.item().codec_name().to_owned(), theirs.kind.item().codec_name().to_owned()),
                    false => (mine.kind.to_string(), theirs.kind.to_string()),
                };
                return about(Some(mine), format!("type {} where {} is expected", codecs.1, codecs.0));
            }
            let detail = differing_metadata(&mine.metadata, &theirs.metadata)?;
            about(Some(mine), detail)
        })
    }
}

fn differing_names(expected: &[String], found: &[String]) -> String {
    let missing = lacking(expected, found);
    let new = lacking(found, expected);
    match (missing.as_slice(), new.as_slice()) {
        ([], []) if expected.len() == found.len() => {
            let place = expected.iter().zip(found).position(|(a, b)| a != b).unwrap_or(0);
            let name = |names: &[String]| names.get(place).cloned().unwrap_or_default();
            format!(
                "the columns are in another order: column {place} (counted from 0) is {:?} where {:?} is expected",
                name(found),
                name(expected)
            )
        }
        ([], []) => format!("{} columns where {} are expected: names repeat", found.len(), expected.len()),
        (missing, []) => format!("{} missing", listed(missing)),
        ([], new) => format!("{} not expected", listed(new)),
        (missing, new) => format!("{} missing, {} not expected", listed(missing), listed(new)),
    }
}

/// Names of one list that the other does not have.
fn lacking(names: &[String], other: &[String]) -> Vec<String> {
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
        // Of several of a kind the first counts.
        all.iter().enumerate().rev().map(|(place, metadata)| (metadata.kind.clone(), place)).collect()
    };
    let (mine, others) = (by_kind(expected), by_kind(found));
    for metadata in expected {
        let about = |detail: String| Some(format!("metadata {:?}: {detail}", metadata.kind));
        let Some(theirs) = others.get(&metadata.kind).and_then(|&place| found.get(place)) else {
            return about("it is missing".to_owned());
        };
        if metadata.value_type != theirs.value_type {
            return about(format!("type {} where {} is expected", theirs.value_type, metadata.value_type));
        }
        if metadata.value != theirs.value {
            return about(differing_values(&metadata.value, &theirs.value, metadata));
        }
    }
    let new = found.iter().find(|metadata| !mine.contains_key(&metadata.kind))?;
    Some(format!("metadata {:?}: it is not expected", new.kind))
}

/// Where two values of metadata begin to differ.
fn differing_values(expected: &Values, found: &Values, metadata: &MetadataSchema) -> String {
    let shown = |values: &Values, place: usize| shown(metadata, values, place).unwrap_or_else(|| "nothing".to_owned());
    let (Values::Vector(mine), Values::Vector(theirs)) = (expected, found) else {
        return format!("{} where {} is expected", shown(found, 0), shown(expected, 0));
    };
    let (Some(mine), Some(theirs)) = (mine.get(0), theirs.get(0)) else { return "another value".to_owned() };
    if mine.length != theirs.length {
        return format!("{} items where {} are expected", theirs.length, mine.length);
    }
    if mine.indices != theirs.indices {
        return "other slots are stored than expected".to_owned();
    }
    let differs = |&place: &usize| {
        let run = |vector: &VectorRef<'_>| vector.range.start + place..vector.range.start + place + 1;
        !mine.values.ranges_equal(run(&mine), theirs.values, run(&theirs))
    };
    match (0..mine.range.len()).find(differs) {
        Some(place) => {
            let slot = mine.indices.and_then(|indices| indices.get(place)).map_or(place as u64, |&slot| slot.into());
            let item = |vector: &VectorRef<'_>| shown(vector.values, vector.range.start + place);
            format!("item {slot} is {} where {} is expected", item(&theirs), item(&mine))
        }
        None => "another value".to_owned(),
    }
}

/// An item as JSON.
fn shown(metadata: &MetadataSchema, values: &Values, place: usize) -> Option<String> {
    let value = crate::value::ValueFormat::plain(metadata.value_type.item()).value(values, place);
    serde_json::to_string(&value).ok()
}

/// Fails when rows of `found` are no rows of `expected`.
pub(crate) fn check_equal(expected: &Schema, found: &Schema) -> Result<()> {
    let Some(SchemaDifference { column, detail }) = expected.difference(found) else { return Ok(()) };
    let error = container_core::Error::usage(format!("the schema differs: {detail}")).in_format(crate::FORMAT_NAME);
    Err(match column {
        Some(column) => error.in_column(column),
        None => error,
    })
}
