//! Edits datasets: renames, replaces and removes variables, dimensions and attributes.

mod convert;
mod values;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use container_core::{Error, Result};

use crate::FORMAT_NAME;
use crate::array::Array;
use crate::json::{JsonBuf, Object, quoted};
use crate::read::{Reader, Variable};
use crate::types::DataType;
use crate::wire::SPECIAL_KEYS;
use crate::write::{Builder, Field};

pub(crate) use convert::{converted, widest};

/// A set of changes to a dataset, which [`into_builder`](Self::into_builder) turns into one to write.
///
/// Everything else is unchanged: the bytes of values, and header members with their order and exact text, including unknown ones. After an
/// error a change may be partially applied: discard the `Edit`.
///
/// ```
/// use dsfmt::{Array, Builder, Edit, Field, OutputOptions, Reader};
/// # let folder = tempfile::tempdir().unwrap();
/// # let (path, new) = (folder.path().join("t.ds"), folder.path().join("new.ds"));
/// let mut builder = Builder::new();
/// builder.field("t", Field::new(Array::new([2], vec![1i8, 2])?).with_dimensions(["time"]).with_attribute("units", "K"));
/// builder.write(&path, OutputOptions::default())?;
///
/// let reader = Reader::open(&path)?;
/// let mut edit = Edit::new(&reader);
/// edit.rename_variables([("t", "temperature")])?.set_attribute(Some("temperature"), "units", "celsius")?;
/// edit.into_builder().write(&new, OutputOptions::default())?;
/// assert!(Reader::open(&new)?.variable("temperature").is_ok());
/// # Ok::<(), dsfmt::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Edit<'r> {
    attributes: Object,
    /// In header order; `None` for a removed variable.
    fields: Vec<Option<(String, Field<'r>)>>,
    positions: HashMap<String, usize>,
}

impl<'r> Edit<'r> {
    /// Starts without changes.
    #[must_use]
    pub fn new(reader: &'r Reader) -> Self {
        let mut edit = Self {
            attributes: reader.header.attributes().map(Object::from_json).unwrap_or_default(),
            fields: Vec::with_capacity(reader.len()),
            positions: HashMap::with_capacity(reader.len()),
        };
        reader.variables().for_each(|variable| edit.push(variable.name().to_owned(), Field::copy(&variable)));
        edit
    }

    fn push(&mut self, name: String, field: Field<'r>) {
        self.positions.insert(name.clone(), self.fields.len());
        self.fields.push(Some((name, field)));
    }

    /// Names of the variables.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().flatten().map(|(name, _)| name.as_str())
    }

    /// True when the variable exists.
    #[must_use]
    pub fn has_variable(&self, name: &str) -> bool {
        self.positions.contains_key(name)
    }

    /// True when a variable has this dimension.
    #[must_use]
    pub fn has_dimension(&self, name: &str) -> bool {
        self.fields.iter().flatten().any(|(of, field)| field.dimensions(of).iter().any(|found| found == name))
    }

    /// True when the variable, or for `None` the dataset, has this attribute.
    #[must_use]
    pub fn has_attribute(&self, variable: Option<&str>, name: &str) -> bool {
        let members = match variable {
            None => Some(&self.attributes),
            Some(variable) => self.field(variable).ok().map(|(_, field)| &field.members),
        };
        let reserved = variable.is_some() && SPECIAL_KEYS.contains(&name);
        !reserved && members.is_some_and(|members| members.get(&quoted(name)).is_some())
    }

    fn field(&self, name: &str) -> Result<&(String, Field<'r>)> {
        let found = self.positions.get(name).and_then(|position| self.fields.get(*position)).and_then(Option::as_ref);
        found.ok_or_else(|| unknown_variable(name))
    }

    fn field_mut(&mut self, name: &str) -> Result<&mut (String, Field<'r>)> {
        let found =
            self.positions.get(name).and_then(|position| self.fields.get_mut(*position)).and_then(Option::as_mut);
        found.ok_or_else(|| unknown_variable(name))
    }

    /// Header members of a variable, or for `None` the dataset's attributes.
    fn members(&mut self, variable: Option<&str>) -> Result<&mut Object> {
        match variable {
            None => Ok(&mut self.attributes),
            Some(name) => self.field_mut(name).map(|(_, field)| &mut field.members),
        }
    }

    /// Renames variables, pairs of old and new name, all at once: names can be swapped. Dimensions keep their names.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for unknown or repeated old names, and new names that are taken.
    pub fn rename_variables<'n>(&mut self, names: impl IntoIterator<Item = (&'n str, &'n str)>) -> Result<&mut Self> {
        let mut moved = Vec::new();
        for (old, new) in names {
            moved.push((self.positions.remove(old).ok_or_else(|| unknown_variable(old))?, new));
        }
        for (position, new) in moved {
            if self.positions.insert(new.to_owned(), position).is_some() {
                return Err(usage(format!("duplicate variable {new:?}")));
            }
            if let Some(Some((name, _))) = self.fields.get_mut(position) {
                new.clone_into(name);
            }
        }
        Ok(self)
    }

    /// Renames dimensions in all variables, pairs of old and new name, all at once.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for unknown or repeated old names.
    pub fn rename_dimensions<'n>(&mut self, names: impl IntoIterator<Item = (&'n str, &'n str)>) -> Result<&mut Self> {
        let mut new_names = HashMap::new();
        for (old, new) in names {
            if new_names.insert(old, new).is_some() {
                return Err(usage(format!("dimension {old:?} is renamed twice")));
            }
        }
        let mut renamed = HashSet::new();
        for (name, field) in self.fields.iter_mut().flatten() {
            let before = field.dimensions(name).into_owned();
            if !before.iter().any(|dimension| new_names.contains_key(dimension.as_str())) {
                continue;
            }
            let after: Vec<String> = before
                .iter()
                .map(|dimension| match new_names.get_key_value(dimension.as_str()) {
                    Some((old, new)) => {
                        renamed.insert(*old);
                        (*new).to_owned()
                    }
                    None => dimension.clone(),
                })
                .collect();
            *field = field.clone().with_dimensions(after);
        }
        match new_names.keys().find(|old| !renamed.contains(*old)) {
            Some(old) => Err(unknown_dimension(old)),
            None => Ok(self),
        }
    }

    /// Renames attributes of a variable, or for `None` of the dataset, in place and all at once.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for unknown, repeated or reserved names, and new names that are taken.
    pub fn rename_attributes<'n>(
        &mut self,
        variable: Option<&str>,
        names: impl IntoIterator<Item = (&'n str, &'n str)>,
    ) -> Result<&mut Self> {
        let names: Vec<(&str, &str)> = names.into_iter().collect();
        let mut known = HashSet::new();
        for (old, new) in &names {
            if !self.has_attribute(variable, old) || !known.insert(*old) {
                return Err(self.unknown_attribute(variable, old));
            }
            check_name(variable, new)?;
        }
        let names: Vec<_> = names.iter().map(|(old, new)| (quoted(old), quoted(new))).collect();
        let renamed = self.members(variable)?.rename(&names);
        renamed.map_err(|name| in_variable(usage(format!("duplicate attribute {name}")), variable))?;
        Ok(self)
    }

    /// Removes a variable.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an unknown name.
    pub fn remove_variable(&mut self, name: &str) -> Result<&mut Self> {
        let position = self.positions.remove(name).ok_or_else(|| unknown_variable(name))?;
        if let Some(field) = self.fields.get_mut(position) {
            *field = None;
        }
        Ok(self)
    }

    /// Removes all variables along a dimension; returns their names.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an unknown dimension.
    pub fn remove_dimension(&mut self, name: &str) -> Result<Vec<String>> {
        let along = |(of, field): &&(String, Field<'r>)| field.dimensions(of).iter().any(|found| found == name);
        let removed: Vec<String> = self.fields.iter().flatten().filter(along).map(|(name, _)| name.clone()).collect();
        if removed.is_empty() {
            return Err(unknown_dimension(name));
        }
        for name in &removed {
            self.remove_variable(name)?;
        }
        Ok(removed)
    }

    /// Removes an attribute of a variable, or for `None` of the dataset.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an unknown name.
    pub fn remove_attribute(&mut self, variable: Option<&str>, name: &str) -> Result<&mut Self> {
        if !self.has_attribute(variable, name) {
            return Err(self.unknown_attribute(variable, name));
        }
        self.members(variable)?.remove(&quoted(name));
        Ok(self)
    }

    /// Sets an attribute of a variable, or for `None` of the dataset: in place, or last if new.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an unknown variable or a reserved name.
    pub fn set_attribute(
        &mut self,
        variable: Option<&str>,
        name: &str,
        value: impl Into<JsonBuf>,
    ) -> Result<&mut Self> {
        check_name(variable, name)?;
        self.members(variable)?.set(quoted(name), value.into());
        Ok(self)
    }

    /// Names the dimensions of a variable. Their number is checked when the dataset is written.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an unknown variable.
    pub fn set_dimensions<N: Into<String>>(
        &mut self,
        variable: &str,
        names: impl IntoIterator<Item = N>,
    ) -> Result<&mut Self> {
        let (_, field) = self.field_mut(variable)?;
        *field = field.clone().with_dimensions(names);
        Ok(self)
    }

    /// Sets the values of a variable, keeping attributes and, if their number matches, dimensions. Adds the variable if it does not exist.
    pub fn set_values(&mut self, variable: &str, values: Array<'r>) -> &mut Self {
        match self.field_mut(variable) {
            Ok((_, field)) => field.set_content(values),
            Err(_) => self.push(variable.to_owned(), Field::new(values)),
        }
        self
    }

    /// The element type of a variable.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an unknown variable.
    pub fn data_type(&self, variable: &str) -> Result<Option<DataType>> {
        self.field(variable).map(|(_, field)| field.data_type())
    }

    /// Converts the values of a variable: numbers and booleans to numbers, `str` and `unicode` to each other. Returns the number of rounded values;
    /// only floats are rounded. Holds the variable in memory.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an unknown variable or an unsupported conversion;
    /// [`Invalid`](container_core::ErrorKind::Invalid) for a value out of range, with its element index; those of [`Variable::read`].
    pub fn set_type(&mut self, variable: &str, data_type: DataType) -> Result<u64> {
        let (_, field) = self.field_mut(variable)?;
        if field.data_type() == Some(data_type) {
            return Ok(0);
        }
        let Some(array) = field.array()? else {
            field.replace_type(data_type);
            return Ok(0);
        };
        let (array, rounded) = converted(array, data_type).map_err(|error| in_variable(error, Some(variable)))?;
        field.set_content(array);
        Ok(rounded)
    }

    /// The edited dataset.
    #[must_use]
    pub fn into_builder(self) -> Builder<'r> {
        let mut builder = Builder::new();
        builder.attributes = self.attributes;
        self.fields.into_iter().flatten().for_each(|(name, field)| {
            builder.field(name, field);
        });
        builder
    }

    #[cold]
    fn unknown_attribute(&self, variable: Option<&str>, name: &str) -> Error {
        if let Some(Err(error)) = variable.map(|variable| self.field(variable)) {
            return error;
        }
        in_variable(usage(format!("unknown attribute {name:?}")), variable)
    }
}

/// Rejects reserved names.
fn check_name(variable: Option<&str>, name: &str) -> Result<()> {
    match variable.is_some() && SPECIAL_KEYS.contains(&name) {
        true => {
            let detail = format!("attribute name {name:?} is reserved");
            Err(in_variable(usage(detail), variable))
        }
        false => Ok(()),
    }
}

#[cold]
fn usage(detail: String) -> Error {
    Error::usage(detail).in_format(FORMAT_NAME)
}

#[cold]
fn unknown_variable(name: &str) -> Error {
    usage(format!("unknown variable {name:?}"))
}

#[cold]
fn unknown_dimension(name: &str) -> Error {
    usage(format!("unknown dimension {name:?}"))
}

#[cold]
fn in_variable(error: Error, variable: Option<&str>) -> Error {
    let error = error.in_format(FORMAT_NAME);
    match variable {
        Some(name) => error.in_column(name.to_owned()),
        None => error,
    }
}

impl<'a> Field<'a> {
    /// Replaces the values of a variable and keeps its metadata.
    fn set_content(&mut self, array: Array<'a>) {
        let sizes = array.shape().len();
        self.replace(array);
        // Drop dimension names that no longer match the number of sizes.
        if self.dimension_count().is_some_and(|count| count != sizes) {
            self.clear_dimensions();
        }
    }

    /// Its values; `None` if it has none.
    fn array(&self) -> Result<Option<Array<'a>>> {
        match self.source() {
            (Some(array), _) => Ok(Some(array.clone())),
            (_, Some(variable)) if variable.shape().is_some() => Variable::read(variable).map(Some),
            _ => Ok(None),
        }
    }
}
