//! Records of CSV as samples.

use std::collections::HashMap;
use std::ops::Range;

use container_core::{Error, Result};

use super::message::{Messages, put_sample};
use super::words::Word;
use super::{KEY, SampleOptions, no_column, no_key, number, two_keys};
use crate::text::records::Options;
use crate::text::records::chunk::Chunk;
use crate::text::records::place::Place;
use crate::text::records::record::{Look, records};

/// Which cells go where.
pub(super) struct Cells {
    names: Vec<String>,
    words: Vec<Word>,
    /// Fields of a sample, by cell, in the order in which they are written.
    order: Vec<usize>,
    /// Whether a cell is written.
    written: Vec<bool>,
    /// The cell that is the key; else the row's number is.
    key: Option<usize>,
    /// The key is written in front of the fields.
    makes_key: bool,
}

impl Cells {
    /// `names` and `words` are those of all cells; without `words` all are texts.
    pub(super) fn new(names: &[String], words: Option<&[Word]>, options: &SampleOptions) -> Result<Self> {
        // Of a name that comes again the first cell counts.
        let by_name: HashMap<&str, usize> = names.iter().enumerate().rev().map(|(at, name)| (&**name, at)).collect();
        let find = |name: &str| by_name.get(name).copied();
        let key = match options.key_column() {
            None => None,
            Some(KEY) => Some(find(KEY).ok_or_else(|| no_key(KEY))?),
            Some(column) => Some(find(column).ok_or_else(|| no_column(column))?),
        };
        let mut order = Vec::new();
        for name in options.columns.iter().flatten() {
            order.push(find(name).ok_or_else(|| no_column(name))?);
        }
        if options.columns.is_none() {
            order.extend(0..names.len());
        }
        let makes_key = options.makes_key();
        match key.filter(|_| !makes_key) {
            Some(key) if !order.contains(&key) => order.insert(0, key),
            Some(_) => {}
            None if find(KEY).is_some_and(|key| order.contains(&key)) => return Err(two_keys()),
            None => {}
        }
        let mut words = words.map_or_else(|| vec![Word::Verbatim; names.len()], <[Word]>::to_vec);
        words.resize(names.len(), Word::Nil);
        if let Some(word) = key.filter(|_| !makes_key).and_then(|key| words.get_mut(key)) {
            *word = Word::Verbatim;
        }
        let mut written = vec![false; names.len()];
        for &cell in &order {
            written.get_mut(cell).into_iter().for_each(|written| *written = true);
        }
        Ok(Self { names: names.to_vec(), words, order, written, key, makes_key })
    }

    /// The columns that are written, and what they become.
    pub(super) fn kinds(&self) -> Vec<(String, &'static str)> {
        let kind = |&cell: &usize| Some((self.names.get(cell)?.clone(), self.words.get(cell)?.name()));
        self.order.iter().filter_map(kind).collect()
    }

    /// The samples of the wanted records, up to one with which something is wrong.
    pub(super) fn messages(&self, chunk: &Chunk, options: &Options, wanted: &Range<u64>) -> Messages {
        let mut looker = Looker {
            plan: self,
            row: chunk.row + wanted.start,
            place: chunk.start,
            key: String::new(),
            values: Vec::new(),
            ends: Vec::new(),
            done: Messages::default(),
        };
        let outcome = records(chunk, options, self.names.len(), wanted, &mut looker);
        looker.done.error = outcome.err();
        looker.done
    }
}

struct Looker<'a> {
    plan: &'a Cells,
    row: u64,
    place: Place,
    key: String,
    values: Vec<u8>,
    /// Where the value of each cell ends.
    ends: Vec<usize>,
    done: Messages,
}

impl Look for Looker<'_> {
    fn begin(&mut self, place: Place) {
        self.place = place;
        self.values.clear();
        self.ends.clear();
    }

    fn member(&mut self, _: &str, _: &str, _: Place) -> Result<()> {
        Ok(())
    }

    fn cell(&mut self, index: usize, text: &str, quoted: bool, _: Place) -> Result<()> {
        let named = |error: Error| match self.plan.names.get(index) {
            Some(name) => error.in_column(name.clone()),
            None => error,
        };
        if self.plan.key == Some(index) {
            if text.is_empty() {
                return Err(named(Error::invalid("the cell is empty where the key is wanted")));
            }
            self.key.clear();
            self.key.push_str(text);
        }
        if self.plan.written.get(index) == Some(&true) {
            let word = self.plan.words.get(index).copied().unwrap_or(Word::Verbatim);
            word.put(text, quoted, &mut self.values).map_err(named)?;
        }
        self.ends.push(self.values.len());
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let number = self.plan.key.is_none().then(|| number(self.row));
        self.row += 1;
        let key = match &number {
            Some(number) => Some(number.as_str()),
            None => self.plan.makes_key.then_some(self.key.as_str()),
        };
        let fields = self.plan.order.iter().map(|&cell| {
            let name = self.plan.names.get(cell).map(String::as_str).unwrap_or_default();
            let start = cell.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
            let end = self.ends.get(cell).copied().unwrap_or(start);
            (name, self.values.get(start..end).unwrap_or_default())
        });
        self.done.push(self.place, |out| put_sample(out, key, fields))
    }
}
