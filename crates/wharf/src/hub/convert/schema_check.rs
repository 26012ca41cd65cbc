//! Checks that several inputs have the same columns with the same meaning, for outputs that take rows without a common schema.
//!
//! Neither JSON nor CSV names the slots of a vector or the unit of a number: readers would take those of the first file for all. Types may differ,
//! as each value shows its own. Files without schemas have nothing to compare.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use container_arrow::{BatchScan, Mapping, Times};
use container_core::{Container, Result, Scan, Table};

use super::super::is_variables;
use super::columnar::join::join;

/// Compares the schema of each input with those before it.
#[derive(Default)]
pub struct SchemaCheck {
    /// The columns of the inputs so far, and the name of the first input.
    columns: Option<(SchemaRef, String)>,
    /// Compare by name only the columns that both have.
    by_name: bool,
}

impl SchemaCheck {
    /// Compares only columns that several inputs share: for samples and JSON objects, which name their members.
    pub(in super::super) fn by_name() -> Self {
        Self { columns: None, by_name: true }
    }

    /// Fails unless the selected columns of this input have the meaning of those before it.
    pub fn check(
        &mut self,
        name: &str,
        container: &dyn Container,
        table: &dyn Table,
        selected: Option<&[usize]>,
    ) -> Result<()> {
        if !table.has_schema() {
            return Ok(());
        }
        self.check_schema(name, schema(container.format(), table, selected)?)
    }

    /// As [`check`](Self::check), for a known schema.
    pub(super) fn check_schema(&mut self, name: &str, found: SchemaRef) -> Result<()> {
        self.columns = Some(match self.columns.take() {
            None => (found, name.to_owned()),
            Some((before, first)) if self.by_name => {
                let old = shared(&before, &found);
                let new = shared_in_order(&old, &found);
                join(&old, &typed_as(&new, &old), &first, &mut Vec::new())?;
                (with_others(&before, &found), first)
            }
            Some((before, first)) => (join(&before, &typed_as(&found, &before), &first, &mut Vec::new())?, first),
        });
        Ok(())
    }
}

/// The schema of the selected columns. Times are numbers, as in rows, except those of ds and NetCDF.
fn schema(format: &str, table: &dyn Table, selected: Option<&[usize]>) -> Result<SchemaRef> {
    if let Some(arrow) = table.arrow() {
        let mut mapping = Mapping::default();
        mapping.times = if is_variables(format) { Times::Floor } else { Times::Ticks };
        let mut scan = Scan::default();
        scan.columns = selected.map(<[usize]>::to_vec);
        return arrow.schema(&BatchScan::from(scan).with_mapping(mapping));
    }
    let all = table.columns();
    let columns = match selected {
        None => all.iter().filter(|column| column.unreadable.is_none()).collect::<Vec<_>>(),
        Some(selected) => selected.iter().filter_map(|&index| all.get(index)).collect(),
    };
    let fields = columns.into_iter().map(|column| Field::new(column.name.clone(), DataType::Null, true));
    Ok(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
}

/// The columns, with the types of those before, position by position.
fn typed_as(found: &Schema, before: &Schema) -> SchemaRef {
    let fields = found.fields().iter().enumerate().map(|(number, field)| match before.fields().get(number) {
        Some(old) if ![old.data_type(), field.data_type()].contains(&&DataType::Null) => {
            Arc::new(Field::clone(field).with_data_type(old.data_type().clone()))
        }
        _ => Arc::clone(field),
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), found.metadata().clone()))
}

/// The columns of the first schema that the other has, too.
fn shared(one: &Schema, other: &Schema) -> SchemaRef {
    let fields = one.fields().iter().filter(|field| other.column_with_name(field.name()).is_some());
    Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()))
}

/// The columns that both have, in the order of `before`.
fn shared_in_order(before: &Schema, found: &Schema) -> SchemaRef {
    let fields = before
        .fields()
        .iter()
        .filter_map(|field| Some(found.fields().get(found.index_of(field.name()).ok()?)?.clone()));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The columns of both.
fn with_others(before: &Schema, found: &Schema) -> SchemaRef {
    let others = found.fields().iter().filter(|field| before.column_with_name(field.name()).is_none());
    Arc::new(Schema::new(before.fields().iter().chain(others).cloned().collect::<Vec<_>>()))
}
