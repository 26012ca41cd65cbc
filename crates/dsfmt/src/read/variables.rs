//! Variables and dimensions of a dataset.

use std::collections::{HashMap, HashSet};

use container_core::{Error, Result};

use crate::FORMAT_NAME;
use crate::read::reader::Reader;
use crate::read::variable::{Attributes, Variable};

/// Variables may declare at most this many times the file's bytes in total.
const MAX_SHARING: u64 = 4;

/// Attributes that name a variable of bounds, which has the units of the variable with the attribute.
const BOUNDS_ATTRIBUTES: [&str; 2] = ["bounds", "climatology"];

/// A dimension of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dimension {
    /// Its name.
    pub name: String,
    /// Number of elements along it.
    pub size: u64,
}

impl Reader {
    /// All variables, in header order.
    pub fn variables(&self) -> impl ExactSizeIterator<Item = Variable<'_>> {
        self.header.entries.iter().zip(&self.indexes).map(|(entry, index)| Variable::new(self, entry, index))
    }

    /// The variable at an index in the header.
    pub(crate) fn variable_at(&self, index: usize) -> Option<Variable<'_>> {
        Some(Variable::new(self, self.header.entries.get(index)?, self.indexes.get(index)?))
    }

    /// The variable called `name`.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an unknown name.
    pub fn variable(&self, name: &str) -> Result<Variable<'_>> {
        let index = self.header.find(name);
        index.and_then(|index| self.variable_at(index)).ok_or_else(|| {
            let detail = format!("unknown variable {name:?} (known: {})", self.known_names());
            Error::usage(detail).in_format(FORMAT_NAME)
        })
    }

    /// Names of bounds, with the index of the variable whose bounds they are. The first call scans all variables.
    pub(crate) fn bounds(&self) -> &HashMap<String, usize> {
        self.bounds.get_or_init(|| {
            let mut all = HashMap::new();
            for (index, variable) in self.variables().enumerate() {
                let attributes = variable.attributes();
                let names = BOUNDS_ATTRIBUTES.iter().filter_map(|name| attributes.get(name));
                for name in names.filter_map(|name| name.as_str().map(std::borrow::Cow::into_owned)) {
                    // In a group, names are those of the group first.
                    let inner = variable.name().rsplit_once('/').map(|(group, _)| format!("{group}/{name}"));
                    let inner = inner.filter(|inner| self.header.find(inner).is_some());
                    all.entry(inner.unwrap_or(name)).or_insert(index);
                }
            }
            all
        })
    }

    /// Names of the first variables, for error messages.
    fn known_names(&self) -> String {
        const MAX_NAMES: usize = 20;
        let mut names: Vec<String> =
            self.variables().take(MAX_NAMES).map(|variable| format!("{:?}", variable.name())).collect();
        match self.len() {
            0 => return "none".to_owned(),
            len if len > MAX_NAMES => names.push(format!("and {} more", len - MAX_NAMES)),
            _ => {}
        }
        names.join(", ")
    }

    /// The dataset's attributes, in header order.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'_> {
        Attributes::new(self.header.attributes(), false)
    }

    /// Rejects `variables` that together declare far more bytes than the file has: thousands of them may claim the same bytes, so the cost of
    /// reading all is not bounded by the file size. Each can still be read by itself.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit).
    pub fn check_declared_bytes<'v>(&self, variables: impl IntoIterator<Item = Variable<'v>>) -> Result<()> {
        let declared = variables.into_iter().fold(0u64, |sum, variable| sum.saturating_add(variable.stored_bytes()));
        if let Some(foreign) = &self.foreign {
            return foreign.check_bytes(declared);
        }
        let max = self.source.len().saturating_mul(MAX_SHARING);
        match declared > max {
            true => Err(Error::limit("total declared bytes of the variables", declared, max).in_format(FORMAT_NAME)),
            false => Ok(()),
        }
    }

    /// Rejects a view that reads this many bytes of this dataset when the file can hold far less. A view of a ds file may repeat values.
    pub(crate) fn check_bytes_of_view(&self, bytes: u64) -> Result<()> {
        match &self.foreign {
            Some(foreign) => foreign.check_bytes(bytes),
            None => self.check_declared_bytes(self.variables()),
        }
    }

    /// Bytes of the file; of a file of another format, what its values take in ds.
    pub(crate) fn file_bytes(&self) -> u64 {
        match self.foreign {
            None => self.source.len(),
            Some(_) => self.variables().fold(0, |sum, variable| sum.saturating_add(variable.stored_bytes())),
        }
    }

    /// All dimensions, in order of first use. If variables disagree on a size, the first one is returned;
    /// [`verify`](crate::Reader::verify) reports the conflict.
    #[must_use]
    pub fn dimensions(&self) -> Vec<Dimension> {
        let mut all: Vec<Dimension> = Vec::new();
        let mut known = HashSet::new();
        for variable in self.variables().filter(|variable| variable.problem().is_none()) {
            for (name, size) in variable.dimensions().iter().zip(variable.shape().unwrap_or_default()) {
                if known.insert(name) {
                    all.push(Dimension { name: name.clone(), size: *size });
                }
            }
        }
        all
    }
}
