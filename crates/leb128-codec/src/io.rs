//! Reading values from [`std::io::Read`], writing them to [`std::io::Write`] (feature `std`).
//!
//! ```
//! use leb128_codec::io;
//!
//! let mut file = Vec::new();
//! io::write(&mut file, 624_485_u32)?;
//! io::write(&mut file, -1_i64)?;
//!
//! let mut stream = file.as_slice();
//! assert_eq!(io::read(&mut stream)?, Some(624_485_u32));
//! assert_eq!(io::read(&mut stream)?, Some(-1_i64));
//! assert_eq!(io::read::<u8, _>(&mut stream)?, None);
//! # Ok::<(), leb128_codec::io::ReadError>(())
//! ```
//!
//! A stream is read byte by byte, because only the last byte of a value marks its end: wrap a file or a socket in a
//! [`BufReader`](std::io::BufReader). For bytes in memory the functions for slices are faster.

use std::fmt;
use std::io::{self, Read, Write};

use crate::error::DecodeError;
use crate::integer::Integer;

/// Reads one value, or `None` if the stream has ended. Interrupted reads are retried.
///
/// # Errors
/// [`ReadError`]. The stream is then positioned after the last byte read, not at the beginning of a value.
pub fn read<T: Integer, R: Read + ?Sized>(stream: &mut R) -> Result<Option<T>, ReadError> {
    read_with(stream, T::decode)
}

/// Like [`read`], but rejects padded forms.
///
/// # Errors
/// As [`read`].
pub fn read_strict<T: Integer, R: Read + ?Sized>(stream: &mut R) -> Result<Option<T>, ReadError> {
    read_with(stream, T::decode_strict)
}

fn read_with<T: Integer, R: Read + ?Sized>(
    stream: &mut R,
    decode: impl Fn(&[u8]) -> Result<(T, usize), DecodeError>,
) -> Result<Option<T>, ReadError> {
    let mut buffer = T::Buffer::default();
    let mut len = 0;
    for byte in buffer.as_mut() {
        match read_byte(stream)? {
            Some(next) => *byte = next,
            None if len == 0 => return Ok(None),
            None => break,
        }
        len += 1;
        if *byte < 0x80 {
            break;
        }
    }
    let (value, _) = decode(buffer.as_ref().split_at(len).0)?;
    Ok(Some(value))
}

fn read_byte<R: Read + ?Sized>(stream: &mut R) -> Result<Option<u8>, io::Error> {
    let mut byte = [0];
    loop {
        match stream.read(&mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(byte[0])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writes one value in its shortest form with one `write_all`, and returns its length in bytes.
///
/// # Errors
/// Those of the stream.
pub fn write<T: Integer, W: Write + ?Sized>(stream: &mut W, value: T) -> io::Result<usize> {
    let mut buffer = T::Buffer::default();
    let bytes = crate::encode(value, &mut buffer);
    stream.write_all(bytes)?;
    Ok(bytes.len())
}

/// Why a value could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The stream failed.
    Io(io::Error),
    /// The value is invalid or truncated. The offset counts from its first byte.
    Value(DecodeError),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "leb128: cannot read: {error}"),
            Self::Value(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Value(error) => Some(error),
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<DecodeError> for ReadError {
    fn from(error: DecodeError) -> Self {
        Self::Value(error)
    }
}

/// `UnexpectedEof` for a truncated value, `InvalidData` for an invalid one.
impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => error,
            ReadError::Value(error) if error.kind() == crate::DecodeErrorKind::Truncated => {
                Self::new(io::ErrorKind::UnexpectedEof, error)
            }
            ReadError::Value(error) => Self::new(io::ErrorKind::InvalidData, error),
        }
    }
}

impl From<ReadError> for container_core::Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => Self::new(container_core::ErrorKind::Io, "cannot read").caused_by(error),
            ReadError::Value(error) => error.into(),
        }
    }
}
