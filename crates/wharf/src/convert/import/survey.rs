//! The columns of a chunk, and of all chunks together.

use std::collections::HashMap;

use container_core::{Limits, Result};

use super::infer::Seen;
use crate::convert::import::walk::Walk;
use crate::text::records::Options;
use crate::text::records::chunk::Chunk;
use crate::text::records::place::Place;
use crate::text::records::record::{Look, duplicate, records};

/// What chunks hold, column by column.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) columns: Vec<Column>,
    by_name: HashMap<Box<str>, usize>,
    /// How many records there were, and where the first is.
    pub(super) records: u64,
    first: Option<Place>,
}

#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: Box<str>,
    pub(super) seen: Seen,
    /// Records up to the last one that had it.
    last: usize,
}

impl Survey {
    /// Looks at all records of a chunk. `names` are those of a CSV's cells.
    pub(super) fn of(chunk: &Chunk, options: &Options, names: Option<&[String]>) -> Result<Self> {
        let mut surveyor = Surveyor::default();
        let cells = names.unwrap_or_default();
        for name in cells {
            surveyor.survey.add(name)?;
        }
        records(chunk, options, cells.len(), &(0..u64::MAX), &mut surveyor)?;
        Ok(surveyor.finish())
    }

    fn add(&mut self, name: &str) -> Result<usize> {
        let index = self.columns.len();
        Limits::default().check_columns("number of columns", index as u64 + 1)?;
        self.columns.push(Column { name: name.into(), seen: Seen::default(), last: 0 });
        self.by_name.insert(name.into(), index);
        Ok(index)
    }

    /// Adds what the next chunks hold.
    pub(super) fn merge(&mut self, other: Self) -> Result<()> {
        let mut there = vec![false; self.columns.len()];
        for column in other.columns {
            let index = match self.by_name.get(&column.name) {
                Some(&index) => index,
                None => {
                    let index = self.add(&column.name)?;
                    if let (Some(added), Some(place)) = (self.columns.get_mut(index), self.first) {
                        added.seen.see_absent(place);
                    }
                    index
                }
            };
            if let Some(mine) = self.columns.get_mut(index) {
                mine.seen.merge(column.seen);
            }
            if let Some(there) = there.get_mut(index) {
                *there = true;
            }
        }
        if let Some(place) = other.first {
            let absent = self.columns.iter_mut().zip(there).filter(|(_, there)| !there);
            absent.for_each(|(column, _)| column.seen.see_absent(place));
            self.first.get_or_insert(place);
        }
        self.records += other.records;
        Ok(())
    }
}

#[derive(Default)]
struct Surveyor {
    survey: Survey,
    /// Where each record is.
    places: Vec<Place>,
    /// The column that the next member is probably of.
    next: usize,
    walk: Walk,
}

impl Surveyor {
    fn finish(mut self) -> Survey {
        for column in &mut self.survey.columns {
            if let Some(&place) = self.places.get(column.last) {
                column.seen.see_absent(place);
            }
        }
        self.survey.records = self.places.len() as u64;
        self.survey.first = self.places.first().copied();
        self.survey
    }

    fn column(&mut self, name: &str) -> Result<usize> {
        if self.survey.columns.get(self.next).is_some_and(|column| &*column.name == name) {
            return Ok(self.next);
        }
        match self.survey.by_name.get(name) {
            Some(&index) => Ok(index),
            None => self.survey.add(name),
        }
    }
}

impl Look for Surveyor {
    fn begin(&mut self, place: Place) {
        self.places.push(place);
        self.next = 0;
    }

    fn member(&mut self, name: &str, value: &str, place: Place) -> Result<()> {
        let index = self.column(name)?;
        self.next = index + 1;
        let records = self.places.len();
        let Some(column) = self.survey.columns.get_mut(index) else { return Ok(()) };
        if column.last == records {
            return Err(duplicate());
        }
        if let Some(&absent) = self.places.get(column.last..records.saturating_sub(1)).and_then(<[_]>::first) {
            column.seen.see_absent(absent);
        }
        column.last = records;
        column.seen.see_json(value, place, &mut self.walk)
    }

    fn cell(&mut self, index: usize, text: &str, quoted: bool, place: Place) -> Result<()> {
        let Some(column) = self.survey.columns.get_mut(index) else { return Ok(()) };
        column.last = self.places.len();
        column.seen.see_word(text, quoted, place, &mut self.walk);
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}
