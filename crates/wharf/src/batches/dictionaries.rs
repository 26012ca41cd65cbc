//! Joins the dictionaries of many batches into one that grows: an Arrow IPC file has one per column, and Parquet readers build one per file.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{Array, ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, UInt64Array, make_array};
use arrow_buffer::ArrowNativeType;
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Field};
use arrow_select::concat::concat;
use arrow_select::take::take;
use container_arrow::from_arrow;
use container_core::{Error, Result};

/// The dictionaries of a file so far, by the path of their array in the schema.
#[derive(Debug, Default)]
pub(crate) struct Dictionaries(HashMap<Vec<usize>, JoinedDictionary>);

#[derive(Debug)]
struct JoinedDictionary {
    /// All values so far.
    values: ArrayRef,
    /// The index of each value; built on first use.
    positions: HashMap<Option<Vec<u8>>, u64>,
    /// The latest dictionary, and the index of each of its values here; `None` if unchanged.
    last: (ArrayData, Option<Vec<u64>>),
}

impl Dictionaries {
    /// The columns of a batch, with keys into the joined dictionaries.
    pub(crate) fn join(&mut self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let schema = batch.schema();
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (index, (field, column)) in schema.fields().iter().zip(batch.columns()).enumerate() {
            let joined = self.array(column, &mut vec![index]).map_err(|error| error.in_column(field.name().clone()))?;
            columns.push(joined.unwrap_or_else(|| Arc::clone(column)));
        }
        Ok(columns)
    }

    /// `None` if the array is unchanged.
    fn array(&mut self, array: &ArrayRef, path: &mut Vec<usize>) -> Result<Option<ArrayRef>> {
        if let DataType::Dictionary(key, _) = array.data_type() {
            return of_integer!(**key, self.dictionary(array, path), _ => Ok(None));
        }
        if !array.data_type().is_nested() {
            return Ok(None);
        }
        let data = array.to_data();
        let mut children = Vec::with_capacity(data.child_data().len());
        let mut changed = false;
        for (index, child) in data.child_data().iter().enumerate() {
            path.push(index);
            let joined = self.array(&make_array(child.clone()), path)?;
            path.pop();
            changed |= joined.is_some();
            children.push(joined.map_or_else(|| child.clone(), |joined| joined.to_data()));
        }
        if !changed {
            return Ok(None);
        }
        let data = data.into_builder().child_data(children).build().map_err(from_arrow)?;
        Ok(Some(make_array(data)))
    }

    fn dictionary<K: ArrowDictionaryKeyType>(&mut self, array: &ArrayRef, path: &[usize]) -> Result<Option<ArrayRef>> {
        let array = array.as_dictionary::<K>();
        let incoming = array.values();
        let data = incoming.to_data();
        let Some(known) = self.0.get_mut(path) else {
            let known =
                JoinedDictionary { values: Arc::clone(incoming), positions: HashMap::new(), last: (data, None) };
            self.0.insert(path.to_vec(), known);
            return Ok(None);
        };
        known.add_values(incoming, data)?;
        let moved = match &known.last.1 {
            None => array.keys().clone(),
            Some(positions) => {
                // A key under a null may be any number.
                let position = |key: K::Native| key.to_usize().and_then(|key| positions.get(key)).copied().unwrap_or(0);
                let keys = array.keys().try_unary::<_, K, ArrowError>(|key| {
                    let position = usize::try_from(position(key)).unwrap_or(usize::MAX);
                    K::Native::from_usize(position).ok_or(ArrowError::DictionaryKeyOverflowError)
                });
                keys.map_err(|_| too_many_labels(&known.values, array.keys()))?
            }
        };
        let joined = DictionaryArray::<K>::try_new(moved, Arc::clone(&known.values));
        Ok(Some(Arc::new(joined.map_err(from_arrow)?)))
    }
}

#[cold]
fn too_many_labels<K: ArrowDictionaryKeyType>(values: &ArrayRef, keys: &PrimitiveArray<K>) -> Error {
    let what = format!("labels of a dictionary with indexes of {}", keys.data_type());
    Error::limit(what, values.len() as u64, max_labels(keys.data_type()))
}

/// The number of labels that indexes of a type can address.
pub(crate) fn max_labels(index: &DataType) -> u64 {
    let bits = u32::try_from(8 * index.primitive_width().unwrap_or(8)).unwrap_or(64);
    1_u64.checked_shl(bits - u32::from(index.is_signed_integer())).unwrap_or(u64::MAX)
}

/// Whether a column is a dictionary or contains one.
pub(crate) fn has_dictionary(field: &Field) -> bool {
    match field.data_type() {
        DataType::Dictionary(..) => true,
        DataType::Struct(fields) => fields.iter().any(|field| has_dictionary(field)),
        DataType::Union(fields, _) => fields.iter().any(|(_, field)| has_dictionary(field)),
        DataType::RunEndEncoded(_, values) => has_dictionary(values),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => has_dictionary(item),
        _ => false,
    }
}

impl JoinedDictionary {
    /// Adds the values of a dictionary.
    fn add_values(&mut self, incoming: &ArrayRef, data: ArrayData) -> Result<()> {
        if ArrayData::ptr_eq(&self.last.0, &data) {
            return Ok(());
        }
        let known = self.values.len();
        if data.len() >= known && data.slice(0, known) == self.values.to_data() {
            // The same dictionary, or a longer one.
            self.values = Arc::clone(incoming);
            self.positions.clear();
            self.last = (data, None);
            return Ok(());
        }
        if self.positions.is_empty() {
            // The first of duplicate values is used.
            for position in 0..known {
                if let Some(key) = key_of(&self.values, position) {
                    self.positions.entry(key).or_insert(position as u64);
                }
            }
        }
        let mut positions = Vec::with_capacity(incoming.len());
        let mut new_values: Vec<u64> = Vec::new();
        for index in 0..incoming.len() {
            let next = (known + new_values.len()) as u64;
            let position = match key_of(incoming, index) {
                Some(key) => *self.positions.entry(key).or_insert(next),
                // Values that are not comparable are appended.
                None => next,
            };
            if position == next {
                new_values.push(index as u64);
            }
            positions.push(position);
        }
        if !new_values.is_empty() {
            let new_values = take(incoming, &UInt64Array::from(new_values), None).map_err(from_arrow)?;
            self.values = concat(&[&self.values, &new_values]).map_err(from_arrow)?;
        }
        self.last = (data, Some(positions));
        Ok(())
    }
}

/// A comparison key: equal for equal values. The inner `None` is null, the outer one a type that is not comparable.
#[expect(clippy::option_option, reason = "null is a value")]
fn key_of(values: &ArrayRef, index: usize) -> Option<Option<Vec<u8>>> {
    if values.is_null(index) {
        return Some(None);
    }
    let bytes = match values.data_type() {
        DataType::Utf8 => values.as_string::<i32>().value(index).as_bytes(),
        DataType::LargeUtf8 => values.as_string::<i64>().value(index).as_bytes(),
        DataType::Utf8View => values.as_string_view().value(index).as_bytes(),
        DataType::Binary => values.as_binary::<i32>().value(index),
        DataType::LargeBinary => values.as_binary::<i64>().value(index),
        DataType::BinaryView => values.as_binary_view().value(index),
        DataType::FixedSizeBinary(_) => values.as_fixed_size_binary().value(index),
        kind => {
            let width = kind.primitive_width()?;
            let data = values.slice(index, 1).to_data();
            let bytes = data.buffers().first()?.as_slice();
            return Some(Some(bytes.get(data.offset() * width..(data.offset() + 1) * width)?.to_vec()));
        }
    };
    Some(Some(bytes.to_vec()))
}
