//! The variables of a file, and what they have together.

use std::collections::HashSet;

use container_core::{Error, Result};

use crate::FORMAT_NAME;
use crate::read::reader::Reader;
use crate::read::variable::{Attributes, Variable};

/// So many times the bytes of the file its variables may state together, for a walk over all of them.
const SHARED: u64 = 4;

/// A dimension: its name, and the size that the variables along it have.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dimension {
    /// Its name.
    pub name: String,
    /// Elements along it.
    pub size: u64,
}

impl Reader {
    /// All variables, in the order of the header.
    pub fn variables(&self) -> impl ExactSizeIterator<Item = Variable<'_>> {
        self.header.entries.iter().zip(&self.indexes).map(|(entry, index)| Variable::new(self, entry, index))
    }

    /// The variable at this place of the header.
    pub(crate) fn variable_at(&self, place: usize) -> Option<Variable<'_>> {
        Some(Variable::new(self, self.header.entries.get(place)?, self.indexes.get(place)?))
    }

    /// The variable of this name.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when there is none.
    pub fn variable(&self, name: &str) -> Result<Variable<'_>> {
        let found =
            self.header.find(name).and_then(|place| Some((self.header.entries.get(place)?, self.indexes.get(place)?)));
        found.map(|(entry, index)| Variable::new(self, entry, index)).ok_or_else(|| {
            let detail = format!("there is no variable {name:?}: there are {}", self.names());
            Error::usage(detail).in_format(FORMAT_NAME)
        })
    }

    /// Some names for an error.
    fn names(&self) -> String {
        const MOST: usize = 20;
        let mut names: Vec<String> =
            self.variables().take(MOST).map(|variable| format!("{:?}", variable.name())).collect();
        match self.len() {
            0 => return "none".to_owned(),
            len if len > MOST => names.push(format!("and {} more", len - MOST)),
            _ => {}
        }
        names.join(", ")
    }

    /// The dataset's attributes, in the order of the header.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'_> {
        Attributes::new(self.header.attributes(), false)
    }

    /// Refuses to go over variables that state far more bytes together than the file has, as some thousands of them do that all claim the
    /// same ones: what would be written or counted has no bound by the file then. A single variable of them can be read all the same.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit).
    pub fn check_together<'v>(&self, variables: impl IntoIterator<Item = Variable<'v>>) -> Result<()> {
        if let Some(foreign) = &self.foreign {
            return foreign.check_together();
        }
        let stated = variables.into_iter().fold(0u64, |all, variable| all.saturating_add(variable.stored_bytes()));
        let most = self.source.len().saturating_mul(SHARED);
        match stated > most {
            true => {
                Err(Error::limit("the bytes that the variables state together", stated, most).in_format(FORMAT_NAME))
            }
            false => Ok(()),
        }
    }

    /// All dimensions, in the order in which variables name them. Of one on whose size variables disagree the first is given;
    /// [`verify`](crate::Reader::verify) tells.
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
