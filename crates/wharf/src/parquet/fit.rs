//! What of Arrow's types Parquet can hold.

use std::collections::HashMap;

use arrow_schema::{DataType, Field, IntervalUnit, Schema};
use container_core::{Error, Loss, Position, Result};

/// Structs in structs, lists in lists.
const DEEPEST: u32 = 128;

/// Fails for a column that Parquet cannot hold, or whose name is there twice: in Parquet, columns are known by their names.
pub(super) fn check(schema: &Schema) -> Result<()> {
    let mut seen = HashMap::new();
    for (index, field) in schema.fields().iter().enumerate() {
        if let Some(first) = seen.insert(field.name(), index) {
            let detail = format!("the columns {first} and {index} have the same name, which Parquet files cannot have");
            return Err(Error::usage(detail).in_column(field.name().clone()));
        }
        type_of(field, DEEPEST).map_err(|error| error.in_column(field.name().clone()))?;
    }
    Ok(())
}

fn type_of(field: &Field, depth: u32) -> Result<()> {
    let refused =
        |what: &str| Err(Error::unsupported(format!("Parquet has no type for {what} ({})", field.data_type())));
    let Some(depth) = depth.checked_sub(1) else {
        return Err(Error::limit("the nesting of a column", u64::from(DEEPEST) + 1, DEEPEST.into()));
    };
    match field.data_type() {
        DataType::Union(..) => refused("unions"),
        DataType::Struct(fields) if fields.is_empty() => refused("structs without members"),
        DataType::Struct(fields) => {
            let mut seen = std::collections::HashSet::new();
            if let Some(twice) = fields.iter().find(|field| !seen.insert(field.name())) {
                return refused(&format!("structs with two members {:?}", twice.name()));
            }
            fields.iter().try_for_each(|field| type_of(field, depth))
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => refused("intervals of months, days and nanoseconds"),
        DataType::Dictionary(_, values) => {
            if values.is_nested() || matches!(**values, DataType::Dictionary(..)) {
                return refused("dictionaries of nested values");
            }
            type_of(&Field::new("", DataType::clone(values), true), depth)
        }
        DataType::RunEndEncoded(_, values) => {
            if values.data_type().is_nested() {
                return refused("runs of nested values");
            }
            type_of(values, depth)
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => type_of(item, depth),
        _ => Ok(()),
    }
}

/// A note for each pair of names that some readers take for one.
pub(super) fn notes(schema: &Schema) -> Vec<Loss> {
    let mut seen: HashMap<String, &str> = HashMap::new();
    let mut notes = Vec::new();
    for field in schema.fields() {
        if let Some(first) = seen.insert(field.name().to_lowercase(), field.name()) {
            let what = format!(
                "the columns {first:?} and {:?} differ in case only: some readers of Parquet take them for one",
                field.name()
            );
            notes.push(Loss::new(what, 0, Position::default()));
        }
    }
    notes
}
