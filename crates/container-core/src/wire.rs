use crate::cursor::Cursor;
use crate::error::Result;

/// A type that can be read from a [`Cursor`].
pub trait Decode<'a>: Sized {
    /// Reads one value. `what` names the field in errors.
    ///
    /// # Errors
    /// Those of the type. A failed read does not move the cursor.
    fn decode(cursor: &mut Cursor<'a>, what: &'static str) -> Result<Self>;
}

impl<'a> Cursor<'a> {
    /// Reads a value that implements [`Decode`].
    ///
    /// # Errors
    /// Those of [`Decode::decode`].
    #[inline]
    pub fn read<T: Decode<'a>>(&mut self, what: &'static str) -> Result<T> {
        T::decode(self, what)
    }
}

/// A target for encoded bytes: a vector, or a slice of fixed size.
pub trait Put {
    /// Appends the bytes.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) if a target of fixed size is too small; nothing is written then.
    fn put(&mut self, bytes: &[u8]) -> Result<()>;
}

/// A type that can be written to a [`Put`] and read back with [`Decode`].
pub trait Encode {
    /// Number of bytes [`encode`](Self::encode) writes.
    fn encoded_len(&self) -> usize;

    /// Appends the encoded value.
    ///
    /// # Errors
    /// Those of [`Put::put`].
    fn encode<P: Put + ?Sized>(&self, out: &mut P) -> Result<()>;
}

/// Writes to the front of the slice and advances it, as `std::io::Write` does.
impl Put for &mut [u8] {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() > self.len() {
            return Err(crate::Error::usage("the output slice is full"));
        }
        let (head, tail) = core::mem::take(self).split_at_mut(bytes.len());
        head.copy_from_slice(bytes);
        *self = tail;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_slice_rejects_and_stays_unchanged() {
        let mut buffer = [0u8; 3];
        let mut out = &mut buffer[..];
        out.put(&[1, 2]).unwrap();
        assert!(out.put(&[3, 4]).is_err());
        out.put(&[5]).unwrap();
        assert_eq!(buffer, [1, 2, 5]);
    }
}
