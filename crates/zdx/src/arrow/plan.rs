//! Which rows and columns are read, and of which types.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use container_arrow::{BatchScan, Columns, Json, resolve_member, resolve_schema};
use container_core::{Error, Limits, Result};

use super::observe::{self, ID, unplaced};
use crate::container::json::{Key, Wanted};
use crate::container::table::CollectionTable;
use crate::read::{Document, Filter};

/// What is read of documents.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) schema: SchemaRef,
    /// Documents of the collection.
    pub(super) rows: Range<u64>,
    pub(super) filter: Option<Filter>,
    /// Where members are not enough: what each column is.
    wanted: Option<Wanted>,
    /// The place of the column `_id`.
    id: Option<usize>,
    pub(super) limits: Limits,
}

/// A column that is asked for.
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
        let wanted = by_path.then(|| Wanted::new(keys));
        let schema = match (&scan.schema, &columns) {
            (Some(schema), _) => schema.clone(),
            (None, None) => {
                let seen = observe::members(table, &rows, scan.scan.threads)?;
                Arc::new(resolve_schema(&seen, &scan.mapping)?)
            }
            (None, Some(columns)) => {
                let seen = match &wanted {
                    None => observe::members(table, &rows, scan.scan.threads)?,
                    Some(wanted) => {
                        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
                        Arc::new(observe::paths(table, &rows, scan.scan.threads, wanted, &names)?)
                    }
                };
                let fields = columns.iter().map(|column| resolve_member(&column.name, seen.observed(), &scan.mapping));
                Arc::new(Schema::new(fields.collect::<Result<Vec<Field>>>()?))
            }
        };
        let id = schema.fields().iter().position(|field| field.name() == ID);
        Ok(Self { schema, rows, filter: table.filter.clone(), wanted, id, limits: table.limits })
    }

    /// Appends a document.
    pub(super) fn append(
        &self,
        document: &Document<'_>,
        row: u64,
        columns: &mut Columns,
        json: &mut Json,
    ) -> Result<()> {
        let mut object = columns.row(row);
        match &self.wanted {
            None => json.append(document.bytes(), &mut object).map_err(|error| document.placed(error, 0))?,
            Some(wanted) => {
                let found = wanted.of(document.text()?).map_err(|error| document.json_error(&error))?;
                for (place, value) in found.into_iter().enumerate() {
                    let (Some(value), Some(slot)) = (value, object.at(place)) else { continue };
                    let put = json.append_value(value.get().as_bytes(), slot);
                    put.map_err(|error| document.placed(unplaced(error), 0))?;
                }
            }
        }
        if let Some(place) = self.id
            && !object.has(ID)
            && let Some(slot) = object.at(place)
        {
            slot.str(document.id())?;
        }
        object.end();
        match columns.contradicts_sample() {
            false => Ok(()),
            true => Err(Error::invalid("documents before did not tell of a member of this one")),
        }
    }
}

/// The columns that are asked for; none where all members are.
fn columns(table: &CollectionTable, scan: &BatchScan) -> Result<Option<Vec<Column>>> {
    let column = |field: &crate::container::columns::Field| Column { name: field.name.clone(), key: field.key.clone() };
    if let Some(schema) = scan.schema.as_ref().filter(|_| !scan.is_sampled) {
        let of = |name: &String| {
            let known = table.paths.iter().find(|(_, own)| own == name);
            let key = known.map_or(Key::Member(name.clone()), |(path, _)| Key::Path(path.clone()));
            Column { name: name.clone(), key }
        };
        return Ok(Some(schema.fields().iter().map(|field| of(field.name())).collect()));
    }
    if let Some(chosen) = &scan.scan.columns {
        let fields = table.fields();
        let field = |index: &usize| {
            fields.get(*index).map(column).ok_or_else(|| Error::usage(format!("there is no column {index}")))
        };
        return chosen.iter().map(field).collect::<Result<Vec<_>>>().map(Some);
    }
    if table.paths.is_empty() {
        return Ok(None);
    }
    container_core::Table::infer_columns(table)?;
    Ok(Some(table.fields().iter().map(column).collect()))
}
