//! Members of compound types.

use std::ops::Range;

use container_core::{Error, Limits, Result};
use hdf5_reader::messages::datatype::{Datatype, StringSize};

use super::values::row_bytes;
use super::{Datasets, library_error, within_budget};
use crate::array::{Strings, Values};
use crate::netcdf::classic::decoded;
use crate::netcdf::guard::catch_panics;
use crate::netcdf::model::{Location, Member, NcType, Variable, product};
use crate::types::{DataType, Endian};

/// Maximum nesting of compound types.
const MAX_DEPTH: usize = 16;

/// Maximum number of members, with those of nested types.
const MAX_MEMBERS: usize = 4096;

/// The type of a compound, with the members of nested ones; in words when a member is not supported.
pub(super) fn nc_type(datatype: &Datatype) -> Option<NcType> {
    let Datatype::Compound { size, fields } = datatype else { return None };
    let mut members = Vec::new();
    let size = usize::try_from(*size).ok()?;
    Some(match add(datatype, &mut Vec::new(), 0, size, &mut members) {
        Ok(()) => NcType::Compound { size, fields: fields.len(), members },
        Err(why) => NcType::Other(format!("compound of {} fields ({why})", fields.len())),
    })
}

fn add(
    datatype: &Datatype,
    path: &mut Vec<String>,
    offset: usize,
    size: usize,
    members: &mut Vec<Member>,
) -> std::result::Result<(), String> {
    let Datatype::Compound { fields, .. } = datatype else {
        return add_leaf(datatype, path, offset, size, members);
    };
    if path.len() >= MAX_DEPTH || members.len() >= MAX_MEMBERS {
        return Err(format!("more than {MAX_DEPTH} levels or {MAX_MEMBERS} members"));
    }
    for field in fields {
        let inner = usize::try_from(field.byte_offset).ok().and_then(|inner| inner.checked_add(offset));
        let inner = inner.ok_or_else(|| format!("the offset of {:?}", field.name))?;
        path.push(field.name.clone());
        add(&field.datatype, path, inner, size, members)?;
        path.pop();
    }
    Ok(())
}

fn add_leaf(
    datatype: &Datatype,
    path: &[String],
    offset: usize,
    size: usize,
    members: &mut Vec<Member>,
) -> std::result::Result<(), String> {
    let name = path.join(".");
    let (base, mut shape) = match datatype {
        Datatype::Array { base, dims } => (&**base, dims.clone()),
        other => (other, Vec::new()),
    };
    let mut big_endian = false;
    let number = |base: &Datatype, big_endian: &mut bool| {
        *big_endian = super::describe::is_big_endian(base);
        number(base)
    };
    let (nc_type, mut width) = match base {
        Datatype::FixedPoint { .. } | Datatype::FloatingPoint { .. } => {
            let number = number(base, &mut big_endian).ok_or_else(|| format!("{name:?} is no number of NetCDF"))?;
            (NcType::Number(number), number.width())
        }
        Datatype::Enum { base, members } => {
            let number =
                number(base, &mut big_endian).ok_or_else(|| format!("{name:?} is no enumeration of NetCDF"))?;
            let order = if big_endian { Endian::Big } else { Endian::Little };
            let members =
                members.iter().map(|member| Some((member.name.clone(), integer(number, &member.value, order)?)));
            let members = members.collect::<Option<Vec<_>>>();
            let members = members.ok_or_else(|| format!("the enumeration {name:?} has no integers"))?;
            (NcType::Enum { base: number, members }, number.width())
        }
        Datatype::String { size: StringSize::Fixed(length), .. } => (NcType::Char, usize::try_from(*length).ok()),
        other => return Err(format!("{name:?} is {}", words(other))),
    };
    if nc_type == NcType::Char && width == Some(1) {
        // An array of characters is a text.
        width = shape.pop().map_or(Some(1), |length| usize::try_from(length).ok());
    }
    let elements = product(&shape).and_then(|count| usize::try_from(count).ok());
    let end = width.zip(elements).and_then(|(width, count)| width.checked_mul(count)?.checked_add(offset));
    let width = width.filter(|width| *width > 0 && end.is_some_and(|end| end <= size));
    let width = width.ok_or_else(|| format!("{name:?} exceeds the {size} bytes of the type"))?;
    members.push(Member { path: path.to_vec(), nc_type, shape, offset, width, big_endian });
    Ok(())
}

fn words(datatype: &Datatype) -> &'static str {
    match datatype {
        Datatype::VarLen { .. } | Datatype::String { .. } => "of variable length",
        Datatype::Opaque { .. } => "opaque",
        Datatype::Compound { .. } => "an array of compounds",
        Datatype::Reference { .. } => "a reference",
        _ => "of another type",
    }
}

/// The type of a number.
fn number(datatype: &Datatype) -> Option<DataType> {
    Some(match datatype {
        Datatype::FixedPoint { size: 1, signed: true, .. } => DataType::Int8,
        Datatype::FixedPoint { size: 2, signed: true, .. } => DataType::Int16,
        Datatype::FixedPoint { size: 4, signed: true, .. } => DataType::Int32,
        Datatype::FixedPoint { size: 8, signed: true, .. } => DataType::Int64,
        Datatype::FixedPoint { size: 1, signed: false, .. } => DataType::Uint8,
        Datatype::FixedPoint { size: 2, signed: false, .. } => DataType::Uint16,
        Datatype::FixedPoint { size: 4, signed: false, .. } => DataType::Uint32,
        Datatype::FixedPoint { size: 8, signed: false, .. } => DataType::Uint64,
        Datatype::FloatingPoint { size: 4, .. } => DataType::Float32,
        Datatype::FloatingPoint { size: 8, .. } => DataType::Float64,
        _ => return None,
    })
}

fn integer(data_type: DataType, bytes: &[u8], order: Endian) -> Option<i128> {
    let values = decoded(data_type, bytes, order).ok()?;
    crate::array::each_kind!(
        values,
        all => all.first().map(|number| crate::netcdf::number::Number::to_i128(*number)),
        _bools => None,
        _strings => None
    )
}

/// Reads a member of a row range, which must exist: the elements of the rows, each with those of the member.
pub(crate) fn read(
    datasets: &Datasets,
    variable: &Variable,
    (size, member): (usize, &Member),
    rows: Range<u64>,
    limits: &Limits,
) -> Result<Values<'static>> {
    let Location::Hdf5(name) = &variable.location else { return Err(Error::invalid("expected a dataset")) };
    let Some(dataset) = datasets.by_name.get(name) else { return Err(Error::invalid("cannot open its dataset")) };
    let whole = product(&variable.shape).and_then(|count| count.checked_mul(size as u64)).unwrap_or(u64::MAX);
    limits.check_block("bytes of the compound variable", whole)?;
    catch_panics("HDF5", &format!("rows {}..{}", rows.start, rows.end), || {
        within_budget(&datasets.storage, || {
            let dataset = dataset.clone().with_padded_shape(&variable.shape).map_err(library_error)?;
            let all = dataset.read_raw_bytes().map_err(library_error)?;
            decode(row_bytes(&all, variable, &rows, size)?, size, member)
        })
    })
}

fn decode(bytes: &[u8], size: usize, member: &Member) -> Result<Values<'static>> {
    let count = product(&member.shape).and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
    let length = member.width.saturating_mul(count);
    let parts = bytes.chunks_exact(size.max(1));
    let parts = parts.filter_map(|element| element.get(member.offset..member.offset.saturating_add(length)));
    match &member.nc_type {
        NcType::Char => {
            let mut strings = Strings::default();
            for text in parts.flat_map(|part| part.chunks_exact(member.width.max(1))) {
                let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                strings.push(text.get(..end).unwrap_or(text));
            }
            strings.check_utf8()?;
            Ok(Values::Unicode(strings))
        }
        NcType::Number(number) | NcType::Enum { base: number, .. } => {
            let gathered: Vec<u8> = parts.flatten().copied().collect();
            decoded(*number, &gathered, if member.big_endian { Endian::Big } else { Endian::Little })
        }
        _ => Err(Error::unsupported("the type of the member")),
    }
}
