//! Members of structs that are null.
//!
//! Arrow leaves undefined what a struct has under a null. DataFusion takes a member as it is stored, so that `s.a` would be a value where `s` is null.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, RecordBatch, StructArray, make_array};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use datafusion::arrow::buffer::NullBuffer;

/// The batch with a schema, whose metadata may differ. Members of null structs are null.
pub(crate) fn settled(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    if !schema.fields().iter().any(|field| has_structs(field.data_type())) {
        return batch.clone().with_schema(Arc::clone(schema));
    }
    let columns = batch.columns().iter().map(settle).collect::<Result<Vec<_>, _>>()?;
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

fn has_structs(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(_) => true,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            has_structs(item.data_type())
        }
        _ => false,
    }
}

fn settle(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(match array.data_type() {
        DataType::Struct(fields) => {
            let structs = array.as_struct();
            let member = |member: &ArrayRef| settle(&masked(member, structs.nulls())?);
            let members = structs.columns().iter().map(member).collect::<Result<_, _>>()?;
            Arc::new(StructArray::try_new_with_length(
                fields.clone(),
                members,
                structs.nulls().cloned(),
                structs.len(),
            )?)
        }
        DataType::List(item) if has_structs(item.data_type()) => Arc::new(list(array.as_list::<i32>())?),
        DataType::LargeList(item) if has_structs(item.data_type()) => Arc::new(list(array.as_list::<i64>())?),
        DataType::FixedSizeList(item, size) if has_structs(item.data_type()) => {
            let lists = array.as_fixed_size_list();
            let (values, nulls) = (settle(lists.values())?, lists.nulls().cloned());
            Arc::new(arrow_array::FixedSizeListArray::try_new_with_length(
                Arc::clone(item),
                *size,
                values,
                nulls,
                lists.len(),
            )?)
        }
        _ => Arc::clone(array),
    })
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
