//! One sample.

use container_core::{Bytes, Error, Result};
use rmpv::ValueRef;
use serde::Deserialize;

use crate::FORMAT_NAME;
use crate::value::{Kind, RawValue};

/// One sample of a dataset: its msgpack message, not decoded, and where it stands.
///
/// Where the data are mapped or in memory the message is borrowed from there; with
/// [`Access::Positional`](container_core::Access::Positional) the sample holds bytes of its own.
#[derive(Debug, Clone)]
pub struct Sample<'a> {
    held: Held<'a>,
    index: u64,
    offset: u64,
}

#[derive(Debug, Clone)]
enum Held<'a> {
    Lent(&'a [u8]),
    Own(Bytes),
}

impl<'a> Sample<'a> {
    #[inline]
    pub(crate) const fn lent(bytes: &'a [u8], index: u64, offset: u64) -> Self {
        Self { held: Held::Lent(bytes), index, offset }
    }

    pub(crate) const fn own(bytes: Bytes, index: u64, offset: u64) -> Self {
        Self { held: Held::Own(bytes), index, offset }
    }

    /// Its number in the dataset, from 0.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Where its message begins in the data file, in bytes.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Its message, as it lies in the data file.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.held {
            Held::Lent(bytes) => bytes,
            Held::Own(bytes) => bytes,
        }
    }

    /// Its message for as long as the reader lives, where it is borrowed from it: always, unless the data are read by position.
    #[inline]
    #[must_use]
    pub fn borrowed(&self) -> Option<RawValue<'a>> {
        match self.held {
            Held::Lent(bytes) => Some(RawValue::at(bytes, self.offset)),
            Held::Own(_) => None,
        }
    }

    /// Its message as a value that is looked into without decoding it.
    #[inline]
    #[must_use]
    pub fn raw(&self) -> RawValue<'_> {
        RawValue::at(self.as_bytes(), self.offset)
    }

    /// The value of one field, `None` where the sample does not have it. See [`RawValue::get`].
    ///
    /// # Errors
    /// What is wrong with the message before the field ends, with byte and row.
    #[inline]
    pub fn get(&self, field: &str) -> Result<Option<RawValue<'_>>> {
        self.raw().get(field).map_err(|error| self.place(error))
    }

    /// The value of one field.
    ///
    /// # Errors
    /// As [`get`](Self::get), and when the sample does not have it.
    #[inline]
    pub fn field(&self, field: &str) -> Result<RawValue<'_>> {
        match self.get(field)? {
            Some(value) => Ok(value),
            None => Err(self.place(Error::invalid(format!("the sample has no field {field:?}")).at(self.offset))),
        }
    }

    /// The key that the sample itself states.
    ///
    /// # Errors
    /// When it has none, or none that is text.
    #[inline]
    pub fn key(&self) -> Result<&str> {
        let place = |error| self.place(error);
        match self.get("key")? {
            Some(key) if matches!(key.kind(), Ok(Kind::Str)) => key.str().map_err(place),
            Some(key) => {
                let found = key.tokens().next().map_err(place)?;
                let detail = format!("the key is {} and no str", found.name());
                Err(self.place(Error::invalid(detail).at(key.offset())))
            }
            None => Err(self.place(Error::invalid("the sample has no key").at(self.offset))),
        }
    }

    /// Decodes it into any type that implements [`Deserialize`]; texts and bytes may be borrowed. See [`RawValue::decode`].
    ///
    /// # Errors
    /// What is wrong with the message, or does not fit the type, with byte and row.
    #[inline]
    pub fn decode<'s, T: Deserialize<'s>>(&'s self) -> Result<T> {
        self.raw().decode().map_err(|error| self.place(error))
    }

    /// Decodes it into `rmpv`'s value, borrowed.
    ///
    /// # Errors
    /// What is wrong with the message, with byte and row.
    pub fn value(&self) -> Result<ValueRef<'_>> {
        self.raw().value().map_err(|error| self.place(error))
    }

    /// Adds where it is to an error.
    #[cold]
    pub(crate) fn place(&self, error: Error) -> Error {
        error.in_format(FORMAT_NAME).in_row(self.index)
    }
}
