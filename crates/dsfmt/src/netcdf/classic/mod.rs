//! CDF-1, CDF-2 and CDF-5: a header, then values one behind the other, most significant byte first.

pub(crate) mod header;

use std::ops::Range;

use container_core::{Error, Limits, Result, Source};

pub(crate) use header::Header;

use super::model::{NcType, Place, Variable};
use crate::array::{Strings, Values};
use crate::types::{DataType, Element, Endian};

/// Bytes of a header that are read first where the file is not in memory.
const FIRST: u64 = 64 << 10;

/// Bytes of records that are looked at at once where the file is not in memory.
const WINDOW: u64 = 1 << 20;

/// Reads the header, whatever its length: more and more of the file, twice as much each time.
pub(crate) fn open(source: &Source, limits: &Limits) -> Result<Header> {
    let most = source.len().min(limits.metadata_bytes);
    if let Some(bytes) = source.as_slice() {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        return Header::parse(bytes.get(..most).unwrap_or(bytes), source.len(), limits);
    }
    let mut len = FIRST;
    loop {
        let end = len.min(most);
        match Header::parse(&source.read(0..end)?, source.len(), limits) {
            Err(error) if matches!(error.kind(), container_core::ErrorKind::Truncated { .. }) && end < most => len *= 2,
            parsed => return parsed,
        }
    }
}

/// The values of some rows, which were checked to be there.
pub(crate) fn read(source: &Source, variable: &Variable, rows: Range<u64>) -> Result<Values<'static>> {
    let row = header::row_bytes(variable).ok_or_else(|| Error::invalid("it has too many bytes"))?;
    let mut buffer = Vec::new();
    match variable.place {
        Place::Fixed { begin } => {
            let range = begin + row * rows.start..begin + row * rows.end;
            if range.is_empty() {
                return values(&variable.nc_type, []);
            }
            values(&variable.nc_type, [source.view(range, &mut buffer)?])
        }
        Place::Records { begin, stride } => {
            if rows.is_empty() || row == 0 {
                return values(&variable.nc_type, []);
            }
            let at_once = (WINDOW / stride.max(1)).max(1);
            let mut all = Vec::new();
            let mut start = rows.start;
            while start < rows.end {
                let end = rows.end.min(start + at_once);
                let window = begin + stride * start..begin + stride * (end - 1) + row;
                let bytes = source.view(window, &mut buffer)?;
                let (step, len) = (usize_of(stride)?, usize_of(row)?);
                all.reserve(usize_of((end - start) * row)?);
                for record in bytes.chunks(step) {
                    all.extend_from_slice(record.get(..len).unwrap_or_default());
                }
                start = end;
            }
            values(&variable.nc_type, [all.as_slice()])
        }
        Place::Hdf5(_) => Err(Error::invalid("it is no variable of a classic file")),
    }
}

fn usize_of(bytes: u64) -> Result<usize> {
    usize::try_from(bytes).map_err(|_| Error::limit("the bytes of a read", bytes, usize::MAX as u64))
}

fn values<'p>(nc_type: &NcType, pieces: impl IntoIterator<Item = &'p [u8]>) -> Result<Values<'static>> {
    match nc_type {
        NcType::Number(number) => numbers(*number, pieces),
        // Every character is a string, as Python has it.
        _ => Ok(Values::Str(characters(pieces.into_iter().flatten().copied()))),
    }
}

/// Each byte as a string; NUL is one of no length.
pub(crate) fn characters(bytes: impl IntoIterator<Item = u8>) -> Strings<'static> {
    let mut strings = Strings::default();
    for byte in bytes {
        strings.push(if byte == 0 { &[] } else { std::slice::from_ref(&byte) });
    }
    strings
}

/// Numbers out of bytes, the most significant first.
pub(crate) fn numbers<'p>(number: DataType, pieces: impl IntoIterator<Item = &'p [u8]>) -> Result<Values<'static>> {
    decoded(number, pieces, Endian::Big)
}

/// Numbers out of bytes of this order.
pub(crate) fn decoded<'p>(
    number: DataType,
    pieces: impl IntoIterator<Item = &'p [u8]>,
    order: Endian,
) -> Result<Values<'static>> {
    fn all<'p, T: Element>(pieces: impl IntoIterator<Item = &'p [u8]>, order: Endian) -> Vec<T> {
        let mut out = Vec::new();
        for piece in pieces {
            let found = piece.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned::<T>);
            if order == Endian::NATIVE {
                out.extend(found);
            } else {
                out.extend(found.map(T::swapped));
            }
        }
        out
    }
    Ok(match number {
        DataType::Float32 => all::<f32>(pieces, order).into(),
        DataType::Float64 => all::<f64>(pieces, order).into(),
        DataType::Int8 => all::<i8>(pieces, order).into(),
        DataType::Int16 => all::<i16>(pieces, order).into(),
        DataType::Int32 => all::<i32>(pieces, order).into(),
        DataType::Int64 => all::<i64>(pieces, order).into(),
        DataType::Uint8 => all::<u8>(pieces, order).into(),
        DataType::Uint16 => all::<u16>(pieces, order).into(),
        DataType::Uint32 => all::<u32>(pieces, order).into(),
        DataType::Uint64 => all::<u64>(pieces, order).into(),
        other => return Err(Error::invalid(format!("{other} is no number"))),
    })
}
