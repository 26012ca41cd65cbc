//! A selection of rows of all inputs, in any order.

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek};

use arrow_array::{Array, RecordBatch, UInt64Array};
use arrow_data::ArrayData;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use container_arrow::from_arrow;
use container_core::{Error, Result};

use crate::batches::size::{array_bytes, bytes_of};

/// Maximum bytes of rows that are sorted in memory at once.
const MAX_MEMORY: usize = 64 << 20;

/// Maximum number of temporary files, which are open at once.
const MAX_STRETCHES: u64 = 256;

/// Rows of an output batch.
const BATCH_ROWS: usize = 8192;

/// Rows by number, each at most once, and their positions in the output.
#[derive(Debug)]
pub(in crate::hub) struct PickedRows {
    /// The number of a row and its position in the output, in the order of the numbers.
    positions: Vec<(u64, u64)>,
    /// The rows stay in their order.
    is_sorted: bool,
}

impl PickedRows {
    /// Selects rows, given in the order of the output.
    pub(in crate::hub) fn new(rows: impl Iterator<Item = u64>) -> Self {
        let mut positions: Vec<(u64, u64)> = rows.zip(0..).collect();
        let is_sorted = positions.is_sorted();
        positions.sort_unstable();
        Self { positions, is_sorted }
    }
}

/// Receives output batches.
type Put<'p> = &'p mut dyn FnMut(&RecordBatch) -> Result<()>;

/// Takes the selected rows from batches and sorts them. Memory: a few times 64 MiB, the labels of dictionaries, and 24 bytes per row. More rows are
/// partitioned into temporary files, one per stretch of the output.
pub(super) struct Gather<'a> {
    picked: &'a PickedRows,
    /// How many of them have been taken.
    taken: usize,
    /// Rows in memory, in input order, and their positions in the output.
    buffered: Vec<RecordBatch>,
    positions: Vec<u64>,
    bytes: usize,
    /// Stretches of the output, once rows have been spilled.
    stretches: Vec<Stretch>,
    /// Rows of a stretch.
    stretch_rows: u64,
    max_memory: usize,
}

/// A stretch of the output, in a temporary file.
struct Stretch {
    writer: StreamWriter<BufWriter<File>>,
    positions: Vec<u64>,
}

impl<'a> Gather<'a> {
    pub(super) fn new(picked: &'a PickedRows) -> Self {
        let (buffered, positions, stretches) = (Vec::new(), Vec::new(), Vec::new());
        Self { picked, taken: 0, buffered, positions, bytes: 0, stretches, stretch_rows: 0, max_memory: MAX_MEMORY }
    }

    /// Whether all selected rows have been taken.
    pub(super) fn is_done(&self) -> bool {
        self.taken == self.picked.positions.len()
    }

    /// Takes the selected rows of a batch, whose first row has number `first`.
    pub(super) fn take(&mut self, batch: &RecordBatch, first: u64, put: Put<'_>) -> Result<()> {
        let end = first.saturating_add(batch.num_rows() as u64);
        let rest = self.picked.positions.get(self.taken..).unwrap_or_default();
        let here = rest.get(..rest.partition_point(|(row, _)| *row < end)).unwrap_or_default();
        self.taken += here.len();
        if here.is_empty() {
            return Ok(());
        }
        if batch.num_columns() == 0 {
            return put(&batch.slice(0, here.len())); // rows without columns are all the same
        }
        let indices = UInt64Array::from_iter_values(here.iter().map(|(row, _)| row - first));
        let taken = take_record_batch(batch, &indices).map_err(from_arrow)?;
        if self.picked.is_sorted {
            return put(&taken);
        }
        self.bytes += bytes_of(&taken) + self.new_labels(&taken);
        self.buffered.push(taken);
        self.positions.extend(here.iter().map(|(_, position)| position));
        if self.bytes > self.max_memory { self.spill() } else { Ok(()) }
    }

    /// Bytes of the labels of dictionaries that the rows in memory do not share. Those of the first rows do not count: they are kept in any case.
    fn new_labels(&self, batch: &RecordBatch) -> usize {
        fn new(data: &ArrayData, before: &ArrayData) -> usize {
            let children = data.child_data().iter().zip(before.child_data());
            match data.data_type() {
                DataType::Dictionary(..) => children
                    .filter(|(labels, before)| !labels.ptr_eq(before))
                    .map(|(labels, _)| array_bytes(labels))
                    .sum(),
                _ => children.map(|(data, before)| new(data, before)).sum(),
            }
        }
        let Some(last) = self.buffered.last() else { return 0 };
        let columns = batch.columns().iter().zip(last.columns());
        columns.map(|(column, before)| new(&column.to_data(), &before.to_data())).sum()
    }

    /// Passes the rows on in the order of the output.
    pub(super) fn finish(mut self, put: Put<'_>) -> Result<()> {
        if self.stretches.is_empty() {
            return write_sorted(&self.buffered, &self.positions, put);
        }
        self.spill()?;
        for Stretch { writer, positions } in self.stretches {
            let mut file = writer
                .into_inner()
                .map_err(from_arrow)?
                .into_inner()
                .map_err(|error| temporary_file_error(error.into_error()))?;
            file.rewind().map_err(temporary_file_error)?;
            let batches = StreamReader::try_new(BufReader::new(file), None).map_err(from_arrow)?;
            let batches = batches.collect::<Result<Vec<_>, ArrowError>>().map_err(from_arrow)?;
            write_sorted(&batches, &positions, put)?;
        }
        Ok(())
    }

    /// Moves the rows in memory to the files of their stretches.
    fn spill(&mut self) -> Result<()> {
        let Some(first) = self.buffered.first() else { return Ok(()) };
        let (schema, all) = (first.schema(), concat_batches(&first.schema(), &self.buffered).map_err(from_arrow)?);
        if self.stretches.is_empty() {
            // This many rows have just filled the memory limit.
            let rows = self.picked.positions.len() as u64;
            self.stretch_rows = (all.num_rows() as u64).max(rows.div_ceil(MAX_STRETCHES)).max(1);
            let count = rows.div_ceil(self.stretch_rows);
            for _ in 0..count {
                let file =
                    BufWriter::new(container_core::unnamed_file(&std::env::temp_dir()).map_err(temporary_file_error)?);
                let writer = StreamWriter::try_new(file, &schema).map_err(from_arrow)?;
                self.stretches.push(Stretch { writer, positions: Vec::new() });
            }
        }
        let mut sorted: Vec<(u64, u64)> = self.positions.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let mut rest = sorted.as_slice();
        for (number, stretch) in (1..).zip(&mut self.stretches) {
            let count = rest.partition_point(|(position, _)| *position < self.stretch_rows.saturating_mul(number));
            let (here, others) = rest.split_at(count);
            rest = others;
            if here.is_empty() {
                continue;
            }
            let indices = UInt64Array::from_iter_values(here.iter().map(|(_, index)| *index));
            let rows = take_record_batch(&all, &indices).map_err(from_arrow)?;
            stretch.writer.write(&rows).map_err(from_arrow)?;
            stretch.positions.extend(here.iter().map(|(position, _)| position));
        }
        (self.buffered, self.positions, self.bytes) = (Vec::new(), Vec::new(), 0);
        Ok(())
    }
}

/// Writes rows in the order of their positions.
fn write_sorted(batches: &[RecordBatch], positions: &[u64], put: Put<'_>) -> Result<()> {
    let Some(first) = batches.first() else { return Ok(()) };
    let all = concat_batches(&first.schema(), batches).map_err(from_arrow)?;
    let mut order: Vec<(u64, u64)> = positions.iter().copied().zip(0..).collect();
    order.sort_unstable();
    for part in order.chunks(BATCH_ROWS) {
        let indices = UInt64Array::from_iter_values(part.iter().map(|(_, index)| *index));
        put(&take_record_batch(&all, &indices).map_err(from_arrow)?)?;
    }
    Ok(())
}

fn temporary_file_error(cause: std::io::Error) -> Error {
    Error::io("cannot keep rows in a temporary file", cause)
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{UInt16Type, UInt64Type};
    use arrow_array::{DictionaryArray, StringArray};
    use arrow_schema::{Field, Schema};
    use std::sync::Arc;

    use super::*;

    /// The labels of a dictionary are counted once, and the number of files is bounded.
    #[test]
    fn shared_labels_do_not_fill_the_memory() {
        let labels = Arc::new(StringArray::from_iter_values((0..1000).map(|n| format!("label {n}"))));
        let rows = PickedRows::new((0..4000).rev());
        for (max_memory, files) in [(20_000, 2..=8), (0, 200..=256)] {
            let mut gather = Gather::new(&rows);
            gather.max_memory = max_memory;
            let (mut most, mut found) = (0, 0);
            let mut put = |batch: &RecordBatch| {
                found += batch.num_rows();
                Ok(())
            };
            for first in (0..4000_u16).step_by(10) {
                let keys = (0..10).map(|row| (first + row) % 1000).collect();
                let column = DictionaryArray::<UInt16Type>::new(keys, Arc::clone(&labels) as _);
                let batch = RecordBatch::try_from_iter([("label", Arc::new(column) as _)]).unwrap();
                gather.take(&batch, first.into(), &mut put).unwrap();
                most = most.max(gather.stretches.len());
            }
            gather.finish(&mut put).unwrap();
            assert!(found == 4000 && (files.contains(&most) || most == 0 && max_memory > 0), "{max_memory}: {most}");
        }
    }

    #[test]
    fn rows_come_in_the_order_that_is_asked_for_whatever_fits_into_memory() {
        let labels = Arc::new(StringArray::from_iter_values((0..7).map(|n| format!("label {n}"))));
        let dictionary = DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8));
        let fields = vec![
            Field::new("n", DataType::UInt64, false),
            Field::new("text", DataType::Utf8, true),
            Field::new("label", dictionary, false),
        ];
        let schema = Arc::new(Schema::new(fields));
        let batches: Vec<RecordBatch> = (0..40_usize)
            .map(|batch| {
                let numbers = batch * 100..batch * 100 + 100;
                let texts = numbers.clone().map(|n| (n % 5 > 0).then(|| "x".repeat(n % 90)));
                let keys = numbers.clone().map(|n| u16::try_from(n % 7).unwrap()).collect();
                let columns: Vec<arrow_array::ArrayRef> = vec![
                    Arc::new(UInt64Array::from_iter_values(numbers.map(|n| n as u64))),
                    Arc::new(StringArray::from_iter(texts)),
                    Arc::new(DictionaryArray::<UInt16Type>::new(keys, Arc::clone(&labels) as _)),
                ];
                RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()
            })
            .collect();
        // All rows from the back in steps, some of them, and some in order.
        let stepped: Vec<u64> = (0..4000).map(|n| (n * 1777 + 5) % 4000).collect();
        for rows in [&stepped[..], &stepped[..501], &[3999, 0], &[], &[7, 8, 3000]] {
            for max_memory in [usize::MAX, 20_000, 0] {
                let picked = PickedRows::new(rows.iter().copied());
                let mut gather = Gather::new(&picked);
                gather.max_memory = max_memory;
                let (mut found, mut spilled) = (Vec::new(), false);
                let mut put = |batch: &RecordBatch| {
                    let numbers = batch.column(0).as_primitive::<UInt64Type>();
                    let (texts, labels) =
                        (batch.column(1).as_string::<i32>(), batch.column(2).as_dictionary::<UInt16Type>());
                    let labels = labels.downcast_dict::<StringArray>().unwrap();
                    for (row, number) in numbers.values().iter().enumerate() {
                        found.push(*number);
                        assert_eq!(
                            texts.iter().nth(row).unwrap().map(str::len),
                            (number % 5 > 0).then_some(usize::try_from(number % 90).unwrap())
                        );
                        assert_eq!(labels.into_iter().nth(row).unwrap().unwrap(), format!("label {}", number % 7));
                    }
                    Ok(())
                };
                for (first, batch) in (0..).step_by(100).zip(&batches) {
                    gather.take(batch, first, &mut put).unwrap();
                    spilled |= gather.stretches.len() > 1;
                }
                assert!(gather.is_done());
                gather.finish(&mut put).unwrap();
                assert_eq!(found, rows, "{max_memory}");
                assert!(spilled || max_memory > 0 || rows.len() < 100);
            }
        }
    }
}
