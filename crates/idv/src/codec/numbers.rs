//! Fixed-width numbers: one `memcpy` between block and buffer, then `byteorder`'s in-place conversion, a no-op on little-endian machines.
//! `read_f32_into` and its siblings would need a method per type and an initialized output of their own for the same copy.

use bytemuck::{AnyBitPattern, NoUninit};
use byteorder::{ByteOrder, LittleEndian};
use container_core::{Cursor, Error, Result};

/// A fixed-width number, little-endian in the file.
pub(crate) trait Number: AnyBitPattern + NoUninit + Default {
    /// Converts between file and machine byte order, in place.
    fn convert_little_endian(values: &mut [Self]);
}

macro_rules! numbers {
    ($($type:ty: $convert:expr,)*) => {$(
        impl Number for $type {
            fn convert_little_endian(values: &mut [Self]) {
                $convert(values);
            }
        }
    )*};
}
numbers! {
    i8: unchanged,
    u8: unchanged,
    i16: LittleEndian::from_slice_i16,
    u16: LittleEndian::from_slice_u16,
    i32: LittleEndian::from_slice_i32,
    u32: LittleEndian::from_slice_u32,
    i64: LittleEndian::from_slice_i64,
    u64: LittleEndian::from_slice_u64,
    u128: LittleEndian::from_slice_u128,
    f32: LittleEndian::from_slice_f32,
    f64: LittleEndian::from_slice_f64,
}

fn unchanged<T>(_: &mut [T]) {}

/// Reads `n` numbers into `out`, reusing its memory.
pub(crate) fn decode<T: Number>(cursor: &mut Cursor<'_>, n: usize, out: &mut Vec<T>) -> Result<()> {
    let len = n
        .checked_mul(size_of::<T>())
        .ok_or_else(|| Error::truncated("values", u64::MAX, cursor.remaining() as u64).at(cursor.offset()))?;
    let bytes = cursor.take(len, "values")?;
    if out.capacity() < n {
        // A fresh allocation: growing would copy the old content.
        *out = Vec::new();
    }
    out.resize(n, T::default());
    bytemuck::cast_slice_mut::<T, u8>(out).copy_from_slice(bytes);
    T::convert_little_endian(out);
    Ok(())
}

/// Appends numbers as they are stored in the file.
pub(crate) fn encode<T: Number>(values: &[T], out: &mut Vec<u8>) {
    if u16::from_le(1) == 1 {
        out.extend_from_slice(bytemuck::cast_slice(values));
    } else {
        let mut values = values.to_vec();
        T::convert_little_endian(&mut values);
        out.extend_from_slice(bytemuck::cast_slice(&values));
    }
}

/// Appends 32-bit numbers as they are stored in the file. Not with `byteorder`, whose output has to be zeroed first: 1.5 times the time.
pub(crate) fn encode_u32s(values: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    out.extend(values.flat_map(u32::to_le_bytes));
}
