use bytemuck::{AnyBitPattern, NoUninit};
use container_core::{Cursor, Error, Result};

/// A number of fixed width that lies little-endian in the file.
pub(crate) trait Number: AnyBitPattern + NoUninit + Default {
    /// The number in the machine's byte order, when it was read in the file's.
    fn in_machine_order(self) -> Self;
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Number for $type {
            #[inline]
            fn in_machine_order(self) -> Self {
                Self::from_le_bytes(self.to_ne_bytes())
            }
        }
    )*};
}
numbers!(i8 u8 i16 u16 i32 u32 i64 u64 u128 f32 f64);

/// Reads `n` numbers into `out`, whose memory is reused: one copy.
pub(crate) fn decode<T: Number>(cursor: &mut Cursor<'_>, n: usize, out: &mut Vec<T>) -> Result<()> {
    let len = n
        .checked_mul(size_of::<T>())
        .ok_or_else(|| Error::truncated("values", u64::MAX, cursor.remaining() as u64).at(cursor.offset()))?;
    let bytes = cursor.take(len, "values")?;
    fill(bytes, n, out);
    Ok(())
}

/// Puts the numbers of `bytes`, which hold exactly `n`, into `out`.
fn fill<T: Number>(bytes: &[u8], n: usize, out: &mut Vec<T>) {
    if out.capacity() < n {
        // Nothing old is worth copying to the new place.
        *out = Vec::new();
    }
    out.resize(n, T::default());
    bytemuck::cast_slice_mut::<T, u8>(out).copy_from_slice(bytes);
    to_machine_order(out);
}

/// Does nothing on little-endian machines.
pub(crate) fn to_machine_order<T: Number>(values: &mut [T]) {
    if cfg!(target_endian = "big") {
        for value in values {
            *value = value.in_machine_order();
        }
    }
}
