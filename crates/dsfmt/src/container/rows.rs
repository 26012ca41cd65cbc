//! Scans a table: reads some rows of each variable at a time.

use std::ops::Range;

use container_core::{ColumnInfo, Error, Loss, Position, Result, Rows, Scan};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::DsTable;
use super::nested::{Nested, Streamed, ValueFormat, emitted_lists};
use crate::FORMAT_NAME;
use crate::array::Array;
use crate::read::Variable;
use crate::wire::short;

/// Maximum number of elements in memory over all columns.
const MAX_ELEMENTS: u64 = 4 << 20;

/// Bounds for the number of elements in memory per column.
const MAX_COLUMN_ELEMENTS: u64 = 64 << 10;
const MIN_COLUMN_ELEMENTS: u64 = 64;

/// Rows and lists without elements that are always allowed: a tiny file may declare any number.
const FREE_EMPTY: u64 = 1 << 20;

/// Rows and lists without elements that are allowed per element next to them.
const EMPTY_PER_ELEMENT: u64 = 16;

pub(super) struct DsRows<'a> {
    columns: Vec<Column<'a>>,
    rows: Range<u64>,
    /// The current row.
    current: Option<u64>,
    skipped: Vec<Loss>,
}

struct Column<'a> {
    variable: Variable<'a>,
    name: &'a str,
    /// For a member of a struct, the name of that struct and the path of the member.
    member: Option<(&'a str, &'a [String])>,
    /// Sizes of a row's value.
    shape: &'a [u64],
    /// Elements per row.
    row_len: u64,
    /// Maximum number of elements to read at once.
    chunk: u64,
    /// The rows in memory.
    loaded: Option<(Range<u64>, Array<'a>)>,
    format: ValueFormat,
    /// The first row with a loss.
    first_loss: Option<u64>,
}

impl<'a> DsRows<'a> {
    pub(super) fn new(table: &'a DsTable, scan: &Scan) -> Result<Self> {
        let rows = row_range(table, scan)?;
        let (selected, skipped) = selected_columns(table, scan)?;
        let chunk = (MAX_ELEMENTS / (selected.len() as u64).max(1)).clamp(MIN_COLUMN_ELEMENTS, MAX_COLUMN_ELEMENTS);
        let column = |variable: Variable<'a>| {
            let ColumnLayout { variable, shape, row_len } = ColumnLayout::new(variable);
            Column {
                variable,
                name: variable.name(),
                member: variable.member(),
                shape,
                row_len,
                chunk,
                loaded: None,
                format: ValueFormat::new(&variable, table.times, scan.missing_as_null),
                first_loss: None,
            }
        };
        let columns: Vec<Column<'_>> = table.leaves(&selected)?.into_iter().map(column).collect();
        let layout = |column: &Column<'a>| ColumnLayout {
            variable: column.variable,
            shape: column.shape,
            row_len: column.row_len,
        };
        check_bounds(table, &columns.iter().map(layout).collect::<Vec<_>>(), &rows)?;
        Ok(Self { columns, rows, current: None, skipped })
    }

    fn row(&self) -> Result<u64> {
        self.current.ok_or_else(|| Error::usage("no current row").in_format(FORMAT_NAME))
    }
}

impl<'a> Column<'a> {
    /// The name at this position in the path of a member.
    fn member_name(&self, depth: usize) -> &'a str {
        self.member.and_then(|(_, path)| path.get(depth)).map_or("", String::as_str)
    }

    /// Loads a row into memory, unless it is large enough to be streamed.
    fn load(&mut self, row: u64, end: u64) -> Result<()> {
        let loaded = self.loaded.as_ref().is_some_and(|(rows, _)| rows.contains(&row));
        if loaded || self.is_streamed() || self.variable.shape().is_none() {
            return Ok(());
        }
        let rows = row..end.min(row.saturating_add((self.chunk / self.row_len.max(1)).max(1)));
        self.loaded = None;
        self.loaded = Some((rows.clone(), self.variable.read_rows(rows)?));
        Ok(())
    }

    fn is_streamed(&self) -> bool {
        self.row_len > self.chunk
    }
}

/// The row range of a scan.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) for a range that begins past the end.
pub(crate) fn row_range(table: &DsTable, scan: &Scan) -> Result<Range<u64>> {
    let len = table.group.rows;
    if scan.rows.start > len {
        let detail = format!("row {} is out of range: the table has {len} rows", scan.rows.start);
        return Err(Error::usage(detail).in_format(FORMAT_NAME));
    }
    Ok(scan.rows.start..scan.rows.end.min(len).max(scan.rows.start))
}

/// The columns of a scan: the requested ones, or all readable ones with the others reported as losses.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) for an unknown or unreadable column.
pub(crate) fn selected_columns(table: &DsTable, scan: &Scan) -> Result<(Vec<usize>, Vec<Loss>)> {
    let infos = &table.group.columns;
    let Some(selected) = &scan.columns else {
        let readable = infos.iter().enumerate().filter(|(_, info)| info.unreadable.is_none());
        let skipped = infos.iter().filter_map(ColumnInfo::left_out).collect();
        return Ok((readable.map(|(index, _)| index).collect(), skipped));
    };
    for index in selected {
        let missing = || Error::usage(format!("unknown column {index}")).in_format(FORMAT_NAME);
        let info = infos.get(*index).ok_or_else(missing)?;
        if let Some(why) = &info.unreadable {
            let detail = format!("the column cannot be read: {why}");
            return Err(Error::usage(detail).in_format(FORMAT_NAME).in_column(info.name.clone()));
        }
    }
    Ok((selected.clone(), Vec::new()))
}

/// A column of a scan: its variable, and the layout of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnLayout<'a> {
    pub(crate) variable: Variable<'a>,
    /// Sizes of a row's value.
    pub(crate) shape: &'a [u64],
    /// Elements per row.
    pub(crate) row_len: u64,
}

impl<'a> ColumnLayout<'a> {
    pub(crate) fn new(variable: Variable<'a>) -> Self {
        let shape = variable.shape().unwrap_or_default().get(1..).unwrap_or_default();
        let row_len = shape.iter().product(); // cannot overflow: the whole product was checked
        Self { variable, shape, row_len }
    }
}

/// Rejects scans without a useful bound: too many rows and lists without elements, and all rows of variables that share the same bytes.
pub(crate) fn check_bounds(table: &DsTable, columns: &[ColumnLayout<'_>], rows: &Range<u64>) -> Result<()> {
    check_empty(table, columns, rows.end - rows.start)?;
    match *rows == (0..table.group.rows) {
        true => table.reader.check_declared_bytes(columns.iter().map(|column| column.variable)),
        false => Ok(()),
    }
}

fn check_empty(table: &DsTable, columns: &[ColumnLayout<'_>], rows: u64) -> Result<()> {
    let sum = |count: fn(&ColumnLayout<'_>) -> u64| {
        columns.iter().map(count).fold(0u64, u64::saturating_add).saturating_mul(rows)
    };
    let elements = sum(|column| column.row_len);
    let empty = sum(|column| if column.row_len == 0 { emitted_lists(column.shape) } else { 0 });
    // A row counts even without any content.
    let empty = if elements == 0 { empty.max(rows) } else { empty };
    let max = elements.saturating_mul(EMPTY_PER_ELEMENT).max(FREE_EMPTY);
    if empty <= max {
        return Ok(());
    }
    let what = format!("rows and lists without elements in table {:?}", short(&table.group.name));
    let error = Error::limit(what, empty, max).in_format(FORMAT_NAME);
    Err(match columns.iter().find(|column| column.row_len == 0) {
        Some(ColumnLayout { variable, .. }) => {
            error.at(table.reader.header_offset(variable)).in_column(variable.name().to_owned())
        }
        None => error,
    })
}

/// The value of a column in a row.
struct ValueAt<'c, 'a>(&'c Column<'a>, u64);

impl Serialize for ValueAt<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(column, row) = self;
        let format = &column.format;
        match &column.loaded {
            Some((rows, array)) => {
                // The rows are in memory, so the index fits.
                let start = usize::try_from((row - rows.start) * column.row_len).unwrap_or(usize::MAX);
                let (values, mask) = (array.values(), array.mask());
                Nested { values, mask, shape: column.shape, start, format }.serialize(serializer)
            }
            None if column.variable.shape().is_none() => serializer.serialize_unit(),
            None => {
                let (variable, shape) = (column.variable, column.shape);
                let (start, chunk) = (row * column.row_len, column.chunk);
                Streamed { variable, shape, start, chunk, format }.serialize(serializer)
            }
        }
    }
}

impl Rows for DsRows<'_> {
    fn advance(&mut self) -> Result<bool> {
        let row = self.rows.start;
        if self.current.take().is_some() {
            // Losses of the previous row are known now.
            for column in &mut self.columns {
                if column.first_loss.is_none() && column.format.undated.get() > 0 {
                    column.first_loss = Some(row.saturating_sub(1));
                }
            }
        }
        if row >= self.rows.end {
            return Ok(false);
        }
        for column in &mut self.columns {
            if let Err(error) = column.load(row, self.rows.end) {
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
            Error::invalid("the row cannot be converted to JSON").caused_by(cause).in_format(FORMAT_NAME).in_row(row)
        })
    }

    fn losses(&self) -> Vec<Loss> {
        let mut losses = self.skipped.clone();
        for column in &self.columns {
            let mut first = Position::of_column(column.name.to_owned());
            if let Some(why) = &column.format.time_error {
                losses.push(Loss::new(format!("times shown as stored ({why})"), 1, first.clone()));
            }
            let undated = column.format.undated.get();
            if undated > 0 {
                first.row = column.first_loss.or(self.current);
                losses.push(Loss::new("time without a Gregorian day shown as null", undated, first));
            }
        }
        losses
    }
}

/// The current row as a map from column name to value.
impl Serialize for DsRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = self.row().map_err(serde::ser::Error::custom)?;
        let is_flat = self.columns.iter().all(|column| column.member.is_none());
        let mut map = serializer.serialize_map(is_flat.then_some(self.columns.len()))?;
        let same = |a: &Column<'_>, b: &Column<'_>| match (a.member, b.member) {
            (Some((one, _)), Some((other, _))) => one == other,
            _ => false,
        };
        for columns in self.columns.chunk_by(same) {
            match columns {
                [column] if column.member.is_none() => map.serialize_entry(column.name, &ValueAt(column, row))?,
                [first, ..] => {
                    let name = first.member.map_or(first.name, |(name, _)| name);
                    map.serialize_entry(name, &Members { columns, row, depth: 0 })?;
                }
                [] => {}
            }
        }
        map.end()
    }
}

/// Members of a struct in a row, as a map from name to value.
struct Members<'c, 'a> {
    columns: &'c [Column<'a>],
    row: u64,
    /// Position of the name in the paths.
    depth: usize,
}

impl Serialize for Members<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { columns, row, depth } = *self;
        let mut map = serializer.serialize_map(None)?;
        for columns in columns.chunk_by(|a, b| a.member_name(depth) == b.member_name(depth)) {
            let Some(first) = columns.first() else { continue };
            let is_leaf = first.member.is_none_or(|(_, path)| path.len() <= depth + 1);
            let name = first.member_name(depth);
            match is_leaf {
                true => map.serialize_entry(name, &ValueAt(first, row))?,
                false => map.serialize_entry(name, &Members { columns, row, depth: depth + 1 })?,
            }
        }
        map.end()
    }
}
