//! Arrow types that can be written to Parquet.

use std::collections::HashMap;

use arrow_schema::{DataType, Field, IntervalUnit, Schema};
use container_core::{Error, Loss, Position, Result};

/// Maximum nesting of structs and lists.
const MAX_DEPTH: u32 = 128;

/// Rejects types that Parquet cannot hold, and duplicate column names: Parquet identifies columns by name.
pub(super) fn check(schema: &Schema) -> Result<()> {
    let mut names = HashMap::new();
    for (index, field) in schema.fields().iter().enumerate() {
        if let Some(first) = names.insert(field.name(), index) {
            let detail = format!("the columns {first} and {index} have the same name, which Parquet does not allow");
            return Err(Error::usage(detail).in_column(field.name().clone()));
        }
        check_field(field, MAX_DEPTH).map_err(|error| error.in_column(field.name().clone()))?;
    }
    Ok(())
}

fn check_field(field: &Field, depth: u32) -> Result<()> {
    let unsupported =
        |what: &str| Err(Error::unsupported(format!("Parquet has no type for {what} ({})", field.data_type())));
    let Some(depth) = depth.checked_sub(1) else {
        return Err(Error::limit("the nesting of a column", u64::from(MAX_DEPTH) + 1, MAX_DEPTH.into()));
    };
    match field.data_type() {
        DataType::Union(..) => unsupported("unions"),
        DataType::Struct(fields) if fields.is_empty() => unsupported("structs without members"),
        DataType::Struct(fields) => {
            let mut names = std::collections::HashSet::new();
            if let Some(duplicate) = fields.iter().find(|field| !names.insert(field.name())) {
                return unsupported(&format!("structs with two members {:?}", duplicate.name()));
            }
            fields.iter().try_for_each(|field| check_field(field, depth))
        }
        DataType::Dictionary(_, values) => {
            if values.is_nested() || matches!(**values, DataType::Dictionary(..)) {
                return unsupported("dictionaries of nested values");
            }
            if is_month_day_nano(values) {
                return unsupported("dictionaries of intervals of months, days and nanoseconds");
            }
            check_field(&Field::new("", DataType::clone(values), true), depth)
        }
        DataType::RunEndEncoded(_, values) => {
            if values.data_type().is_nested() {
                return unsupported("runs of nested values");
            }
            if is_month_day_nano(values.data_type()) {
                return unsupported("runs of intervals of months, days and nanoseconds");
            }
            check_field(values, depth)
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => check_field(item, depth),
        _ => Ok(()),
    }
}

const fn is_month_day_nano(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Interval(IntervalUnit::MonthDayNano))
}

/// A warning for each pair of names that differ only in case.
pub(super) fn warnings(schema: &Schema) -> Vec<Loss> {
    let mut names: HashMap<String, &str> = HashMap::new();
    let mut warnings = Vec::new();
    for field in schema.fields() {
        if let Some(first) = names.insert(field.name().to_lowercase(), field.name()) {
            let what = format!(
                "the columns {first:?} and {:?} differ only in case: some Parquet readers treat them as one",
                field.name()
            );
            warnings.push(Loss::new(what, 0, Position::default()));
        }
    }
    warnings
}
