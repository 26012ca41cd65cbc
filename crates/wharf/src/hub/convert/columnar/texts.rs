//! Record batches of IDV whose rows show the same as those of the file: texts for times and ids, which have no type or another one in Arrow.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use container_arrow::{BatchReader, BatchSteps, StepReader};
use container_core::{Loss, Result};

use super::meaning;
use super::recode::{Recode, Recoder};

/// Converts batches whose times are ticks.
pub(in crate::hub) fn idv_texts<'a>(batches: Box<dyn BatchReader + 'a>) -> Box<dyn BatchReader + 'a> {
    let schema = batches.schema();
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (index, field) in schema.fields().iter().enumerate() {
        let text = meaning::text_type(field);
        fields.push(if text.is_some() { of_texts(field) } else { Field::clone(field) });
        columns.push((index, text.map_or(Recode::Keep, Recode::Texts)));
    }
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    Box::new(StepReader::new(Texts { batches, recoder: Recoder { schema, columns }, row: 0 }))
}

/// The field with strings as items.
fn of_texts(field: &Field) -> Field {
    let item = |item: &Field| Arc::new(item.clone().with_data_type(DataType::Utf8));
    let data_type = match field.data_type() {
        DataType::List(of) => DataType::List(item(of)),
        DataType::FixedSizeList(of, size) => DataType::FixedSizeList(item(of), *size),
        _ => DataType::Utf8,
    };
    field.clone().with_data_type(data_type)
}

struct Texts<'a> {
    batches: Box<dyn BatchReader + 'a>,
    recoder: Recoder,
    /// The number of the next row.
    row: u64,
}

impl BatchSteps for Texts<'_> {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        let Some(batch) = self.batches.try_next()? else { return Ok(None) };
        let first = self.row;
        self.row += batch.num_rows() as u64;
        self.recoder.batch(&batch, first).map(Some)
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.recoder.schema)
    }

    fn losses(&self) -> Vec<Loss> {
        self.batches.losses()
    }
}
