use container_core::{Cursor, Decode, Encode, Put};

use crate::bulk::decode_slice;
use crate::integer::Integer;

/// An integer encoded as LEB128, for [`Cursor::read`] and structures of [`Decode`] and [`Encode`].
///
/// ```
/// use container_core::Cursor;
/// use leb128_codec::Leb128;
///
/// let mut cursor = Cursor::at(&[0xac, 0x02, 0xff], 40);
/// let Leb128(rows) = cursor.read::<Leb128<u32>>("row count")?;
/// assert_eq!((rows, cursor.offset()), (300, 42));
/// let error = cursor.read::<Leb128<u32>>("column count").unwrap_err();
/// assert_eq!(error.to_string(), "column count: needs 2 bytes, 1 available (byte 42)");
/// # Ok::<(), container_core::Error>(())
/// ```
///
/// Padded forms are accepted; [`Leb128Strict`] rejects them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Leb128<T>(pub T);

/// [`Leb128`] in its shortest form only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Leb128Strict<T>(pub T);

impl<'a, T: Integer> Decode<'a> for Leb128<T> {
    #[inline]
    fn decode(cursor: &mut Cursor<'a>, what: &'static str) -> container_core::Result<Self> {
        let (value, len) = T::decode(cursor.rest()).map_err(|error| error.in_field(what, cursor.offset()))?;
        cursor.take(len, what)?;
        Ok(Self(value))
    }
}

impl<'a, T: Integer> Decode<'a> for Leb128Strict<T> {
    #[inline]
    fn decode(cursor: &mut Cursor<'a>, what: &'static str) -> container_core::Result<Self> {
        let (value, len) = T::decode_strict(cursor.rest()).map_err(|error| error.in_field(what, cursor.offset()))?;
        cursor.take(len, what)?;
        Ok(Self(value))
    }
}

macro_rules! encode {
    ($($name:ident)+) => {$(
        impl<T: Integer> Encode for $name<T> {
            #[inline]
            fn encoded_len(&self) -> usize {
                self.0.encoded_len()
            }

            #[inline]
            fn encode<P: Put + ?Sized>(&self, out: &mut P) -> container_core::Result<()> {
                out.put(crate::encode(self.0, &mut T::Buffer::default()))
            }
        }

        impl<T> From<T> for $name<T> {
            fn from(value: T) -> Self {
                Self(value)
            }
        }
    )+};
}

encode!(Leb128 Leb128Strict);

/// [`decode_slice`] from a cursor, which advances past the values.
///
/// # Errors
/// As [`decode_slice`], with the field name `what`, the position in the file and the value's index as row; the cursor does
/// not move.
pub fn read_slice<T: Integer>(
    cursor: &mut Cursor<'_>,
    out: &mut [T],
    what: &'static str,
) -> container_core::Result<()> {
    let used = decode_slice(cursor.rest(), out).map_err(|error| error.in_field(what, cursor.offset()))?;
    cursor.take(used, what).map(|_| ())
}
