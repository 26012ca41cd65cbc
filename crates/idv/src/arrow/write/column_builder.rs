//! Building columns from arrays, in bulk where the representations agree.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_schema::DataType;
use arrow_select::take::take;
use container_arrow::from_arrow;
use container_core::{Error, Loss, Position, Result};

use super::mismatch::{LossCounts, RowOf, mismatch, missing};
use super::plan::{ColumnBuilder, sparse_item, zoned_time};
use super::ticks::{self, TickTarget};
use super::values::{decimals, exact_integers, extend_stored, integers, numbers_as_keys, reject_nulls, row_ids, texts};
use crate::arrow::times::MINUTE;
use crate::codec::{DateTimeOffsets, Values, Vectors};
use crate::schema::ColumnSchema;
use crate::wire::{ItemType, Type};
use crate::write::cell::numbers::{NAN, NAN_DOUBLE};

impl ColumnBuilder {
    /// The final column, if its labels were collected from the batches.
    pub(super) fn labeled(&self) -> Result<Option<ColumnSchema>> {
        self.keys.labeled(&self.schema)
    }

    pub(super) fn losses(&self) -> Vec<Loss> {
        let LossCounts { nulls, null_vectors, ambiguous, cut } = &self.lost;
        let all = [
            ("null written as NaN", nulls),
            ("null written as an empty vector", null_vectors),
            ("ambiguous label written as its first key", ambiguous),
            ("time truncated to 100 ns", cut),
        ];
        let losses = all.into_iter().filter(|(_, count)| count.times > 0).map(|(what, count)| {
            Loss::new(what, count.times, Position::of_column(self.name.clone()).in_row(count.first))
        });
        losses.collect()
    }

    /// Appends the rows of an array, starting with row `first` of the file.
    pub(super) fn fill(&mut self, values: &mut Values, array: &ArrayRef, first: u64) -> Result<()> {
        if let Some(parser) = self.parser.as_ref().filter(|parser| parser.parses_rows()) {
            return parser.fill(values, &self.schema.kind, array, &mut self.lost, first);
        }
        match (&self.schema.kind, values) {
            (Type::Vector { .. }, Values::Vector(vectors)) => self.vectors(vectors, array, first),
            (_, values) => self.items(values, array, &|index| first + index as u64),
        }
    }

    fn vectors(&mut self, vectors: &mut Vectors, array: &ArrayRef, first: u64) -> Result<()> {
        if sparse_item(array.data_type()).is_some() {
            return self.sparse(vectors, array, first);
        }
        let (child, ranges): (&ArrayRef, Vec<Range<usize>>) = match array.data_type() {
            DataType::FixedSizeList(_, size) => {
                let size = usize::try_from(*size).unwrap_or(0);
                let ranges = (0..array.len()).map(|row| row * size..(row + 1) * size);
                (array.as_fixed_size_list().values(), ranges.collect())
            }
            DataType::List(_) => (array.as_list::<i32>().values(), ranges(array.as_list::<i32>().value_offsets())),
            DataType::LargeList(_) => (array.as_list::<i64>().values(), ranges(array.as_list::<i64>().value_offsets())),
            other => return Err(mismatch(other)),
        };
        let mut items = std::mem::take(vectors.items_mut());
        items.clear();
        let mut lengths = Vec::with_capacity(ranges.len());
        for (row, range) in ranges.iter().enumerate() {
            if array.is_null(row) {
                self.null_vector(first + row as u64)?;
                lengths.push(0);
            } else {
                lengths.push(i32::try_from(range.len()).map_err(|_| too_long(range.len()))?);
            }
        }
        if array.null_count() == 0 {
            let all = ranges.first().map_or(0, |range| range.start)..ranges.last().map_or(0, |range| range.end);
            // The last row that starts at the item or before.
            let row_of = |item: usize| {
                let row = ranges.partition_point(|range| range.start <= all.start + item).saturating_sub(1);
                first + row as u64
            };
            self.items(&mut items, &child.slice(all.start, all.len()), &row_of)?;
        } else {
            for (row, range) in ranges.iter().enumerate().filter(|(row, _)| array.is_valid(*row)) {
                self.items(&mut items, &child.slice(range.start, range.len()), &|_| first + row as u64)?;
            }
        }
        *vectors = Vectors::dense(lengths, items);
        Ok(())
    }

    fn null_vector(&mut self, row: u64) -> Result<()> {
        let size = self.schema.kind.size();
        if size > 0 {
            return Err(missing(&format!("vector of {size} items"), row));
        }
        self.lost.null_vectors.add(1, row);
        Ok(())
    }

    fn sparse(&mut self, vectors: &mut Vectors, array: &ArrayRef, first: u64) -> Result<()> {
        let parts = array.as_struct();
        let [lengths, indices, values] = parts.columns() else { return Err(mismatch(array.data_type())) };
        let (lengths, indices) = (lengths.as_primitive::<Int32Type>(), indices.as_list::<i32>());
        let values = values.as_list::<i32>();
        *vectors = Vectors::of(self.item);
        for row in 0..array.len() {
            let at = first + row as u64;
            if array.is_null(row) || lengths.is_null(row) || values.is_null(row) {
                self.null_vector(at)?;
                vectors.close_dense()?;
                continue;
            }
            let items = values.value(row);
            self.items(vectors.items_mut(), &items, &|_| at)?;
            let invalid = |error: Error| Error::invalid(error.detail().to_owned()).in_row(at);
            let length = u32::try_from(lengths.value(row))
                .map_err(|_| Error::invalid(format!("vector length {} is negative", lengths.value(row))).in_row(at))?;
            if indices.is_null(row) {
                if items.len() as u64 != u64::from(length) {
                    let detail = format!("expected {length} items in a dense vector, found {}", items.len());
                    return Err(Error::invalid(detail).in_row(at));
                }
                vectors.close_dense().map_err(invalid)?;
                continue;
            }
            let slots = indices.value(row);
            let slots = slots.as_primitive::<Int32Type>();
            // Negative slots become out of range.
            let slots: Vec<u32> = slots.values().iter().map(|&slot| u32::try_from(slot).unwrap_or(u32::MAX)).collect();
            vectors.close_sparse(length, &slots).map_err(invalid)?;
        }
        Ok(())
    }

    /// Appends an array of items.
    fn items(&mut self, out: &mut Values, array: &ArrayRef, row_of: RowOf<'_>) -> Result<()> {
        if let Some(parser) = &self.parser {
            return parser.items(out, self.item, array, row_of);
        }
        if let (Values::Byte(_) | Values::UInt16(_) | Values::UInt32(_) | Values::UInt64(_), ItemType::Key(_)) =
            (&*out, self.item)
        {
            return self.keys(out, array, row_of);
        }
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            let decoded = take(dictionary.values(), dictionary.keys(), None).map_err(from_arrow)?;
            return self.items(out, &decoded, row_of);
        }
        let target = |time, missing| TickTarget { time, missing, cut: self.cut, moment: false };
        match (self.item, out) {
            (ItemType::SByte, Values::SByte(out)) => integers::<Int8Type>(out, array, row_of),
            (ItemType::Byte, Values::Byte(out)) => integers::<UInt8Type>(out, array, row_of),
            (ItemType::Int16, Values::Int16(out)) => integers::<Int16Type>(out, array, row_of),
            (ItemType::UInt16, Values::UInt16(out)) => integers::<UInt16Type>(out, array, row_of),
            (ItemType::Int32, Values::Int32(out)) => integers::<Int32Type>(out, array, row_of),
            (ItemType::UInt32, Values::UInt32(out)) => integers::<UInt32Type>(out, array, row_of),
            (ItemType::Int64, Values::Int64(out)) => integers::<Int64Type>(out, array, row_of),
            (ItemType::UInt64, Values::UInt64(out)) => integers::<UInt64Type>(out, array, row_of),
            (ItemType::Single, Values::Single(out)) => self.singles(out, array, row_of),
            (ItemType::Double, Values::Double(out)) => self.doubles(out, array, row_of),
            (ItemType::TimeSpan, Values::TimeSpan(out)) => {
                ticks::fill(out, array, target(false, false), &mut self.lost, row_of)
            }
            (ItemType::DvTimeSpan, Values::TimeSpan(out)) => {
                ticks::fill(out, array, target(false, true), &mut self.lost, row_of)
            }
            (_, Values::DateTime(out)) => ticks::fill(out, array, target(true, true), &mut self.lost, row_of),
            (_, Values::DateTimeOffset(out)) => self.zoned(out, array, row_of),
            (_, Values::RowId(out)) => row_ids(out, array, row_of),
            (_, Values::Boolean(out)) => {
                let bools = array.as_boolean_opt().ok_or_else(|| mismatch(array.data_type()))?;
                reject_nulls(array, "bool", row_of)?;
                out.extend(bools.values());
                Ok(())
            }
            (_, Values::DvBool(out)) => {
                out.extend(array.as_boolean_opt().ok_or_else(|| mismatch(array.data_type()))?.iter());
                Ok(())
            }
            (_, Values::Text(out)) => texts(out, array),
            (_, out) => Err(Error::usage(format!("expected {} values, found {}", out.variant(), self.item))),
        }
    }

    fn singles(&mut self, out: &mut Vec<f32>, array: &ArrayRef, row_of: RowOf<'_>) -> Result<()> {
        let start = out.len();
        match array.data_type() {
            DataType::Float32 => out.extend_from_slice(array.as_primitive::<Float32Type>().values()),
            DataType::Float16 => {
                out.extend(array.as_primitive::<Float16Type>().values().iter().map(|half| half.to_f32()));
            }
            other => return Err(mismatch(other)),
        }
        self.fill_nulls(out.get_mut(start..).unwrap_or_default(), NAN, array, row_of);
        Ok(())
    }

    fn doubles(&mut self, out: &mut Vec<f64>, array: &ArrayRef, row_of: RowOf<'_>) -> Result<()> {
        let start = out.len();
        macro_rules! whole {
            ($type:ty) => {
                exact_integers(
                    out,
                    array,
                    array.as_primitive::<$type>().values().iter().map(|&x| i128::from(x)),
                    row_of,
                )
            };
        }
        macro_rules! decimal {
            ($type:ty, $scale:expr) => {
                decimals(
                    out,
                    array,
                    array.as_primitive::<$type>().values().iter().map(|&x| i128::from(x)),
                    $scale,
                    row_of,
                )
            };
        }
        match array.data_type() {
            DataType::Float64 => out.extend_from_slice(array.as_primitive::<Float64Type>().values()),
            DataType::Int8 => whole!(Int8Type)?,
            DataType::Int16 => whole!(Int16Type)?,
            DataType::Int32 => whole!(Int32Type)?,
            DataType::Int64 => whole!(Int64Type)?,
            DataType::UInt8 => whole!(UInt8Type)?,
            DataType::UInt16 => whole!(UInt16Type)?,
            DataType::UInt32 => whole!(UInt32Type)?,
            DataType::UInt64 => whole!(UInt64Type)?,
            DataType::Decimal32(_, scale) => decimal!(Decimal32Type, *scale)?,
            DataType::Decimal64(_, scale) => decimal!(Decimal64Type, *scale)?,
            DataType::Decimal128(_, scale) => decimal!(Decimal128Type, *scale)?,
            other => return Err(mismatch(other)),
        }
        self.fill_nulls(out.get_mut(start..).unwrap_or_default(), NAN_DOUBLE, array, row_of);
        Ok(())
    }

    /// Sets nulls, and if untyped every NaN, to .NET's NaN.
    fn fill_nulls<T: Copy + PartialEq>(&mut self, out: &mut [T], nan: T, array: &ArrayRef, row_of: RowOf<'_>) {
        if self.untyped {
            #[expect(clippy::eq_op, reason = "tests for NaN generically")]
            out.iter_mut().filter(|value| **value != **value).for_each(|value| *value = nan);
        }
        if array.null_count() == 0 {
            return;
        }
        for (index, value) in out.iter_mut().enumerate().filter(|(index, _)| array.is_null(*index)) {
            *value = nan;
            if !self.untyped {
                self.lost.nulls.add(1, row_of(index));
            }
        }
    }

    /// Appends instants with an offset, or with the time zone's.
    fn zoned(&mut self, out: &mut DateTimeOffsets, array: &ArrayRef, row_of: RowOf<'_>) -> Result<()> {
        let start = out.ticks.len();
        let target = TickTarget { time: true, missing: true, cut: self.cut, moment: true };
        let minutes = if zoned_time(array.data_type()).is_some() {
            let [time, offset] = array.as_struct().columns() else { return Err(mismatch(array.data_type())) };
            ticks::fill(&mut out.ticks, time, target, &mut self.lost, row_of)?;
            Some(offset.as_primitive::<Int16Type>())
        } else {
            ticks::fill(&mut out.ticks, array, target, &mut self.lost, row_of)?;
            None
        };
        for (index, ticks) in out.ticks.get_mut(start..).unwrap_or_default().iter_mut().enumerate() {
            let offset_missing = minutes.is_some_and(|minutes| minutes.is_null(index));
            if *ticks == i64::MIN || array.is_null(index) || offset_missing {
                *ticks = i64::MIN;
                out.minutes.push(i16::MIN);
                continue;
            }
            let ahead = minutes.map_or(self.zone, |minutes| minutes.value(index));
            let moment = *ticks;
            *ticks = moment.checked_add(i64::from(ahead) * MINUTE).ok_or_else(|| {
                let detail = format!(
                    "instant of {moment} ticks with an offset of {ahead} minutes is outside the years 1 to 9999"
                );
                Error::invalid(detail).in_row(row_of(index))
            })?;
            out.minutes.push(ahead);
        }
        Ok(())
    }

    fn keys(&mut self, out: &mut Values, array: &ArrayRef, row_of: RowOf<'_>) -> Result<()> {
        let (values, indices): (&ArrayRef, Option<Vec<usize>>) = match array.as_any_dictionary_opt() {
            Some(dictionary) if dictionary.values().is_empty() => {
                // Only nulls.
                return extend_stored(out, (0..array.len()).map(|_| Ok(0)));
            }
            Some(dictionary) => (dictionary.values(), Some(dictionary.normalized_keys())),
            None => (array, None),
        };
        if matches!(self.keys, super::keys::Keys::None) {
            return numbers_as_keys(out, array, row_of);
        }
        let (stored, ambiguous) = self.keys.map(values, indices.is_some(), self.max_label_bytes)?;
        let (keys, lost) = (&self.keys, &mut self.lost);
        let all = (0..array.len()).map(|row| {
            if array.is_null(row) {
                return Ok(0);
            }
            let index = indices.as_ref().map_or(row, |indices| indices.get(row).copied().unwrap_or(usize::MAX));
            if ambiguous.get(index).copied().unwrap_or(false) {
                lost.ambiguous.add(1, row_of(row));
            }
            match stored.get(index) {
                Some(Some(stored)) => Ok(*stored),
                _ => Err(keys.unknown(values, index).in_row(row_of(row))),
            }
        });
        extend_stored(out, all)
    }
}

fn ranges<O: OffsetSizeTrait>(offsets: &[O]) -> Vec<Range<usize>> {
    let pairs = offsets.iter().zip(offsets.iter().skip(1));
    pairs.map(|(start, end)| start.as_usize()..end.as_usize()).collect()
}

#[cold]
fn too_long(items: usize) -> Error {
    Error::limit("items of a vector", items as u64, 0x7FFF_FFFF)
}
