//! A variable and its metadata.

use container_core::{Error, Result};

use crate::json::{Json, Members, decode_name};
use crate::read::index::Index;
use crate::read::reader::Reader;
use crate::types::{DataType, Endian};
use crate::wire::{Entry, SPECIAL_KEYS};

/// A variable of a file: name, dimensions, element type, attributes, and values that are read on demand.
#[derive(Clone, Copy)]
pub struct Variable<'r> {
    pub(crate) reader: &'r Reader,
    pub(crate) entry: &'r Entry,
    pub(crate) index: &'r Index,
}

impl<'r> Variable<'r> {
    pub(crate) fn new(reader: &'r Reader, entry: &'r Entry, index: &'r Index) -> Self {
        Self { reader, entry, index }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'r str {
        &self.entry.name
    }

    /// Why the header's description is invalid. Such a variable cannot be read; others are unaffected.
    #[must_use]
    pub fn problem(&self) -> Option<Error> {
        self.entry.problem.as_ref().map(|problem| self.in_variable(Error::invalid(problem.to_string())))
    }

    /// # Errors
    /// Its [`problem`](Self::problem).
    pub(crate) fn check(&self) -> Result<()> {
        self.problem().map_or(Ok(()), Err)
    }

    /// Names of its dimensions, one per entry of [`shape`](Self::shape). Without names in the file they are generated from the variable's name with
    /// `_1`, `_2`... appended, as Python does.
    #[must_use]
    pub fn dimensions(&self) -> &'r [String] {
        &self.entry.dimensions
    }

    /// Its sizes: empty for a scalar, `None` for an empty variable, which has no values.
    #[must_use]
    pub fn shape(&self) -> Option<&'r [u64]> {
        self.entry.shape.as_deref()
    }

    /// Number of elements, including missing ones.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.entry.count()
    }

    /// True when there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element type; an empty variable may have none.
    #[must_use]
    pub fn data_type(&self) -> Option<DataType> {
        self.entry.data_type
    }

    /// The byte order in the file.
    #[must_use]
    pub fn endian(&self) -> Endian {
        self.entry.endian
    }

    /// True when elements may be missing.
    #[must_use]
    pub fn is_masked(&self) -> bool {
        self.entry.masked
    }

    /// True when the values are Julian dates: days since noon UTC of 24 November 4714 BC in the proleptic Gregorian calendar.
    #[must_use]
    pub fn is_time(&self) -> bool {
        self.entry.time
    }

    /// Offset in the body, in bytes.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.entry.offset
    }

    /// Length in the body in bytes, including the mask.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.entry.len
    }

    /// Its attributes, in header order.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'r> {
        Attributes::new(Some(self.header()), true)
    }

    /// Its complete header member.
    #[must_use]
    pub fn header(&self) -> Json<'r> {
        self.reader.header.member(self.entry)
    }

    /// For a member of a compound variable, the name of that variable and the path of the member in it.
    pub(crate) fn member(&self) -> Option<(&'r str, &'r [String])> {
        let foreign = self.reader.foreign.as_ref()?;
        foreign.member(self.reader.header.find(&self.entry.name)?)
    }

    /// Names the format and the variable in an error.
    #[cold]
    pub(crate) fn in_variable(&self, error: Error) -> Error {
        error.in_format(self.reader.format()).in_column(self.entry.name.to_string())
    }
}

impl std::fmt::Debug for Variable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Variable")
            .field("name", &self.name())
            .field("shape", &self.shape())
            .field("data_type", &self.data_type())
            .finish_non_exhaustive()
    }
}

/// Attributes in header order, as pairs of name and value.
#[derive(Debug, Clone)]
pub struct Attributes<'r> {
    members: Option<Members<'r>>,
    /// Skips the format's own keys.
    of_variable: bool,
}

impl<'r> Attributes<'r> {
    pub(crate) fn new(object: Option<Json<'r>>, of_variable: bool) -> Self {
        Self { members: object.map(|object| object.members()), of_variable }
    }

    /// The value of the attribute `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Json<'r>> {
        // Python takes the last value of a repeated name.
        self.clone().filter(|(key, _)| key == name).last().map(|(_, value)| value)
    }
}

impl<'r> Iterator for Attributes<'r> {
    type Item = (String, Json<'r>);

    fn next(&mut self) -> Option<Self::Item> {
        let of_variable = self.of_variable;
        let members = self.members.as_mut()?;
        members
            .map(|(name, value)| (decode_name(name), value))
            .find(|(name, _)| !of_variable || !SPECIAL_KEYS.contains(&name.as_str()))
    }
}
