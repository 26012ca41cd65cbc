//! What a scan reads: rows, columns and their types.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use container_arrow::{BatchScan, Columns, Json, resolve_member, resolve_schema};
use container_core::{Error, Limits, Result};

use super::observe::{self, ID, without_byte};
use crate::container::json::{Key, Projection};
use crate::container::table::CollectionTable;
use crate::read::{Document, Filter};

/// The plan of a scan.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) schema: SchemaRef,
    /// Rows of the collection.
    pub(super) rows: Range<u64>,
    pub(super) filter: Option<Filter>,
    /// Keys of the columns, if some are paths.
    projection: Option<Projection>,
    /// Position of the column `_id`.
    id: Option<usize>,
    pub(super) limits: Limits,
}

/// A selected column.
struct Column {
    name: String,
    key: Key,
}

impl Plan {
    pub(super) fn new(table: &CollectionTable, scan: &BatchScan) -> Result<Self> {
        let rows = observe::rows(table, scan)?;
        let columns = columns(table, scan)?;
        let by_path = columns.iter().flatten().any(|column| matches!(column.key, Key::Path(_)));
        let keys = columns.iter().flatten().map(|column| &column.key);
        let projection = by_path.then(|| Projection::new(keys));
        let schema = match (&scan.schema, &columns) {
            (Some(schema), _) => schema.clone(),
            (None, None) => {
                let observation = observe::members(table, &rows, scan.scan.threads)?;
                Arc::new(resolve_schema(&observation, &scan.mapping)?)
            }
            (None, Some(columns)) => {
                let observation = match &projection {
                    None => observe::members(table, &rows, scan.scan.threads)?,
                    Some(projection) => {
                        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
                        Arc::new(observe::paths(table, &rows, scan.scan.threads, projection, &names)?)
                    }
                };
                let fields =
                    columns.iter().map(|column| resolve_member(&column.name, observation.profile(), &scan.mapping));
                Arc::new(Schema::new(fields.collect::<Result<Vec<Field>>>()?))
            }
        };
        let id = schema.fields().iter().position(|field| field.name() == ID);
        Ok(Self { schema, rows, filter: table.filter.clone(), projection, id, limits: table.limits })
    }

    /// Appends a document to the columns.
    pub(super) fn append(
        &self,
        document: &Document<'_>,
        row: u64,
        columns: &mut Columns,
        json: &mut Json,
    ) -> Result<()> {
        let mut object = columns.row(row);
        match &self.projection {
            None => json.append(document.bytes(), &mut object).map_err(|error| document.placed(error, 0))?,
            Some(projection) => {
                let values = projection.of(document.text()?).map_err(|error| document.json_error(&error))?;
                for (position, value) in values.into_iter().enumerate() {
                    let (Some(value), Some(slot)) = (value, object.at(position)) else { continue };
                    let put = json.append_value(value.get().as_bytes(), slot);
                    put.map_err(|error| document.placed(without_byte(error), 0))?;
                }
            }
        }
        if let Some(position) = self.id
            && !object.has(ID)
            && let Some(slot) = object.at(position)
        {
            slot.str(document.id())?;
        }
        object.end();
        match columns.contradicts_sample() {
            false => Ok(()),
            true => Err(Error::invalid("the document has a member that inference did not see")),
        }
    }
}

/// The selected columns; `None` for all members.
fn columns(table: &CollectionTable, scan: &BatchScan) -> Result<Option<Vec<Column>>> {
    let column = |field: &crate::container::columns::Field| Column { name: field.name.clone(), key: field.key.clone() };
    if let Some(schema) = scan.schema.as_ref().filter(|_| !scan.is_sampled) {
        let column = |name: &String| {
            let path = table.paths.iter().find(|(_, column)| column == name);
            let key = path.map_or(Key::Member(name.clone()), |(path, _)| Key::Path(path.clone()));
            Column { name: name.clone(), key }
        };
        return Ok(Some(schema.fields().iter().map(|field| column(field.name())).collect()));
    }
    if let Some(selected) = &scan.scan.columns {
        let fields = table.fields();
        let field =
            |index: &usize| fields.get(*index).map(column).ok_or_else(|| Error::usage(format!("no column {index}")));
        return selected.iter().map(field).collect::<Result<Vec<_>>>().map(Some);
    }
    if table.paths.is_empty() {
        return Ok(None);
    }
    container_core::Table::infer_columns(table)?;
    Ok(Some(table.fields().iter().map(column).collect()))
}
