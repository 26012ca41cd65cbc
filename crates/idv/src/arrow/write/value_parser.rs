//! Converting text and values of other types to the type declared by the column's metadata.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use container_core::{Error, Result};

use super::mismatch::{LossCounts, RowOf, mismatch};
use crate::codec::Values;
use crate::schema::ColumnSchema;
use crate::wire::{ItemType, Type};
use crate::write::{Cell, KeyLabels};

/// Converts text or values of another type.
pub(super) struct ValueParser {
    form: SourceForm,
    labels: Option<KeyLabels>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SourceForm {
    /// Each text is the JSON of a value.
    Json,
    /// Untyped text, as in CSV.
    Untyped,
    /// Each item is a value of another type.
    Value,
}

impl ValueParser {
    /// A parser for items of another type; `None` for unsupported types and vectors of another size.
    pub(super) fn of_values(field: &Field, column: &ColumnSchema) -> Option<Self> {
        let items = match (field.data_type(), &column.kind) {
            (DataType::FixedSizeList(items, size), Type::Vector { .. }) => {
                let known = column.kind.size();
                (known == 0 || u32::try_from(*size) == Ok(known)).then(|| items.data_type())?
            }
            (_, Type::Vector { .. }) => return None,
            (data_type, _) => data_type,
        };
        let is_value = items.is_integer()
            || matches!(
                items,
                DataType::Float32 | DataType::Float64 | DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8
            );
        is_value.then(|| Self { form: SourceForm::Value, labels: KeyLabels::of(column) })
    }

    /// Whether each row is one text.
    pub(super) fn parses_rows(&self) -> bool {
        self.form != SourceForm::Value
    }

    /// Appends items of another type.
    pub(super) fn items(&self, values: &mut Values, item: ItemType, array: &ArrayRef, row_of: RowOf<'_>) -> Result<()> {
        let kind = Type::Item(item);
        let mut push = |index: usize, cell: Option<Cell<'_>>| {
            let pushed = values.push_cell(&kind, self.labels.as_ref(), cell.unwrap_or(Cell::Missing));
            pushed.map_err(|error| {
                let detail = format!("{} (the metadata declare type {kind})", error.detail());
                Error::invalid(detail).in_row(row_of(index))
            })
        };
        macro_rules! all {
            ($array:expr, $cell:expr) => {
                $array.iter().enumerate().try_for_each(|(index, value)| push(index, value.map($cell)))
            };
        }
        macro_rules! whole {
            ($type:ty) => {
                all!(array.as_primitive::<$type>(), |number| Cell::Int(number.into()))
            };
        }
        match array.data_type() {
            DataType::Int8 => whole!(Int8Type),
            DataType::Int16 => whole!(Int16Type),
            DataType::Int32 => whole!(Int32Type),
            DataType::Int64 => whole!(Int64Type),
            DataType::UInt8 => whole!(UInt8Type),
            DataType::UInt16 => whole!(UInt16Type),
            DataType::UInt32 => whole!(UInt32Type),
            DataType::UInt64 => whole!(UInt64Type),
            DataType::Float32 => all!(array.as_primitive::<Float32Type>(), Cell::Single),
            DataType::Float64 => all!(array.as_primitive::<Float64Type>(), Cell::Double),
            DataType::Boolean => all!(array.as_boolean(), Cell::Bool),
            DataType::Utf8 => all!(array.as_string::<i32>(), Cell::Text),
            DataType::LargeUtf8 => all!(array.as_string::<i64>(), Cell::Text),
            other => Err(mismatch(other)),
        }
    }

    /// A parser for a text field; `None` for other fields.
    pub(super) fn of(field: &Field, column: &ColumnSchema) -> Option<Self> {
        let is_text = matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8);
        let is_json = field.metadata().get("ARROW:extension:name").is_some_and(|name| name == "arrow.json");
        let form = if is_json { SourceForm::Json } else { SourceForm::Untyped };
        is_text.then(|| Self { form, labels: KeyLabels::of(column) })
    }

    /// Appends the values of an array, starting with row `first` of the file.
    pub(super) fn fill(
        &self,
        values: &mut Values,
        kind: &Type,
        array: &ArrayRef,
        lost: &mut LossCounts,
        first: u64,
    ) -> Result<()> {
        match array.data_type() {
            DataType::Utf8 => self.fill_with(values, kind, array.as_string::<i32>().iter(), lost, first),
            DataType::LargeUtf8 => self.fill_with(values, kind, array.as_string::<i64>().iter(), lost, first),
            other => Err(mismatch(other)),
        }
    }

    fn fill_with<'a>(
        &self,
        values: &mut Values,
        kind: &Type,
        texts: impl Iterator<Item = Option<&'a str>>,
        lost: &mut LossCounts,
        first: u64,
    ) -> Result<()> {
        for (row, text) in (first..).zip(texts) {
            let pushed = match (text.filter(|text| !self.is_missing(kind, text)), &mut *values) {
                (None, Values::Vector(vectors)) if kind.size() == 0 => {
                    lost.null_vectors.add(1, row);
                    vectors.close_dense()
                }
                (None, values) => values.push_cell(kind, self.labels.as_ref(), Cell::Missing),
                (Some(text), values) => self.push(values, kind, text),
            };
            pushed.map_err(|error| error.in_row(row))?;
        }
        Ok(())
    }

    fn push(&self, values: &mut Values, kind: &Type, text: &str) -> Result<()> {
        let labels = self.labels.as_ref();
        match values {
            _ if self.form == SourceForm::Untyped => values.push_cell(kind, labels, Cell::Untyped(text)),
            // JSON other than a string becomes text unchanged.
            Values::Text(_) if !text.starts_with('"') => values.push_cell(kind, labels, Cell::Text(text)),
            Values::Text(_) => {
                let text: String =
                    serde_json::from_str(text).map_err(|cause| Error::invalid("invalid JSON").caused_by(cause))?;
                values.push_cell(kind, labels, Cell::Text(&text))
            }
            _ => values.push_json(kind, labels, text),
        }
    }

    /// Whether a text means missing: JSON null, or an empty untyped text that is neither text nor a label.
    fn is_missing(&self, kind: &Type, text: &str) -> bool {
        if self.form == SourceForm::Json {
            return text == "null";
        }
        let is_label = || self.labels.as_ref().is_some_and(|labels| !matches!(labels.find(""), Ok(None)));
        text.is_empty() && *kind != Type::Item(ItemType::Text) && !is_label()
    }
}
