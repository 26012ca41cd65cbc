//! Turns columns into arrays.

use std::sync::Arc;

use arrow_array::types::{
    ArrowDictionaryKeyType, ByteArrayType, Int8Type, Int16Type, Int32Type, Int64Type, LargeBinaryType, LargeUtf8Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type, Utf8Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray, FixedSizeListArray,
    GenericByteArray, GenericListArray, NullArray, OffsetSizeTrait, PrimitiveArray, StringArray, StringViewArray,
    StructArray, make_array,
};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, FieldRef};

use super::column::{Blob, Column, Data, Dictionary, Offset};

type ArrayResult = Result<ArrayRef, ArrowError>;

/// Takes a vector, leaving an empty one of the same capacity.
fn take<T>(values: &mut Vec<T>) -> Vec<T> {
    let capacity = values.len();
    std::mem::replace(values, Vec::with_capacity(capacity))
}

impl Column {
    /// Returns an array of `len` values, padded with nulls, and empties the column.
    pub(super) fn finish(&mut self, len: usize) -> ArrayResult {
        self.pad(len.saturating_sub(self.len()));
        let nulls = self.nulls.finish();
        let field = &self.field;
        let data_type = field.data_type();
        Ok(match &mut self.data {
            Data::Null => Arc::new(NullArray::new(len)),
            Data::Bool(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Data::I8(values) => numbers(data_type, values, nulls)?,
            Data::I16(values) => numbers(data_type, values, nulls)?,
            Data::I32(values) => numbers(data_type, values, nulls)?,
            Data::I64(values) => numbers(data_type, values, nulls)?,
            Data::U8(values) => numbers(data_type, values, nulls)?,
            Data::U16(values) | Data::F16(values) => numbers(data_type, values, nulls)?,
            Data::U32(values) => numbers(data_type, values, nulls)?,
            Data::U64(values) => numbers(data_type, values, nulls)?,
            Data::F32(values) => numbers(data_type, values, nulls)?,
            Data::F64(values) => numbers(data_type, values, nulls)?,
            Data::Blob(blob, _) => match data_type {
                DataType::Utf8 => bytes::<Utf8Type, _>(blob, nulls)?,
                DataType::Utf8View => {
                    let (offsets, values) = parts(blob)?;
                    Arc::new(StringViewArray::from(&StringArray::try_new(offsets, values, nulls)?))
                }
                DataType::BinaryView => {
                    let (offsets, values) = parts(blob)?;
                    Arc::new(BinaryViewArray::from(&BinaryArray::try_new(offsets, values, nulls)?))
                }
                _ => bytes::<arrow_array::types::BinaryType, _>(blob, nulls)?,
            },
            Data::LargeBlob(blob, _) => match data_type {
                DataType::LargeUtf8 => bytes::<LargeUtf8Type, _>(blob, nulls)?,
                _ => bytes::<LargeBinaryType, _>(blob, nulls)?,
            },
            Data::Fixed(size, values) => {
                let size = i32::try_from(*size).unwrap_or(i32::MAX); // came from an i32
                Arc::new(FixedSizeBinaryArray::try_new_with_len(size, Buffer::from_vec(take(values)), nulls, len)?)
            }
            Data::List(offsets, values) => list(data_type, offsets, values, nulls)?,
            Data::LargeList(offsets, values) => list(data_type, offsets, values, nulls)?,
            Data::FixedList(size, values) => {
                let inner = values.finish(*size * len)?;
                let size = i32::try_from(*size).unwrap_or(i32::MAX); // came from an i32
                let element = values.field.clone();
                Arc::new(FixedSizeListArray::try_new_with_length(element, size, inner, nulls, len)?)
            }
            Data::Struct(inner) => {
                let arrays =
                    inner.columns.iter_mut().map(|column| column.finish(len)).collect::<Result<Vec<_>, _>>()?;
                let DataType::Struct(fields) = data_type else { return Err(type_error(field)) };
                Arc::new(StructArray::try_new_with_length(fields.clone(), arrays, nulls, len)?)
            }
            Data::Dictionary(dictionary) => match data_type {
                DataType::Dictionary(key, _) => dictionary_of(key, dictionary, nulls)?,
                _ => return Err(type_error(field)),
            },
        })
    }
}

fn type_error(field: &FieldRef) -> ArrowError {
    ArrowError::SchemaError(format!("column builder does not match type {}", field.data_type()))
}

fn numbers<T: ArrowNativeType>(data_type: &DataType, values: &mut Vec<T>, nulls: Option<NullBuffer>) -> ArrayResult {
    let data = ArrayData::builder(data_type.clone()).len(values.len()).nulls(nulls);
    Ok(make_array(data.add_buffer(Buffer::from_vec(take(values))).build()?))
}

fn parts<O: Offset + OffsetSizeTrait>(blob: &mut Blob<O>) -> Result<(OffsetBuffer<O>, Buffer), ArrowError> {
    let capacity = blob.offsets.len();
    let mut empty = Vec::with_capacity(capacity);
    empty.push(O::ZERO);
    let offsets = std::mem::replace(&mut blob.offsets, empty);
    // Offsets start at 0 and never decrease, so new() does not panic.
    Ok((OffsetBuffer::new(ScalarBuffer::from(offsets)), Buffer::from_vec(take(&mut blob.bytes))))
}

fn bytes<T: ByteArrayType<Offset = O>, O: Offset + OffsetSizeTrait>(
    blob: &mut Blob<O>,
    nulls: Option<NullBuffer>,
) -> ArrayResult {
    let (offsets, values) = parts(blob)?;
    Ok(Arc::new(GenericByteArray::<T>::try_new(offsets, values, nulls)?))
}

fn list<O: OffsetSizeTrait>(
    data_type: &DataType,
    offsets: &mut Vec<O>,
    values: &mut Column,
    nulls: Option<NullBuffer>,
) -> ArrayResult {
    let (DataType::List(element) | DataType::LargeList(element)) = data_type else {
        return Err(type_error(&values.field));
    };
    let len = offsets.last().map_or(0, |last| last.as_usize());
    let mut empty = Vec::with_capacity(offsets.len());
    empty.push(O::zero());
    let offsets = std::mem::replace(offsets, empty);
    // See parts().
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Ok(Arc::new(GenericListArray::<O>::try_new(element.clone(), offsets, values.finish(len)?, nulls)?))
}

fn dictionary_of(key: &DataType, dictionary: &mut Dictionary, nulls: Option<NullBuffer>) -> ArrayResult {
    let keys = take(&mut dictionary.keys);
    let len = dictionary.values.len();
    let values = dictionary.values.finish(len)?;
    dictionary.clear();
    match key {
        DataType::Int8 => keyed::<Int8Type>(&keys, values, nulls),
        DataType::Int16 => keyed::<Int16Type>(&keys, values, nulls),
        DataType::Int32 => keyed::<Int32Type>(&keys, values, nulls),
        DataType::Int64 => keyed::<Int64Type>(&keys, values, nulls),
        DataType::UInt8 => keyed::<UInt8Type>(&keys, values, nulls),
        DataType::UInt16 => keyed::<UInt16Type>(&keys, values, nulls),
        DataType::UInt32 => keyed::<UInt32Type>(&keys, values, nulls),
        DataType::UInt64 => keyed::<UInt64Type>(&keys, values, nulls),
        other => Err(ArrowError::SchemaError(format!("unsupported dictionary key type {other}"))),
    }
}

fn keyed<K: ArrowDictionaryKeyType>(keys: &[i32], values: ArrayRef, nulls: Option<NullBuffer>) -> ArrayResult {
    // All keys are in range: see Dictionary::push.
    let keys: ScalarBuffer<K::Native> =
        keys.iter().map(|key| K::Native::from_usize(key.unsigned_abs() as usize).unwrap_or_default()).collect();
    let keys = PrimitiveArray::<K>::try_new(keys, nulls)?;
    Ok(Arc::new(DictionaryArray::try_new(keys, values)?))
}
