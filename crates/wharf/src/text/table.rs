//! The rows of a text as a table.

use std::sync::OnceLock;

use container_core::{ColumnInfo, Error, ErrorKind, Result};

use super::columns::{Columns, Survey};
use super::inner::Text;
use super::seen::Kind;
use crate::workers::Workers;

/// A text up to so many bytes is looked at as a whole for its columns.
const SMALL: u64 = 16 << 20;

/// The only table of a text.
#[derive(Debug)]
pub(super) struct TextTable {
    pub(super) text: Text,
    /// What the first rows have, and what all have.
    some: OnceLock<Columns>,
    pub(super) all: OnceLock<Columns>,
    /// What the columns of CSV hold in all rows.
    pub(super) kinds: OnceLock<Box<[Kind]>>,
    /// What all rows were seen to hold.
    #[cfg(feature = "arrow")]
    pub(super) observed: OnceLock<super::arrow::held::Held>,
}

impl TextTable {
    pub(super) fn new(text: Text) -> Self {
        Self {
            text,
            some: OnceLock::new(),
            all: OnceLock::new(),
            kinds: OnceLock::new(),
            #[cfg(feature = "arrow")]
            observed: OnceLock::new(),
        }
    }

    /// The columns that are known.
    pub(super) fn known(&self) -> &Columns {
        if let Some(all) = self.all.get() {
            return all;
        }
        self.some.get_or_init(|| {
            let small = self.text.len() <= SMALL;
            let (survey, result) = self.look(&Workers::new(usize::from(!small)), small);
            survey.columns(&self.text, result.err())
        })
    }

    /// Looks at all rows, or the first ones.
    pub(super) fn look(&self, workers: &Workers, all: bool) -> (Survey, Result<()>) {
        let (survey, result) = Survey::of(&self.text, workers, all);
        // Of a text with broken rows the others count.
        if all && !result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Io) {
            let _ = self.kinds.set(survey.kinds(&self.text)); // somebody else may have been faster, with the same
        }
        (survey, result)
    }

    /// What the columns of CSV hold, in all rows that are not broken: cells are shown as values of their column's type.
    pub(super) fn kinds(&self, threads: usize) -> Result<&[Kind]> {
        if self.text.is_csv() && self.kinds.get().is_none() {
            match self.look(&Workers::new(threads), true) {
                (survey, Ok(())) => drop(self.all.set(survey.columns(&self.text, None))),
                (_, Err(error)) if error.kind() == ErrorKind::Io => return Err(error),
                _ => {}
            }
        }
        Ok(self.kinds.get().map(AsRef::as_ref).unwrap_or_default())
    }

    /// Which column is called so.
    pub(super) fn column(&self, index: usize) -> Result<&ColumnInfo> {
        let missing = || Error::usage(format!("there is no column {index}")).in_format(self.text.format);
        self.known().infos.get(index).ok_or_else(missing)
    }

    /// Fails for rows that begin behind the last one, where it is known how many there are.
    pub(super) fn check_rows(&self, rows: &std::ops::Range<u64>) -> Result<()> {
        match self.text.index.get() {
            Some(index) if rows.start > index.rows => {
                let (start, count) = (rows.start, index.rows);
                Err(Error::usage(format!("the rows begin at {start}, and there are {count}"))
                    .in_format(self.text.format))
            }
            _ => Ok(()),
        }
    }
}
