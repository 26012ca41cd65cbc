//! Text tables as ds files: types first, then values.

mod column;
mod seen;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use container_core::{Error, Limits, OutputOptions, Progress, Result};
use dsfmt::{Builder, DataType, Field, Written};

use super::chunk::{Cutter, part};
use super::place::Place;
use super::record::{Look, duplicate, records};
use super::{RECORDS, TextTable, told};

use column::Column;
use seen::{Seen, Syntax};

/// Bytes of values that are held in memory at once, about: the input is read as often as that takes, and once before for the types.
const HELD: u64 = 256 << 20;

/// How a text table becomes a ds file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DsOptions {
    /// The dimension along which the rows lie.
    pub dimension: String,
    /// Columns that are taken; `None` for all.
    pub columns: Option<Vec<String>>,
    /// Rows, counted from 0 over all inputs.
    pub rows: Range<u64>,
    /// Types of columns, where they are known, in place of those that are found: of numbers alone.
    pub types: HashMap<String, DataType>,
    /// How the file is written.
    pub output: OutputOptions,
}

impl Default for DsOptions {
    fn default() -> Self {
        Self {
            dimension: "row".to_owned(),
            columns: None,
            rows: 0..u64::MAX,
            types: HashMap::new(),
            output: OutputOptions::default(),
        }
    }
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DsImported {
    /// Variables and bytes.
    pub written: Written,
    /// Rows written.
    pub rows: u64,
    /// Rows of all inputs.
    pub passed: u64,
}

/// The columns of a table and what they hold.
#[derive(Debug, Default)]
struct Survey {
    columns: Vec<Known>,
    by_name: HashMap<String, usize>,
    records: u64,
    /// The column that the next member is probably of.
    next: usize,
}

#[derive(Debug)]
struct Known {
    name: String,
    seen: Seen,
    /// Records up to the last one that had it.
    last: u64,
    records: u64,
}

impl Survey {
    fn add(&mut self, name: &str) -> Result<usize> {
        let index = self.columns.len();
        Limits::default().check_columns("number of columns", index as u64 + 1)?;
        self.columns.push(Known { name: name.to_owned(), seen: Seen::default(), last: 0, records: 0 });
        self.by_name.insert(name.to_owned(), index);
        Ok(index)
    }
}

impl Look for Survey {
    fn begin(&mut self, _: Place) {
        self.records += 1;
        self.next = 0;
    }

    fn member(&mut self, name: &str, value: &str, place: Place) -> Result<()> {
        let index = match self.columns.get(self.next) {
            Some(known) if known.name == name => self.next,
            _ => match self.by_name.get(name) {
                Some(index) => *index,
                None => self.add(name)?,
            },
        };
        self.next = index + 1;
        let Some(known) = self.columns.get_mut(index) else { return Ok(()) };
        if std::mem::replace(&mut known.last, self.records) == self.records {
            return Err(duplicate());
        }
        known.records += 1;
        known.seen.see_json(value, place)
    }

    fn cell(&mut self, index: usize, text: &str, _: bool, place: Place) -> Result<()> {
        let Some(known) = self.columns.get_mut(index) else { return Ok(()) };
        known.records += 1;
        known.seen.see_word(text, place)
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Columns that are filled in one pass.
struct Filler<'c> {
    columns: &'c mut [Column],
    by_name: HashMap<String, usize>,
    cells: Vec<Option<usize>>,
    next: usize,
}

impl Look for Filler<'_> {
    fn begin(&mut self, _: Place) {
        self.next = 0;
    }

    fn member(&mut self, name: &str, value: &str, _: Place) -> Result<()> {
        let index = match self.columns.get(self.next) {
            Some(column) if column.name == name => Some(self.next),
            _ => self.by_name.get(name).copied(),
        };
        let Some(index) = index else { return Ok(()) };
        self.next = index + 1;
        self.columns.get_mut(index).map_or(Ok(()), |column| column.push_json(value))
    }

    fn cell(&mut self, index: usize, text: &str, _: bool, _: Place) -> Result<()> {
        let index = self.cells.get(index).copied().flatten();
        index.and_then(|index| self.columns.get_mut(index)).map_or(Ok(()), |column| column.push_word(text))
    }

    fn end(&mut self) -> Result<()> {
        self.columns.iter_mut().for_each(Column::end_row);
        Ok(())
    }
}

impl TextTable {
    /// Writes a ds file: each column becomes a variable along one dimension. The input is read once for the types, and again for the values.
    ///
    /// | seen in a column | becomes |
    /// |---|---|
    /// | bools | `bool` |
    /// | integers | `int64`; `uint64` when one is above and none below 0; else `float64` if that has all of them exactly |
    /// | integers and floats, also `"NaN"`, `"Infinity"`, `"-Infinity"` beside numbers | `float64` if it has all integers exactly |
    /// | texts | `unicode` |
    /// | `{"$bytes": base64}` | `str` |
    /// | arrays of one shape | what the items become, with more dimensions, called after the column |
    /// | nulls, absent members, empty cells beside others | missing |
    /// | only nulls | `float64`, all missing |
    /// | JSON values of several of these kinds, other objects, arrays of several shapes | an error that names the lines |
    /// | CSV cells of several kinds | `unicode` |
    ///
    /// # Errors
    /// What keeps the text from being read, with file, line and column, and what [`Builder::write`] has.
    pub fn write_ds(
        &self,
        path: impl AsRef<Path>,
        options: &DsOptions,
        progress: Option<&dyn Progress>,
    ) -> Result<DsImported> {
        let mut survey = Survey::default();
        self.pass(&(0..u64::MAX), progress, &mut survey, |survey, names| {
            names.iter().try_for_each(|name| survey.add(name).map(drop))
        })?;
        let total = survey.records;
        let rows = options.rows.start.min(total)..options.rows.end.min(total);
        let count = rows.end - rows.start;
        let mut columns = self.columns(survey, options, count)?;
        columns.sort_by(|one, other| one.name.cmp(&other.name));
        // As many columns as fit are filled together.
        let mut groups = vec![0];
        let mut held = 0u64;
        for (index, column) in columns.iter().enumerate() {
            if held > 0 && held.saturating_add(column.bytes()) > HELD {
                groups.push(index);
                held = 0;
            }
            held = held.saturating_add(column.bytes());
        }
        groups.push(columns.len());
        let along =
            |column: &Column, field: Field<'static>| field.with_dimensions(column.dimensions(&options.dimension));
        let mut builder = Builder::new();
        if groups.len() <= 2 {
            self.fill_columns(&mut columns, &rows, progress)?;
            for column in &mut columns {
                let array = column.take(count)?;
                builder.field(column.name.clone(), along(column, Field::new(array)));
            }
            let written = builder.write(path, options.output)?;
            return Ok(DsImported { written, rows: count, passed: total });
        }
        for column in &columns {
            let field = Field::stream(column.data_type(), column.shape(count)).with_missing(column.may_miss());
            builder.field(column.name.clone(), along(column, field));
        }
        let mut writer = builder.begin(path, options.output)?;
        for group in groups.windows(2) {
            let [from, to] = group else { continue };
            let columns = columns.get_mut(*from..*to).unwrap_or_default();
            self.fill_columns(columns, &rows, progress)?;
            for column in columns {
                if count > 0 && column.leaves() > 0 {
                    writer.append(&column.take(count)?)?;
                }
            }
        }
        Ok(DsImported { written: writer.finish()?, rows: count, passed: total })
    }

    /// Columns of the types that hold what was seen.
    fn columns(&self, survey: Survey, options: &DsOptions, count: u64) -> Result<Vec<Column>> {
        let names = self.names();
        let syntax = match self.options.form {
            super::Form::JsonLines => Syntax::Json,
            super::Form::Csv => Syntax::Words,
        };
        if let Some(wanted) = &options.columns
            && let Some(unknown) = wanted.iter().find(|name| !survey.by_name.contains_key(*name))
        {
            return Err(Error::usage(format!("there is no column {unknown:?}")));
        }
        let mut columns = Vec::new();
        for known in survey.columns {
            if options.columns.as_ref().is_some_and(|wanted| !wanted.contains(&known.name)) {
                continue;
            }
            let absent = known.records < survey.records;
            let resolved = known
                .seen
                .resolve(syntax, &names)
                .map_err(|error| error.in_column(known.name.clone()).in_format(self.options.form.name()))?;
            let hint = options.types.get(&known.name).copied();
            columns.push(Column::new(known.name, resolved, hint, absent, count));
        }
        Ok(columns)
    }

    fn fill_columns(&self, columns: &mut [Column], rows: &Range<u64>, progress: Option<&dyn Progress>) -> Result<()> {
        let by_name = columns.iter().enumerate().map(|(index, column)| (column.name.clone(), index)).collect();
        let mut filler = Filler { columns, by_name, cells: Vec::new(), next: 0 };
        self.pass(rows, progress, &mut filler, |filler, names| {
            filler.cells = names.iter().map(|name| filler.by_name.get(name).copied()).collect();
            Ok(())
        })
    }

    /// Shows the wanted records of all inputs; `begin` gets the names of a CSV's cells before them.
    fn pass<L: Look>(
        &self,
        rows: &Range<u64>,
        progress: Option<&dyn Progress>,
        look: &mut L,
        begin: impl FnOnce(&mut L, &[String]) -> Result<()>,
    ) -> Result<()> {
        let run = |look: &mut L| -> Result<()> {
            self.begin(progress);
            let mut cutter = Cutter::new(&self.inputs, &self.options, RECORDS);
            let (mut cells, mut begin) = (0, Some(begin));
            loop {
                let chunk = cutter.next()?;
                if let (Some(names), Some(begin)) = (cutter.names(), begin.take_if(|_| cutter.names().is_some())) {
                    cells = names.len();
                    begin(look, names)?;
                }
                let Some(chunk) = chunk else { return Ok(()) };
                let wanted = part(rows, &chunk);
                records(&chunk, &self.options, cells, &wanted, look).map_err(|error| self.name(error, &chunk))?;
                told(progress, &chunk);
                if chunk.row + chunk.records >= rows.end {
                    return Ok(());
                }
            }
        };
        run(look).map_err(|error| error.in_format(self.options.form.name()))
    }
}
