//! Values of NetCDF-4 files, by the crate `hdf5-reader`.

use std::ops::Range;

use container_core::{Error, Limits, Result};
use hdf5_reader::messages::datatype::{Datatype, StringSize};
use hdf5_reader::{Hdf5File, SliceInfo, SliceInfoElem};

use super::{guarded, library};
use crate::array::{Strings, Values};
use crate::netcdf::classic::{characters, decoded};
use crate::netcdf::model::{NcType, Place, Variable};
use crate::netcdf::number::{Number, with_number};
use crate::types::Endian;

/// The values of some rows, which were checked to be there; a scalar has one.
pub(crate) fn read(file: &Hdf5File, variable: &Variable, rows: Range<u64>, limits: &Limits) -> Result<Values<'static>> {
    let Place::Hdf5(path) = &variable.place else { return Err(Error::invalid("it is no dataset")) };
    guarded(&format!("rows {} to {}", rows.start, rows.end), || {
        let dataset = file.dataset(path).map_err(library)?;
        let dataset = dataset.with_padded_shape(&variable.shape).map_err(library)?;
        match &variable.nc_type {
            // The library reads no enumeration as its numbers.
            NcType::Enum { base, .. } => {
                let all = dataset.read_raw_bytes().map_err(library)?;
                let wanted = part(&all, variable, &rows, base.width().unwrap_or(1))?;
                let order = if variable.big_endian { Endian::Big } else { Endian::Little };
                decoded(*base, [wanted], order)
            }
            NcType::Number(number) => {
                with_number!(*number, T => numbers::<T>(&dataset, variable, rows), Err(Error::invalid("it holds no numbers")))
            }
            NcType::Char => {
                let all = dataset.read_raw_bytes().map_err(library)?;
                let wanted = part(&all, variable, &rows, 1)?;
                Ok(Values::Str(characters(wanted.iter().copied())))
            }
            NcType::String => strings(&dataset, variable, &rows, limits).map(Values::Unicode),
            NcType::Other(words) => Err(Error::unsupported(format!("its elements are {words}"))),
        }
    })
}

fn numbers<T: Number + hdf5_reader::H5Type>(
    dataset: &hdf5_reader::Dataset,
    variable: &Variable,
    rows: Range<u64>,
) -> Result<Values<'static>> {
    let array = if variable.shape.is_empty() {
        dataset.read_array::<T>().map_err(library)?
    } else {
        let mut selections = vec![SliceInfoElem::Slice { start: 0, end: u64::MAX, step: 1 }; variable.shape.len()];
        if let Some(first) = selections.first_mut() {
            *first = SliceInfoElem::Slice { start: rows.start, end: rows.end, step: 1 };
        }
        dataset.read_slice::<T>(&SliceInfo { selections }).map_err(library)?
    };
    Ok(T::values(array.into_raw_vec_and_offset().0))
}

/// The bytes of some rows among those of all.
fn part<'b>(all: &'b [u8], variable: &Variable, rows: &Range<u64>, width: usize) -> Result<&'b [u8]> {
    let row = variable
        .row_elements()
        .and_then(|count| usize::try_from(count).ok())
        .and_then(|count| count.checked_mul(width));
    let bound = |row_number: u64| usize::try_from(row_number).ok()?.checked_mul(row?);
    let range = bound(rows.start).zip(bound(rows.end));
    range.and_then(|(start, end)| all.get(start..end)).ok_or_else(|| {
        Error::invalid(format!("it has {} bytes, fewer than its sizes {:?} ask for", all.len(), variable.shape))
    })
}

/// Texts. The whole dataset is read for them, whatever the rows; the bytes of the texts count against the limit of a block.
fn strings(
    dataset: &hdf5_reader::Dataset,
    variable: &Variable,
    rows: &Range<u64>,
    limits: &Limits,
) -> Result<Strings<'static>> {
    let all = dataset.read_raw_bytes().map_err(library)?;
    let width = dataset.raw_element_size().map_err(library)?;
    let fixed = matches!(dataset.dtype(), Datatype::String { size: StringSize::Fixed(_), .. });
    let mut strings = Strings::default();
    let mut total = 0u64;
    for element in part(&all, variable, rows, width)?.chunks_exact(width.max(1)) {
        let owned;
        let text = if fixed {
            element
        } else {
            owned = dataset.resolve_vlen_reference_bytes(element, 1).map_err(library)?;
            &owned
        };
        // Where C sees the end of it.
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        total += text.len() as u64;
        limits.check_block("the bytes of its texts", total)?;
        strings.push(text);
    }
    Ok(strings)
}
