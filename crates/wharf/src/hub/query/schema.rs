//! Schemas as JSON that declares the types of columns.

use arrow_schema::{Field, Schema, SchemaRef};
use container_core::Result;
use serde_json::{Map, Value};

use super::super::convert::Convert;
use super::super::env::Opener;

impl Convert {
    /// The Arrow schema of the selected columns of all inputs: their common one. Formats without a schema read all rows to infer it.
    ///
    /// # Errors
    /// An input cannot be opened or read, or has no columns with types; inputs differ in columns or their meaning.
    pub fn schema(&self, opener: &mut Opener<'_>) -> Result<SchemaRef> {
        Ok(self.open_batches(opener)?.schema())
    }
}

/// The schema as JSON that [`TextInput::schema`](crate::convert::TextInput::schema) reads: `{"columns": [{"name", "type", "nullable", "metadata"}]}`.
#[must_use]
pub fn to_json(schema: &Schema) -> Value {
    let columns = schema.fields().iter().map(|field| column(field)).collect::<Vec<_>>();
    serde_json::json!({ "columns": columns })
}

fn column(field: &Field) -> Value {
    let mut column = Map::new();
    column.insert("name".into(), field.name().clone().into());
    column.insert("type".into(), field.data_type().to_string().into());
    column.insert("nullable".into(), field.is_nullable().into());
    if !field.metadata().is_empty() {
        let mut metadata: Vec<_> = field.metadata().iter().collect();
        metadata.sort();
        let member = |(name, text): (&String, &String)| (name.clone(), Value::from(text.clone()));
        column.insert("metadata".into(), Value::Object(metadata.into_iter().map(member).collect()));
    }
    Value::Object(column)
}
