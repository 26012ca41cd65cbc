//! The common schema of two inputs that have schemas.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use container_core::{Error, Loss, Position, Result};

use super::unify::{self, Unified};

/// Unifies two schemas, which need the same names in the same order. A column of type Null takes the type of the other. `left_out` receives
/// metadata that are not true for both.
pub(in super::super) fn join(
    before: &SchemaRef,
    found: &SchemaRef,
    first: &str,
    left_out: &mut Vec<Loss>,
) -> Result<SchemaRef> {
    let differ = |what: String| Error::invalid(format!("columns differ from those of {first}: {what}"));
    let (old, new) = (before.fields(), found.fields());
    if old.len() != new.len() {
        let names: HashSet<&String> = old.iter().map(|field| field.name()).collect();
        let more = new.iter().find(|field| !names.contains(field.name()));
        let names: HashSet<&String> = new.iter().map(|field| field.name()).collect();
        let less = old.iter().find(|field| !names.contains(field.name()));
        let odd = match (more, less) {
            (Some(more), _) => format!("; only this one has {:?}", more.name()),
            (None, Some(less)) => format!("; this one lacks {:?}", less.name()),
            (None, None) => String::new(),
        };
        return Err(differ(format!("{} columns here, {} there{odd}", new.len(), old.len())));
    }
    let mut fields = Vec::with_capacity(old.len());
    for (number, (old, new)) in old.iter().zip(new).enumerate() {
        if old.name() != new.name() {
            return Err(differ(format!("column {number} is {:?} here, {:?} there", new.name(), old.name())));
        }
        fields.push(column(old, new, first, left_out)?);
    }
    Ok(Arc::new(Schema::new_with_metadata(fields, before.metadata().clone())))
}

/// As [`join()`], for schemas with different columns, in any order: those of both, in the order of their first appearance. A column that one of them
/// lacks is nullable.
pub(in super::super) fn union(
    before: &SchemaRef,
    found: &SchemaRef,
    first: &str,
    left_out: &mut Vec<Loss>,
) -> Result<SchemaRef> {
    let nullable = |field: &Field| Arc::new(field.clone().with_nullable(true));
    let mut fields = Vec::with_capacity(before.fields().len());
    for old in before.fields() {
        fields.push(match found.fields().find(old.name()) {
            Some((_, new)) => column(old, new, first, left_out)?,
            None => nullable(old),
        });
    }
    let others = found.fields().iter().filter(|field| before.column_with_name(field.name()).is_none());
    fields.extend(others.map(|field| nullable(field)));
    Ok(Arc::new(Schema::new_with_metadata(fields, before.metadata().clone())))
}

/// Unifies two columns of one name.
fn column(old: &Field, new: &Field, first: &str, left_out: &mut Vec<Loss>) -> Result<FieldRef> {
    let Unified { field, left_out: names } = unify::columns(old, new).map_err(|what| {
        Error::invalid(format!("columns differ from those of {first}: {what}")).in_column(new.name().clone())
    })?;
    left_out.extend(names.into_iter().map(|name| {
        let at = Position::of_column(new.name().clone());
        Loss::new(format!("metadata {name:?} left out: not the same as in {first}"), 1, at)
    }));
    Ok(Arc::new(field))
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;

    use super::*;

    fn schema(columns: &[(&str, DataType, bool)]) -> SchemaRef {
        Arc::new(Schema::new(
            columns.iter().map(|(name, kind, null)| Field::new(*name, kind.clone(), *null)).collect::<Vec<_>>(),
        ))
    }

    #[test]
    fn metadata_left_out_names_the_first_input() {
        let with = |value: &str| {
            let field = Field::new("a", DataType::Int32, true);
            let metadata = [("note".to_owned(), value.to_owned())];
            Arc::new(Schema::new(vec![field.with_metadata(metadata.into())]))
        };
        let mut left_out = Vec::new();
        join(&with("x"), &with("y"), "one", &mut left_out).unwrap();
        let texts: Vec<String> = left_out.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["metadata \"note\" left out: not the same as in one (column \"a\")"]);
    }

    #[test]
    fn rejects_schemas_that_cannot_be_unified() {
        let one = schema(&[("a", DataType::Int32, false), ("b", DataType::Null, true), ("c", DataType::Utf8, true)]);
        let two = schema(&[("a", DataType::Int32, true), ("b", DataType::Utf8, false), ("c", DataType::Null, true)]);
        let both = schema(&[("a", DataType::Int32, true), ("b", DataType::Utf8, true), ("c", DataType::Utf8, true)]);
        assert_eq!(join(&one, &two, "one", &mut Vec::new()).unwrap(), both);
        let wrong = |two: &SchemaRef| join(&one, two, "one", &mut Vec::new()).unwrap_err().to_string();
        assert_eq!(
            wrong(&schema(&[("a", DataType::Int64, true), ("b", DataType::Utf8, true), ("c", DataType::Utf8, true)])),
            "columns differ from those of one: Int64 here, Int32 there (column \"a\")"
        );
        assert_eq!(
            wrong(&schema(&[("a", DataType::Int32, true), ("c", DataType::Utf8, true), ("b", DataType::Utf8, true)])),
            "columns differ from those of one: column 1 is \"c\" here, \"b\" there"
        );
        assert_eq!(
            wrong(&schema(&[("a", DataType::Int32, true), ("b", DataType::Utf8, true)])),
            "columns differ from those of one: 2 columns here, 3 there; this one lacks \"c\""
        );
    }
}
