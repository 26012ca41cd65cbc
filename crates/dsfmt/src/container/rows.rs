//! A walk over a table: of each variable some rows at a time.

use std::ops::Range;

use container_core::{Error, Loss, Position, Result, Rows, Scan};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::DsTable;
use super::nested::{Nested, Show, Wide, shown_lists};
use crate::FORMAT_NAME;
use crate::array::Array;
use crate::read::Variable;
use crate::wire::short;

/// Elements that all columns together hold in memory.
const HELD: u64 = 4 << 20;

/// Elements of one column that are held: at most, and at least.
const MOST: u64 = 64 << 10;
const LEAST: u64 = 64;

/// Rows and lists without elements that are shown, beyond those that `GROWTH` allows: a file of some bytes may state any number of them.
const MOST_EMPTY: u64 = 1 << 20;

/// Rows and lists without elements for each element beside them.
const GROWTH: u64 = 16;

pub(super) struct DsRows<'a> {
    columns: Vec<Column<'a>>,
    rows: Range<u64>,
    /// The row that is shown.
    current: Option<u64>,
    left_out: Vec<Loss>,
}

struct Column<'a> {
    variable: Variable<'a>,
    name: &'a str,
    /// What is in a row.
    shape: &'a [u64],
    /// Its elements.
    wide: u64,
    /// Elements that are read at once.
    most: u64,
    /// The rows that were read.
    held: Option<(Range<u64>, Array<'a>)>,
    show: Show,
    /// The first row that lost something.
    lost: Option<u64>,
}

impl<'a> DsRows<'a> {
    pub(super) fn new(table: &'a DsTable, scan: &Scan) -> Result<Self> {
        let rows = wanted(table, scan)?;
        let (chosen, left_out) = chosen(table, scan)?;
        let most = (HELD / (chosen.len() as u64).max(1)).clamp(LEAST, MOST);
        let column = |index: usize| {
            let Part { variable, shape, wide } = Part::new(table, index)?;
            Ok(Column {
                variable,
                name: variable.name(),
                shape,
                wide,
                most,
                held: None,
                show: Show::new(&variable, table.times, scan.missing_as_null),
                lost: None,
            })
        };
        let columns: Vec<Column<'_>> = chosen.into_iter().map(column).collect::<Result<_>>()?;
        let part = |column: &Column<'a>| Part { variable: column.variable, shape: column.shape, wide: column.wide };
        check(table, &columns.iter().map(part).collect::<Vec<_>>(), &rows)?;
        Ok(Self { columns, rows, current: None, left_out })
    }

    fn row(&self) -> Result<u64> {
        self.current.ok_or_else(|| Error::usage("there is no current row").in_format(FORMAT_NAME))
    }
}

impl Column<'_> {
    /// Has a row in memory, unless it is read while it is shown.
    fn hold(&mut self, row: u64, end: u64) -> Result<()> {
        let known = self.held.as_ref().is_some_and(|(rows, _)| rows.contains(&row));
        if known || self.is_wide() || self.variable.shape().is_none() {
            return Ok(());
        }
        let rows = row..end.min(row.saturating_add((self.most / self.wide.max(1)).max(1)));
        self.held = None;
        self.held = Some((rows.clone(), self.variable.read_rows(rows)?));
        Ok(())
    }

    fn is_wide(&self) -> bool {
        self.wide > self.most
    }
}

/// The rows that a scan is for.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) for a range that begins past the end.
pub(crate) fn wanted(table: &DsTable, scan: &Scan) -> Result<Range<u64>> {
    let len = table.group.rows;
    if scan.rows.start > len {
        let detail = format!("there is no row {}: the table has {len}", scan.rows.start);
        return Err(Error::usage(detail).in_format(FORMAT_NAME));
    }
    Ok(scan.rows.start..scan.rows.end.min(len).max(scan.rows.start))
}

/// The columns that a scan is for: those it names, or all that can be read, and the others as losses.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) for a column that does not exist or cannot be read.
pub(crate) fn chosen(table: &DsTable, scan: &Scan) -> Result<(Vec<usize>, Vec<Loss>)> {
    let infos = &table.group.columns;
    let Some(chosen) = &scan.columns else {
        let (mut readable, mut left_out) = (Vec::new(), Vec::new());
        for (index, info) in infos.iter().enumerate() {
            match &info.unreadable {
                None => readable.push(index),
                Some(why) => {
                    let mut first = Position::default();
                    first.column = Some(info.name.clone().into());
                    left_out.push(Loss::new(format!("column left out ({why})"), 1, first));
                }
            }
        }
        return Ok((readable, left_out));
    };
    for index in chosen {
        let missing = || Error::usage(format!("there is no column {index}")).in_format(FORMAT_NAME);
        let info = infos.get(*index).ok_or_else(missing)?;
        if let Some(why) = &info.unreadable {
            let detail = format!("the column cannot be read: {why}");
            return Err(Error::usage(detail).in_format(FORMAT_NAME).in_column(info.name.clone()));
        }
    }
    Ok((chosen.clone(), Vec::new()))
}

/// A column of a scan: its variable, and what is in a row of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) variable: Variable<'a>,
    /// The sizes of what is in a row.
    pub(crate) shape: &'a [u64],
    /// Its elements.
    pub(crate) wide: u64,
}

impl<'a> Part<'a> {
    pub(crate) fn new(table: &'a DsTable, index: usize) -> Result<Self> {
        let variable = table.variable(index)?;
        let shape = variable.shape().unwrap_or_default().get(1..).unwrap_or_default();
        let wide = shape.iter().product(); // which does not overflow, as the whole product does not
        Ok(Self { variable, shape, wide })
    }
}

/// Refuses what would be gone over without end: more rows and lists without elements than anybody would look at, and all rows of variables
/// that claim the same bytes.
pub(crate) fn check(table: &DsTable, parts: &[Part<'_>], rows: &Range<u64>) -> Result<()> {
    check_empty(table, parts, rows.end - rows.start)?;
    match *rows == (0..table.group.rows) {
        true => table.reader.check_together(parts.iter().map(|part| part.variable)),
        false => Ok(()),
    }
}

fn check_empty(table: &DsTable, parts: &[Part<'_>], rows: u64) -> Result<()> {
    let all = |of: fn(&Part<'_>) -> u64| parts.iter().map(of).fold(0u64, u64::saturating_add).saturating_mul(rows);
    let elements = all(|part| part.wide);
    let empty = all(|part| if part.wide == 0 { shown_lists(part.shape) } else { 0 });
    // A row is something to be shown, whatever is in it.
    let empty = if elements == 0 { empty.max(rows) } else { empty };
    let most = elements.saturating_mul(GROWTH).max(MOST_EMPTY);
    if empty <= most {
        return Ok(());
    }
    let what = format!("rows and lists without elements in the table {:?}", short(&table.group.name));
    let error = Error::limit(what, empty, most).in_format(FORMAT_NAME);
    Err(match parts.iter().find(|part| part.wide == 0) {
        Some(Part { variable, .. }) => error.at(table.reader.place_of(variable)).in_column(variable.name().to_owned()),
        None => error,
    })
}

/// The value of a column in a row.
struct ValueAt<'c, 'a>(&'c Column<'a>, u64);

impl Serialize for ValueAt<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(column, row) = self;
        let show = &column.show;
        match &column.held {
            Some((rows, array)) => {
                // What was read lies in memory.
                let start = usize::try_from((row - rows.start) * column.wide).unwrap_or(usize::MAX);
                let (values, mask) = (array.values(), array.mask());
                Nested { values, mask, shape: column.shape, start, show }.serialize(serializer)
            }
            None if column.variable.shape().is_none() => serializer.serialize_unit(),
            None => {
                let (variable, shape) = (column.variable, column.shape);
                Wide { variable, shape, start: row * column.wide, most: column.most, show }.serialize(serializer)
            }
        }
    }
}

impl Rows for DsRows<'_> {
    fn advance(&mut self) -> Result<bool> {
        let row = self.rows.start;
        if self.current.take().is_some() {
            // What the last row lost is known now.
            for column in &mut self.columns {
                if column.lost.is_none() && column.show.undated.get() > 0 {
                    column.lost = Some(row.saturating_sub(1));
                }
            }
        }
        if row >= self.rows.end {
            return Ok(false);
        }
        for column in &mut self.columns {
            if let Err(error) = column.hold(row, self.rows.end) {
                self.rows.start = self.rows.end;
                return Err(error);
            }
        }
        self.rows.start += 1;
        self.current = Some(row);
        Ok(true)
    }

    fn index(&self) -> u64 {
        self.current.unwrap_or(0)
    }

    fn row(&self) -> &dyn erased_serde::Serialize {
        self
    }

    fn json(&self, out: &mut Vec<u8>) -> Result<()> {
        let row = self.row()?;
        let start = out.len();
        serde_json::to_writer(&mut *out, self).map_err(|cause| {
            out.truncate(start);
            Error::invalid("the row cannot be shown").caused_by(cause).in_format(FORMAT_NAME).in_row(row)
        })
    }

    fn losses(&self) -> Vec<Loss> {
        let mut losses = self.left_out.clone();
        for column in &self.columns {
            let mut first = Position::default();
            first.column = Some(column.name.to_owned().into());
            if let Some(why) = &column.show.refused {
                losses.push(Loss::new(format!("times shown as they are stored ({why})"), 1, first.clone()));
            }
            let undated = column.show.undated.get();
            if undated > 0 {
                first.row = column.lost.or(self.current);
                losses.push(Loss::new(
                    "time of a day that the Gregorian calendar has not shown as null",
                    undated,
                    first,
                ));
            }
        }
        losses
    }
}

/// The current row: a map of the columns that are shown.
impl Serialize for DsRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = self.row().map_err(serde::ser::Error::custom)?;
        let mut map = serializer.serialize_map(Some(self.columns.len()))?;
        for column in &self.columns {
            map.serialize_entry(column.name, &ValueAt(column, row))?;
        }
        map.end()
    }
}
