use container_core::{Error, Result};
use idv::{ColumnSchema, Schema, Type};

use super::infer::{Seen, Syntax};
use crate::text::records::Form;

/// The columns of a table and what they hold: what [`TextTable::infer`](super::TextTable::infer) found.
#[derive(Debug)]
pub struct Inferred {
    pub(super) names: Vec<String>,
    pub(super) seen: Vec<Seen>,
    pub(super) rows: u64,
    pub(super) form: Form,
    pub(super) inputs: Vec<String>,
}

/// A column's inferred type.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InferredColumn<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub kind: Type,
    /// What there is to know of its missing values, such as `some missing, which ML.NET reads as empty`; `None` where none are.
    pub note: Option<&'static str>,
}

impl Inferred {
    /// The names of the columns, unique, in the order in which they first came.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The types of these columns, by number, or of all.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a column whose values have no type in common, with file, line and column;
    /// [`Usage`](crate::ErrorKind::Usage) for a column that does not exist.
    pub fn columns(&self, chosen: Option<&[usize]>) -> Result<Vec<InferredColumn<'_>>> {
        let column = |index: usize| {
            let (Some(name), Some(seen)) = (self.names.get(index), self.seen.get(index)) else {
                return Err(Error::usage(format!("column {index} of {}", self.names.len())));
            };
            let syntax = match self.form {
                Form::JsonLines => Syntax::Json,
                Form::Csv => Syntax::Words,
            };
            let resolved = seen.resolve(syntax, &self.inputs);
            let resolved = resolved.map_err(|error| error.in_column(name.clone()).in_format(self.form.name()))?;
            Ok(InferredColumn { name, kind: resolved.kind, note: resolved.missing })
        };
        match chosen {
            Some(chosen) => chosen.iter().map(|&index| column(index)).collect(),
            None => (0..self.names.len()).map(column).collect(),
        }
    }

    /// A schema of these columns, by number, or of all.
    ///
    /// # Errors
    /// As [`columns`](Self::columns).
    pub fn schema(&self, chosen: Option<&[usize]>) -> Result<Schema> {
        let columns = self.columns(chosen)?;
        Ok(Schema::new(columns.into_iter().map(|column| ColumnSchema::new(column.name, column.kind))))
    }
}
