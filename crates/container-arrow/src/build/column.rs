//! The buffers of a column under construction.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder};
use arrow_schema::{DataType, FieldRef, TimeUnit};
use container_core::{Error, Result};

use crate::resolve::{ENCODING, JSON, shown};

/// Variable-length values, concatenated. The first offset is 0.
#[derive(Debug)]
pub(super) struct Blob<O> {
    pub(super) offsets: Vec<O>,
    pub(super) bytes: Vec<u8>,
}

/// A 32-bit or 64-bit offset.
pub(super) trait Offset: Copy + TryFrom<usize> + TryInto<usize> {
    const ZERO: Self;
}

impl Offset for i32 {
    const ZERO: Self = 0;
}

impl Offset for i64 {
    const ZERO: Self = 0;
}

/// Converts a length to an offset.
#[inline]
pub(super) fn offset<O: Offset>(length: usize) -> Result<O> {
    O::try_from(length).map_err(|_| too_long(length))
}

#[cold]
fn too_long(length: usize) -> Error {
    Error::limit("bytes or elements of a column in one batch", length as u64, i32::MAX as u64)
}

impl<O: Offset> Blob<O> {
    fn new() -> Self {
        Self { offsets: vec![O::ZERO], bytes: Vec::new() }
    }

    #[inline]
    pub(super) fn push(&mut self, value: &[u8]) -> Result<()> {
        let end = offset(self.bytes.len() + value.len())?;
        self.bytes.extend_from_slice(value);
        self.offsets.push(end);
        Ok(())
    }

    /// Ends a value that was appended to `bytes`, or removes it if the offset overflows.
    pub(super) fn end(&mut self) -> Result<()> {
        match offset(self.bytes.len()) {
            Ok(end) => self.offsets.push(end),
            Err(error) => {
                self.bytes.truncate(self.last());
                return Err(error);
            }
        }
        Ok(())
    }

    pub(super) fn last(&self) -> usize {
        self.offsets.last().and_then(|last| (*last).try_into().ok()).unwrap_or(0)
    }

    fn pad(&mut self, count: usize) {
        let last = self.offsets.last().copied().unwrap_or(O::ZERO);
        self.offsets.extend(std::iter::repeat_n(last, count));
    }

    fn truncate(&mut self, len: usize) {
        self.offsets.truncate(len + 1);
        self.bytes.truncate(self.last());
    }
}

/// The content of a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Bytes,
    /// JSON text.
    Json,
    Msgpack,
}

#[derive(Debug)]
pub(super) enum Data {
    Null,
    Bool(BooleanBufferBuilder),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    /// Bits.
    F16(Vec<u16>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Blob(Blob<i32>, Kind),
    LargeBlob(Blob<i64>, Kind),
    /// Fixed-size binary.
    Fixed(usize, Vec<u8>),
    List(Vec<i32>, Box<Column>),
    LargeList(Vec<i64>, Box<Column>),
    FixedList(usize, Box<Column>),
    Struct(Box<Struct>),
    Dictionary(Box<Dictionary>),
}

/// The columns of a struct.
#[derive(Debug)]
pub(super) struct Struct {
    pub(super) columns: Vec<Column>,
    by_name: HashMap<String, usize>,
}

impl Struct {
    /// Finds the index of a column, trying `expected` first.
    #[inline]
    pub(super) fn find(&self, name: &str, expected: usize) -> Option<usize> {
        if self.columns.get(expected).is_some_and(|column| column.field.name() == name) {
            return Some(expected);
        }
        self.by_name.get(name).copied()
    }
}

/// A dictionary of texts.
#[derive(Debug)]
pub(super) struct Dictionary {
    pub(super) keys: Vec<i32>,
    pub(super) values: Column,
    keys_by_value: HashMap<Box<str>, i32>,
    /// Maximum of the key type.
    max_key: u64,
}

impl Dictionary {
    pub(super) fn push(&mut self, value: &str) -> Result<()> {
        let key = match self.keys_by_value.get(value) {
            Some(key) => *key,
            None => {
                let key = self.keys_by_value.len();
                if key as u64 > self.max_key {
                    return Err(Error::limit("values of a dictionary", key as u64 + 1, self.max_key.saturating_add(1)));
                }
                let key = offset(key)?;
                match &mut self.values.data {
                    Data::LargeBlob(blob, _) => blob.push(value.as_bytes())?,
                    Data::Blob(blob, _) => blob.push(value.as_bytes())?,
                    _ => return Err(Error::usage("dictionary values are not text")), // cannot happen: checked by Column::new()
                }
                self.values.nulls.append_non_null();
                self.keys_by_value.insert(value.into(), key);
                key
            }
        };
        self.keys.push(key);
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        self.keys_by_value.clear();
    }
}

/// A column under construction.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) data: Data,
    /// Validity, and the length of the column.
    pub(super) nulls: NullBufferBuilder,
    pub(super) field: FieldRef,
    /// Minimum bytes per value, at least 1.
    pub(super) width: usize,
    /// Path for error messages, such as `a.b[]`.
    pub(super) path: Box<str>,
    /// Number of values that became null because they did not fit, and the first row.
    pub(super) lost: u64,
    pub(super) first_lost: u64,
    /// Number of values replaced by a duplicate member, and the first row.
    pub(super) replaced: u64,
    pub(super) first_replaced: u64,
}

impl Column {
    /// Creates an empty column at this depth, counted from 0, of at most `limit` levels of nesting.
    pub(super) fn new(field: &FieldRef, path: String, depth: u32, limit: u32) -> Result<Self> {
        let is = |key: &str, value: &str| field.metadata().get(key).is_some_and(|own| own == value);
        let text = if is(arrow_schema::extension::EXTENSION_TYPE_NAME_KEY, JSON) { Kind::Json } else { Kind::Text };
        let bytes = if is(ENCODING, "msgpack") { Kind::Msgpack } else { Kind::Bytes };
        let inner = |field: &FieldRef, path: String| match depth.saturating_add(1) {
            depth if depth <= limit => Self::new(field, path, depth, limit).map(Box::new),
            depth => Err(Error::limit("the nesting of columns", depth.into(), limit.into()).in_column(path)),
        };
        let size = |size: i32| usize::try_from(size).map_err(|_| Error::usage("negative size").in_column(path.clone()));
        let (data, width) = match field.data_type() {
            DataType::Null => (Data::Null, 1),
            DataType::Boolean => (Data::Bool(BooleanBufferBuilder::new(0)), 1),
            DataType::Int8 => (Data::I8(Vec::new()), 1),
            DataType::Int16 => (Data::I16(Vec::new()), 2),
            DataType::Int32 | DataType::Date32 => (Data::I32(Vec::new()), 4),
            // Arrow has no arrays for the other units.
            DataType::Time32(TimeUnit::Second | TimeUnit::Millisecond) => (Data::I32(Vec::new()), 4),
            DataType::Int64
            | DataType::Date64
            | DataType::Time64(TimeUnit::Microsecond | TimeUnit::Nanosecond)
            | DataType::Timestamp(..)
            | DataType::Duration(_) => (Data::I64(Vec::new()), 8),
            DataType::UInt8 => (Data::U8(Vec::new()), 1),
            DataType::UInt16 => (Data::U16(Vec::new()), 2),
            DataType::UInt32 => (Data::U32(Vec::new()), 4),
            DataType::UInt64 => (Data::U64(Vec::new()), 8),
            DataType::Float16 => (Data::F16(Vec::new()), 2),
            DataType::Float32 => (Data::F32(Vec::new()), 4),
            DataType::Float64 => (Data::F64(Vec::new()), 8),
            DataType::Utf8 => (Data::Blob(Blob::new(), text), 4),
            DataType::LargeUtf8 => (Data::LargeBlob(Blob::new(), text), 8),
            DataType::Utf8View => (Data::Blob(Blob::new(), text), 16),
            DataType::Binary => (Data::Blob(Blob::new(), bytes), 4),
            DataType::LargeBinary => (Data::LargeBlob(Blob::new(), bytes), 8),
            DataType::BinaryView => (Data::Blob(Blob::new(), bytes), 16),
            DataType::FixedSizeBinary(bytes) => {
                let bytes = size(*bytes)?;
                (Data::Fixed(bytes, Vec::new()), bytes.max(1))
            }
            DataType::List(element) => (Data::List(vec![0], inner(element, format!("{path}[]"))?), 4),
            DataType::LargeList(element) => (Data::LargeList(vec![0], inner(element, format!("{path}[]"))?), 8),
            DataType::FixedSizeList(element, length) => {
                let element = inner(element, format!("{path}[]"))?;
                let length = size(*length)?;
                let width = element.width.saturating_mul(length).max(1);
                (Data::FixedList(length, element), width)
            }
            DataType::Struct(fields) => {
                let mut columns = Vec::with_capacity(fields.len());
                let mut by_name = HashMap::with_capacity(fields.len());
                for (index, field) in fields.iter().enumerate() {
                    let name = shown(field.name());
                    let path = if path.is_empty() { name.to_owned() } else { format!("{}.{name}", abbreviated(&path)) };
                    if by_name.insert(field.name().clone(), index).is_some() {
                        return Err(Error::usage("duplicate column name").in_column(path));
                    }
                    columns.push(*inner(field, path)?);
                }
                let width = columns.iter().fold(1_usize, |sum, column| sum.saturating_add(column.width));
                (Data::Struct(Box::new(Struct { columns, by_name })), width)
            }
            DataType::Dictionary(key, value) => {
                let max_key = match **key {
                    DataType::Int8 => i8::MAX as u64,
                    DataType::UInt8 => u8::MAX.into(),
                    DataType::Int16 => i16::MAX as u64,
                    DataType::UInt16 => u16::MAX.into(),
                    _ => i32::MAX as u64,
                };
                if !matches!(**value, DataType::Utf8 | DataType::LargeUtf8) {
                    return Err(unsupported(field, path));
                }
                let values = arrow_schema::Field::new("values", (**value).clone(), false);
                let values = *inner(&Arc::new(values), path.clone())?;
                (
                    Data::Dictionary(Box::new(Dictionary {
                        keys: vec![],
                        values,
                        keys_by_value: HashMap::new(),
                        max_key,
                    })),
                    4,
                )
            }
            _ => return Err(unsupported(field, path)),
        };
        let nulls = NullBufferBuilder::new(0);
        Ok(Self {
            data,
            nulls,
            field: field.clone(),
            width,
            path: path.into(),
            lost: 0,
            first_lost: 0,
            replaced: 0,
            first_replaced: 0,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.nulls.len()
    }

    /// Appends `count` nulls.
    pub(super) fn pad(&mut self, count: usize) {
        fn fill<T: Default + Clone>(values: &mut Vec<T>, count: usize) {
            values.resize(values.len() + count, T::default());
        }
        match &mut self.data {
            Data::Null => {}
            Data::Bool(values) => values.append_n(count, false),
            Data::I8(values) => fill(values, count),
            Data::I16(values) => fill(values, count),
            Data::I32(values) => fill(values, count),
            Data::I64(values) => fill(values, count),
            Data::U8(values) => fill(values, count),
            Data::U16(values) | Data::F16(values) => fill(values, count),
            Data::U32(values) => fill(values, count),
            Data::U64(values) => fill(values, count),
            Data::F32(values) => fill(values, count),
            Data::F64(values) => fill(values, count),
            Data::Blob(blob, _) => blob.pad(count),
            Data::LargeBlob(blob, _) => blob.pad(count),
            Data::Fixed(size, values) => fill(values, *size * count),
            Data::List(offsets, _) => {
                let last = offsets.last().copied().unwrap_or(0);
                offsets.extend(std::iter::repeat_n(last, count));
            }
            Data::LargeList(offsets, _) => {
                let last = offsets.last().copied().unwrap_or(0);
                offsets.extend(std::iter::repeat_n(last, count));
            }
            Data::FixedList(size, values) => values.pad(*size * count),
            // Its columns are padded on their next value, and in finish().
            Data::Struct(_) => {}
            Data::Dictionary(dictionary) => fill(&mut dictionary.keys, count),
        }
        self.nulls.append_n_nulls(count);
    }

    /// Shortens the column to `len` values, and discards an unfinished value.
    pub(super) fn truncate(&mut self, len: usize) {
        let len = len.min(self.len());
        match &mut self.data {
            Data::Null => {}
            Data::Bool(values) => values.truncate(len),
            Data::I8(values) => values.truncate(len),
            Data::I16(values) => values.truncate(len),
            Data::I32(values) => values.truncate(len),
            Data::I64(values) => values.truncate(len),
            Data::U8(values) => values.truncate(len),
            Data::U16(values) | Data::F16(values) => values.truncate(len),
            Data::U32(values) => values.truncate(len),
            Data::U64(values) => values.truncate(len),
            Data::F32(values) => values.truncate(len),
            Data::F64(values) => values.truncate(len),
            Data::Blob(blob, _) => blob.truncate(len),
            Data::LargeBlob(blob, _) => blob.truncate(len),
            Data::Fixed(size, values) => values.truncate(*size * len),
            Data::List(offsets, values) => {
                offsets.truncate(len + 1);
                values.truncate(offsets.last().and_then(|last| usize::try_from(*last).ok()).unwrap_or(0));
            }
            Data::LargeList(offsets, values) => {
                offsets.truncate(len + 1);
                values.truncate(offsets.last().and_then(|last| usize::try_from(*last).ok()).unwrap_or(0));
            }
            Data::FixedList(size, values) => values.truncate(*size * len),
            Data::Struct(inner) => inner.columns.iter_mut().for_each(|column| column.truncate(len)),
            Data::Dictionary(dictionary) => dictionary.keys.truncate(len),
        }
        self.nulls.truncate(len);
    }
}

/// Truncates a long path, since deeply nested columns may have many.
fn abbreviated(path: &str) -> String {
    const MAX_LEN: usize = 128;
    match path.len() > 2 * MAX_LEN {
        true => path.chars().take(MAX_LEN / 4).chain(['…']).collect(),
        false => path.to_owned(),
    }
}

#[cold]
fn unsupported(field: &FieldRef, path: String) -> Error {
    Error::unsupported(format!("cannot build columns of type {}", field.data_type())).in_column(path)
}
