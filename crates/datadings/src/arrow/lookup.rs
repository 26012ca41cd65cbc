//! Finds columns by field name.

use std::collections::HashMap;

use super::value::Name;
use crate::container::columns::FieldName;

/// Up to this many fields, names are compared one by one.
const LINEAR_SEARCH: usize = 8;

/// Maps field names to column indexes.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    names: Vec<FieldName>,
    texts: HashMap<Box<[u8]>, usize>,
    others: HashMap<Box<[u8]>, usize>,
}

impl Lookup {
    pub(super) fn new(names: impl IntoIterator<Item = FieldName>) -> Self {
        let mut lookup = Self { names: names.into_iter().collect(), ..Self::default() };
        for (index, name) in lookup.names.iter().enumerate() {
            let indexes = if name.text { &mut lookup.texts } else { &mut lookup.others };
            indexes.entry(name.bytes.clone()).or_insert(index);
        }
        lookup
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The column of a field; `expected` is the most likely one.
    #[inline]
    pub(super) fn find(&self, name: &Name<'_>, expected: usize) -> Option<usize> {
        let is = |own: &FieldName| own.text == name.is_text && *own.bytes == *name.bytes;
        if self.names.get(expected).is_some_and(is) {
            return Some(expected);
        }
        if self.names.len() <= LINEAR_SEARCH {
            return self.names.iter().position(is);
        }
        let indexes = if name.is_text { &self.texts } else { &self.others };
        indexes.get(name.bytes).copied()
    }
}

/// A str field name.
pub(super) fn text(name: &str) -> FieldName {
    FieldName { bytes: name.as_bytes().into(), text: true }
}
