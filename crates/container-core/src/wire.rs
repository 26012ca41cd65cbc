use crate::cursor::Cursor;
use crate::error::Result;

/// A type that can be read from a [`Cursor`].
pub trait Decode<'a>: Sized {
    /// Reads one value; `what` is the name of the field, for the error.
    ///
    /// # Errors
    /// The value's own; after an error the cursor stands where it stood before.
    fn decode(cursor: &mut Cursor<'a>, what: &'static str) -> Result<Self>;
}

impl<'a> Cursor<'a> {
    /// Reads anything that knows how to be read.
    ///
    /// # Errors
    /// As the type's [`Decode`] says.
    #[inline]
    pub fn read<T: Decode<'a>>(&mut self, what: &'static str) -> Result<T> {
        T::decode(self, what)
    }
}

/// Where encoded bytes go: a vector, or a slice of fixed size.
pub trait Put {
    /// Appends the bytes.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) when a target of fixed size is full; then nothing was written.
    fn put(&mut self, bytes: &[u8]) -> Result<()>;
}

/// A type that can be written in a form that [`Decode`] reads.
pub trait Encode {
    /// How many bytes [`encode`](Self::encode) writes.
    fn encoded_len(&self) -> usize;

    /// Appends the encoded value.
    ///
    /// # Errors
    /// As [`Put::put`].
    fn encode<P: Put + ?Sized>(&self, out: &mut P) -> Result<()>;
}

/// Writes into the slice and shortens it from the front, as `std::io::Write` does for slices.
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
    fn a_full_slice_refuses_and_keeps_what_it_has() {
        let mut buffer = [0u8; 3];
        let mut out = &mut buffer[..];
        out.put(&[1, 2]).unwrap();
        assert!(out.put(&[3, 4]).is_err());
        out.put(&[5]).unwrap();
        assert_eq!(buffer, [1, 2, 5]);
    }
}
