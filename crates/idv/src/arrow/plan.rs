//! Planning a scan: the Arrow type of each column, and field metadata that preserve its IDV type and metadata.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use container_arrow::{BatchScan, Sparse, Times};
use container_core::{Error, ErrorKind, Loss, Position, Result};

use super::items::{ItemPlan, zoned_fields};
use super::lists::ListPlan;
use super::times::{self, Meaning};
use crate::FORMAT_NAME;
use crate::read::budget::Budget;
use crate::read::{Column, Reader};
use crate::schema::{ColumnSchema, MetadataSchema};
use crate::schema_json::ColumnJson;
use crate::value::{Labels, Value};
use crate::wire::{ItemType, KeyType, Type, Version};

/// How a column converts to Arrow.
#[derive(Debug)]
pub(super) struct ColumnPlan {
    pub(super) name: Box<str>,
    pub(super) item: ItemPlan,
    /// For vectors.
    pub(super) list: Option<ListPlan>,
}

/// The columns of a scan.
#[derive(Debug)]
pub(super) struct Plan {
    /// Column indices in the file.
    pub(super) indices: Vec<usize>,
    pub(super) columns: Vec<ColumnPlan>,
    pub(super) schema: SchemaRef,
    /// Columns and metadata left out.
    pub(super) left_out: Vec<Loss>,
    /// What the labels leave of the memory budget.
    pub(super) budget: Budget,
}

/// Divisor of the memory limit for blocks and labels; returned batches hold as much.
const SCAN_PART: u64 = 2;

/// Divisor of the memory limit for the metadata of all columns, which take up to eight times as much as JSON in the schema.
const METADATA_PART: u64 = 16;

impl Plan {
    pub(super) fn new(reader: &Reader, scan: &BatchScan) -> Result<Self> {
        if scan.schema.is_some() {
            let detail = "IDV columns have fixed types: a schema cannot be declared";
            return Err(Error::usage(detail).in_format(FORMAT_NAME));
        }
        let (indices, left_out) = reader.projection(scan.scan.columns.as_deref());
        let memory = reader.limits().memory_bytes;
        let mut planner = Planner {
            reader,
            scan,
            labels: HashMap::new(),
            budget: Budget::new(memory / SCAN_PART),
            room: Some(Budget::new(memory / METADATA_PART)),
            left_out,
        };
        let (mut columns, mut fields) = (Vec::with_capacity(indices.len()), Vec::with_capacity(indices.len()));
        for &index in &indices {
            let column = reader.column_at(index)?;
            let named = |error: Error| error.in_column(column.unique_name().to_owned()).in_format(FORMAT_NAME);
            let kind = column.kind().map_err(|unreadable| named(unreadable.to_error()))?;
            let plan = planner.column(column, kind)?;
            fields.push(planner.field(column, kind, &plan).map_err(named)?);
            columns.push(plan);
        }
        let Planner { left_out, budget, .. } = planner;
        Ok(Self { indices, columns, schema: Arc::new(Schema::new(fields)), left_out, budget })
    }
}

struct Planner<'a> {
    reader: &'a Reader,
    scan: &'a BatchScan,
    /// Labels by metadata table, which columns may share.
    labels: HashMap<u64, Option<Arc<Labels>>>,
    budget: Budget,
    /// Remaining metadata budget; `None` once exhausted.
    room: Option<Budget>,
    left_out: Vec<Loss>,
}

impl Planner<'_> {
    fn column(&mut self, column: &Column, kind: &Type) -> Result<ColumnPlan> {
        let labels = match kind.item() {
            ItemType::Key(key) => self.labels_of(column, key)?,
            _ => None,
        };
        let item = self.item(kind.item(), labels);
        let list = match kind {
            Type::Item(_) => None,
            Type::Vector { .. } => Some(ListPlan {
                size: i32::try_from(kind.size()).ok().filter(|&size| size > 0),
                item: Arc::new(Field::new_list_field(item.data_type.clone(), item.nullable)),
                structs: self.scan.mapping.sparse == Sparse::Structs,
            }),
        };
        Ok(ColumnPlan { name: column.unique_name().into(), item, list })
    }

    fn item(&self, item: ItemType, labels: Option<ArrayRef>) -> ItemPlan {
        let times = self.scan.mapping.times;
        let old = self.reader.header().version <= Version::V5;
        let missing_floats = self.scan.scan.missing_as_null;
        let missing_integers = missing_floats && old;
        let (data_type, nullable) = match item {
            ItemType::SByte => (DataType::Int8, missing_integers),
            ItemType::Byte => (DataType::UInt8, false),
            ItemType::Int16 => (DataType::Int16, missing_integers),
            ItemType::UInt16 => (DataType::UInt16, false),
            ItemType::Int32 => (DataType::Int32, missing_integers),
            ItemType::UInt32 => (DataType::UInt32, false),
            ItemType::Int64 => (DataType::Int64, missing_integers),
            ItemType::UInt64 => (DataType::UInt64, false),
            ItemType::Single => (DataType::Float32, missing_floats),
            ItemType::Double => (DataType::Float64, missing_floats),
            ItemType::TimeSpan => (times::data_type(Meaning::Span, times, false), old),
            ItemType::DvTimeSpan => (times::data_type(Meaning::Span, times, false), true),
            ItemType::DateTime | ItemType::DvDateTime => (times::data_type(Meaning::Time, times, false), true),
            ItemType::DateTimeOffset | ItemType::DvDateTimeZone => (DataType::Struct(zoned_fields(times)), true),
            ItemType::RowId => (DataType::FixedSizeBinary(16), false),
            ItemType::Boolean => (DataType::Boolean, false),
            ItemType::DvBool => (DataType::Boolean, true),
            ItemType::Text => (DataType::Utf8, true),
            ItemType::Key(key) => match &labels {
                Some(labels) => {
                    let keys = index_type(labels.len() as u64);
                    (DataType::Dictionary(Box::new(keys), Box::new(labels.data_type().clone())), true)
                }
                None => (index_type(key.width.max()), true),
            },
        };
        let (missing_spans, times) = (old, if times == Times::Ticks { Times::Ticks } else { times });
        ItemPlan { item, data_type, nullable, labels, times, missing_integers, missing_floats, missing_spans }
    }

    /// The labels of a key column as an array, if every key value has one.
    fn labels_of(&mut self, column: &Column, key: KeyType) -> Result<Option<ArrayRef>> {
        let Some(table) = column.entry.metadata_offset else { return Ok(None) };
        let labels = match self.labels.get(&table) {
            Some(labels) => labels.clone(),
            None => {
                let labels = self.reader.labels_within(column.index(), &mut self.budget)?.map(Arc::new);
                self.labels.insert(table, labels.clone());
                labels
            }
        };
        let max_bytes = self.reader.limits().metadata_bytes.min(self.budget.left());
        match labels {
            // Bounded: a sparse vector can declare any number of labels.
            Some(labels) if key.count > 0 && labels.count() >= key.count && labels.count() <= max_bytes / 8 => {
                let array = label_array(&labels)?;
                let bytes = array.as_ref().map_or(0, |array| array.get_array_memory_size() as u64);
                self.budget.take("memory for labels of keys", bytes)?;
                Ok(array)
            }
            _ => Ok(None),
        }
    }

    fn field(&mut self, column: &Column, kind: &Type, plan: &ColumnPlan) -> Result<Field> {
        let data_type = plan.list.as_ref().map_or_else(|| plan.item.data_type.clone(), ListPlan::data_type);
        let nullable = plan.list.is_none() && plan.item.nullable;
        let mut metadata = HashMap::new();
        if let (Some(list), Type::Vector { dimensions, .. }) = (&plan.list, kind)
            && let DataType::FixedSizeList(..) = data_type
            && dimensions.len() > 1
            && list.item.data_type().is_primitive()
            && !list.item.is_nullable()
        {
            metadata.insert("ARROW:extension:name".to_owned(), "arrow.fixed_shape_tensor".to_owned());
            metadata
                .insert("ARROW:extension:metadata".to_owned(), serde_json::json!({"shape": dimensions}).to_string());
        }
        let mut schema = self.reader.column_schema(column.index(), None)?;
        schema.metadata = self.metadata(column)?;
        // Compression is not carried over.
        schema.compression = None;
        metadata.insert(FORMAT_NAME.to_owned(), as_json(&schema)?);
        Ok(Field::new(column.unique_name(), data_type, nullable).with_metadata(metadata))
    }

    /// The readable metadata of a column.
    fn metadata(&mut self, column: &Column) -> Result<Vec<MetadataSchema>> {
        let mut all = Vec::new();
        let lost = |what: String| Loss::new(what, 1, Position::of_column(column.unique_name().to_owned()));
        if self.room.is_none() {
            if column.entry.metadata_offset.is_some() {
                self.left_out.push(lost("metadata left out (other columns used up the limit)".to_owned()));
            }
            return Ok(all);
        }
        for item in self.reader.metadata(column.index())? {
            let kind = item.kind();
            let value_type = match item.value_type() {
                Ok(value_type) => value_type.for_writing(self.reader.header().version),
                Err(why) => {
                    self.left_out.push(lost(format!("metadata {kind:?} left out ({why})")));
                    continue;
                }
            };
            let Some(room) = &mut self.room else { break };
            match self.reader.metadata_value_within(column.index(), &item, room) {
                Err(error) => {
                    let ErrorKind::Limit { asked, limit } = error.kind() else { return Err(error) };
                    let why = format!("metadata {kind:?} left out (all metadata take {asked} bytes, limit {limit})");
                    self.left_out.push(lost(why));
                    self.room = None;
                    break;
                }
                Ok(value) => all.push(MetadataSchema { kind: kind.to_owned(), value_type, value }),
            }
        }
        Ok(all)
    }
}

/// The column as JSON, as [`Schema::from_json`](crate::Schema::from_json) reads it.
fn as_json(schema: &ColumnSchema) -> Result<String> {
    let json = serde_json::to_string(&ColumnJson(schema));
    json.map_err(|cause| Error::invalid("metadata cannot be written as JSON").caused_by(cause).in_format(FORMAT_NAME))
}

/// The narrowest unsigned type for `count` indices.
pub(super) fn index_type(count: u64) -> DataType {
    match count {
        0..=0x100 => DataType::UInt8,
        0x101..=0x1_0000 => DataType::UInt16,
        0x1_0001..=0x1_0000_0000 => DataType::UInt32,
        _ => DataType::UInt64,
    }
}

/// Labels as dictionary values, if their type is supported.
pub(super) fn label_array(labels: &Labels) -> Result<Option<ArrayRef>> {
    fn numbers<T: ArrowPrimitiveType>(labels: &Labels, of: impl Fn(Value<'_>) -> Option<T::Native>) -> ArrayRef {
        let all = (0..labels.count()).map(|key| labels.get(key).and_then(&of));
        Arc::new(all.collect::<PrimitiveArray<T>>())
    }
    macro_rules! numbers {
        ($($variant:ident $type:ty),*) => {
            match labels.item {
                ItemType::Text => {}
                $(ItemType::$variant => {
                    return Ok(Some(numbers::<$type>(labels, |value| match value {
                        Value::$variant(number) => Some(number),
                        _ => None,
                    })));
                })*
                _ => return Ok(None),
            }
        };
    }
    numbers!(SByte Int8Type, Byte UInt8Type, Int16 Int16Type, UInt16 UInt16Type, Int32 Int32Type, UInt32 UInt32Type,
        Int64 Int64Type, UInt64 UInt64Type, Single Float32Type, Double Float64Type);
    let text = |key| match labels.get(key) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    };
    let bytes: usize = (0..labels.count()).filter_map(text).map(str::len).sum();
    if i32::try_from(bytes).is_err() {
        return Ok(None);
    }
    Ok(Some(Arc::new((0..labels.count()).map(text).collect::<StringArray>())))
}
