//! Reads CDF-1, CDF-2 and CDF-5: a header, then big-endian values.

pub(crate) mod header;

use std::ops::Range;

use byteorder::{BigEndian, ByteOrder, LittleEndian};
use container_core::{Error, Limits, Result, Source};

pub(crate) use header::Header;

use super::model::{Location, NcType, Variable};
use crate::array::{Strings, Values};
use crate::types::{DataType, Endian};

/// Bytes of the header read first from a file that is not in memory.
const FIRST_READ: u64 = 64 << 10;

/// Bytes of records read at once from a file that is not in memory.
const WINDOW: u64 = 1 << 20;

/// Reads a header of any length, doubling the number of bytes until it is complete.
pub(crate) fn open(source: &Source, limits: &Limits) -> Result<Header> {
    let max = source.len().min(limits.metadata_bytes);
    if let Some(bytes) = source.as_slice() {
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        return Header::parse(bytes.get(..max).unwrap_or(bytes), source.len(), limits);
    }
    let mut len = FIRST_READ;
    loop {
        let end = len.min(max);
        match Header::parse(&source.read(0..end)?, source.len(), limits) {
            Err(error) if matches!(error.kind(), container_core::ErrorKind::Truncated { .. }) && end < max => len *= 2,
            parsed => return parsed,
        }
    }
}

/// Reads a row range, which must exist.
pub(crate) fn read(source: &Source, variable: &Variable, rows: Range<u64>) -> Result<Values<'static>> {
    let row = header::row_bytes(variable).ok_or_else(|| Error::invalid("a row exceeds 2^64 bytes"))?;
    let mut buffer = Vec::new();
    match variable.location {
        Location::Fixed { begin } => {
            let range = begin + row * rows.start..begin + row * rows.end;
            if range.is_empty() {
                return values(&variable.nc_type, &[]);
            }
            values(&variable.nc_type, source.view(range, &mut buffer)?)
        }
        Location::Records { begin, stride } => {
            if rows.is_empty() || row == 0 {
                return values(&variable.nc_type, &[]);
            }
            let at_once = (WINDOW / stride.max(1)).max(1);
            let mut all = Vec::new();
            let mut start = rows.start;
            while start < rows.end {
                let end = rows.end.min(start + at_once);
                let window = begin + stride * start..begin + stride * (end - 1) + row;
                let bytes = source.view(window, &mut buffer)?;
                let (step, len) = (to_usize(stride)?, to_usize(row)?);
                all.reserve(to_usize((end - start) * row)?);
                for record in bytes.chunks(step) {
                    all.extend_from_slice(record.get(..len).unwrap_or_default());
                }
                start = end;
            }
            values(&variable.nc_type, &all)
        }
        _ => Err(Error::invalid("expected a variable of a classic file")),
    }
}

fn to_usize(bytes: u64) -> Result<usize> {
    usize::try_from(bytes).map_err(|_| Error::limit("bytes of a read", bytes, usize::MAX as u64))
}

fn values(nc_type: &NcType, bytes: &[u8]) -> Result<Values<'static>> {
    match nc_type {
        NcType::Number(number) => numbers(*number, bytes),
        // One string per character, as in Python.
        _ => Ok(Values::Str(characters(bytes.iter().copied()))),
    }
}

/// One string per byte; NUL becomes an empty string.
pub(crate) fn characters(bytes: impl IntoIterator<Item = u8>) -> Strings<'static> {
    let mut strings = Strings::default();
    for byte in bytes {
        strings.push(if byte == 0 { &[] } else { std::slice::from_ref(&byte) });
    }
    strings
}

/// Decodes big-endian numbers.
pub(crate) fn numbers(number: DataType, bytes: &[u8]) -> Result<Values<'static>> {
    decoded(number, bytes, Endian::Big)
}

/// Decodes numbers of the given byte order. Bytes after the last whole number are ignored.
pub(crate) fn decoded(number: DataType, bytes: &[u8], order: Endian) -> Result<Values<'static>> {
    macro_rules! read {
        ($number:ty, $read:ident) => {{
            // `read_f32_into` and its siblings take 1.1 to 1.6 times as long: their output has to be zeroed first.
            let numbers = bytes.chunks_exact(size_of::<$number>());
            let numbers: Vec<$number> = match order {
                Endian::Big => numbers.map(BigEndian::$read).collect(),
                Endian::Little => numbers.map(LittleEndian::$read).collect(),
            };
            numbers.into()
        }};
    }
    Ok(match number {
        DataType::Float32 => read!(f32, read_f32),
        DataType::Float64 => read!(f64, read_f64),
        DataType::Int8 => bytemuck::cast_slice::<u8, i8>(bytes).to_vec().into(),
        DataType::Int16 => read!(i16, read_i16),
        DataType::Int32 => read!(i32, read_i32),
        DataType::Int64 => read!(i64, read_i64),
        DataType::Uint8 => bytes.to_vec().into(),
        DataType::Uint16 => read!(u16, read_u16),
        DataType::Uint32 => read!(u32, read_u32),
        DataType::Uint64 => read!(u64, read_u64),
        other => return Err(Error::invalid(format!("expected numbers, found {other}"))),
    })
}
