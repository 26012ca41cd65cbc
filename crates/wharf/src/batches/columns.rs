//! Columns of a file with an Arrow schema: how they are called, and which of them a scan wants.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use container_arrow::{ArrowTable, BatchRows, BatchScan, JsonRows};
use container_core::{ColumnInfo, Error, Loss, Position, Result, Rows, Scan};

use super::guarded;

/// The columns of a schema: names unique, types in Arrow's words. Also the fields under these names.
pub(crate) fn describe(schema: &Schema) -> (Vec<ColumnInfo>, Vec<FieldRef>) {
    // How many columns had each name so far.
    let mut names: HashMap<&str, u64> = schema.fields().iter().map(|field| (field.name().as_str(), 0)).collect();
    let mut plain = HashMap::<&DataType, Option<String>>::new();
    let mut columns = Vec::with_capacity(schema.fields().len());
    let mut fields = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let mut name = field.name().clone();
        let mut number = names.get(field.name().as_str()).copied().unwrap_or(0) + 1;
        while number > 1 {
            name = format!("{}#{number}", field.name());
            // What is behind the last `#` is of one name alone: only those of the file can be met.
            if !names.contains_key(name.as_str()) {
                break;
            }
            number += 1;
        }
        names.insert(field.name(), number);
        let mut info = ColumnInfo::new(&*name, field.data_type().to_string());
        if name == *field.name() {
            fields.push(Arc::clone(field));
        } else {
            info.details.push(("name_in_file".to_owned(), field.name().clone().into()));
            fields.push(Arc::new(Field::clone(field).with_name(name)));
        }
        info.unreadable = match field.data_type().is_nested() || !field.metadata().is_empty() {
            true => no_rows(field),
            // Of the same type it is the same.
            false => plain.entry(field.data_type()).or_insert_with(|| no_rows(field)).clone(),
        };
        columns.push(info);
    }
    (columns, fields)
}

/// What there is to say of any field.
pub(crate) fn summary(field: Option<&FieldRef>) -> serde_json::Map<String, serde_json::Value> {
    field.map(|field| ("nullable".to_owned(), field.is_nullable().into())).into_iter().collect()
}

/// What the column of a field is called; of none, nothing.
pub(crate) fn name(fields: &[FieldRef], column: usize) -> String {
    fields.get(column).map(|field| field.name().clone()).unwrap_or_default()
}

/// Why a column cannot be shown in rows: types that no row has are for other files of Arrow alone.
fn no_rows(field: &FieldRef) -> Option<String> {
    let schema = Arc::new(Schema::new(vec![Arc::clone(field)]));
    let rows = guarded("the column", || JsonRows::new(&RecordBatch::new_empty(schema)));
    rows.err().map(|error| error.detail().to_owned())
}

/// The rows of a table of batches.
pub(crate) fn rows<'a>(table: &'a dyn ArrowTable, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
    let unreadable = |&index: &usize| table.columns().get(index).is_some_and(|column| column.unreadable.is_some());
    if let Some(column) =
        scan.columns.iter().flatten().find(|index| unreadable(index)).and_then(|&index| table.columns().get(index))
    {
        let why = column.unreadable.as_deref().unwrap_or_default();
        return Err(Error::usage(format!("the column cannot be read: {why}")).in_column(column.name.clone()));
    }
    let mut left_out = Vec::new();
    let mut scan = scan.clone();
    if scan.columns.is_none() {
        for (column, why) in table.columns().iter().filter_map(|column| Some((column, column.unreadable.as_ref()?))) {
            let mut first = Position::default();
            first.column = Some(column.name.clone().into());
            left_out.push(Loss::new(format!("column left out ({why})"), 1, first));
        }
        scan.columns = Some((0..table.columns().len()).filter(|index| !unreadable(index)).collect());
    }
    let first = scan.rows.start;
    Ok(Box::new(AllRows { rows: BatchRows::new(table.batches(&scan.into())?, first), left_out }))
}

/// Rows of batches, and what they leave out.
struct AllRows<'a> {
    rows: BatchRows<'a>,
    left_out: Vec<Loss>,
}

impl Rows for AllRows<'_> {
    fn advance(&mut self) -> Result<bool> {
        self.rows.advance()
    }

    fn index(&self) -> u64 {
        self.rows.index()
    }

    fn row(&self) -> &dyn erased_serde::Serialize {
        self.rows.row()
    }

    fn json(&self, out: &mut Vec<u8>) -> Result<()> {
        self.rows.json(out)
    }

    fn losses(&self) -> Vec<Loss> {
        self.left_out.iter().cloned().chain(self.rows.losses()).collect()
    }
}

/// What there is to say of a field's own metadata, for `info`.
pub(crate) fn metadata(field: &Field) -> serde_json::Map<String, serde_json::Value> {
    let pairs = sorted(field.metadata()).into_iter();
    pairs.map(|(key, value)| (key.clone(), json_or_text(value))).collect()
}

/// Metadata in the order of their keys: the order of a hash map is another in each run.
pub(crate) fn sorted(metadata: &HashMap<String, String>) -> Vec<(&String, &String)> {
    let mut pairs: Vec<_> = metadata.iter().collect();
    pairs.sort();
    pairs
}

/// A text that is an object of JSON as that object: such are the original types of columns.
pub(crate) fn json_or_text(text: &str) -> serde_json::Value {
    let object = text.starts_with('{').then(|| serde_json::from_str(text).ok()).flatten();
    object.unwrap_or_else(|| text.into())
}

/// What a scan wants of a table with these fields.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    /// Indexes of the columns, in the order wanted.
    pub(crate) columns: Vec<usize>,
    pub(crate) schema: SchemaRef,
    pub(crate) rows: Range<u64>,
}

/// Finds out what a scan wants.
pub(crate) fn choose(
    fields: &[FieldRef],
    metadata: &HashMap<String, String>,
    len: u64,
    scan: &BatchScan,
) -> Result<Chosen> {
    let columns: Vec<usize> = match (&scan.schema, &scan.scan.columns) {
        (Some(declared), _) => {
            let by_name: HashMap<&str, usize> =
                fields.iter().enumerate().rev().map(|(column, field)| (field.name().as_str(), column)).collect();
            let column = |field| declared_column(fields, &by_name, field);
            declared.fields().iter().map(|field| column(field)).collect::<Result<_>>()?
        }
        (None, Some(columns)) => columns.clone(),
        (None, None) => (0..fields.len()).collect(),
    };
    let field = |&index: &usize| {
        let missing =
            || Error::usage(format!("there is no column {index}: the file has {}, counted from 0", fields.len()));
        fields.get(index).cloned().ok_or_else(missing)
    };
    let chosen: Vec<FieldRef> = columns.iter().map(field).collect::<Result<_>>()?;
    let schema = Arc::new(Schema::new_with_metadata(chosen, metadata.clone()));
    let rows = scan.scan.rows.clone();
    if rows.start > len {
        return Err(Error::usage(format!("there is no row {}: the file has {len}, counted from 0", rows.start)));
    }
    Ok(Chosen { columns, schema, rows: rows.start..rows.end.min(len).max(rows.start) })
}

/// The column that a declared one is: the file has types of its own, which have to be the same.
fn declared_column(fields: &[FieldRef], by_name: &HashMap<&str, usize>, declared: &Field) -> Result<usize> {
    let found = by_name.get(declared.name().as_str()).copied();
    let found = found.and_then(|index| Some((index, fields.get(index)?)));
    match found {
        Some((index, field)) if field.data_type() == declared.data_type() => Ok(index),
        Some((_, field)) => {
            let detail = format!("the column is {} and declared as {}", field.data_type(), declared.data_type());
            Err(Error::usage(detail).in_column(declared.name().clone()))
        }
        None => Err(Error::usage(format!("there is no column {:?}, which the schema declares", declared.name()))),
    }
}

/// Fails unless a batch has the columns of a writer: names and types, in their order.
pub(crate) fn same_columns(wanted: &SchemaRef, found: &SchemaRef) -> Result<()> {
    if Arc::ptr_eq(wanted, found) {
        return Ok(());
    }
    let (wanted, found) = (wanted.fields(), found.fields());
    if wanted.len() != found.len() {
        return Err(Error::usage(format!("the batch has {} columns, the file {}", found.len(), wanted.len())));
    }
    for (wanted, found) in wanted.iter().zip(found) {
        if Arc::ptr_eq(wanted, found) {
            continue;
        }
        if wanted.name() != found.name() {
            let detail = format!("the batch has the column {:?} where the file has another", found.name());
            return Err(Error::usage(detail).in_column(wanted.name().clone()));
        }
        if wanted.data_type() != found.data_type() {
            let detail = format!("the batch has {} where the file has {}", found.data_type(), wanted.data_type());
            return Err(Error::usage(detail).in_column(wanted.name().clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(names: &[&str]) -> Schema {
        Schema::new(names.iter().map(|name| Field::new(*name, DataType::Int32, true)).collect::<Vec<_>>())
    }

    #[test]
    fn names_become_unique_and_never_another_columns() {
        let (columns, fields) = describe(&schema(&["a", "a", "a#2", "a", "A", ""]));
        let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["a", "a#3", "a#2", "a#4", "A", ""]);
        assert!(fields.iter().zip(&names).all(|(field, name)| field.name() == name));
        assert_eq!(columns[1].details, [("name_in_file".to_owned(), "a".into())]);
        assert!(columns[4].details.is_empty());
    }

    #[test]
    fn columns_rows_and_declared_types_are_checked() {
        let (_, fields) = describe(&schema(&["a", "b"]));
        let choose = |scan: BatchScan| choose(&fields, &Default::default(), 10, &scan);
        let chosen = choose(Scan::default().with_columns([1]).with_rows(3..99).into()).unwrap();
        assert_eq!((chosen.columns, chosen.rows, chosen.schema.field(0).name().as_str()), (vec![1], 3..10, "b"));
        let error = choose(Scan::default().with_columns([2]).into()).unwrap_err();
        assert_eq!(error.to_string(), "there is no column 2: the file has 2, counted from 0");
        assert_eq!(choose(Scan::default().with_rows(11..12).into()).unwrap_err().kind().name(), "usage");
        assert_eq!(choose(Scan::default().with_rows(10..12).into()).unwrap().rows, 10..10);
        let declare = |name: &str, kind: DataType| {
            BatchScan::default().with_schema(Arc::new(Schema::new(vec![Field::new(name, kind, true)])))
        };
        assert_eq!(choose(declare("b", DataType::Int32)).unwrap().columns, [1]);
        let error = choose(declare("b", DataType::Utf8)).unwrap_err();
        assert_eq!(error.to_string(), "the column is Int32 and declared as Utf8 (column \"b\")");
        assert!(choose(declare("c", DataType::Utf8)).is_err());
    }
}
