//! Least and greatest values of columns, as a file's statistics have them: those of pages where it has an index of them, otherwise those of row
//! groups.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::DataType;
use container_arrow::ColumnBounds;
use container_core::Result;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::{ColumnOrder, SortOrder};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::page_index::column_index::ColumnIndexMetaData;

use super::read::Reader;
use super::source::{SourceReader, library};

/// Maximum bytes of the index of pages, which is read as a whole.
const MAX_INDEX_BYTES: u64 = 16 << 20;

/// The metadata with the index of pages, once it was read; `None` if the file has no index that can be used.
pub(super) type PageIndex = OnceLock<Option<Arc<ParquetMetaData>>>;

impl Reader {
    /// The bounds of a column, where they are in the order that Arrow compares in.
    pub(super) fn bounds(&self, column: usize) -> Result<Option<ColumnBounds>> {
        let (known, file) = (self.schema().fields().get(column), self.file_schema().fields().get(column));
        let (Some(known), Some(file)) = (known, file) else { return Ok(None) };
        let mut leaves = self.leaves(column);
        let (Some(leaf), None) = (leaves.next(), leaves.next()) else { return Ok(None) };
        // Bounds of units that were restored differ from the values; old statistics order unsigned numbers and text as if signed.
        let is_plain = known.data_type() == file.data_type() && !file.data_type().is_nested();
        let groups = self.metadata().row_groups();
        let order = self.metadata().file_metadata().column_orders().and_then(|orders| orders.get(leaf));
        let has_order = matches!(order, Some(ColumnOrder::TYPE_DEFINED_ORDER(SortOrder::SIGNED | SortOrder::UNSIGNED)));
        let is_ordered = has_order
            && groups.iter().all(|group| {
                let statistics = group.columns().get(leaf).and_then(|chunk| chunk.statistics());
                statistics.is_none_or(|statistics| !statistics.is_min_max_deprecated())
            });
        if !is_plain || !is_ordered {
            return Ok(None);
        }
        let descriptor = self.metadata().file_metadata().schema_descr();
        library("the statistics", || {
            let root = descriptor.get_column_root(leaf).name();
            // The converter finds columns by name, and the leaf by the position of that name.
            let is_unique =
                descriptor.root_schema().get_fields().iter().filter(|field| field.name() == root).count() == 1;
            if !is_unique || root != file.name() {
                return Ok(None);
            }
            let converter = StatisticsConverter::try_new(root, self.file_schema(), descriptor)?;
            if let Some(bounds) = self.page_bounds(leaf, &converter) {
                return Ok(Some(bounds));
            }
            let (min, max) = (converter.row_group_mins(groups)?, converter.row_group_maxes(groups)?);
            let rows = (0..groups.len()).map(|group| self.group_rows(group)).collect();
            Ok(Some(without_nan(ColumnBounds { rows, min, max })))
        })
    }

    /// The bounds of the pages of a column; `None` if the file does not have them.
    fn page_bounds(&self, leaf: usize, converter: &StatisticsConverter<'_>) -> Option<ColumnBounds> {
        let metadata = self.page_index.get_or_init(|| self.read_page_index()).as_ref()?;
        let (pages, offsets) = (metadata.column_index()?, metadata.offset_index()?);
        let mut rows = Vec::new();
        for (group, offsets) in offsets.iter().enumerate() {
            // Files without statistics of pages have an index of where they are.
            if matches!(pages.get(group)?.get(leaf)?, ColumnIndexMetaData::NONE) {
                return None;
            }
            rows.extend(page_rows(
                self.group_rows(group),
                offsets.get(leaf)?.page_locations().iter().map(|page| page.first_row_index),
            )?);
        }
        let groups: Vec<usize> = (0..self.group_count()).collect();
        let read = || {
            let min = converter.data_page_mins(pages, offsets, &groups)?;
            Ok((min, converter.data_page_maxes(pages, offsets, &groups)?))
        };
        let (min, max) = library("the index of pages", read).ok()?;
        (min.len() == rows.len() && max.len() == rows.len()).then(|| without_nan(ColumnBounds { rows, min, max }))
    }

    /// Reads the index of pages. It is only a help: one that is damaged or too large is left alone.
    fn read_page_index(&self) -> Option<Arc<ParquetMetaData>> {
        let chunks = self.metadata().row_groups().iter().flat_map(|group| group.columns());
        let places = chunks.flat_map(|chunk| {
            [
                (chunk.column_index_offset(), chunk.column_index_length()),
                (chunk.offset_index_offset(), chunk.offset_index_length()),
            ]
        });
        let mut span: Option<Range<u64>> = None;
        for place in places {
            let (Some(start), Some(len)) = place else { continue };
            let (start, len) = (u64::try_from(start).ok()?, u64::try_from(len).ok()?);
            let end = start.checked_add(len)?;
            span = Some(span.map_or(start..end, |span| span.start.min(start)..span.end.max(end)));
        }
        let span = span?;
        if span.end > self.source().len() || span.end - span.start > MAX_INDEX_BYTES {
            return None;
        }
        let read = || {
            let metadata = ParquetMetaData::clone(self.metadata());
            let mut reader =
                ParquetMetaDataReader::new_with_metadata(metadata).with_page_index_policy(PageIndexPolicy::Optional);
            reader.read_page_indexes(&SourceReader(self.source().clone()))?;
            reader.finish()
        };
        let metadata = library("the index of pages", read).ok()?;
        let is_whole = |groups: usize| groups == self.group_count();
        let has_all = is_whole(metadata.column_index()?.len()) && is_whole(metadata.offset_index()?.len());
        has_all.then(|| Arc::new(metadata))
    }
}

/// The bounds, unknown where they are NaN: some writers store it for columns that have other values, and the format says that it is ignored.
fn without_nan(mut bounds: ColumnBounds) -> ColumnBounds {
    fn ignored<T: ArrowPrimitiveType>(bounds: &ArrayRef, is_nan: fn(T::Native) -> bool) -> ArrayRef {
        Arc::new(bounds.as_primitive::<T>().unary_opt::<_, T>(|bound| (!is_nan(bound)).then_some(bound)))
    }
    for bounds in [&mut bounds.min, &mut bounds.max] {
        *bounds = match bounds.data_type() {
            DataType::Float16 => ignored::<Float16Type>(bounds, |bound| bound.is_nan()),
            DataType::Float32 => ignored::<Float32Type>(bounds, f32::is_nan),
            DataType::Float64 => ignored::<Float64Type>(bounds, f64::is_nan),
            _ => continue,
        };
    }
    bounds
}

/// The rows of each page of a row group, whose pages begin at these rows; `None` if they do not divide it.
fn page_rows(group: Range<u64>, firsts: impl Iterator<Item = i64>) -> Option<Vec<Range<u64>>> {
    let mut rows: Vec<Range<u64>> = Vec::new();
    for first in firsts {
        let first = group.start.checked_add(u64::try_from(first).ok()?)?;
        match rows.last_mut() {
            Some(last) if first < last.start || first > group.end => return None,
            Some(last) => last.end = first,
            None if first != group.start => return None,
            None => {}
        }
        rows.push(first..group.end);
    }
    // A group without pages has no rows.
    (!rows.is_empty() || group.is_empty()).then_some(rows)
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int64Type;
    use arrow_array::{Float64Array, Int64Array, RecordBatch, StringArray};
    use container_arrow::Predicate;
    use container_core::{Container, Scan, Table};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::{EnabledStatistics, WriterProperties};

    use super::super::tests;
    use super::*;
    use crate::FilteredContainer;

    #[test]
    fn pages_divide_their_row_group() {
        let of = |group: Range<u64>, firsts: &[i64]| page_rows(group, firsts.iter().copied());
        assert_eq!(of(10..30, &[0, 5, 5]), Some(vec![10..15, 15..15, 15..30]));
        assert_eq!(of(10..10, &[]), Some(vec![]));
        for (group, firsts) in
            [(10..30, &[][..]), (10..30, &[1]), (10..30, &[0, -1]), (10..30, &[0, 7, 6]), (10..30, &[0, 21])]
        {
            assert_eq!(of(group, firsts), None, "{firsts:?}");
        }
    }

    /// Row groups of 1000 rows with pages of 100.
    fn file() -> Vec<u8> {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter((0..2500).map(|n| (n % 50 != 7).then_some(n))));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..2500).map(|n| format!("{:05}", 2500 - n))));
        let batch = RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap();
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(1000));
        let properties = properties.set_data_page_row_count_limit(100).set_write_batch_size(50).build();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    fn filtered(file: Vec<u8>, condition: &str) -> Vec<i64> {
        let filter = FilteredContainer::new(Arc::new(tests::open(file)), Predicate::parse(condition).unwrap());
        let tables = filter.tables();
        let mut rows = tables[0].rows(&Scan::default()).unwrap();
        let mut found = Vec::new();
        while rows.advance().unwrap() {
            found.push(i64::try_from(rows.index()).unwrap());
        }
        found
    }

    #[test]
    fn pages_bound_values_more_closely_than_row_groups() {
        let file = file();
        let bounds = |file: Vec<u8>, column| tests::open(file).reader().bounds(column).unwrap().unwrap();
        let found = bounds(file.clone(), 0);
        assert_eq!(found.rows.len(), 25);
        assert_eq!((found.rows[0].clone(), found.rows[24].clone()), (0..100, 2400..2500));
        assert_eq!(found.min.as_primitive::<Int64Type>().value(24), 2400);
        assert_eq!(found.max.as_primitive::<Int64Type>().value(0), 99);
        assert_eq!(bounds(file.clone(), 1).rows, found.rows);
        for (condition, expected) in [
            ("n >= 1234 and n < 1240", (1234..1240).collect::<Vec<_>>()),
            ("n = 7 or t = '00003'", vec![2497]),
            ("n > 2495 and t < '00003'", vec![2498, 2499]),
            ("n is null and t > '02450'", vec![7]),
        ] {
            assert_eq!(filtered(file.clone(), condition), expected, "{condition}");
        }
    }

    /// Row groups of four rows with pages of two, whose bounds are NaN: those of the index of pages and of row groups, or of row groups only.
    #[test]
    fn bounds_of_nan_are_ignored() {
        // In the data, the least and the greatest value have other bytes.
        let (least, greatest) = (-123_456.789_f64, 654_321.125_f64);
        let numbers: ArrayRef = Arc::new(Float64Array::from([least, 1.0, 2.0, greatest].repeat(3)));
        let batch = RecordBatch::try_from_iter([("x", numbers)]).unwrap();
        for level in [EnabledStatistics::Page, EnabledStatistics::Chunk] {
            let properties =
                WriterProperties::builder().set_max_row_group_row_count(Some(4)).set_dictionary_enabled(false);
            let properties = properties.set_data_page_row_count_limit(2).set_write_batch_size(2);
            let mut writer = ArrowWriter::try_new(
                Vec::new(),
                batch.schema(),
                Some(properties.set_statistics_enabled(level).build()),
            )
            .unwrap();
            writer.write(&batch).unwrap();
            let mut file = writer.into_inner().unwrap();
            // Behind the pages there are only bounds.
            let chunks = tests::open(file.clone());
            let groups = chunks.reader().metadata().row_groups();
            let end = groups.last().map(|group| group.column(0).byte_range()).map(|(start, len)| start + len).unwrap();
            let mut replaced = 0;
            for at in usize::try_from(end).unwrap()..file.len() - 8 {
                if [least, greatest].iter().any(|bound| file[at..at + 8] == bound.to_le_bytes()) {
                    file[at..at + 8].copy_from_slice(&f64::NAN.to_le_bytes());
                    replaced += 1;
                }
            }
            assert!(replaced >= 6, "{replaced}");
            let container = tests::open(file.clone());
            let pages = if level == EnabledStatistics::Page { 6 } else { 3 };
            let bounds = container.reader().bounds(0).unwrap().unwrap();
            assert_eq!((bounds.rows.len(), bounds.min.null_count(), bounds.max.null_count()), (pages, 3, 3));
            let details = container.column_details(0).unwrap();
            assert!(!details.contains_key("min") && !details.contains_key("max"), "{details:?}");
            for (condition, expected) in [
                ("x < 1.5", vec![0, 1, 4, 5, 8, 9]),
                ("x = 2", vec![2, 6, 10]),
                ("x between 1 and 2", vec![1, 2, 5, 6, 9, 10]),
                ("x > 1000", vec![3, 7, 11]),
            ] {
                assert_eq!(filtered(file.clone(), condition), expected, "{condition}");
            }
        }
    }

    #[test]
    fn a_damaged_index_is_left_alone() {
        let file = file();
        let container = tests::open(file.clone());
        let chunk = container.reader().metadata().row_group(0).column(0);
        let start = usize::try_from(chunk.offset_index_offset().unwrap()).unwrap();
        let (mut whole, mut groups) = (0, 0);
        for at in start..start + usize::try_from(chunk.offset_index_length().unwrap()).unwrap() {
            let mut damaged = file.clone();
            damaged[at] ^= 2;
            let bounds = tests::open(damaged).reader().bounds(0).unwrap().unwrap();
            assert_eq!(bounds.rows.last().unwrap().end, 2500);
            *(if bounds.rows.len() == 3 { &mut groups } else { &mut whole }) += 1;
        }
        assert!(groups > 0 && whole > 0, "{groups} {whole}");
    }
}
