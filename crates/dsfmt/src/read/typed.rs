//! Types of attributes that the JSON of a header does not tell.

use std::collections::HashMap;

use crate::array::Values;

/// Numbers of attributes by name.
pub(crate) type TypedNumbers = HashMap<String, Values<'static>>;

/// Attributes of a dataset that comes from a format with typed attributes. One counts only where the header has the same numbers still.
#[derive(Debug, Default, Clone)]
pub(crate) struct TypedAttributes {
    pub(crate) dataset: TypedNumbers,
    /// By the name of the variable.
    pub(crate) variables: HashMap<String, TypedNumbers>,
}

impl TypedAttributes {
    /// Adds those of another dataset that this one lacks.
    pub(crate) fn add(&mut self, other: &Self) {
        let add = |to: &mut TypedNumbers, from: &TypedNumbers| {
            for (name, numbers) in from {
                to.entry(name.clone()).or_insert_with(|| numbers.clone());
            }
        };
        add(&mut self.dataset, &other.dataset);
        for (name, numbers) in &other.variables {
            add(self.variables.entry(name.clone()).or_default(), numbers);
        }
    }
}
