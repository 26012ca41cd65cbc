//! NetCDF as a container: exposes the tables of the equivalent ds file, reading values on demand.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use container_core::{
    ColumnInfo, Container, Error, ErrorKind, Finding, Format, Input, OpenOptions, Probe, Recognition, Result, Rows,
    Scan, Source, Table, Unit, VerifyOptions,
};
use serde_json::{Map, Value};

use super::attributes::json;
use super::model::{Kind, NcType, Variable};
use super::reader::{ReadOptions, Reader};
use super::to_ds::{check_declared_bytes, for_each_chunk, with_metadata};
use super::{FORMAT_NAME, display};
use crate::array::{Array, Mask, Values};
use crate::container::{DsContainer, DsTable, TimeForm};
use crate::json::Object;
use crate::kernel;
use crate::read::foreign::ForeignSource;
use crate::read::index::Index;
use crate::types::DataType;
use crate::wire::{Header, MAGIC, VERSION, bit_bytes};
use crate::write::field::Field;
use crate::write::layout::{Slot, header};

/// The NetCDF format, with times as stored.
pub const FORMAT: &dyn Format = &Netcdf(TimeForm::Stored);

/// Bytes of a NetCDF-4 variable read at once, rounded to whole chunks of the file.
const BLOCK_BYTES: u64 = 1 << 20;

/// Bounds of the cache of blocks: a scan reads the next rows of all variables in turn.
const MAX_CACHED_BLOCKS: usize = 256;
const MAX_CACHED_BYTES: u64 = 64 << 20;

struct Netcdf(TimeForm);

impl TimeForm {
    /// The NetCDF format with this representation of times.
    #[must_use]
    pub fn netcdf(self) -> &'static dyn Format {
        match self {
            Self::Stored => FORMAT,
            Self::Iso => &Netcdf(Self::Iso),
            Self::Julian => &Netcdf(Self::Julian),
        }
    }
}

impl Format for Netcdf {
    fn name(&self) -> &'static str {
        FORMAT_NAME
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["nc", "nc4", "cdf"]
    }

    /// Recognizes any HDF5 file; opening it shows whether it is NetCDF-4.
    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let magic = [&b"CDF\x01"[..], b"CDF\x02", b"CDF\x05", b"\x89HDF\r\n\x1a\n"];
        if magic.iter().any(|magic| probe.head.starts_with(magic)) {
            Recognition::Content
        } else if !probe.directory && probe.has_extension(self.extensions()) {
            Recognition::Name
        } else {
            Recognition::No
        }
    }

    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        let Some(source) = input.source() else {
            return Err(Error::usage("expected a file, found a directory").in_format(FORMAT_NAME));
        };
        let reader = Reader::from_source(source.clone(), *options)?;
        Ok(Box::new(NetcdfContainer::new(reader, *options)?.with_times(self.0)))
    }
}

/// A [`Reader`] as a [`Container`]. Tables, rows and columns are those of the ds file that [`to_ds`](super::to_ds) writes with default options,
/// except that elements of any variable of numbers or characters may be missing, because NetCDF has implicit fill values.
///
/// Variables of types that ds does not have are unreadable columns. Caches up to 64 MiB of NetCDF-4 chunks.
pub struct NetcdfContainer {
    reader: Arc<Reader>,
    inner: DsContainer,
    tables: Vec<NetcdfTable>,
}

struct NetcdfTable {
    reader: Arc<Reader>,
    inner: Arc<DsTable>,
}

impl NetcdfContainer {
    /// Wraps a reader.
    ///
    /// # Errors
    /// [`Limit`](ErrorKind::Limit) when the header of the equivalent ds file exceeds the limits.
    pub fn new(reader: Reader, options: OpenOptions) -> Result<Self> {
        let reader = Arc::new(reader);
        let inner = read_as_ds(&reader, options)?;
        Ok(Self { tables: Vec::new(), inner: DsContainer::new(inner), reader }.with_times(TimeForm::Stored))
    }

    /// Sets the representation of times.
    #[must_use]
    pub fn with_times(mut self, form: TimeForm) -> Self {
        self.inner = self.inner.with_times(form);
        let table = |table| NetcdfTable { reader: Arc::clone(&self.reader), inner: Arc::clone(table) };
        self.tables = self.inner.tables.iter().map(table).collect();
        self
    }

    /// The wrapped reader.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }
}

/// Why a variable is unreadable.
fn problem(variable: &Variable) -> Option<String> {
    let unsupported =
        || matches!(variable.nc_type, NcType::Other(_)).then(|| format!("unsupported type {}", variable.nc_type));
    variable.problem.clone().or_else(unsupported)
}

/// A NetCDF file as a ds reader, with values read on demand: for code that reads ds variables, such as
/// [`Variable::stats`](crate::Variable::stats). Copying bytes of the file fails, as there is no ds body. Elements of any variable of numbers or
/// characters may be missing.
///
/// # Errors
/// [`Limit`](ErrorKind::Limit) when the header of the equivalent ds file exceeds the limits.
pub fn as_ds(reader: Reader, options: OpenOptions) -> Result<crate::Reader> {
    read_as_ds(&Arc::new(reader), options)
}

fn read_as_ds(reader: &Arc<Reader>, options: OpenOptions) -> Result<crate::Reader> {
    let header = ds_header(reader)?;
    let values = NetcdfValues { reader: Arc::clone(reader), cache: Mutex::default() };
    with_values(&header, options, values).map_err(|error| error.in_format(FORMAT_NAME))
}

/// A ds reader with this header and a foreign source of values.
fn with_values(header: &str, options: OpenOptions, values: NetcdfValues) -> Result<crate::Reader> {
    let start = MAGIC.len() + VERSION.len() + 1;
    let line = header.get(start..).unwrap_or_default().to_owned();
    // Offsets and lengths are fictional: accept any.
    let mut header = Header::parse(line.into(), start as u64, u64::MAX, &options.limits)?;
    for (entry, variable) in header.entries.iter_mut().zip(values.reader.variables()) {
        entry.problem = problem(variable).or(entry.problem.take());
    }
    let indexes = header.entries.iter().map(|_| Index::default()).collect();
    let source = Source::from(Vec::new());
    let foreign: Option<Box<dyn ForeignSource>> = Some(Box::new(values));
    Ok(crate::Reader { source, options, header, body: 0, indexes, names: OnceLock::new(), foreign })
}

/// The header of the equivalent ds file, with variables in the order of the NetCDF file.
fn ds_header(reader: &Reader) -> Result<String> {
    let options = ReadOptions::default();
    let mut attributes = Object::default();
    for attribute in reader.attributes() {
        attributes.set(crate::json::quoted(&attribute.name), json(&attribute.value));
    }
    let (mut fields, mut slots) = (Vec::new(), Vec::new());
    for (index, variable) in reader.variables().iter().enumerate() {
        let data_type = reader.data_type(variable, &options).filter(|_| variable.problem.is_none());
        let shape = reader.shape(variable, &options);
        // Losses are reported by the conversion.
        let mut losses = Vec::new();
        let field = match data_type {
            Some(data_type) => Field::stream(data_type, shape),
            None => Field::empty(),
        };
        fields.push((variable.name.clone(), with_metadata(reader, variable, &options, field, &mut losses)));
        let masked = data_type.is_some_and(|data_type| may_miss(variable, data_type));
        let len = data_type.and_then(|data_type| ds_len(data_type, shape, masked)).unwrap_or(0);
        slots.push(Slot { field: index, masked, len: Some(len) });
    }
    header(&attributes, &fields, &slots).map(|(text, _)| text).map_err(|error| error.in_format(FORMAT_NAME))
}

/// Elements of all types but strings may be missing.
fn may_miss(variable: &Variable, data_type: DataType) -> bool {
    !data_type.is_text() || variable.nc_type == NcType::Char && data_type == DataType::Str
}

/// Length in the ds file with all elements present, strings without their bytes; `None` beyond 2^64.
fn ds_len(data_type: DataType, shape: &[u64], masked: bool) -> Option<u64> {
    let count = super::model::product(shape)?;
    let mask = if masked { bit_bytes(count) } else { 0 };
    count.checked_mul(data_type.width().unwrap_or(8) as u64)?.checked_add(mask)
}

/// Supplies the values of a NetCDF file to the ds reader.
struct NetcdfValues {
    reader: Arc<Reader>,
    /// Recently read blocks, latest first.
    cache: Mutex<VecDeque<Block>>,
}

/// Decoded rows of a variable.
struct Block {
    variable: usize,
    rows: Range<u64>,
    bytes: u64,
    array: Arc<Array<'static>>,
}

impl NetcdfValues {
    /// True when the rows are read without the cache: rows of a classic file, except a single large row, which is likely requested in parts;
    /// and whole blocks of NetCDF-4.
    fn is_direct(&self, variable: &Variable, rows: &Range<u64>) -> bool {
        let count = rows.end - rows.start;
        if self.reader.kind() != Kind::Hdf5 {
            let bytes = super::reader::memory_bytes(variable, 1, &ReadOptions::default());
            return count > 1 || bytes.is_some_and(|bytes| bytes <= BLOCK_BYTES);
        }
        let step = self.reader.rows_at_once(variable, BLOCK_BYTES);
        variable.shape.is_empty() || rows.start.is_multiple_of(step) && count >= step && count > 1
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
        let options = ReadOptions::default();
        let array = Arc::new(self.reader.read(variable, rows.clone(), &options)?);
        let bytes = super::reader::memory_bytes(variable, rows.end - rows.start, &options).unwrap_or(u64::MAX);
        let mut cache = lock();
        cache.push_front(Block { variable: index, rows: rows.clone(), bytes, array: Arc::clone(&array) });
        let mut sum = 0u64;
        let fitting = cache.iter().take(MAX_CACHED_BLOCKS).take_while(|block| {
            sum = sum.saturating_add(block.bytes);
            sum <= MAX_CACHED_BYTES
        });
        let fitting = fitting.count().max(1);
        cache.truncate(fitting);
        Ok((rows, array))
    }
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
        FORMAT_NAME
    }

    fn read(&self, index: usize, elements: Range<u64>) -> Result<(Values<'static>, Option<Mask<'static>>)> {
        let no_variable = || Error::usage(format!("unknown variable {index}"));
        let variable = self.reader.variables().get(index).ok_or_else(no_variable)?;
        let options = ReadOptions::default();
        let row_len = super::model::product(self.reader.shape(variable, &options).get(1..).unwrap_or_default());
        let row_len =
            row_len.ok_or_else(|| variable.error(Error::limit("elements of a row", u64::MAX, i64::MAX as u64)))?;
        if elements.is_empty() {
            let data_type = self.reader.data_type(variable, &options).ok_or_else(no_variable)?;
            return Ok((Values::with_capacity(data_type, 0), None));
        }
        let rows = elements.start / row_len.max(1)..elements.end.div_ceil(row_len.max(1));
        // The values are in memory, so indices fit.
        let within = |range: Range<u64>, first: u64| {
            let index = |element: u64| usize::try_from(element.saturating_sub(first)).unwrap_or(usize::MAX);
            index(range.start)..index(range.end)
        };
        if self.is_direct(variable, &rows) {
            let (_, values, mask) = self.reader.read(variable, rows.clone(), &options)?.into_parts();
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

    fn check_declared_bytes(&self) -> Result<()> {
        check_declared_bytes(&self.reader, &ReadOptions::default())
    }
}

impl Container for NetcdfContainer {
    fn format(&self) -> &'static str {
        FORMAT_NAME
    }

    /// The number of the CDF version, or 4.
    fn version(&self) -> String {
        match self.reader.kind() {
            Kind::Classic => "1",
            Kind::Offset64 => "2",
            Kind::Data64 => "5",
            Kind::Hdf5 => "4",
        }
        .to_owned()
    }

    fn details(&self) -> Map<String, Value> {
        let dimensions = self.reader.dimensions();
        let mut details = Map::new();
        details.insert("kind".to_owned(), self.reader.kind().name().into());
        details.insert("bytes".to_owned(), self.reader.source().len().into());
        let sizes = dimensions.iter().map(|dimension| (dimension.name.clone(), dimension.size.into()));
        details.insert("dimensions".to_owned(), Value::Object(sizes.collect()));
        let unlimited = dimensions.iter().filter(|dimension| dimension.unlimited);
        details.insert("unlimited".to_owned(), unlimited.map(|dimension| dimension.name.as_str()).collect());
        details.insert("attributes".to_owned(), display::attributes(self.reader.attributes()).into());
        if !self.reader.losses().is_empty() {
            let losses = self.reader.losses().iter().map(|loss| loss.what.as_str());
            details.insert("not_in_ds".to_owned(), losses.collect());
        }
        details
    }

    fn tables(&self) -> Vec<&dyn Table> {
        self.tables.iter().map(|table| -> &dyn Table { table }).collect()
    }

    /// Reads all values. Reports unreadable variables as errors, and what ds has no type for as warnings.
    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        let variables = self.reader.variables();
        let progress = options.progress.as_deref();
        if let Some(progress) = progress {
            progress.begin(Unit::Rows, Some(variables.iter().map(Variable::rows).fold(0, u64::saturating_add)));
        }
        for loss in self.reader.losses() {
            report(Finding::warning(Error::unsupported(loss.what.clone()).in_format(FORMAT_NAME)));
        }
        let reading = ReadOptions::default();
        if let Err(error) = check_declared_bytes(&self.reader, &reading) {
            report(Finding::error(error));
            return Ok(());
        }
        for variable in variables.iter().filter(|variable| !matches!(variable.nc_type, NcType::Other(_))) {
            let read = match &variable.problem {
                Some(problem) => Err(variable.error(Error::invalid(problem.clone()))),
                None => for_each_chunk(&self.reader, variable, &reading, |_| Ok(())),
            };
            match read {
                Err(error) if error.kind() == ErrorKind::Io => return Err(error),
                Err(error) => report(Finding::error(error)),
                Ok(()) => {}
            }
            if let Some(progress) = progress {
                progress.advance(variable.rows());
            }
        }
        Ok(())
    }
}

impl NetcdfTable {
    fn variable(&self, column: usize) -> Result<&Variable> {
        let unknown = || Error::usage(format!("unknown column {column}")).in_format(FORMAT_NAME);
        let index = self.inner.header_index(column).ok_or_else(unknown)?;
        self.reader.variables().get(index).ok_or_else(unknown)
    }
}

/// Header data of a variable other than name and type.
fn summary(reader: &Reader, variable: &Variable) -> Map<String, Value> {
    let names: Vec<&str> = reader.dimension_names(variable).collect();
    let stored = variable.nc_type.data_type();
    let mut details = Map::new();
    details.insert("nc_type".to_owned(), variable.nc_type.to_string().into());
    details.insert("dimensions".to_owned(), names.into());
    details.insert("shape".to_owned(), variable.shape.as_slice().into());
    if stored.and_then(|stored| stored.width()) > Some(1) {
        details.insert("endian".to_owned(), if variable.big_endian { "b" } else { "l" }.into());
    }
    if let Some(chunks) = &variable.chunks {
        details.insert("chunks".to_owned(), chunks.as_slice().into());
    }
    if let NcType::Enum { members, .. } = &variable.nc_type {
        let number = |number: i128| {
            let signed = i64::try_from(number).map(Value::from);
            signed.or_else(|_| u64::try_from(number).map(Value::from)).unwrap_or_default()
        };
        let members = members.iter().map(|(name, value)| (name.clone(), number(*value)));
        details.insert("members".to_owned(), Value::Object(members.collect()));
    }
    details
}

impl Table for NetcdfTable {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn columns(&self) -> &[ColumnInfo] {
        self.inner.columns()
    }

    fn infer_columns(&self) -> Result<()> {
        Ok(()) // the header describes all columns
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        self.variable(index).map(|variable| summary(&self.reader, variable)).unwrap_or_default()
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        let variable = self.variable(index)?;
        let mut details = Map::new();
        if !variable.attributes.is_empty() {
            details.insert("attributes".to_owned(), display::attributes(&variable.attributes).into());
        }
        Ok(details)
    }

    fn len(&self) -> Option<u64> {
        self.inner.len()
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        self.inner.rows(scan)
    }

    fn find(&self, _: &str) -> Result<Option<u64>> {
        Err(Error::usage("NetCDF rows have no keys: use the row number").in_format(FORMAT_NAME))
    }

    #[cfg(feature = "arrow")]
    fn arrow(&self) -> Option<&dyn container_arrow::ArrowTable> {
        self.inner.arrow()
    }
}

impl std::fmt::Debug for NetcdfContainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NetcdfContainer").field("reader", &self.reader).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Strings;

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
