//! The values of a changed table.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef};
use container_arrow::{JsonRows, OnMismatch, from_arrow};
use container_core::{Error, Loss, Result};

use super::cast::{self, Cast};
use super::plan::{Plan, Source};
use super::{metadata, vectors};

/// One batch of the table below, changed.
pub(super) struct Evaluation<'a> {
    pub(super) plan: &'a Plan,
    /// The bases, renamed and cast: those that are read, in order.
    pub(super) arrays: HashMap<usize, ArrayRef>,
    pub(super) rows: usize,
    pub(super) first: u64,
    pub(super) on_mismatch: OnMismatch,
    pub(super) losses: &'a mut Vec<Loss>,
}

impl Evaluation<'_> {
    /// Casts the bases of a batch, whose columns they are.
    pub(super) fn add(&mut self, batch: &RecordBatch, bases: &[(usize, FieldRef)]) -> Result<()> {
        for ((base, field), array) in bases.iter().zip(batch.columns()) {
            let array = self.cast(field.name(), array, field.data_type())?;
            self.arrays.insert(*base, array);
        }
        Ok(())
    }

    /// The values of a column.
    pub(super) fn column(&mut self, column: usize, field: &Field) -> Result<ArrayRef> {
        let plan = self.plan;
        let found = plan.columns.get(column).ok_or_else(|| Error::usage(format!("no column {column}")))?;
        let array = self.source(&found.info.name, &found.source, field.data_type())?;
        if metadata::is_json(field) && array.data_type().is_nested() {
            return self.cast(field.name(), &json(&array)?, field.data_type());
        }
        self.cast(field.name(), &array, field.data_type())
    }

    fn source(&mut self, name: &str, source: &Source, data_type: &DataType) -> Result<ArrayRef> {
        let of = |base: &usize| self.arrays.get(base).ok_or_else(|| Error::usage("the column was not read"));
        match source {
            Source::Base(base) => of(base).cloned(),
            Source::Slot(base, slot) => vectors::slot(of(base)?, *slot),
            Source::Member(base, member) => vectors::member(of(base)?, *member),
            Source::Vector(parts) => {
                let item = match data_type {
                    DataType::FixedSizeList(item, _) => Arc::clone(item),
                    // Another type was declared, to which the vector is cast.
                    _ => Arc::new(Field::new_list_field(DataType::Float64, true)),
                };
                let mut arrays = Vec::new();
                for (part, source) in parts {
                    let array = self.source(part, source, data_type)?;
                    arrays.push(self.cast(part, &array, &cast::target(array.data_type(), item.data_type()))?);
                }
                let vector = vectors::joined(&arrays, self.rows, &item);
                vector.map_err(|error| error.in_column(name.to_owned()))
            }
        }
    }

    fn cast(&mut self, column: &str, array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
        if array.data_type() == to {
            return Ok(Arc::clone(array));
        }
        cast::check(array.data_type(), to).map_err(|error| error.in_column(column.to_owned()))?;
        let mut cast = Cast { column, first: self.first, on_mismatch: self.on_mismatch, losses: self.losses };
        cast.column(array, to)
    }
}

/// The JSON of values; null stays null.
fn json(array: &ArrayRef) -> Result<ArrayRef> {
    const NAME: &str = "";
    let batch = RecordBatch::try_from_iter([(NAME, Arc::clone(array))]).map_err(from_arrow)?;
    let (mut rows, mut row, mut texts) = (JsonRows::new(&batch)?, Vec::new(), StringBuilder::new());
    for at in 0..array.len() {
        row.clear();
        rows.write(at, &mut row)?;
        let value = row.strip_prefix(b"{\"\":").and_then(|row| row.strip_suffix(b"}")).unwrap_or_default();
        let text = std::str::from_utf8(value).map_err(|_| Error::invalid("the value has no JSON form"))?;
        texts.append_option(array.is_valid(at).then_some(text));
    }
    Ok(Arc::new(texts.finish()))
}
