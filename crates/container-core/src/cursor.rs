use crate::error::{Error, Result};
use crate::heap::trailing;

/// A reader over a byte slice that knows its offset in the file.
///
/// Every method that reads takes the name of the field for error messages. A failed read does not move the cursor.
///
/// ```
/// use container_core::Cursor;
/// let mut cursor = Cursor::new(&[1, 0, 7, 0, 0]);
/// assert_eq!(cursor.u16_le("version")?, 1);
/// let error = cursor.u64_le("row count").unwrap_err();
/// assert_eq!(error.to_string(), "row count: needs 8 bytes, 3 available (byte 2)");
/// # Ok::<(), container_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    offset: u64,
}

macro_rules! fixed_width {
    ($($le:ident $be:ident $type:ty),*) => {$(
        #[doc = concat!("Reads a little-endian `", stringify!($type), "`.")]
        #[inline]
        pub fn $le(&mut self, what: &'static str) -> Result<$type> {
            self.array(what).map(<$type>::from_le_bytes)
        }

        #[doc = concat!("Reads a big-endian `", stringify!($type), "`.")]
        #[inline]
        pub fn $be(&mut self, what: &'static str) -> Result<$type> {
            self.array(what).map(<$type>::from_be_bytes)
        }
    )*};
}

impl<'a> Cursor<'a> {
    /// A cursor over the bytes of a whole file.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self::at(bytes, 0)
    }

    /// A cursor over the bytes that start at `offset` in their file.
    #[must_use]
    pub const fn at(bytes: &'a [u8], offset: u64) -> Self {
        Self { rest: bytes, offset }
    }

    /// Offset of the next byte in the file.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The unread bytes.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Number of unread bytes.
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Returns true at the end.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads the next `n` bytes.
    ///
    /// # Errors
    /// [`Truncated`](crate::ErrorKind::Truncated) if fewer remain.
    #[inline]
    pub fn take(&mut self, n: usize, what: &'static str) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(n) {
            Some((head, tail)) => {
                self.rest = tail;
                self.offset += n as u64;
                Ok(head)
            }
            None => Err(self.short(n as u64, what)),
        }
    }

    /// Like [`take`](Self::take), for a 64-bit length from the file.
    ///
    /// # Errors
    /// [`Truncated`](crate::ErrorKind::Truncated) if fewer remain.
    #[inline]
    pub fn take_u64(&mut self, n: u64, what: &'static str) -> Result<&'a [u8]> {
        match usize::try_from(n) {
            Ok(n) => self.take(n, what),
            Err(_) => Err(self.short(n, what)),
        }
    }

    /// Reads the next `n` bytes as a separate cursor, which ends with them.
    ///
    /// # Errors
    /// [`Truncated`](crate::ErrorKind::Truncated) if fewer remain.
    #[inline]
    pub fn sub(&mut self, n: u64, what: &'static str) -> Result<Self> {
        let offset = self.offset;
        self.take_u64(n, what).map(|bytes| Self::at(bytes, offset))
    }

    /// Reads the next `N` bytes as an array.
    ///
    /// # Errors
    /// [`Truncated`](crate::ErrorKind::Truncated) if fewer remain.
    #[inline]
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        match self.rest.split_first_chunk::<N>() {
            Some((head, tail)) => {
                self.rest = tail;
                self.offset += N as u64;
                Ok(*head)
            }
            None => Err(self.short(N as u64, what)),
        }
    }

    /// Reads one byte.
    ///
    /// # Errors
    /// [`Truncated`](crate::ErrorKind::Truncated) at the end.
    #[inline]
    pub fn u8(&mut self, what: &'static str) -> Result<u8> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    fixed_width!(u16_le u16_be u16, u32_le u32_be u32, u64_le u64_be u64, u128_le u128_be u128,
        i16_le i16_be i16, i32_le i32_be i32, i64_le i64_be i64, f32_le f32_be f32, f64_le f64_be f64);

    /// Checks that all bytes were read.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) with the number of trailing bytes.
    pub fn finish(self, what: &'static str) -> Result<()> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(trailing(what, self.rest.len()).at(self.offset))
    }

    #[cold]
    fn short(&self, needed: u64, what: &'static str) -> Error {
        Error::truncated(what, needed, self.rest.len() as u64).at(self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::CAN_FORMAT;

    #[test]
    fn failed_read_does_not_move() {
        let mut cursor = Cursor::at(&[1, 2, 3], 100);
        assert!(cursor.u32_le("n").is_err());
        assert_eq!((cursor.offset(), cursor.remaining()), (100, 3));
        assert_eq!(cursor.u16_be("n").unwrap(), 0x0102);
        assert_eq!(cursor.offset(), 102);
    }

    #[test]
    fn sub_cursor_is_bounded() {
        let mut cursor = Cursor::new(&[1, 2, 3, 4]);
        let mut child = cursor.sub(2, "child").unwrap();
        assert_eq!(child.u8("a").unwrap(), 1);
        assert_eq!(child.u16_le("b").unwrap_err().position().byte, Some(1));
        assert_eq!(cursor.offset(), 2);
        assert_eq!(
            cursor.sub(u64::MAX, "grandchild").unwrap_err().to_string(),
            "grandchild: needs 18446744073709551615 bytes, 2 available (byte 2)"
        );
    }

    #[test]
    fn finish_rejects_trailing_bytes() {
        let cursor = Cursor::at(&[0; 3], 9);
        let text = cursor.finish("table").unwrap_err().to_string();
        let expected = if CAN_FORMAT {
            "table: 3 unexpected trailing bytes (byte 9)"
        } else {
            "table; unexpected trailing bytes (byte 9)"
        };
        assert_eq!(text, expected);
    }
}
