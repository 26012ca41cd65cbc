//! Some rows of all inputs, in any order.

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek};

use arrow_array::{RecordBatch, UInt64Array};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use container_arrow::from_arrow;
use container_core::{Error, Result};

/// Bytes of rows that are put in order at once.
const TOGETHER: usize = 64 << 20;

/// Rows of a batch that is written.
const BATCH: usize = 8192;

/// Rows by number, each at most once, and where they go.
#[derive(Debug)]
pub(in crate::hub) struct Picked {
    /// The number of a row and its place in the output, in the order of the numbers.
    places: Vec<(u64, u64)>,
    /// Rows keep their order.
    is_sorted: bool,
}

impl Picked {
    /// Rows in the order of the output.
    pub(in crate::hub) fn new(rows: impl Iterator<Item = u64>) -> Self {
        let mut places: Vec<(u64, u64)> = rows.zip(0..).collect();
        let is_sorted = places.is_sorted();
        places.sort_unstable();
        Self { places, is_sorted }
    }
}

/// Where batches go.
type Put<'p> = &'p mut dyn FnMut(&RecordBatch) -> Result<()>;

/// Picks rows from batches, and puts them in order. Memory: what a stretch of the output takes, a few times 64 MiB, and 24 bytes for each row. Where all
/// take more, they wait in temporary files, one for each stretch.
pub(super) struct Gather<'a> {
    picked: &'a Picked,
    /// Those that were passed.
    at: usize,
    /// Picked, with their places, in the order in which they came.
    held: Vec<RecordBatch>,
    places: Vec<u64>,
    bytes: usize,
    /// Stretches of the output, once there are several.
    stretches: Vec<Stretch>,
    /// Rows of one.
    rows: u64,
    /// Bytes that are held at most.
    together: usize,
}

/// A stretch of the output.
struct Stretch {
    writer: StreamWriter<BufWriter<File>>,
    places: Vec<u64>,
}

impl<'a> Gather<'a> {
    pub(super) fn new(picked: &'a Picked) -> Self {
        let (held, places, stretches) = (Vec::new(), Vec::new(), Vec::new());
        Self { picked, at: 0, held, places, bytes: 0, stretches, rows: 0, together: TOGETHER }
    }

    /// Are all rows passed that are picked?
    pub(super) fn is_done(&self) -> bool {
        self.at == self.picked.places.len()
    }

    /// Takes rows of a batch whose first has this number.
    pub(super) fn take(&mut self, batch: &RecordBatch, first: u64, put: Put<'_>) -> Result<()> {
        let end = first.saturating_add(batch.num_rows() as u64);
        let rest = self.picked.places.get(self.at..).unwrap_or_default();
        let here = rest.get(..rest.partition_point(|(row, _)| *row < end)).unwrap_or_default();
        self.at += here.len();
        if here.is_empty() {
            return Ok(());
        }
        if batch.num_columns() == 0 {
            return put(&batch.slice(0, here.len())); // one such row is like another
        }
        let indices = UInt64Array::from_iter_values(here.iter().map(|(row, _)| row - first));
        let taken = take_record_batch(batch, &indices).map_err(from_arrow)?;
        if self.picked.is_sorted {
            return put(&taken);
        }
        self.bytes += taken.get_array_memory_size();
        self.held.push(taken);
        self.places.extend(here.iter().map(|(_, place)| place));
        if self.bytes > self.together { self.spill() } else { Ok(()) }
    }

    /// The rows in order.
    pub(super) fn finish(mut self, put: Put<'_>) -> Result<()> {
        if self.stretches.is_empty() {
            return ordered(&self.held, &self.places, put);
        }
        self.spill()?;
        for Stretch { writer, places } in self.stretches {
            let mut file =
                writer.into_inner().map_err(from_arrow)?.into_inner().map_err(|error| kept(error.into_error()))?;
            file.rewind().map_err(kept)?;
            let batches = StreamReader::try_new(BufReader::new(file), None).map_err(from_arrow)?;
            let batches = batches.collect::<Result<Vec<_>, ArrowError>>().map_err(from_arrow)?;
            ordered(&batches, &places, put)?;
        }
        Ok(())
    }

    /// Writes what is held to the files of the stretches.
    fn spill(&mut self) -> Result<()> {
        let Some(first) = self.held.first() else { return Ok(()) };
        let (schema, held) = (first.schema(), concat_batches(&first.schema(), &self.held).map_err(from_arrow)?);
        if self.stretches.is_empty() {
            // As many rows as are held now take the memory that may be taken.
            self.rows = (held.num_rows() as u64).max(1);
            let count = (self.picked.places.len() as u64).div_ceil(self.rows);
            for _ in 0..count {
                let file = BufWriter::new(tempfile::tempfile().map_err(kept)?);
                let writer = StreamWriter::try_new(file, &schema).map_err(from_arrow)?;
                self.stretches.push(Stretch { writer, places: Vec::new() });
            }
        }
        let mut sorted: Vec<(u64, u64)> = self.places.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let mut rest = sorted.as_slice();
        for (number, stretch) in (1..).zip(&mut self.stretches) {
            let count = rest.partition_point(|(place, _)| *place < self.rows.saturating_mul(number));
            let (here, others) = rest.split_at(count);
            rest = others;
            if here.is_empty() {
                continue;
            }
            let indices = UInt64Array::from_iter_values(here.iter().map(|(_, index)| *index));
            let rows = take_record_batch(&held, &indices).map_err(from_arrow)?;
            stretch.writer.write(&rows).map_err(from_arrow)?;
            stretch.places.extend(here.iter().map(|(place, _)| place));
        }
        (self.held, self.places, self.bytes) = (Vec::new(), Vec::new(), 0);
        Ok(())
    }
}

/// Gives rows in the order of their places.
fn ordered(batches: &[RecordBatch], places: &[u64], put: Put<'_>) -> Result<()> {
    let Some(first) = batches.first() else { return Ok(()) };
    let all = concat_batches(&first.schema(), batches).map_err(from_arrow)?;
    let mut order: Vec<(u64, u64)> = places.iter().copied().zip(0..).collect();
    order.sort_unstable();
    for part in order.chunks(BATCH) {
        let indices = UInt64Array::from_iter_values(part.iter().map(|(_, index)| *index));
        put(&take_record_batch(&all, &indices).map_err(from_arrow)?)?;
    }
    Ok(())
}

fn kept(cause: std::io::Error) -> Error {
    Error::io("cannot keep rows in a temporary file", cause)
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{UInt16Type, UInt64Type};
    use arrow_array::{DictionaryArray, StringArray};
    use arrow_schema::{DataType, Field, Schema};
    use std::sync::Arc;

    use super::*;

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
            for together in [usize::MAX, 20_000, 0] {
                let picked = Picked::new(rows.iter().copied());
                let mut gather = Gather::new(&picked);
                gather.together = together;
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
                assert_eq!(found, rows, "{together}");
                assert!(spilled || together > 0 || rows.len() < 100);
            }
        }
    }
}
