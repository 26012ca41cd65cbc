//! The rows of a text as a table.

use std::sync::OnceLock;

use container_core::{ColumnInfo, Error, ErrorKind, Result, Rows, Scan, Table};
use serde_json::{Map, Value};

use super::columns::{Columns, Survey};
use super::cut::{Feeder, nameless};
use super::inner::Text;
use super::rows::TextRows;
use super::seen::Kind;
use crate::workers::Workers;

/// A text up to so many bytes is looked at as a whole for its columns.
const SMALL: u64 = 16 << 20;

/// In one up to so many bytes rows are counted when somebody asks for it.
const COUNTED: u64 = 64 << 20;

/// The only table of a text.
#[derive(Debug)]
pub(super) struct TextTable {
    pub(super) text: Text,
    /// What the first rows have, and what all have.
    some: OnceLock<Columns>,
    all: OnceLock<Columns>,
    /// What the columns of CSV hold in all rows.
    pub(super) kinds: OnceLock<Box<[Kind]>>,
    /// What all rows were seen to hold.
    #[cfg(feature = "arrow")]
    pub(super) observed: OnceLock<super::arrow::Held>,
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
    fn known(&self) -> &Columns {
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
        self.columns().get(index).ok_or_else(missing)
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

impl Table for TextTable {
    fn name(&self) -> &'static str {
        "rows"
    }

    /// Of CSV those of the header; of JSON lines the members of objects, in the order of their first appearance: of all objects of a text up to
    /// 16 MiB, else of those in its first MiB, until [`survey`](Table::survey) has looked at them all. In these rows also the kinds are found.
    fn columns(&self) -> &[ColumnInfo] {
        &self.known().infos
    }

    fn columns_error(&self) -> Option<Error> {
        self.known().error.as_ref().map(|error| nameless(error).in_format(self.text.format))
    }

    fn survey(&self) -> Result<()> {
        if self.all.get().is_none() {
            let (survey, result) = self.look(&Workers::new(0), true);
            result?;
            let _ = self.all.set(survey.columns(&self.text, None)); // somebody else may have been faster, with the same
        }
        Ok(())
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        self.known().summary(index)
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        self.column(index).map(|_| Map::new())
    }

    /// Rows are counted where the text is no larger than 64 MiB; of a larger one it is known how many they are when all were walked over.
    fn len(&self) -> Option<u64> {
        if self.text.index.get().is_none() && self.text.len() <= COUNTED {
            let workers = Workers::new(0);
            Feeder::new(&self.text).finish(&workers).ok()?;
        }
        self.text.index.get().map(|index| index.rows)
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        self.check_rows(&scan.rows)?;
        Ok(Box::new(TextRows::new(self, scan)?))
    }

    fn find(&self, _: &str) -> Result<Option<u64>> {
        Err(Error::usage("rows of text have no keys")
            .advising("{row} takes a row by its number")
            .in_format(self.text.format))
    }

    #[cfg(feature = "arrow")]
    fn arrow(&self) -> Option<&dyn container_arrow::ArrowTable> {
        Some(self)
    }
}
