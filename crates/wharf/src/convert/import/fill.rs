//! Records turned into columns of a schema.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use container_core::{Error, Loss, Result};
use idv::{Cell, ItemType, KeyLabels, Schema, Type, Values};

use crate::text::records::Options;
use crate::text::records::chunk::Chunk;
use crate::text::records::json::{self, Kind};
use crate::text::records::place::Place;
use crate::text::records::record::{Look, duplicate, records};

/// So many members that are no column are counted by name, others together.
const MOST_UNKNOWN: usize = 1000;

/// The columns that records are turned into.
pub(super) struct Plan {
    columns: Vec<Target>,
    by_name: HashMap<Box<str>, usize>,
    /// Members that are not wanted, and no loss.
    leave_out: HashSet<String>,
    /// For each cell of a CSV record, the column it goes to.
    cells: Option<Vec<Cells>>,
}

struct Target {
    name: Box<str>,
    kind: Type,
    labels: Option<KeyLabels>,
}

enum Cells {
    Column(usize),
    LeftOut,
    Unknown(String),
}

/// Rows of a chunk, in columns.
pub(super) struct Rows {
    pub(super) columns: Vec<Values>,
    /// Where each row came from.
    pub(super) places: Vec<Place>,
    pub(super) lost: Lost,
}

impl Plan {
    /// `names` are those of the schema's columns, unique.
    pub(super) fn new(schema: &Schema, names: &[String], leave_out: HashSet<String>) -> Self {
        let targets = schema.columns.iter().zip(names).map(|(column, name)| Target {
            name: name.as_str().into(),
            kind: column.kind.clone(),
            labels: KeyLabels::of(column),
        });
        let by_name = names.iter().enumerate().map(|(index, name)| (name.as_str().into(), index)).collect();
        Self { columns: targets.collect(), by_name, leave_out, cells: None }
    }

    /// Says what the cells of CSV records are.
    pub(super) fn set_cells(&mut self, names: &[String]) {
        let cells = names.iter().map(|name| match self.by_name.get(name.as_str()) {
            Some(&index) => Cells::Column(index),
            None if self.leave_out.contains(name) => Cells::LeftOut,
            None => Cells::Unknown(name.clone()),
        });
        self.cells = Some(cells.collect());
    }

    /// Turns the wanted records of a chunk into columns.
    pub(super) fn fill(&self, chunk: &Chunk, options: &Options, wanted: &Range<u64>) -> Result<Rows> {
        let columns = self.columns.iter().map(|column| Values::of(&column.kind)).collect();
        let rows = Rows { columns, places: Vec::new(), lost: Lost::default() };
        let mut filler = Filler { plan: self, rows, last: vec![0; self.columns.len()], next: 0 };
        let cells = self.cells.as_ref().map_or(0, Vec::len);
        records(chunk, options, cells, wanted, &mut filler)?;
        Ok(filler.rows)
    }
}

struct Filler<'a> {
    plan: &'a Plan,
    rows: Rows,
    /// Rows up to the last that had a value, for each column.
    last: Vec<usize>,
    next: usize,
}

impl Filler<'_> {
    /// The column of a member; `None` when it has none.
    fn column(&self, name: &str) -> Option<usize> {
        match self.plan.columns.get(self.next) {
            Some(column) if &*column.name == name => Some(self.next),
            _ => self.plan.by_name.get(name).copied(),
        }
    }

    fn push(&mut self, index: usize, value: Raw<'_>, place: Place) -> Result<()> {
        let (Some(column), Some(values)) = (self.plan.columns.get(index), self.rows.columns.get_mut(index)) else {
            return Ok(());
        };
        if value.is_missing(&column.kind, column.labels.as_ref())
            && let (Values::Vector(vectors), 0) = (&mut *values, column.kind.size())
        {
            self.rows.lost.count(What::NullVector, &column.name, place);
            return vectors.close_dense();
        }
        value.push(values, &column.kind, column.labels.as_ref())
    }
}

impl Look for Filler<'_> {
    fn begin(&mut self, place: Place) {
        self.rows.places.push(place);
        self.next = 0;
    }

    fn member(&mut self, name: &str, value: &str, place: Place) -> Result<()> {
        let rows = self.rows.places.len();
        let Some(index) = self.column(name) else {
            if !self.plan.leave_out.contains(name) {
                self.rows.lost.count(What::Unknown, name, place);
            }
            return Ok(());
        };
        self.next = index + 1;
        if self.last.get_mut(index).is_some_and(|last| std::mem::replace(last, rows) == rows) {
            return Err(duplicate());
        }
        self.push(index, Raw::Json(value), place)
    }

    fn cell(&mut self, index: usize, text: &str, quoted: bool, place: Place) -> Result<()> {
        match self.plan.cells.as_ref().and_then(|cells| cells.get(index)) {
            Some(&Cells::Column(column)) => {
                if let Some(last) = self.last.get_mut(column) {
                    *last = self.rows.places.len();
                }
                let name = |error: Error| match self.plan.columns.get(column) {
                    Some(column) => error.in_column(column.name.to_string()),
                    None => error,
                };
                self.push(column, Raw::Word(text, quoted), place).map_err(name)
            }
            Some(Cells::Unknown(name)) => {
                self.rows.lost.count(What::Unknown, name, place);
                Ok(())
            }
            Some(Cells::LeftOut) | None => Ok(()),
        }
    }

    fn end(&mut self) -> Result<()> {
        let rows = self.rows.places.len();
        let Some(&place) = self.rows.places.last() else { return Ok(()) };
        if self.plan.columns.is_empty() {
            self.rows.places.pop();
            self.rows.lost.count(What::Bare, "", place);
        }
        for index in 0..self.last.len() {
            if self.last.get(index).is_some_and(|&last| last < rows) {
                let pushed = self.push(index, Raw::Absent, place);
                if let (Err(error), Some(column)) = (pushed, self.plan.columns.get(index)) {
                    let detail = format!("no value, and {}", error.detail());
                    return Err(Error::invalid(detail).in_column(column.name.to_string()));
                }
            }
        }
        Ok(())
    }
}

/// A value as it is written down.
#[derive(Clone, Copy)]
enum Raw<'a> {
    /// A valid JSON text.
    Json(&'a str),
    /// A cell of CSV, and whether it had quotes.
    Word(&'a str, bool),
    Absent,
}

impl Raw<'_> {
    fn is_missing(self, kind: &Type, labels: Option<&KeyLabels>) -> bool {
        match self {
            Self::Json(text) => text == "null",
            // In quotes, nothing is an empty text, or the label that is one.
            Self::Word(text, quoted) => {
                let is_label = || labels.is_some_and(|labels| !matches!(labels.find(""), Ok(None)));
                text.is_empty() && !(quoted && (*kind == Type::Item(ItemType::Text) || is_label()))
            }
            Self::Absent => true,
        }
    }

    fn push(self, values: &mut Values, kind: &Type, labels: Option<&KeyLabels>) -> Result<()> {
        match self {
            _ if self.is_missing(kind, labels) => values.push_cell(kind, labels, Cell::Missing),
            Self::Absent => values.push_cell(kind, labels, Cell::Missing),
            Self::Word(word, _) => values.push_cell(kind, labels, Cell::Word(word)),
            Self::Json(text) => match (Kind::of(text), values) {
                (Kind::String, values @ Values::Text(_)) => {
                    values.push_cell(kind, labels, Cell::Text(&json::unescaped(text)?))
                }
                // Whoever wants texts gets those of numbers, lists and objects too.
                (_, values @ Values::Text(_)) => values.push_cell(kind, labels, Cell::Text(text)),
                (_, values) => values.push_json(kind, labels, text),
            },
        }
    }
}

/// What was not kept, and how often.
#[derive(Debug, Default)]
pub(super) struct Lost {
    seen: HashMap<(What, Box<str>), (u64, Place)>,
    /// Of more names than are counted one by one.
    others: Option<(u64, Place)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum What {
    /// A member that is no column.
    Unknown,
    /// A null where a vector is wanted.
    NullVector,
    /// A row without columns.
    Bare,
}

impl Lost {
    fn count(&mut self, what: What, name: &str, place: Place) {
        self.add(what, name.into(), 1, place);
    }

    fn add(&mut self, what: What, name: Box<str>, times: u64, place: Place) {
        let full = self.seen.len() >= MOST_UNKNOWN;
        let key = (what, name);
        match self.seen.get_mut(&key) {
            // Whatever comes later in the input is counted later.
            Some((count, _)) => *count += times,
            None if full => self.add_others(times, place),
            None => drop(self.seen.insert(key, (times, place))),
        }
    }

    fn add_others(&mut self, times: u64, place: Place) {
        self.others.get_or_insert((0, place)).0 += times;
    }

    pub(super) fn merge(&mut self, other: Self) {
        // In the order of the input, so that the same names are counted one by one for any number of threads.
        let mut seen: Vec<_> = other.seen.into_iter().collect();
        seen.sort_unstable_by(|((_, a), (_, one)), ((_, b), (_, two))| (one, a).cmp(&(two, b)));
        for ((what, name), (times, place)) in seen {
            self.add(what, name, times, place);
        }
        if let Some((times, place)) = other.others {
            self.add_others(times, place);
        }
    }

    /// What is told, in the order of the input.
    pub(super) fn losses(self, inputs: &[String]) -> Vec<Loss> {
        let mut all: Vec<_> = self.seen.into_iter().map(|((what, name), (n, place))| (place, what, name, n)).collect();
        all.sort_unstable_by(|(one, _, a, _), (two, _, b, _)| (one, a).cmp(&(two, b)));
        let told = all.into_iter().map(|(place, what, name, times)| {
            let mut position = place.position(inputs);
            if what != What::Bare {
                position.column = Some(String::from(name).into());
            }
            let what = match what {
                What::Unknown => "column left out: the schema does not have it",
                What::NullVector => "null written as an empty vector",
                What::Bare => "row without columns left out",
            };
            Loss::new(what, times, position)
        });
        let others = self.others.map(|(times, place)| {
            Loss::new("value of further columns left out: the schema does not have them", times, place.position(inputs))
        });
        told.chain(others).collect()
    }
}
