//! Reads values of NetCDF-4 files with the crate `hdf5-reader`.

use std::collections::HashMap;
use std::ops::Range;

use container_core::{Error, Limits, Result};
use hdf5_reader::global_heap::GlobalHeapCollection;
use hdf5_reader::messages::datatype::{Datatype, StringSize};
use hdf5_reader::{Hdf5File, SliceInfo, SliceInfoElem};

use super::{Datasets, library_error, within_budget};
use crate::array::{Strings, Values};
use crate::netcdf::classic::{characters, decoded};
use crate::netcdf::guard::catch_panics;
use crate::netcdf::model::{Location, NcType, Variable};
use crate::netcdf::number::{Number, with_number};
use crate::types::Endian;

/// Chunks that a read may touch beyond those that fit in the file: the library lists them all, written or not.
const FREE_CHUNKS: u64 = 1 << 20;

/// Reads a row range, which must exist; a scalar has one row.
pub(crate) fn read(
    datasets: &Datasets,
    variable: &Variable,
    rows: Range<u64>,
    limits: &Limits,
) -> Result<Values<'static>> {
    let Location::Hdf5(name) = &variable.location else { return Err(Error::invalid("expected a dataset")) };
    let Some(dataset) = datasets.by_name.get(name) else { return Err(Error::invalid("cannot open its dataset")) };
    catch_panics("HDF5", &format!("rows {}..{}", rows.start, rows.end), || {
        within_budget(&datasets.storage, || {
            let dataset = dataset.clone().with_padded_shape(&variable.shape).map_err(library_error)?;
            let whole = 0..variable.rows();
            let touched = if matches!(variable.nc_type, NcType::Number(_)) { &rows } else { &whole };
            check_chunks(variable, touched, hdf5_reader::Storage::len(&*datasets.storage))?;
            match &variable.nc_type {
                // The library cannot read enumerations as integers.
                NcType::Enum { base, .. } => {
                    let all = dataset.read_raw_bytes().map_err(library_error)?;
                    let bytes = row_bytes(&all, variable, &rows, base.width().unwrap_or(1))?;
                    let order = if variable.big_endian { Endian::Big } else { Endian::Little };
                    decoded(*base, bytes, order)
                }
                NcType::Number(number) => {
                    let none = Err(Error::invalid("expected numbers"));
                    with_number!(*number, T => numbers::<T>(&dataset, variable, rows), none)
                }
                NcType::Char => {
                    let all = dataset.read_raw_bytes().map_err(library_error)?;
                    let bytes = row_bytes(&all, variable, &rows, 1)?;
                    Ok(Values::Str(characters(bytes.iter().copied())))
                }
                NcType::String => strings(datasets, &dataset, variable, &rows, limits).map(Values::Unicode),
                other => Err(Error::unsupported(format!("unsupported type {other}"))),
            }
        })
    })
}

/// Rejects rows with more chunks than the file can index.
fn check_chunks(variable: &Variable, rows: &Range<u64>, len: u64) -> Result<()> {
    /// Minimum bytes per chunk in an index.
    const INDEX_BYTES: u64 = 8;
    let Some(chunks) = &variable.chunks else { return Ok(()) };
    let mut count = 1u64;
    for (axis, (size, chunk)) in variable.shape.iter().zip(chunks).enumerate() {
        let end = if axis == 0 { rows.end } else { *size };
        let start = if axis == 0 { rows.start } else { 0 };
        let chunk = (*chunk).max(1);
        count = count.saturating_mul(end.div_ceil(chunk).saturating_sub(start / chunk));
    }
    let max = FREE_CHUNKS.saturating_add(len / INDEX_BYTES);
    if count > max { Err(Error::limit("chunks of the rows", count, max)) } else { Ok(()) }
}

fn numbers<T: Number + hdf5_reader::H5Type>(
    dataset: &hdf5_reader::Dataset,
    variable: &Variable,
    rows: Range<u64>,
) -> Result<Values<'static>> {
    let array = if variable.shape.is_empty() {
        dataset.read_array::<T>().map_err(library_error)?
    } else {
        let mut selections = vec![SliceInfoElem::Slice { start: 0, end: u64::MAX, step: 1 }; variable.shape.len()];
        if let Some(first) = selections.first_mut() {
            *first = SliceInfoElem::Slice { start: rows.start, end: rows.end, step: 1 };
        }
        dataset.read_slice::<T>(&SliceInfo { selections }).map_err(library_error)?
    };
    Ok(T::values(array.into_raw_vec_and_offset().0))
}

/// The bytes of a row range among those of all rows.
pub(super) fn row_bytes<'b>(all: &'b [u8], variable: &Variable, rows: &Range<u64>, width: usize) -> Result<&'b [u8]> {
    let row = variable
        .row_elements()
        .and_then(|count| usize::try_from(count).ok())
        .and_then(|count| count.checked_mul(width));
    let bound = |row_number: u64| usize::try_from(row_number).ok()?.checked_mul(row?);
    let range = bound(rows.start).zip(bound(rows.end));
    range.and_then(|(start, end)| all.get(start..end)).ok_or_else(|| {
        Error::invalid(format!("its {} bytes are fewer than its sizes {:?} need", all.len(), variable.shape))
    })
}

/// Reads strings. Reads the whole dataset, whatever the rows; their bytes count against the block limit.
fn strings(
    datasets: &Datasets,
    dataset: &hdf5_reader::Dataset,
    variable: &Variable,
    rows: &Range<u64>,
    limits: &Limits,
) -> Result<Strings<'static>> {
    let all = dataset.read_raw_bytes().map_err(library_error)?;
    let width = dataset.raw_element_size().map_err(library_error)?;
    let fixed = matches!(dataset.dtype(), Datatype::String { size: StringSize::Fixed(_), .. });
    let mut strings = Strings::default();
    let mut total = 0u64;
    let mut heaps = Heaps { file: &datasets.file, by_address: HashMap::new(), cached: 0 };
    for element in row_bytes(&all, variable, rows, width)?.chunks_exact(width.max(1)) {
        let text = if fixed { element } else { heaps.text(element)? };
        // C strings end at the first NUL.
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        total += text.len() as u64;
        limits.check_block("bytes of its strings", total)?;
        strings.push(text);
    }
    Ok(strings)
}

/// Cached global heaps. The library scans the whole heap for each string.
struct Heaps<'f> {
    file: &'f Hdf5File,
    by_address: HashMap<u64, HashMap<u16, Vec<u8>>>,
    /// Bytes of the objects.
    cached: usize,
}

impl Heaps<'_> {
    /// The string of a reference: its length, the address of a heap, and its index there.
    fn text(&mut self, reference: &[u8]) -> Result<&[u8]> {
        /// The cache is cleared beyond this many bytes.
        const MAX_CACHED: usize = 64 << 20;
        let superblock = self.file.superblock();
        let mut fields = hdf5_reader::io::Cursor::new(reference);
        let len = fields.read_u32_le().map_err(library_error)?;
        let address = fields.read_offset(superblock.offset_size).map_err(library_error)?;
        let index = fields.read_u32_le().map_err(library_error)?;
        if index == 0 || hdf5_reader::io::Cursor::is_undefined_offset(address, superblock.offset_size) {
            return Ok(&[]);
        }
        if !self.by_address.contains_key(&address) {
            let (storage, offset, length) = (self.file.storage(), superblock.offset_size, superblock.length_size);
            let heap =
                GlobalHeapCollection::parse_at_storage(storage, address, offset, length).map_err(library_error)?;
            if self.cached > MAX_CACHED {
                self.by_address.clear();
                self.cached = 0;
            }
            self.cached += heap.objects.iter().map(|object| object.data.len()).sum::<usize>();
            // The first of objects with equal indexes wins.
            let objects = heap.objects.into_iter().rev().map(|object| (object.index, object.data)).collect();
            self.by_address.insert(address, objects);
        }
        let objects = self.by_address.get(&address);
        let object = objects.and_then(|objects| objects.get(&u16::try_from(index).ok()?));
        let text = object.and_then(|object| object.get(..usize::try_from(len).ok()?));
        text.ok_or_else(|| {
            Error::invalid(format!("string {index} of the global heap is missing or too short")).at(address)
        })
    }
}
