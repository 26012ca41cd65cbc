//! Values as SQL means them, where Arrow leaves more open.
//!
//! * What a struct has under a null is undefined. DataFusion takes a member as it is stored, so that `s.a` would be a value where `s` is null.
//! * DataFusion orders NaN by its sign, which .NET and x86 set: missing numbers of IDV would be less than 0. All are greater than other numbers, as in
//!   DuckDB.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, FixedSizeListArray, GenericListArray, OffsetSizeTrait,
    RecordBatch, RecordBatchOptions, StructArray, make_array,
};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use datafusion::arrow::buffer::NullBuffer;

/// The batch with a schema, whose metadata may differ.
pub(crate) fn settled(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().map(settle).collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

fn is_plain(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(_) | DataType::Float16 | DataType::Float32 | DataType::Float64 => false,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            is_plain(item.data_type())
        }
        _ => true,
    }
}

fn settle(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(match array.data_type() {
        DataType::Float16 => without_sign::<Float16Type>(array, |x| x.is_nan() && x.is_sign_negative()),
        DataType::Float32 => without_sign::<Float32Type>(array, |x| x.is_nan() && x.is_sign_negative()),
        DataType::Float64 => without_sign::<Float64Type>(array, |x| x.is_nan() && x.is_sign_negative()),
        data_type if is_plain(data_type) => Arc::clone(array),
        DataType::Struct(fields) => {
            let structs = array.as_struct();
            let member = |member: &ArrayRef| settle(&masked(member, structs.nulls())?);
            let members = structs.columns().iter().map(member).collect::<Result<_, _>>()?;
            let nulls = structs.nulls().cloned();
            Arc::new(StructArray::try_new_with_length(fields.clone(), members, nulls, structs.len())?)
        }
        DataType::List(_) => Arc::new(list(array.as_list::<i32>())?),
        DataType::LargeList(_) => Arc::new(list(array.as_list::<i64>())?),
        DataType::FixedSizeList(item, size) => {
            let lists = array.as_fixed_size_list();
            let (values, nulls) = (settle(lists.values())?, lists.nulls().cloned());
            let item = Arc::clone(item);
            Arc::new(FixedSizeListArray::try_new_with_length(item, *size, values, nulls, lists.len())?)
        }
        _ => Arc::clone(array),
    })
}

/// Numbers without the sign of NaN.
fn without_sign<T: ArrowPrimitiveType>(array: &ArrayRef, is_negative_nan: impl Fn(T::Native) -> bool) -> ArrayRef {
    let numbers = array.as_primitive::<T>();
    // Without an early end it takes vector instructions.
    match numbers.values().iter().fold(false, |any, number| any | is_negative_nan(*number)) {
        true => Arc::new(numbers.unary::<_, T>(|x| if is_negative_nan(x) { x.neg_wrapping() } else { x })),
        false => Arc::clone(array),
    }
}

fn list<O: OffsetSizeTrait>(lists: &GenericListArray<O>) -> Result<GenericListArray<O>, ArrowError> {
    let (item, offsets, values, nulls) = lists.clone().into_parts();
    GenericListArray::try_new(item, offsets, settle(&values)?, nulls)
}

/// A member, null where its struct is.
fn masked(member: &ArrayRef, structs: Option<&NullBuffer>) -> Result<ArrayRef, ArrowError> {
    let has_none = matches!(member.data_type(), DataType::Null | DataType::Union(..) | DataType::RunEndEncoded(..));
    match structs.filter(|nulls| nulls.null_count() > 0 && !has_none) {
        None => Ok(Arc::clone(member)),
        Some(nulls) => {
            let nulls = NullBuffer::union(member.nulls(), Some(nulls));
            Ok(make_array(member.to_data().into_builder().nulls(nulls).build()?))
        }
    }
}
