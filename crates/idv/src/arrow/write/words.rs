//! Texts as values of the type that the column's metadata say.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use container_core::{Error, Result};

use super::fill::{Lost, mismatch};
use crate::codec::Values;
use crate::schema::ColumnSchema;
use crate::wire::Type;
use crate::write::{Cell, KeyLabels};

/// How texts are read.
pub(super) struct Words {
    /// Each is the JSON of a value; else a word, as cells of CSV are.
    is_json: bool,
    labels: Option<KeyLabels>,
}

impl Words {
    /// How the texts of a field are read as values of this column; `None` where the field has no texts.
    pub(super) fn of(field: &Field, column: &ColumnSchema) -> Option<Self> {
        let is_text = matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8);
        let is_json = field.metadata().get("ARROW:extension:name").is_some_and(|name| name == "arrow.json");
        is_text.then(|| Self { is_json, labels: KeyLabels::of(column) })
    }

    /// Appends the values of an array, of which the first is row `first` of the file.
    pub(super) fn fill(
        &self,
        values: &mut Values,
        kind: &Type,
        array: &ArrayRef,
        lost: &mut Lost,
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
        lost: &mut Lost,
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
            _ if !self.is_json => values.push_cell(kind, labels, Cell::Word(text)),
            // Whoever wants texts gets those of numbers, lists and objects, too.
            Values::Text(_) if !text.starts_with('"') => values.push_cell(kind, labels, Cell::Text(text)),
            Values::Text(_) => {
                let text: String = serde_json::from_str(text)
                    .map_err(|cause| Error::invalid("the text is no JSON").caused_by(cause))?;
                values.push_cell(kind, labels, Cell::Text(&text))
            }
            _ => values.push_json(kind, labels, text),
        }
    }

    /// An empty word is a text where texts are wanted, and a label that is one.
    fn is_missing(&self, kind: &Type, text: &str) -> bool {
        if self.is_json {
            return text == "null";
        }
        let is_label = || self.labels.as_ref().is_some_and(|labels| !matches!(labels.find(""), Ok(None)));
        text.is_empty() && *kind != Type::Item(crate::wire::ItemType::Text) && !is_label()
    }
}
