//! NetCDF read through the ds reader: the equivalent ds header, and values on demand.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use container_core::{Error, Loss, OpenOptions, Result};

use super::attributes::json;
use super::model::{Attribute, AttributeValue, Kind, Member, NcType, Variable};
use super::reader::{ReadOptions, Reader, memory_bytes};
use super::to_ds::{check_bytes, fields, is_missing_scalar, with_metadata};
use crate::array::{Array, Mask, Values};
use crate::json::Object;
use crate::kernel;
use crate::read::foreign::ForeignSource;
use crate::read::typed::{TypedAttributes, TypedNumbers};
use crate::types::DataType;
use crate::wire::bit_bytes;
use crate::write::field::Field;
use crate::write::layout::{Slot, header};

/// Bytes of a NetCDF-4 variable read at once, rounded to whole chunks of the file.
const BLOCK_BYTES: u64 = 1 << 20;

/// Bounds of the cache of blocks: a scan reads the next rows of all variables in turn.
const MAX_CACHED_BLOCKS: usize = 256;
const MAX_CACHED_BYTES: u64 = 64 << 20;

/// Why a variable is unreadable.
fn problem(variable: &Variable) -> Option<String> {
    variable.problem.clone().or_else(|| variable.unsupported())
}

/// A NetCDF file as a ds reader, with values read on demand: for code that reads ds variables, such as
/// [`Variable::stats`](crate::Variable::stats). Unlike [`ds_view`], it has the unreadable variables too, and the file's order. Elements of any
/// variable of numbers or characters may be missing.
///
/// # Errors
/// [`Limit`](container_core::ErrorKind::Limit) when the header of the equivalent ds file exceeds the limits.
pub fn as_ds(reader: Reader, options: OpenOptions, reading: &ReadOptions) -> Result<crate::Reader> {
    read_as_ds(&Arc::new(reader), options, reading)
}

pub(super) fn read_as_ds(reader: &Arc<Reader>, options: OpenOptions, reading: &ReadOptions) -> Result<crate::Reader> {
    let (header, format) = (ds_header(reader, reading)?, reader.kind().format());
    let values = NetcdfValues {
        reader: Arc::clone(reader),
        variables: columns(reader),
        options: *reading,
        cache: Mutex::default(),
        conversion: None,
    };
    with_values(&header, options, values).map_err(|error| error.in_format(format))
}

/// A NetCDF file as the ds file that [`to_ds`](super::to_ds) writes, with values read on demand: to copy variables, or to merge files. Also returns
/// what ds cannot hold. Errors of values name `file`.
///
/// # Errors
/// As [`to_ds`](super::to_ds), without those of the output; errors of values only when they are read.
pub fn ds_view(reader: Reader, options: &ReadOptions, file: String) -> Result<(crate::Reader, Vec<Loss>)> {
    let format = reader.kind().format();
    let mut losses = Vec::new();
    let (mut variables, mut text_bytes) = (Vec::new(), HashMap::new());
    let builder = fields(&reader, options, &mut losses, |index, variable, data_type, in_memory| {
        variables.push(index);
        if in_memory && variable.nc_type == NcType::String {
            text_bytes.insert(index, 0);
        }
        let (shape, masked) = (reader.shape(variable, options), may_miss(variable, data_type, options));
        if in_memory && masked && shape.is_empty() {
            let array = reader.read(variable, 0..variable.rows(), options)?;
            if is_missing_scalar(&array) {
                return Ok(Field::empty().with_type(variable.nc_type.data_type()));
            }
        }
        Ok(Field::stream(data_type, shape).with_missing(masked))
    })?;
    let mut slots = builder.slots()?;
    for slot in &mut slots {
        if let Some(stream) = builder.fields.get(slot.field).and_then(|(_, field)| field.appended()) {
            slot.masked = stream.masked;
            slot.len = Some(ds_len(stream.data_type, stream.shape, stream.masked).unwrap_or(0));
        }
    }
    let (header, _) = header(&builder.attributes, &builder.fields, &slots).map_err(|error| error.in_format(format))?;
    let variables = slots.iter().filter_map(|slot| Some((*variables.get(slot.field)?, None))).collect();
    let conversion = Some(Conversion { file, text_bytes: Mutex::new(text_bytes) });
    let values =
        NetcdfValues { reader: Arc::new(reader), variables, options: *options, cache: Mutex::default(), conversion };
    let view = with_values(&header, OpenOptions::default(), values).map_err(|error| error.in_format(format))?;
    Ok((view, losses))
}

/// A ds reader with this header and a foreign source of values.
fn with_values(header: &str, options: OpenOptions, values: NetcdfValues) -> Result<crate::Reader> {
    let (reader, variables) = (Arc::clone(&values.reader), values.variables.clone());
    let view = crate::Reader::from_foreign(header, options, Box::new(values), |index| {
        let (index, member) = variables.get(index)?;
        reader.variables().get(*index).filter(|_| member.is_none()).and_then(problem)
    })?;
    // Attributes of Zarr are JSON themselves.
    if reader.kind() == Kind::Zarr {
        return Ok(view);
    }
    let of_variable = |variable: &Variable| (variable.name.clone(), typed(&variable.attributes));
    let variables = reader.variables().iter().map(of_variable).collect();
    Ok(crate::Reader { typed: TypedAttributes { dataset: typed(reader.attributes()), variables }, ..view })
}

/// Attributes of numbers, of which JSON would lose the types. `_FillValue` must have the variable's, whatever type it has.
fn typed(attributes: &[Attribute]) -> TypedNumbers {
    let numbers = |attribute: &Attribute| match &attribute.value {
        AttributeValue::Numbers(numbers) if attribute.name != "_FillValue" => {
            Some((attribute.name.clone(), numbers.clone()))
        }
        _ => None,
    };
    attributes.iter().filter_map(numbers).collect()
}

/// The header of the equivalent ds file, with variables in the order of the NetCDF file.
fn ds_header(reader: &Reader, options: &ReadOptions) -> Result<String> {
    let mut attributes = Object::default();
    for attribute in reader.attributes() {
        attributes.set(crate::json::quoted(&attribute.name), json(&attribute.value));
    }
    let (mut fields, mut slots) = (Vec::new(), Vec::new());
    for (index, (variable, member)) in columns(reader).into_iter().enumerate() {
        let Some(variable) = reader.variables().get(variable) else { continue };
        if let Some(member) = member.and_then(|member| variable.member(member)) {
            let (field, len) = member_field(reader, variable, member, options);
            fields.push((format!("{}.{}", variable.name, member.name()), field));
            slots.push(Slot { field: index, masked: false, len: Some(len) });
            continue;
        }
        let data_type = reader.data_type(variable, options).filter(|_| variable.problem.is_none());
        let shape = reader.shape(variable, options);
        // Losses are reported by the conversion.
        let mut losses = Vec::new();
        let field = match data_type {
            Some(data_type) => Field::stream(data_type, shape),
            None => Field::empty(),
        };
        fields.push((variable.name.clone(), with_metadata(reader, variable, options, field, &mut losses)));
        let masked = data_type.is_some_and(|data_type| may_miss(variable, data_type, options));
        let len = data_type.and_then(|data_type| ds_len(data_type, shape, masked)).unwrap_or(0);
        slots.push(Slot { field: index, masked, len: Some(len) });
    }
    let format = reader.kind().format();
    header(&attributes, &fields, &slots).map(|(text, _)| text).map_err(|error| error.in_format(format))
}

/// Elements of all types but strings may be missing, and strings of Zarr that have a fill value.
fn may_miss(variable: &Variable, data_type: DataType, options: &ReadOptions) -> bool {
    (!data_type.is_text() && data_type != DataType::Bool)
        || options.names && matches!(variable.nc_type, NcType::Enum { .. })
        || variable.nc_type == NcType::Char && data_type == DataType::Str
        || variable.is_zarr() && ["_FillValue", "missing_value"].iter().any(|name| variable.attribute(name).is_some())
}

/// The variables of the view: those of the file, and instead of a compound variable its members.
pub(super) fn columns(reader: &Reader) -> Vec<(usize, Option<usize>)> {
    let mut all = Vec::with_capacity(reader.variables().len());
    for (index, variable) in reader.variables().iter().enumerate() {
        match &variable.nc_type {
            NcType::Compound { members, .. } if variable.problem.is_none() && !members.is_empty() => {
                all.extend((0..members.len()).map(|member| (index, Some(member))));
            }
            _ => all.push((index, None)),
        }
    }
    all
}

/// A member as a field, without the attributes, which describe the whole variable, and its length in a ds file.
fn member_field(reader: &Reader, variable: &Variable, member: &Member, options: &ReadOptions) -> (Field<'static>, u64) {
    let Some(data_type) = member.data_type(options.names) else { return (Field::empty(), 0) };
    let shape: Vec<u64> = variable.shape.iter().chain(&member.shape).copied().collect();
    let own = (0..member.shape.len()).map(|axis| format!("{}.{}_{}", variable.name, member.name(), axis + 1));
    let names: Vec<String> = reader.dimension_names(variable).map(str::to_owned).chain(own).collect();
    let len = ds_len(data_type, &shape, false).unwrap_or(0);
    (Field::stream(data_type, shape).with_dimensions(names), len)
}

/// Length in the ds file with all elements present, strings without their bytes; `None` beyond 2^64.
fn ds_len(data_type: DataType, shape: &[u64], masked: bool) -> Option<u64> {
    let count = super::model::product(shape)?;
    let mask = if masked { bit_bytes(count) } else { 0 };
    let values = match data_type {
        DataType::Bool => bit_bytes(count),
        other => count.checked_mul(other.width().unwrap_or(8) as u64)?,
    };
    values.checked_add(mask)
}

/// Supplies the values of a NetCDF file to the ds reader.
struct NetcdfValues {
    reader: Arc<Reader>,
    /// Index in the file of each variable of the ds header, and the member of a compound.
    variables: Vec<(usize, Option<usize>)>,
    options: ReadOptions,
    /// Recently read blocks, latest first.
    cache: Mutex<VecDeque<Block>>,
    conversion: Option<Conversion>,
}

/// State of a view that replaces a converted file: rows of any size can be read.
struct Conversion {
    /// Name of the file in errors.
    file: String,
    /// Bytes of the strings read of each variable that [`to_ds`](super::to_ds) holds in memory: many may share the same bytes in the file.
    text_bytes: Mutex<HashMap<usize, u64>>,
}

/// Decoded rows of a variable.
struct Block {
    variable: usize,
    /// Of a compound variable.
    member: Option<usize>,
    rows: Range<u64>,
    bytes: u64,
    array: Arc<Array<'static>>,
}

impl NetcdfValues {
    /// True when the rows are read without the cache: rows of a classic file, except a single large row, which is likely requested in parts;
    /// and whole blocks of NetCDF-4.
    fn is_direct(&self, variable: &Variable, rows: &Range<u64>) -> bool {
        let count = rows.end - rows.start;
        let bytes = |count| memory_bytes(variable, count, &self.options);
        if self.conversion.is_some() && bytes(count).is_none_or(|bytes| bytes > self.reader.limits().block_bytes) {
            return false;
        }
        if self.reader.kind() != Kind::Hdf5 {
            let bytes = bytes(1);
            return count > 1 || bytes.is_some_and(|bytes| bytes <= BLOCK_BYTES);
        }
        let step = self.reader.rows_at_once(variable, BLOCK_BYTES);
        variable.shape.is_empty() || rows.start.is_multiple_of(step) && count >= step && count > 1
    }

    /// Reads rows, and counts the bytes of strings.
    fn read_rows(&self, index: usize, variable: &Variable, rows: Range<u64>) -> Result<Array<'static>> {
        let array = self.reader.read(variable, rows, &self.options)?;
        if let (Some(conversion), Some(strings)) = (&self.conversion, array.values().as_strings()) {
            let mut all = conversion.text_bytes.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(bytes) = all.get_mut(&index) {
                *bytes = (*bytes).max(strings.as_bytes().len() as u64);
                let sum = all.values().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
                let checked = self.reader.limits().check_block("bytes of all strings", sum);
                checked.map_err(|error| variable.error(error))?;
            }
        }
        Ok(array)
    }

    fn read_elements(&self, index: usize, elements: Range<u64>) -> Result<(Values<'static>, Option<Mask<'static>>)> {
        let no_variable = || Error::usage(format!("unknown variable {index}"));
        let (index, member) = *self.variables.get(index).ok_or_else(no_variable)?;
        let variable = self.reader.variables().get(index).ok_or_else(no_variable)?;
        if let Some(member) = member {
            return self.read_member(variable, (index, member), elements);
        }
        let row_len = super::model::product(self.reader.shape(variable, &self.options).get(1..).unwrap_or_default());
        let row_len =
            row_len.ok_or_else(|| variable.error(Error::limit("elements of a row", u64::MAX, i64::MAX as u64)))?;
        if elements.is_empty() {
            let data_type = self.reader.data_type(variable, &self.options).ok_or_else(no_variable)?;
            return Ok((Values::with_capacity(data_type, 0), None));
        }
        if let Some(array) = self.reader.read_elements(variable, elements.clone(), &self.options) {
            let (_, values, mask) = array?.into_parts();
            return Ok((values, mask));
        }
        let rows = elements.start / row_len.max(1)..elements.end.div_ceil(row_len.max(1));
        // The values are in memory, so indices fit.
        let within = |range: Range<u64>, first: u64| {
            let index = |element: u64| usize::try_from(element.saturating_sub(first)).unwrap_or(usize::MAX);
            index(range.start)..index(range.end)
        };
        if self.is_direct(variable, &rows) {
            let (_, values, mask) = self.read_rows(index, variable, rows.clone())?.into_parts();
            return slice(values, mask, within(elements, rows.start * row_len));
        }
        let mut gathered: Option<Values<'static>> = None;
        let mut missing: Vec<bool> = Vec::new();
        let mut rest = elements;
        while rest.start < rest.end {
            let (rows, array) = self.block(index, variable, rest.start / row_len.max(1))?;
            let end = rest.end.min(rows.end.saturating_mul(row_len));
            let range = within(rest.start..end, rows.start * row_len);
            missing.extend(range.clone().map(|index| array.mask().is_some_and(|mask| mask.is_missing(index))));
            let values = gathered.get_or_insert_with(|| Values::with_capacity(array.data_type(), range.len()));
            values.extend(array.values(), range);
            rest.start = end;
        }
        let mask = missing.contains(&true).then(|| Mask::from_bools(missing));
        Ok((gathered.ok_or_else(no_variable)?, mask))
    }

    /// Reads an element range of a member of a compound variable, of which all rows are kept: each read decodes the whole variable.
    fn read_member(
        &self,
        variable: &Variable,
        (index, member): (usize, usize),
        elements: Range<u64>,
    ) -> Result<(Values<'static>, Option<Mask<'static>>)> {
        let lock = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let has = |block: &Block| block.variable == index && block.member == Some(member);
        let known = lock().iter().find(|block| has(block)).map(|block| Arc::clone(&block.array));
        let array = match known {
            Some(array) => array,
            None => {
                let rows = 0..variable.rows();
                let array = Arc::new(self.reader.read_member(variable, member, rows.clone(), &self.options)?);
                let width = array.data_type().width().unwrap_or(16) as u64;
                let bytes = (array.len() as u64).saturating_mul(width);
                self.keep(Block { variable: index, member: Some(member), rows, bytes, array: Arc::clone(&array) });
                array
            }
        };
        let within = |element: u64| usize::try_from(element).unwrap_or(usize::MAX);
        let range = within(elements.start)..within(elements.end);
        if range.end > array.len() {
            return Err(Error::truncated("values", elements.end, array.len() as u64));
        }
        let mut values = Values::with_capacity(array.data_type(), range.len());
        values.extend(array.values(), range);
        Ok((values, None))
    }

    /// Puts a block into the cache, and removes the oldest beyond its bounds.
    fn keep(&self, block: Block) {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.push_front(block);
        evict(&mut cache, self.reader.limits().block_bytes);
    }

    /// The block with `row` of the variable at `index`: its row range and values.
    fn block(&self, index: usize, variable: &Variable, row: u64) -> Result<(Range<u64>, Arc<Array<'static>>)> {
        let lock = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let has = |block: &Block| block.variable == index && block.rows.contains(&row);
        if let Some(block) = lock().iter().find(|block| has(block)) {
            return Ok((block.rows.clone(), Arc::clone(&block.array)));
        }
        let step = self.reader.rows_at_once(variable, BLOCK_BYTES);
        let start = row - row % step;
        let rows = start..variable.rows().min(start.saturating_add(step));
        let array = Arc::new(self.read_rows(index, variable, rows.clone())?);
        let bytes = memory_bytes(variable, rows.end - rows.start, &self.options).unwrap_or(u64::MAX);
        self.keep(Block { variable: index, member: None, rows: rows.clone(), bytes, array: Arc::clone(&array) });
        Ok((rows, array))
    }
}

/// Removes the oldest blocks beyond the bounds of the cache. Members of compounds have a bound of their own: without one of them in the cache, the
/// whole variable is read again for each range of rows.
fn evict(cache: &mut VecDeque<Block>, max_member_bytes: u64) {
    let (mut blocks, mut bytes, mut member_bytes) = (0, 0u64, 0u64);
    let mut is_newest = true;
    cache.retain(|block| {
        let fits = if block.member.is_some() {
            member_bytes = member_bytes.saturating_add(block.bytes);
            member_bytes <= max_member_bytes
        } else {
            (blocks, bytes) = (blocks + 1, bytes.saturating_add(block.bytes));
            blocks <= MAX_CACHED_BLOCKS && bytes <= MAX_CACHED_BYTES
        };
        std::mem::take(&mut is_newest) || fits
    });
}

/// A range of values and its part of the mask.
fn slice(
    values: Values<'static>,
    mask: Option<Mask<'static>>,
    range: Range<usize>,
) -> Result<(Values<'static>, Option<Mask<'static>>)> {
    if range == (0..values.len()) {
        return Ok((values, mask));
    }
    if range.end > values.len() {
        return Err(Error::truncated("values", range.end as u64, values.len() as u64));
    }
    let mut part = Values::with_capacity(values.data_type(), range.len());
    part.extend(&values, range.clone());
    let bits = |mask: Mask<'static>| {
        let bytes = mask.as_bits().get(range.start / 8..).unwrap_or_default();
        Mask::from_bits(kernel::shifted(bytes, range.start % 8, range.len()), range.len())
    };
    Ok((part, mask.map(bits).transpose()?))
}

impl ForeignSource for NetcdfValues {
    fn format(&self) -> &'static str {
        self.reader.kind().format()
    }

    fn read(&self, index: usize, elements: Range<u64>) -> Result<(Values<'static>, Option<Mask<'static>>)> {
        self.read_elements(index, elements).map_err(|error| match &self.conversion {
            Some(conversion) => error.in_file(conversion.file.clone()),
            None => error,
        })
    }

    fn check_bytes(&self, bytes: u64) -> Result<()> {
        check_bytes(&self.reader, bytes)
    }

    /// Chunks of Zarr between two runs are not decoded.
    fn max_span(&self) -> u64 {
        if self.reader.kind() == Kind::Zarr { 0 } else { 256 << 10 }
    }

    fn member(&self, index: usize) -> Option<(&str, &[String])> {
        let (variable, member) = self.variables.get(index)?;
        let variable = self.reader.variables().get(*variable)?;
        Some((&variable.name, &variable.member((*member)?)?.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Strings;

    #[test]
    fn members_stay_in_the_cache() {
        let array = Arc::new(Array::new(vec![0], Values::with_capacity(DataType::Int32, 0)).unwrap());
        let block = |variable, member, bytes| Block { variable, member, rows: 0..1, bytes, array: Arc::clone(&array) };
        let mut cache = VecDeque::new();
        let mut put = |block: Block| {
            cache.push_front(block);
            evict(&mut cache, 8 * MAX_CACHED_BYTES);
            cache.iter().map(|block| (block.variable, block.member)).collect::<Vec<_>>()
        };
        // Two members that together exceed the bound of other blocks, which do not evict them.
        put(block(0, Some(0), MAX_CACHED_BYTES));
        put(block(0, Some(1), MAX_CACHED_BYTES));
        put(block(1, None, MAX_CACHED_BYTES));
        assert_eq!(put(block(2, None, 1)), [(2, None), (0, Some(1)), (0, Some(0))]);
        // The newest one is kept whatever its size, and takes the place of the others.
        assert_eq!(put(block(3, Some(0), 9 * MAX_CACHED_BYTES)), [(3, Some(0)), (2, None)]);
        assert_eq!(put(block(4, None, 2 * MAX_CACHED_BYTES)), [(4, None)]);
    }

    #[test]
    fn slices_values_with_mask() {
        let missing: Vec<bool> = (0..29).map(|n| n % 3 == 1 || n == 18).collect();
        let numbers: Vec<i32> = (0..29).collect();
        let texts = || Strings::from_lengths((0..29).map(|n| b'a' + n).collect::<Vec<_>>(), vec![1; 29]).unwrap();
        for (start, end) in [(0, 29), (0, 0), (3, 3), (7, 23), (8, 29), (9, 10)] {
            let mask = Mask::from_bools(missing.iter().copied());
            let (values, mask) = slice(numbers.clone().into(), Some(mask), start..end).unwrap();
            assert_eq!(values.as_slice::<i32>().unwrap(), &numbers[start..end]);
            assert!(mask.unwrap().iter().eq(missing[start..end].iter().copied()), "{start} {end}");
            let (values, mask) = slice(Values::Unicode(texts()), None, start..end).unwrap();
            assert!(values.as_strings().unwrap().iter().eq(texts().iter().skip(start).take(end - start)));
            assert_eq!((mask, values.data_type()), (None, crate::DataType::Unicode));
        }
        assert!(slice(numbers.into(), None, 3..30).is_err());
    }
}
