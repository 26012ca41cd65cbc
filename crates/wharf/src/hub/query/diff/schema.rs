//! Compares columns: their names, types and meaning.

use std::collections::HashMap;

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, Schema};
use container_arrow::ENCODING;

use super::super::super::convert::same_meaning;
use super::cells::Class;

/// How columns of two inputs differ.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnDifference {
    /// The column.
    pub column: String,
    /// What differs.
    pub kind: ColumnDifferenceKind,
    /// What is found in the first input; `None` if it lacks the column.
    pub one: Option<String>,
    /// What is found in the other input; `None` if it lacks the column.
    pub other: Option<String>,
    /// It does not make inputs differ.
    pub is_note: bool,
}

/// What differs in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnDifferenceKind {
    /// Only one input has the column.
    Missing,
    /// Types. A note if both have the same meaning, and types need not be the same.
    Type,
    /// Whether the column may have nulls: a note.
    Nullable,
    /// Units, slot names and other metadata that give values their meaning. A note where only one input has metadata.
    Metadata,
    /// The position of the column: a note.
    Order,
}

impl ColumnDifferenceKind {
    /// The name: `missing`, `type`, `nullable`, `metadata`, `order`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Type => "type",
            Self::Nullable => "nullable",
            Self::Metadata => "metadata",
            Self::Order => "order",
        }
    }
}

/// A column of both inputs whose values can be compared.
pub(super) struct Pair {
    pub(super) name: String,
    /// Its index in each input.
    pub(super) indexes: [usize; 2],
}

/// Compares two schemas. Returns the columns whose values can be compared, and how others differ.
pub(super) fn compare(one: &Schema, other: &Schema, exact_types: bool) -> (Vec<Pair>, Vec<ColumnDifference>) {
    let (mut pairs, mut differences) = (Vec::new(), Vec::new());
    let missing = |field: &Field, one: bool| ColumnDifference {
        column: field.name().clone(),
        kind: ColumnDifferenceKind::Missing,
        one: one.then(|| field.data_type().to_string()),
        other: (!one).then(|| field.data_type().to_string()),
        is_note: false,
    };
    let others: HashMap<&str, usize> =
        other.fields().iter().enumerate().map(|(index, field)| (field.name().as_str(), index)).collect();
    for (index, field) in one.fields().iter().enumerate() {
        let found = others.get(field.name().as_str()).and_then(|at| Some((*at, other.fields().get(*at)?)));
        let Some((at, found)) = found else {
            differences.push(missing(field, true));
            continue;
        };
        if columns(field, found, exact_types, &mut differences) {
            pairs.push(Pair { name: field.name().clone(), indexes: [index, at] });
        }
    }
    let lacks = |field: &&arrow_schema::FieldRef| one.field_with_name(field.name()).is_err();
    differences.extend(other.fields().iter().filter(lacks).map(|field| missing(field, false)));
    let moved = pairs.windows(2).find(|two| two.is_sorted_by(|one, other| one.indexes[1] > other.indexes[1]));
    if let Some([_, Pair { name, indexes: [one, other] }]) = moved {
        differences.push(ColumnDifference {
            column: name.clone(),
            kind: ColumnDifferenceKind::Order,
            one: Some(one.to_string()),
            other: Some(other.to_string()),
            is_note: true,
        });
    }
    (pairs, differences)
}

/// Compares two columns of one name. False if their values cannot be compared.
fn columns(one: &Field, other: &Field, exact_types: bool, differences: &mut Vec<ColumnDifference>) -> bool {
    let mut differ = |kind, found: [String; 2], is_note| {
        let [one_found, other_found] = found;
        let (column, one, other) = (one.name().clone(), Some(one_found), Some(other_found));
        differences.push(ColumnDifference { column, kind, one, other, is_note });
    };
    let (class, others) = (Class::of(one.data_type()), Class::of(other.data_type()));
    let comparable = class.compares_with(&others);
    if one.data_type() != other.data_type() {
        let is_note = comparable && !exact_types;
        differ(ColumnDifferenceKind::Type, [one, other].map(|field| field.data_type().to_string()), is_note);
    }
    if one.is_nullable() != other.is_nullable() {
        let word = |field: &Field| if field.is_nullable() { "nullable" } else { "not nullable" }.to_owned();
        differ(ColumnDifferenceKind::Nullable, [one, other].map(word), true);
    }
    let (shared, alone) = shared_metadata(one, other);
    for (name, in_one) in alone {
        let found = |is_there: bool| if is_there { name.clone() } else { format!("no {name}") };
        differ(ColumnDifferenceKind::Metadata, [found(in_one), found(!in_one)], true);
    }
    // Only metadata are compared: types are the same in both.
    let [before, found] = shared.map(|metadata| Field::new(one.name(), DataType::Null, true).with_metadata(metadata));
    let typed = |field: Field| field.with_data_type(one.data_type().clone());
    if comparable && let Err(what) = same_meaning(&typed(before), &typed(found)) {
        differ(ColumnDifferenceKind::Metadata, [String::new(), what], false);
    }
    comparable
}

type Metadata = HashMap<String, String>;

/// The metadata that both columns have, and the names of those of which only one has any: whether it is the first.
fn shared_metadata(one: &Field, other: &Field) -> ([Metadata; 2], Vec<(String, bool)>) {
    let formats = [idv::FORMAT.name(), dsfmt::FORMAT_NAME];
    let meaning = |name: &str| {
        formats.contains(&name) || [EXTENSION_TYPE_NAME_KEY, EXTENSION_TYPE_METADATA_KEY, ENCODING].contains(&name)
    };
    let of = |field: &Field, other: &Field| {
        let both = |(name, _): &(&String, &String)| meaning(name) && other.metadata().contains_key(*name);
        field.metadata().iter().filter(both).map(|(name, text)| (name.clone(), text.clone())).collect::<Metadata>()
    };
    let alone = |field: &Field, other: &Field, is_one: bool| {
        let lacks = |name: &&String| meaning(name) && !other.metadata().contains_key(*name);
        field.metadata().keys().filter(lacks).map(|name| (name.clone(), is_one)).collect::<Vec<_>>()
    };
    let mut names = alone(one, other, true);
    names.extend(alone(other, one, false));
    names.sort();
    ([of(one, other), of(other, one)], names)
}
