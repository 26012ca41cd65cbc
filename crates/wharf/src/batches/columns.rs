//! Columns of a file with an Arrow schema: unique names, projection, and rows.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_select::take::take;
use container_arrow::{ArrowTable, BatchReader, BatchRows, BatchScan, JsonRows, PermutedTensor, from_arrow};
use container_core::{ColumnInfo, Error, Loss, Result, Rows, Scan, Table};

use super::guarded;

/// The columns of a schema with unique names, and the fields under these names.
pub(crate) fn describe(schema: &Schema) -> (Vec<ColumnInfo>, Vec<FieldRef>) {
    // Number of columns with each name so far.
    let mut names: HashMap<&str, u64> = schema.fields().iter().map(|field| (field.name().as_str(), 0)).collect();
    let mut plain = HashMap::<&DataType, Option<String>>::new();
    let mut columns = Vec::with_capacity(schema.fields().len());
    let mut fields = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let mut name = field.name().clone();
        let mut number = names.get(field.name().as_str()).copied().unwrap_or(0) + 1;
        while number > 1 {
            name = format!("{}#{number}", field.name());
            // Only a name from the file can collide: the suffix makes the others unique.
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
            true => row_support_error(field),
            // Equal for equal types.
            false => plain.entry(field.data_type()).or_insert_with(|| row_support_error(field)).clone(),
        };
        columns.push(info);
    }
    (columns, fields)
}

/// Details that every field has.
pub(crate) fn summary(field: Option<&FieldRef>) -> serde_json::Map<String, serde_json::Value> {
    field.map(|field| ("nullable".to_owned(), field.is_nullable().into())).into_iter().collect()
}

/// The name of a column; empty if there is no such column.
pub(crate) fn name(fields: &[FieldRef], column: usize) -> String {
    fields.get(column).map(|field| field.name().clone()).unwrap_or_default()
}

/// Why a column's type is not supported in rows; such columns can still be copied as batches.
fn row_support_error(field: &FieldRef) -> Option<String> {
    let schema = Arc::new(Schema::new(vec![Arc::clone(field)]));
    let rows = guarded("the column", || JsonRows::new(&RecordBatch::new_empty(schema)));
    rows.err().map(|error| error.detail().to_owned())
}

/// The rows of a table that reads batches.
pub(crate) fn rows<'a>(table: &'a dyn ArrowTable, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
    rows_of(table, scan, |scan| table.batches(&scan.into()))
}

/// As [`rows`], of the batches that `open` returns for the readable columns.
pub(crate) fn rows_of<'a>(
    table: &dyn Table,
    scan: &Scan,
    open: impl FnOnce(Scan) -> Result<Box<dyn BatchReader + 'a>>,
) -> Result<Box<dyn Rows + 'a>> {
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
        left_out.extend(table.columns().iter().filter_map(ColumnInfo::left_out));
        scan.columns = Some((0..table.columns().len()).filter(|index| !unreadable(index)).collect());
    }
    let first = scan.rows.start;
    Ok(Box::new(RowsWithLosses { rows: Box::new(BatchRows::new(open(scan)?, first)), losses: left_out }))
}

/// Rows with losses besides their own.
pub(crate) struct RowsWithLosses<'a> {
    pub(crate) rows: Box<dyn Rows + 'a>,
    /// Reported first.
    pub(crate) losses: Vec<Loss>,
}

impl Rows for RowsWithLosses<'_> {
    fn advance(&mut self) -> Result<bool> {
        self.rows.advance()
    }

    fn index(&self) -> u64 {
        self.rows.index()
    }

    fn locate(&self, error: Error) -> Error {
        self.rows.locate(error)
    }

    fn row(&self) -> &dyn erased_serde::Serialize {
        self.rows.row()
    }

    fn json(&self, out: &mut Vec<u8>) -> Result<()> {
        self.rows.json(out)
    }

    fn losses(&self) -> Vec<Loss> {
        self.losses.iter().cloned().chain(self.rows.losses()).collect()
    }
}

/// A field's metadata, for `info`.
pub(crate) fn metadata(field: &Field) -> serde_json::Map<String, serde_json::Value> {
    let pairs = sorted(field.metadata()).into_iter();
    pairs.map(|(key, value)| (key.clone(), json_or_text(value))).collect()
}

/// Metadata sorted by key, so that output is deterministic.
pub(crate) fn sorted(metadata: &HashMap<String, String>) -> Vec<(&String, &String)> {
    let mut pairs: Vec<_> = metadata.iter().collect();
    pairs.sort();
    pairs
}

/// Text that is a JSON object as that object, as in the metadata for original column types.
pub(crate) fn json_or_text(text: &str) -> serde_json::Value {
    let object = text.starts_with('{').then(|| serde_json::from_str(text).ok()).flatten();
    object.unwrap_or_else(|| text.into())
}

/// A validated scan: selected columns and row range.
#[derive(Debug, Clone)]
pub(crate) struct Projection {
    /// Indexes of the columns, in the requested order.
    pub(crate) columns: Vec<usize>,
    pub(crate) schema: SchemaRef,
    pub(crate) rows: Range<u64>,
    /// Those of the columns that are tensors whose dimensions have another order in memory.
    tensors: Vec<Option<PermutedTensor>>,
}

impl Projection {
    /// A batch of the selected columns, with tensors in C order.
    pub(crate) fn batch(&self, mut columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        for (column, tensor) in columns.iter_mut().zip(&self.tensors) {
            if let (Some(tensor), Some(lists)) = (tensor, column.as_fixed_size_list_opt()) {
                *column = in_c_order(lists, tensor).map_err(from_arrow)?;
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(from_arrow)
    }
}

fn in_c_order(lists: &FixedSizeListArray, tensor: &PermutedTensor) -> Result<ArrayRef, ArrowError> {
    let DataType::FixedSizeList(item, size) = lists.data_type() else { return Ok(Arc::new(lists.clone())) };
    let indexes = UInt64Array::from_iter_values(tensor.indexes(lists.len()).map(|index| index as u64));
    let (values, nulls) = (take(lists.values(), &indexes, None)?, lists.nulls().cloned());
    let lists = FixedSizeListArray::try_new_with_length(Arc::clone(item), *size, values, nulls, lists.len())?;
    Ok(Arc::new(lists))
}

/// The tensor of a field, if its dimensions have another order in memory.
fn permuted(field: &FieldRef) -> Option<PermutedTensor> {
    match field.data_type() {
        DataType::FixedSizeList(_, size) => PermutedTensor::of(field, usize::try_from(*size).ok()?),
        _ => None,
    }
}

/// Validates a scan of a table with these fields.
pub(crate) fn project(
    fields: &[FieldRef],
    metadata: &HashMap<String, String>,
    len: u64,
    scan: &BatchScan,
) -> Result<Projection> {
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
        let missing = || Error::usage(format!("no column {index}: the file has {}, counted from 0", fields.len()));
        fields.get(index).cloned().ok_or_else(missing)
    };
    let mut projection: Vec<FieldRef> = columns.iter().map(field).collect::<Result<_>>()?;
    let tensors: Vec<_> = projection.iter().map(permuted).collect();
    for (field, tensor) in projection.iter_mut().zip(&tensors) {
        if let Some(tensor) = tensor {
            *field = Arc::new(tensor.in_c_order(field));
        }
    }
    let schema = Arc::new(Schema::new_with_metadata(projection, metadata.clone()));
    let rows = scan.scan.rows.clone();
    if rows.start > len {
        return Err(Error::usage(format!("there is no row {}: the file has {len}, counted from 0", rows.start)));
    }
    Ok(Projection { columns, schema, rows: rows.start..rows.end.min(len).max(rows.start), tensors })
}

/// The column that a declared field refers to. Its type in the file must be the declared one.
fn declared_column(fields: &[FieldRef], by_name: &HashMap<&str, usize>, declared: &Field) -> Result<usize> {
    let found = by_name.get(declared.name().as_str()).copied();
    let found = found.and_then(|index| Some((index, fields.get(index)?)));
    match found {
        Some((index, field)) if field.data_type() == declared.data_type() => Ok(index),
        Some((_, field)) => {
            let detail = format!("declared as {}, but the file has {}", declared.data_type(), field.data_type());
            Err(Error::usage(detail).in_column(declared.name().clone()))
        }
        None => Err(Error::usage(format!("no column {:?}, which the schema declares", declared.name()))),
    }
}

/// Fails unless a batch has a writer's columns: names and types, in order.
pub(crate) fn same_columns(expected: &SchemaRef, found: &SchemaRef) -> Result<()> {
    if Arc::ptr_eq(expected, found) {
        return Ok(());
    }
    let (expected, found) = (expected.fields(), found.fields());
    if expected.len() != found.len() {
        return Err(Error::usage(format!("expected {} columns, found {} in the batch", expected.len(), found.len())));
    }
    for (expected, found) in expected.iter().zip(found) {
        if Arc::ptr_eq(expected, found) {
            continue;
        }
        if expected.name() != found.name() {
            let detail = format!("expected this column, found {:?} in the batch", found.name());
            return Err(Error::usage(detail).in_column(expected.name().clone()));
        }
        if expected.data_type() != found.data_type() {
            let detail = format!("expected {}, found {} in the batch", expected.data_type(), found.data_type());
            return Err(Error::usage(detail).in_column(expected.name().clone()));
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
    fn makes_names_unique() {
        let (columns, fields) = describe(&schema(&["a", "a", "a#2", "a", "A", ""]));
        let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["a", "a#3", "a#2", "a#4", "A", ""]);
        assert!(fields.iter().zip(&names).all(|(field, name)| field.name() == name));
        assert_eq!(columns[1].details, [("name_in_file".to_owned(), "a".into())]);
        assert!(columns[4].details.is_empty());
    }

    #[test]
    fn validates_scans() {
        let (_, fields) = describe(&schema(&["a", "b"]));
        let project = |scan: BatchScan| super::project(&fields, &Default::default(), 10, &scan);
        let projection = project(Scan::default().with_columns([1]).with_rows(3..99).into()).unwrap();
        assert_eq!(
            (projection.columns, projection.rows, projection.schema.field(0).name().as_str()),
            (vec![1], 3..10, "b")
        );
        let error = project(Scan::default().with_columns([2]).into()).unwrap_err();
        assert_eq!(error.to_string(), "no column 2: the file has 2, counted from 0");
        assert_eq!(project(Scan::default().with_rows(11..12).into()).unwrap_err().kind().name(), "usage");
        assert_eq!(project(Scan::default().with_rows(10..12).into()).unwrap().rows, 10..10);
        let declare = |name: &str, kind: DataType| {
            BatchScan::default().with_schema(Arc::new(Schema::new(vec![Field::new(name, kind, true)])))
        };
        assert_eq!(project(declare("b", DataType::Int32)).unwrap().columns, [1]);
        let error = project(declare("b", DataType::Utf8)).unwrap_err();
        assert_eq!(error.to_string(), "declared as Utf8, but the file has Int32 (column \"b\")");
        assert!(project(declare("c", DataType::Utf8)).is_err());
    }
}
