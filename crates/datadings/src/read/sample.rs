//! One sample.

use container_core::{Bytes, Error, Result};
use rmpv::ValueRef;
use serde_core::Deserialize;

use crate::FORMAT_NAME;
use crate::value::{Kind, RawValue};

/// A sample of a dataset: its msgpack message, not decoded, and its position.
///
/// The message is borrowed if the data are mapped or in memory; with
/// [`Access::Positional`](container_core::Access::Positional) the sample owns its bytes.
#[derive(Debug, Clone)]
pub struct Sample<'a> {
    message: Message<'a>,
    index: u64,
    offset: u64,
}

#[derive(Debug, Clone)]
enum Message<'a> {
    Borrowed(&'a [u8]),
    Owned(Bytes),
}

impl<'a> Sample<'a> {
    #[inline]
    pub(crate) const fn from_slice(bytes: &'a [u8], index: u64, offset: u64) -> Self {
        Self { message: Message::Borrowed(bytes), index, offset }
    }

    pub(crate) const fn from_bytes(bytes: Bytes, index: u64, offset: u64) -> Self {
        Self { message: Message::Owned(bytes), index, offset }
    }

    /// The sample's index in the dataset, from 0.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The offset of its message in the data file.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The encoded message.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.message {
            Message::Borrowed(bytes) => bytes,
            Message::Owned(bytes) => bytes,
        }
    }

    /// The message with the reader's lifetime; `None` if the sample owns its bytes, as when the data are read by position.
    #[inline]
    #[must_use]
    pub fn borrowed(&self) -> Option<RawValue<'a>> {
        match self.message {
            Message::Borrowed(bytes) => Some(RawValue::at(bytes, self.offset)),
            Message::Owned(_) => None,
        }
    }

    /// The message as a value that can be inspected without decoding it.
    #[inline]
    #[must_use]
    pub fn raw(&self) -> RawValue<'_> {
        RawValue::at(self.as_bytes(), self.offset)
    }

    /// The value of a field, `None` if the sample does not have it. See [`RawValue::get`].
    ///
    /// # Errors
    /// A defect of the message up to the end of the field, with byte and row.
    #[inline]
    pub fn get(&self, field: &str) -> Result<Option<RawValue<'_>>> {
        self.raw().get(field).map_err(|error| self.in_sample(error))
    }

    /// The value of a field that must exist.
    ///
    /// # Errors
    /// As [`get`](Self::get), and when there is no such field.
    #[inline]
    pub fn field(&self, field: &str) -> Result<RawValue<'_>> {
        match self.get(field)? {
            Some(value) => Ok(value),
            None => Err(self.in_sample(Error::invalid(format!("the sample has no field {field:?}")).at(self.offset))),
        }
    }

    /// The key stored in the sample.
    ///
    /// # Errors
    /// When the key is missing or is not a str.
    #[inline]
    pub fn key(&self) -> Result<&str> {
        let place = |error| self.in_sample(error);
        match self.get("key")? {
            Some(key) if matches!(key.kind(), Ok(Kind::Str)) => key.str().map_err(place),
            Some(key) => {
                let token = key.tokens().next().map_err(place)?;
                let detail = format!("key: expected a str, found {}", token.name());
                Err(self.in_sample(Error::invalid(detail).at(key.offset())))
            }
            None => Err(self.in_sample(Error::invalid("the sample has no key").at(self.offset))),
        }
    }

    /// Fails if anything follows the message in the extent of the sample.
    pub(crate) fn check_end(&self) -> Result<()> {
        let mut tokens = self.raw().tokens();
        tokens.skip()?;
        tokens.end()
    }

    /// Decodes the sample into any type that implements [`Deserialize`]; strings and bytes can be borrowed. See [`RawValue::decode`].
    ///
    /// # Errors
    /// A defect of the message, bytes after it, or a mismatch with the type, with byte and row.
    #[inline]
    pub fn decode<'s, T: Deserialize<'s>>(&'s self) -> Result<T> {
        self.raw().decode_whole().map_err(|error| self.in_sample(error))
    }

    /// Decodes the sample into a borrowed `rmpv` value.
    ///
    /// # Errors
    /// A defect of the message, or bytes after it, with byte and row.
    pub fn value(&self) -> Result<ValueRef<'_>> {
        self.check_end().and_then(|()| self.raw().value()).map_err(|error| self.in_sample(error))
    }

    /// Adds the format and the row to an error.
    #[cold]
    pub(crate) fn in_sample(&self, error: Error) -> Error {
        error.in_format(FORMAT_NAME).in_row(self.index)
    }
}
