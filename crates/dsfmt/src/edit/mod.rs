//! A dataset changed: variables, dimensions and attributes get other names, other values, or go.

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
use crate::wire::SPECIAL;
use crate::write::{Builder, Field};

pub(crate) use convert::{converted, widest};

/// Changes to a dataset, which [`into_builder`](Self::into_builder) gives back as one to be written.
///
/// What is not touched stays: the bytes of values, the members of the header in their order with their exact texts, those that nobody knows
/// among them. After an error some of a change may have been made: such an `Edit` is of no more use.
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
    /// In the order of the header; `None` where one was taken out.
    fields: Vec<Option<(String, Field<'r>)>>,
    places: HashMap<String, usize>,
}

impl<'r> Edit<'r> {
    /// Nothing changed yet.
    #[must_use]
    pub fn new(reader: &'r Reader) -> Self {
        let mut edit = Self {
            attributes: reader.header.attributes().map(Object::of).unwrap_or_default(),
            fields: Vec::with_capacity(reader.len()),
            places: HashMap::with_capacity(reader.len()),
        };
        reader.variables().for_each(|variable| edit.push(variable.name().to_owned(), Field::copy(&variable)));
        edit
    }

    fn push(&mut self, name: String, field: Field<'r>) {
        self.places.insert(name.clone(), self.fields.len());
        self.fields.push(Some((name, field)));
    }

    /// The names of the variables.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().flatten().map(|(name, _)| name.as_str())
    }

    /// Is there such a variable?
    #[must_use]
    pub fn has_variable(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// Is a variable along this dimension?
    #[must_use]
    pub fn has_dimension(&self, name: &str) -> bool {
        self.fields.iter().flatten().any(|(of, field)| field.dimensions(of).iter().any(|found| found == name))
    }

    /// Has a variable, or with `None` the dataset, this attribute?
    #[must_use]
    pub fn has_attribute(&self, variable: Option<&str>, name: &str) -> bool {
        let members = match variable {
            None => Some(&self.attributes),
            Some(variable) => self.field(variable).ok().map(|(_, field)| &field.members),
        };
        let own = variable.is_some() && SPECIAL.contains(&name);
        !own && members.is_some_and(|members| members.get(&quoted(name)).is_some())
    }

    fn field(&self, name: &str) -> Result<&(String, Field<'r>)> {
        let found = self.places.get(name).and_then(|place| self.fields.get(*place)).and_then(Option::as_ref);
        found.ok_or_else(|| no_variable(name))
    }

    fn field_mut(&mut self, name: &str) -> Result<&mut (String, Field<'r>)> {
        let found = self.places.get(name).and_then(|place| self.fields.get_mut(*place)).and_then(Option::as_mut);
        found.ok_or_else(|| no_variable(name))
    }

    /// The members of a variable, or of the dataset's attributes.
    fn members(&mut self, variable: Option<&str>) -> Result<&mut Object> {
        match variable {
            None => Ok(&mut self.attributes),
            Some(name) => self.field_mut(name).map(|(_, field)| &mut field.members),
        }
    }

    /// Gives variables other names, old and new, all at once: so two can change places. Dimensions keep theirs.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a name that is not there, that comes twice, or that another variable has.
    pub fn rename_variables<'n>(&mut self, names: impl IntoIterator<Item = (&'n str, &'n str)>) -> Result<&mut Self> {
        let mut found = Vec::new();
        for (old, new) in names {
            found.push((self.places.remove(old).ok_or_else(|| no_variable(old))?, new));
        }
        for (place, new) in found {
            if self.places.insert(new.to_owned(), place).is_some() {
                return Err(usage(format!("there are two variables {new:?}")));
            }
            if let Some(Some((name, _))) = self.fields.get_mut(place) {
                new.clone_into(name);
            }
        }
        Ok(self)
    }

    /// Gives dimensions other names, old and new, all at once, in every variable along them.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a name that no variable's dimension has, or that comes twice.
    pub fn rename_dimensions<'n>(&mut self, names: impl IntoIterator<Item = (&'n str, &'n str)>) -> Result<&mut Self> {
        let mut new_names = HashMap::new();
        for (old, new) in names {
            if new_names.insert(old, new).is_some() {
                return Err(usage(format!("the dimension {old:?} gets two names")));
            }
        }
        let mut seen = HashSet::new();
        for (name, field) in self.fields.iter_mut().flatten() {
            let before = field.dimensions(name).into_owned();
            if !before.iter().any(|dimension| new_names.contains_key(dimension.as_str())) {
                continue;
            }
            let after: Vec<String> = before
                .iter()
                .map(|dimension| match new_names.get_key_value(dimension.as_str()) {
                    Some((old, new)) => {
                        seen.insert(*old);
                        (*new).to_owned()
                    }
                    None => dimension.clone(),
                })
                .collect();
            *field = field.clone().with_dimensions(after);
        }
        match new_names.keys().find(|old| !seen.contains(*old)) {
            Some(old) => Err(no_dimension(old)),
            None => Ok(self),
        }
    }

    /// Gives attributes of a variable, or with `None` of the dataset, other names, old and new, all at once. They stay where they stand.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a name that is not there, that comes twice, or that another attribute has; for one
    /// that the format keeps for itself.
    pub fn rename_attributes<'n>(
        &mut self,
        variable: Option<&str>,
        names: impl IntoIterator<Item = (&'n str, &'n str)>,
    ) -> Result<&mut Self> {
        let names: Vec<(&str, &str)> = names.into_iter().collect();
        let mut known = HashSet::new();
        for (old, new) in &names {
            if !self.has_attribute(variable, old) || !known.insert(*old) {
                return Err(self.no_attribute(variable, old));
            }
            check_name(variable, new)?;
        }
        let names: Vec<_> = names.iter().map(|(old, new)| (quoted(old), quoted(new))).collect();
        let renamed = self.members(variable)?.rename(&names);
        renamed.map_err(|name| placed(usage(format!("there are two attributes {name}")), variable))?;
        Ok(self)
    }

    /// Takes a variable out.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when there is none of this name.
    pub fn remove_variable(&mut self, name: &str) -> Result<&mut Self> {
        let place = self.places.remove(name).ok_or_else(|| no_variable(name))?;
        if let Some(field) = self.fields.get_mut(place) {
            *field = None;
        }
        Ok(self)
    }

    /// Takes all variables along a dimension out; returns their names.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when there are none.
    pub fn remove_dimension(&mut self, name: &str) -> Result<Vec<String>> {
        let along = |(of, field): &&(String, Field<'r>)| field.dimensions(of).iter().any(|found| found == name);
        let gone: Vec<String> = self.fields.iter().flatten().filter(along).map(|(name, _)| name.clone()).collect();
        if gone.is_empty() {
            return Err(no_dimension(name));
        }
        for name in &gone {
            self.remove_variable(name)?;
        }
        Ok(gone)
    }

    /// Takes an attribute of a variable, or with `None` of the dataset, out.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when there is none of this name.
    pub fn remove_attribute(&mut self, variable: Option<&str>, name: &str) -> Result<&mut Self> {
        if !self.has_attribute(variable, name) {
            return Err(self.no_attribute(variable, name));
        }
        self.members(variable)?.remove(&quoted(name));
        Ok(self)
    }

    /// Gives an attribute of a variable, or with `None` of the dataset, a value: where it stands, or last when it is new.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when there is no such variable, and for a name that the format keeps for itself.
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

    /// Names the dimensions of a variable; there must be as many as it has sizes when the dataset is written.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when there is no such variable.
    pub fn set_dimensions<N: Into<String>>(
        &mut self,
        variable: &str,
        names: impl IntoIterator<Item = N>,
    ) -> Result<&mut Self> {
        let (_, field) = self.field_mut(variable)?;
        *field = field.clone().with_dimensions(names);
        Ok(self)
    }

    /// Gives a variable other values: attributes and, where there are as many, dimensions stay. One that is not there yet is added.
    pub fn set_values(&mut self, variable: &str, values: Array<'r>) -> &mut Self {
        match self.field_mut(variable) {
            Ok((_, field)) => field.set_content(values),
            Err(_) => self.push(variable.to_owned(), Field::new(values)),
        }
        self
    }

    /// The type of a variable.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when there is no such variable.
    pub fn data_type(&self, variable: &str) -> Result<Option<DataType>> {
        self.field(variable).map(|(_, field)| field.data_type())
    }

    /// Brings the values of a variable into another type: numbers to numbers, truth values to numbers, and texts to bytes and back. Returns
    /// how many had to be rounded, which is done for floats alone. It takes memory for the variable.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when there is no such variable or its values are none of that kind;
    /// [`Invalid`](container_core::ErrorKind::Invalid) for a value that the type does not have, with its element, counted from 0; and those
    /// of [`Variable::read`].
    pub fn set_type(&mut self, variable: &str, data_type: DataType) -> Result<u64> {
        let (_, field) = self.field_mut(variable)?;
        if field.data_type() == Some(data_type) {
            return Ok(0);
        }
        let Some(array) = field.take_array()? else {
            field.replace_type(data_type);
            return Ok(0);
        };
        let (array, rounded) = converted(array, data_type).map_err(|error| placed(error, Some(variable)))?;
        field.set_content(array);
        Ok(rounded)
    }

    /// The dataset as it is now.
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
    fn no_attribute(&self, variable: Option<&str>, name: &str) -> Error {
        if let Some(Err(error)) = variable.map(|variable| self.field(variable)) {
            return error;
        }
        placed(usage(format!("there is no attribute {name:?}")), variable)
    }
}

/// Names of the format's own are no attributes of variables.
fn check_name(variable: Option<&str>, name: &str) -> Result<()> {
    match variable.is_some() && SPECIAL.contains(&name) {
        true => {
            let detail = format!("the name {name:?} is the format's own, no attribute has it");
            Err(placed(usage(detail), variable))
        }
        false => Ok(()),
    }
}

#[cold]
fn usage(detail: String) -> Error {
    Error::usage(detail).in_format(FORMAT_NAME)
}

#[cold]
fn no_variable(name: &str) -> Error {
    usage(format!("there is no variable {name:?}"))
}

#[cold]
fn no_dimension(name: &str) -> Error {
    usage(format!("no variable has the dimension {name:?}"))
}

#[cold]
fn placed(error: Error, variable: Option<&str>) -> Error {
    let error = error.in_format(FORMAT_NAME);
    match variable {
        Some(name) => error.in_column(name.to_owned()),
        None => error,
    }
}

impl<'a> Field<'a> {
    /// Other values for a variable whose header was taken over.
    fn set_content(&mut self, array: Array<'a>) {
        let sizes = array.shape().len();
        self.replace(array);
        // Names that are too few or too many for the new values are none.
        if self.dimension_count().is_some_and(|count| count != sizes) {
            self.forget_dimensions();
        }
    }

    /// Its values, to be replaced; `None` where it has none.
    fn take_array(&self) -> Result<Option<Array<'a>>> {
        match self.source() {
            (Some(array), _) => Ok(Some(array.clone())),
            (_, Some(variable)) if variable.shape().is_some() => Variable::read(variable).map(Some),
            _ => Ok(None),
        }
    }
}
