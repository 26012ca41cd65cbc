//! Where the fields of samples go.

use std::collections::HashMap;

use super::value::Name;
use crate::container::columns::FieldName;

/// Fields that are looked through one by one.
const FEW: usize = 8;

/// The places of fields.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    names: Vec<FieldName>,
    texts: HashMap<Box<[u8]>, usize>,
    others: HashMap<Box<[u8]>, usize>,
}

impl Lookup {
    pub(super) fn new(names: impl IntoIterator<Item = FieldName>) -> Self {
        let mut lookup = Self { names: names.into_iter().collect(), ..Self::default() };
        for (place, name) in lookup.names.iter().enumerate() {
            let places = if name.text { &mut lookup.texts } else { &mut lookup.others };
            places.entry(name.bytes.clone()).or_insert(place);
        }
        lookup
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The place of a field; `expected` is where it most likely is.
    #[inline]
    pub(super) fn find(&self, name: &Name<'_>, expected: usize) -> Option<usize> {
        let is = |own: &FieldName| own.text == name.is_text && *own.bytes == *name.bytes;
        if self.names.get(expected).is_some_and(is) {
            return Some(expected);
        }
        if self.names.len() <= FEW {
            return self.names.iter().position(is);
        }
        let places = if name.is_text { &self.texts } else { &self.others };
        places.get(name.bytes).copied()
    }
}

/// A field that is called by a text.
pub(super) fn text(name: &str) -> FieldName {
    FieldName { bytes: name.as_bytes().into(), text: true }
}
