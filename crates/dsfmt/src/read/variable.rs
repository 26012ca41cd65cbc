//! A variable: what the header says of it.

use container_core::{Error, Result};

use crate::json::{Json, Members, name_of};
use crate::read::index::Index;
use crate::read::reader::Reader;
use crate::types::{DataType, Endian};
use crate::wire::{Entry, SPECIAL};

/// A variable of a file: a name, dimensions, a type, attributes, and values that are read when they are asked for.
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

    /// What is wrong with what the header says of it. Such a variable has no values; the others are not touched by it.
    #[must_use]
    pub fn problem(&self) -> Option<Error> {
        self.entry.problem.as_ref().map(|problem| self.place(Error::invalid(problem.clone())))
    }

    /// # Errors
    /// What is wrong with it.
    pub(crate) fn check(&self) -> Result<()> {
        self.problem().map_or(Ok(()), Err)
    }

    /// Names of its dimensions, one for each of [`shape`](Self::shape). One that the file does not name is called after the variable, with
    /// `_1`, `_2`... behind, as Python does.
    #[must_use]
    pub fn dimensions(&self) -> &'r [String] {
        &self.entry.dimensions
    }

    /// Its sizes; none for a scalar; `None` for an empty variable, which has no values at all.
    #[must_use]
    pub fn shape(&self) -> Option<&'r [u64]> {
        self.entry.shape.as_deref()
    }

    /// Its elements, missing ones among them.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.entry.count()
    }

    /// True when it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type of its elements; an empty variable may have none.
    #[must_use]
    pub fn data_type(&self) -> Option<DataType> {
        self.entry.data_type
    }

    /// The order of bytes in the file.
    #[must_use]
    pub fn endian(&self) -> Endian {
        self.entry.endian
    }

    /// True when it has a mask: elements may be missing.
    #[must_use]
    pub fn is_masked(&self) -> bool {
        self.entry.masked
    }

    /// True when its values are Julian dates: days since noon UTC of 24 November 4714 BC in the proleptic Gregorian calendar.
    #[must_use]
    pub fn is_time(&self) -> bool {
        self.entry.time
    }

    /// Where it begins in the body, in bytes.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.entry.offset
    }

    /// The bytes it takes in the body, its mask among them.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.entry.len
    }

    /// Its attributes, in the order of the header.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'r> {
        Attributes::new(Some(self.header()), true)
    }

    /// Its whole member of the header.
    #[must_use]
    pub fn header(&self) -> Json<'r> {
        self.reader.header.member(self.entry)
    }

    /// Adds where it is to an error.
    #[cold]
    pub(crate) fn place(&self, error: Error) -> Error {
        error.in_format(self.reader.format()).in_column(self.entry.name.clone())
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

/// Attributes in the order of the header: names and values.
#[derive(Debug, Clone)]
pub struct Attributes<'r> {
    members: Option<Members<'r>>,
    /// Names that the format keeps for itself are not attributes.
    of_variable: bool,
}

impl<'r> Attributes<'r> {
    pub(crate) fn new(object: Option<Json<'r>>, of_variable: bool) -> Self {
        Self { members: object.map(|object| object.members()), of_variable }
    }

    /// The value of the attribute of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Json<'r>> {
        // Of a name that occurs twice Python takes the last.
        self.clone().filter(|(found, _)| found == name).last().map(|(_, value)| value)
    }
}

impl<'r> Iterator for Attributes<'r> {
    type Item = (String, Json<'r>);

    fn next(&mut self) -> Option<Self::Item> {
        let of_variable = self.of_variable;
        let members = self.members.as_mut()?;
        members
            .map(|(name, value)| (name_of(name), value))
            .find(|(name, _)| !of_variable || !SPECIAL.contains(&name.as_str()))
    }
}
