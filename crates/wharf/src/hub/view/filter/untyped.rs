//! Whether a predicate means the same without the types of columns.

use arrow_schema::{DataType, Field, Fields, Schema};
use container_arrow::predicate::{Condition, Constant};

/// Whether all columns that a condition compares have the types of the values, so that stored strings, numbers and booleans compare alike.
pub(super) fn fits(condition: &Condition, schema: &Schema) -> bool {
    match condition {
        Condition::All(all) | Condition::Any(all) => all.iter().all(|one| fits(one, schema)),
        Condition::IsNull { path, .. } => field(path, schema.fields()).is_some(),
        Condition::Compare { path, value, .. } => field(path, schema.fields()).is_some_and(|field| is_of(value, field)),
        _ => false,
    }
}

fn field<'s>(path: &[String], fields: &'s Fields) -> Option<&'s Field> {
    let (name, rest) = path.split_first()?;
    let (_, field) = fields.find(name)?;
    match (rest, field.data_type()) {
        ([], _) => Some(field),
        (rest, DataType::Struct(inner)) => self::field(rest, inner),
        _ => None,
    }
}

fn is_of(value: &Constant, field: &Field) -> bool {
    // Text with metadata is JSON, or stands for something else.
    match (value, field.data_type()) {
        (Constant::Bool(_), DataType::Boolean) => true,
        (Constant::Number(_), DataType::Int64 | DataType::UInt64 | DataType::Float64) => true,
        // Texts such as NaN are numbers if a later row has one.
        (Constant::Text(_), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => {
            field.metadata().is_empty() && !value.is_special_float()
        }
        _ => false,
    }
}
