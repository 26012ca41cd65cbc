//! Feeds the pages of column chunks to the library, and bounds the memory that a batch of their rows takes.
//!
//! Declared sizes do not bound it: a dictionary can give one long string to millions of rows, a run of levels many items to one row. So each page
//! is measured before the library decodes it, and a batch that would become too large fails first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow_schema::{DataType, FieldRef, Fields};
use container_core::Result;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowGroups, RowSelection, RowSelector};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::basic::{Encoding, Type as Physical};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor, Type, TypePtr};

use super::source::{SourceReader, library};
use super::{raw, units};

/// Bytes of a string view, and of the definition and repetition level of an item.
const VIEW: u64 = 16;
const LEVELS: u64 = 4;

/// Pages may expand by this factor without being counted.
const EXPANSION: u64 = 4;

/// Measures the memory that a batch takes in all readers of a row group.
#[derive(Debug)]
pub(super) struct MemoryGauge {
    max_bytes: u64,
    /// Rows per batch.
    rows: u64,
    /// Bytes that dictionaries add to every batch.
    dictionary_bytes: AtomicU64,
    /// Bytes of the current batch's pages.
    page_bytes: AtomicU64,
    exceeded: AtomicBool,
}

impl MemoryGauge {
    pub(super) const fn new(max_bytes: u64, rows: u64) -> Self {
        let (dictionary_bytes, page_bytes) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { max_bytes, rows, dictionary_bytes, page_bytes, exceeded: AtomicBool::new(false) }
    }

    /// Begins a batch.
    pub(super) fn begin(&self) {
        self.page_bytes.store(0, Ordering::Relaxed);
    }

    /// The bytes that the batch would have taken, if a page was rejected.
    pub(super) fn exceeded(&self) -> Option<u64> {
        let bytes =
            || self.dictionary_bytes.load(Ordering::Relaxed).saturating_add(self.page_bytes.load(Ordering::Relaxed));
        self.exceeded.load(Ordering::Relaxed).then(bytes)
    }

    fn add(&self, to: &AtomicU64, bytes: u64) -> ParquetResult<()> {
        // The sum cannot overflow: beyond the limit pages are rejected.
        to.fetch_add(bytes.min(1 << 48), Ordering::Relaxed);
        let sum = self.dictionary_bytes.load(Ordering::Relaxed).saturating_add(self.page_bytes.load(Ordering::Relaxed));
        if sum <= self.max_bytes {
            return Ok(());
        }
        self.exceeded.store(true, Ordering::Relaxed);
        Err(ParquetError::General("the batch takes too much memory".to_owned()))
    }
}

/// Minimum Arrow bytes of a value of a type, whatever the file stores.
pub(super) fn min_width(data_type: &DataType) -> u64 {
    match data_type {
        DataType::FixedSizeList(item, size) => {
            u64::try_from(*size).unwrap_or(0).saturating_mul(min_width(item.data_type()))
        }
        DataType::Struct(members) => {
            members.iter().map(|member| min_width(member.data_type())).fold(0, u64::saturating_add)
        }
        DataType::FixedSizeBinary(width) => u64::try_from(*width).unwrap_or(0),
        other => other.primitive_width().map_or(4, |width| width as u64),
    }
}

/// Rows and columns of a row group to read.
pub(super) struct PageSelection<'a> {
    pub(super) group: usize,
    /// Column indexes, in the order of the file.
    pub(super) columns: &'a [usize],
    pub(super) skip: usize,
    pub(super) take: usize,
    /// Read strings as views: a dictionary value is then stored once, however many rows have it.
    pub(super) views: bool,
}

/// The library's reader for the selected columns of a row group.
pub(super) fn reader(
    source: &SourceReader,
    metadata: &Arc<ParquetMetaData>,
    fields: &Fields,
    leaves: Vec<usize>,
    selection: &PageSelection<'_>,
    gauge: &Arc<MemoryGauge>,
) -> Result<ParquetRecordBatchReader> {
    let batch = usize::try_from(gauge.rows).unwrap_or(usize::MAX).min(selection.take).max(1);
    let root = metadata.file_metadata().schema_descr().root_schema();
    let columns =
        selection.columns.iter().filter_map(|&column| Some((fields.get(column)?, root.get_fields().get(column)?)));
    let (fields, types): (Vec<FieldRef>, Vec<&TypePtr>) = columns
        .map(|(field, column)| {
            let field = raw::field(field, column);
            (if selection.views { units::with_views(&field) } else { field }, column)
        })
        .unzip();
    let fields = Fields::from(fields);
    library("the row group", || {
        let types = types.into_iter().map(raw::column).collect::<ParquetResult<_>>()?;
        let root = Type::group_type_builder(root.name()).with_fields(types).build()?;
        let schema = SchemaDescriptor::new(Arc::new(root));
        let levels = parquet_to_arrow_field_levels(&schema, ProjectionMask::all(), Some(&fields))?;
        let group = metadata.row_group(selection.group);
        let pages = Pages {
            source,
            metadata,
            group,
            number: selection.group,
            leaves,
            views: selection.views,
            rows: batch as u64,
            gauge,
        };
        let is_all = selection.skip == 0 && selection.take == pages.num_rows();
        let rows = [RowSelector::skip(selection.skip), RowSelector::select(selection.take)];
        let selection = (!is_all).then(|| RowSelection::from(rows.to_vec()));
        ParquetRecordBatchReader::try_new_with_row_groups(&levels, &pages, batch, selection)
    })
}

struct Pages<'a> {
    source: &'a SourceReader,
    metadata: &'a Arc<ParquetMetaData>,
    group: &'a RowGroupMetaData,
    number: usize,
    /// The file's leaf index for each leaf of the projected schema.
    leaves: Vec<usize>,
    views: bool,
    /// Rows per batch.
    rows: u64,
    gauge: &'a Arc<MemoryGauge>,
}

impl RowGroups for Pages<'_> {
    fn num_rows(&self) -> usize {
        usize::try_from(self.group.num_rows()).unwrap_or(0)
    }

    fn column_chunks(&self, leaf: usize) -> ParquetResult<Box<dyn PageIterator>> {
        let chunk = self.leaves.get(leaf).and_then(|leaf| Some((*leaf, self.group.columns().get(*leaf)?)));
        let (leaf, chunk) = chunk.ok_or_else(|| ParquetError::General("column without pages".to_owned()))?;
        let index = self.metadata.offset_index().and_then(|index| index.get(self.number)?.get(leaf));
        let locations = index.map(|index| index.page_locations().clone());
        let inner = SerializedPageReader::new(Arc::new(self.source.clone()), chunk, self.num_rows(), locations)?;
        let values = LeafLayout::of(chunk.column_descr(), self.views);
        let pages = MeasuredPages { inner, values, longest: 0, rows: self.rows, gauge: Arc::clone(self.gauge) };
        Ok(Box::new(SinglePageIterator(Some(Box::new(pages)))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.group))
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.metadata
    }
}

/// Yields the pages of one column chunk.
struct SinglePageIterator(Option<Box<dyn PageReader>>);

impl Iterator for SinglePageIterator {
    type Item = ParquetResult<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageIterator for SinglePageIterator {}

/// Sizes of a leaf column's values.
struct LeafLayout {
    /// Bytes per value, without string data.
    width: u64,
    /// String data is copied for each value.
    copied: bool,
    text: bool,
    /// A row may have many values.
    repeated: bool,
    /// The maximum levels.
    max_rep_level: i16,
    max_def_level: i16,
}

impl LeafLayout {
    fn of(leaf: &ColumnDescriptor, views: bool) -> Self {
        let text = leaf.physical_type() == Physical::BYTE_ARRAY;
        let (max_rep_level, max_def_level) = (leaf.max_rep_level(), leaf.max_def_level());
        let width = match leaf.physical_type() {
            Physical::BYTE_ARRAY if views => VIEW,
            Physical::BOOLEAN => 1,
            Physical::INT32 | Physical::FLOAT | Physical::BYTE_ARRAY => 4,
            Physical::INT64 | Physical::DOUBLE => 8,
            Physical::INT96 => 12,
            Physical::FIXED_LEN_BYTE_ARRAY => u64::try_from(leaf.type_length()).unwrap_or(0),
        };
        let repeated = max_rep_level > 0;
        Self { width, copied: text && !views, text, repeated, max_rep_level, max_def_level }
    }
}

/// Measures pages before they are decoded.
struct MeasuredPages {
    inner: SerializedPageReader<SourceReader>,
    values: LeafLayout,
    /// Bytes of the dictionary's longest string.
    longest: u64,
    /// Rows per batch.
    rows: u64,
    gauge: Arc<MemoryGauge>,
}

impl MeasuredPages {
    fn measure(&mut self, page: &Page) -> ParquetResult<()> {
        let count = u64::from(page.num_values());
        match page {
            Page::DictionaryPage { buf, .. } => {
                if self.values.copied {
                    self.longest = longest(buf);
                    if !self.values.repeated {
                        let bytes = self.rows.saturating_mul(self.longest);
                        self.gauge.add(&self.gauge.dictionary_bytes, bytes)?;
                    }
                }
            }
            Page::DataPage { buf, encoding, .. } | Page::DataPageV2 { buf, encoding, .. } => {
                let mut bytes = 0_u64;
                if self.values.repeated {
                    let text = if is_dictionary(*encoding) { self.longest } else { 0 };
                    bytes = count.saturating_mul(self.values.width.saturating_add(LEVELS).saturating_add(text));
                }
                // Strings may share prefixes, so the data expands.
                if self.values.text && *encoding == Encoding::DELTA_BYTE_ARRAY {
                    let values = levels_bytes(page, &self.values).and_then(|levels| buf.get(levels..));
                    let own = buf.len() as u64;
                    let (sum, most) = values.and_then(|values| sum_of_deltas(values, count)).unwrap_or_default();
                    let all = sum.saturating_add(own);
                    // Without lists, a batch has one value per row.
                    let batch = self.rows.saturating_mul(most.saturating_add(own));
                    bytes = bytes.saturating_add(if self.values.repeated { all } else { all.min(batch) });
                }
                // Only the expansion counts: the batch size was chosen by stored bytes.
                let excess = bytes.saturating_sub(EXPANSION.saturating_mul((buf.len() as u64).min(1 << 20)));
                if excess > 0 {
                    self.gauge.add(&self.gauge.page_bytes, excess)?;
                }
            }
        }
        Ok(())
    }
}

impl Iterator for MeasuredPages {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for MeasuredPages {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        let page = self.inner.get_next_page()?;
        if let Some(page) = &page {
            self.measure(page)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.inner.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> ParquetResult<bool> {
        self.inner.at_record_boundary()
    }
}

const fn is_dictionary(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY)
}

/// Length of the longest string in a dictionary page of length-prefixed strings.
fn longest(mut texts: &[u8]) -> u64 {
    let mut longest = 0;
    while let Some((length, rest)) = texts.split_first_chunk() {
        let length = u32::from_le_bytes(*length);
        longest = longest.max(length);
        texts = usize::try_from(length).ok().and_then(|length| rest.get(length..)).unwrap_or_default();
    }
    longest.into()
}

/// Bytes of a page's levels, which precede its values.
fn levels_bytes(page: &Page, leaf: &LeafLayout) -> Option<usize> {
    match page {
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
            usize::try_from(def_levels_byte_len.checked_add(*rep_levels_byte_len)?).ok()
        }
        Page::DataPage { buf, num_values, def_level_encoding, rep_level_encoding, .. } => {
            let levels = [(leaf.max_rep_level, rep_level_encoding), (leaf.max_def_level, def_level_encoding)];
            levels.into_iter().filter(|(most, _)| *most > 0).try_fold(0_usize, |at, (most, encoding)| {
                let length = if *encoding == Encoding::RLE {
                    u32::from_le_bytes(*buf.get(at..)?.first_chunk()?).checked_add(4)?
                } else {
                    let bits = u64::from(u16::BITS - most.unsigned_abs().leading_zeros());
                    u32::try_from((bits * u64::from(*num_values)).div_ceil(8)).ok()?
                };
                at.checked_add(usize::try_from(length).ok()?)
            })
        }
        Page::DictionaryPage { .. } => None,
    }
}

/// Sum and maximum of delta-encoded (DELTA_BINARY_PACKED) numbers.
fn sum_of_deltas(mut bytes: &[u8], count: u64) -> Option<(u64, u64)> {
    let bytes = &mut bytes;
    let (block, parts) = (varint(bytes)?, varint(bytes)?);
    let mut left = varint(bytes)?.min(count);
    let each = block.checked_div(parts).filter(|each| *each > 0)?;
    let (mut sum, mut most) = (0_u64, 0_u64);
    let mut value = zigzag(bytes)?;
    let mut add = |value: i64| {
        let value = u64::try_from(value).unwrap_or(0);
        (sum, most) = (sum.saturating_add(value), most.max(value));
    };
    if left > 0 {
        add(value);
    }
    left = left.saturating_sub(1);
    while left > 0 {
        let least = zigzag(bytes)?;
        let widths = bytes.split_off(..usize::try_from(parts).ok()?)?;
        for &width in widths {
            let length = each.checked_mul(u64::from(width))?.div_ceil(8);
            // The last miniblock may be truncated.
            let packed = bytes.split_off(..usize::try_from(length).ok()?.min(bytes.len()))?;
            for number in 0..each.min(left) {
                let delta = bits(packed, number * u64::from(width), width);
                value = value.wrapping_add(least).wrapping_add(delta.cast_signed());
                add(value);
            }
            left = left.saturating_sub(each);
        }
    }
    Some((sum, most))
}

/// Extracts `width` bits, least significant first; bits beyond the end are zero.
fn bits(bytes: &[u8], from: u64, width: u8) -> u64 {
    let Ok(start) = usize::try_from(from / 8) else { return 0 };
    let mut sixteen = [0_u8; 16];
    let found = bytes.get(start..).unwrap_or_default();
    sixteen.iter_mut().zip(found).for_each(|(to, from)| *to = *from);
    let all = u128::from_le_bytes(sixteen) >> (from % 8);
    let mask = 1_u128.checked_shl(width.into()).map_or(u128::MAX, |bit| bit - 1);
    u64::try_from(all & mask & u128::from(u64::MAX)).unwrap_or(0)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.split_off_first()?;
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Some(value);
        }
    }
    None
}

fn zigzag(bytes: &mut &[u8]) -> Option<i64> {
    let value = varint(bytes)?;
    Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_delta_encoded_lengths() {
        // Blocks of 128 numbers in 4 parts; 5 numbers: 7, 5, 3, 1, 2, with deltas -2 and +1 in 2 bits above -2.
        let mut bytes = vec![128, 1, 4, 5, 14, 3, 2, 0, 0, 0];
        bytes.extend([0b1100_0000, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(sum_of_deltas(&bytes, 5), Some((7 + 5 + 3 + 1 + 2, 7)));
        assert_eq!(sum_of_deltas(&bytes, 2), Some((12, 7)));
        assert_eq!(sum_of_deltas(&bytes[..3], 5), None);
        assert_eq!(sum_of_deltas(&[0, 0, 9, 2], 9), None);
        assert_eq!(bits(&[0b1010_0000, 1], 5, 4), 0b1101);
    }

    #[test]
    fn finds_longest_dictionary_value() {
        assert_eq!(longest(&[1, 0, 0, 0, b'a', 3, 0, 0, 0, b'a', b'b', b'c', 0, 0, 0, 0]), 3);
        assert_eq!((longest(&[]), longest(&[9, 0, 0, 0, 1])), (0, 9));
    }

    #[test]
    fn computes_min_width_of_types() {
        let of = |kind: &str| min_width(&kind.parse().unwrap());
        assert_eq!((of("Int16"), of("Utf8"), of("FixedSizeBinary(100)")), (2, 4, 100));
        assert_eq!(of("FixedSizeList(1000 x Float64)"), 8000);
        assert_eq!(of(r#"Struct("a": Int64, "b": Int32)"#), 12);
    }
}
