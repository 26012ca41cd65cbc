//! Which table, which columns, which rows.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use container_arrow::Predicate;
pub use container_arrow::{listed, unknown_name};
use container_core::{ColumnInfo, Container, Error, Result, Scan, Table};
use dsfmt::Region;
use dsfmt::container::TimeForm;

/// Which table, which columns, which rows.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Selection {
    /// Columns by name, in this order; empty for all. A name that no column has is split at commas outside of double quotes.
    pub columns: Vec<String>,
    /// Rows, counted from 0 over all inputs.
    pub rows: Option<RowRange>,
    /// Maximum number of rows, from the first of `rows` on.
    pub limit: Option<u64>,
    /// Only rows for which it holds; `rows` and `limit` count these. Each input needs the columns that it mentions.
    pub filter: Option<Predicate>,
    /// Which part of the variables of ds and NetCDF files, along their dimensions. An error for other formats.
    pub region: Region,
    /// Read variables of ds and NetCDF files as [long rows](dsfmt::Tidy); `columns` are the variables, after the coordinates of their dimensions.
    pub tidy: bool,
    /// How tables are read.
    pub reading: Reading,
}

/// How tables are read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Reading {
    /// The table, for containers with several.
    pub table: Option<String>,
    /// Maximum number of threads; 0 for one per core.
    pub threads: usize,
    /// Read numbers that mean "missing" (NaN, the smallest integer in old IDV files) as null.
    pub missing_as_null: bool,
    /// How times of ds and NetCDF are read; `None` for the stored numbers. An error for other formats.
    pub time: Option<TimeForm>,
    /// Packed numbers of NetCDF stay packed; otherwise they are read as the values they mean. An error for other formats.
    pub packed: bool,
}

impl Selection {
    /// Selects these columns and rows.
    #[must_use]
    pub fn new(
        columns: Vec<String>,
        rows: Option<RowRange>,
        limit: Option<u64>,
        filter: Option<Predicate>,
        reading: Reading,
    ) -> Self {
        Self { columns, rows, limit, filter, reading, ..Self::default() }
    }

    /// Selects a part of the variables of ds and NetCDF files.
    #[must_use]
    pub fn with_region(mut self, region: Region) -> Self {
        self.region = region;
        self
    }

    /// Reads variables of ds and NetCDF files as [long rows](dsfmt::Tidy).
    #[must_use]
    pub const fn with_tidy(mut self, tidy: bool) -> Self {
        self.tidy = tidy;
        self
    }
}

/// The condition that all of these hold, in [SQL syntax](container_arrow::predicate); `None` without any.
pub fn filter<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Result<Option<Predicate>> {
    let parse = |text: T| Predicate::parse(text.as_ref()).map_err(|error| error.in_option("where"));
    Ok(Predicate::all(texts.into_iter().map(parse).collect::<Result<Vec<_>>>()?))
}

impl Reading {
    /// Reads the table of this name with this many threads.
    #[must_use]
    pub const fn new(table: Option<String>, threads: usize, missing_as_null: bool) -> Self {
        Self { table, threads, missing_as_null, time: None, packed: false }
    }

    /// Reads times of ds and NetCDF in this form.
    #[must_use]
    pub const fn with_time(mut self, time: Option<TimeForm>) -> Self {
        self.time = time;
        self
    }

    /// Keeps packed numbers of NetCDF as they are stored.
    #[must_use]
    pub const fn with_packed(mut self, packed: bool) -> Self {
        self.packed = packed;
        self
    }

    /// A scan of all rows and columns.
    #[must_use]
    pub fn scan(&self) -> Scan {
        Scan::default().with_threads(self.threads).with_missing_as_null(self.missing_as_null)
    }
}

/// A range of rows, and whether its first row must exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRange {
    pub rows: Range<u64>,
    /// A single row, which must exist. A range may begin at the end of the table.
    pub one: bool,
}

impl RowRange {
    /// Fails when the range begins after the last of `total` rows, or ends before it begins.
    pub fn check(&self, total: u64) -> Result<()> {
        let Range { start, end } = self.rows;
        if end < start {
            return Err(Error::usage(format!("the range ends at {end}, before its start {start}")));
        }
        if start < total || (start == total && !self.one) {
            return Ok(());
        }
        let s = if total == 1 { "" } else { "s" };
        Err(Error::usage(format!("no row {start}: the input has {total} row{s}, counted from 0")))
    }
}

/// The table with this name, or the only one.
pub fn table<'c>(container: &'c dyn Container, name: Option<&str>) -> Result<&'c dyn Table> {
    let tables = container.tables();
    let names = || tables.iter().map(|table| table.name().to_owned()).collect::<Vec<_>>();
    match (name, tables.as_slice()) {
        (Some(name), all) => match all.iter().find(|table| table.name() == name) {
            Some(table) => Ok(*table),
            None => Err(Error::usage(format!("no table {name:?}; {}", listed("the tables are", &names())))),
        },
        (None, [table]) => Ok(*table),
        (None, []) => Err(Error::usage("the input has no tables")),
        (None, _) => {
            Err(Error::usage(listed("the input has several tables:", &names())).advising("{table} selects one"))
        }
    }
}

/// The indexes of the selected columns; `None` when all are selected.
pub fn columns(table: &dyn Table, selected: &[String]) -> Result<Option<Vec<usize>>> {
    columns_of(table.columns(), selected).or_else(|_| {
        // Without a schema, only reading all rows shows all columns.
        table.infer_columns()?;
        columns_of(table.columns(), selected)
    })
}

/// As [`columns`], for a list of columns.
pub fn columns_of(all: &[ColumnInfo], selected: &[String]) -> Result<Option<Vec<usize>>> {
    if selected.is_empty() {
        return Ok(None);
    }
    // Two columns with different paths can have one name: such columns are selected by path.
    let path = |column: &ColumnInfo| {
        let found = column.details.iter().find(|(key, _)| key == "path");
        found.and_then(|(_, value)| value.as_str()).map(str::to_owned)
    };
    let (mut by_name, mut by_path) = (HashMap::new(), HashMap::new());
    for (index, column) in all.iter().enumerate() {
        match path(column) {
            None => by_name.entry(column.name.as_str()).or_insert(index),
            Some(path) => by_path.entry(path).or_insert(index),
        };
    }
    let index = |name: &str| by_name.get(name).or_else(|| by_path.get(name)).copied();
    let mut indexes = Vec::new();
    for argument in selected {
        // An existing name is not split at its commas.
        if let Some(found) = index(argument) {
            indexes.push(found);
            continue;
        }
        for name in split(argument)? {
            indexes.push(index(&name).ok_or_else(|| unknown_column(all, &name))?);
        }
    }
    let mut distinct = HashSet::new();
    if let Some(column) = indexes.iter().find(|&&index| !distinct.insert(index)).and_then(|&twice| all.get(twice)) {
        return Err(Error::usage(format!("column {:?} is selected twice", column.name)));
    }
    Ok(Some(indexes))
}

/// Splits at commas. A name in double quotes can contain commas; a quote in it is doubled.
pub fn split(argument: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = argument;
    loop {
        let (name, after) = name(rest, &[','])?;
        names.push(name);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(names),
            None => {
                let detail = format!("missing comma before {after:?} in the column names {argument:?}");
                return Err(Error::usage(detail));
            }
        }
    }
}

/// The first name of a text, and what follows. A name without quotes ends before one of these characters.
pub(crate) fn name<'t>(text: &'t str, ends: &[char]) -> Result<(String, &'t str)> {
    match text.strip_prefix('"') {
        Some(quoted) => {
            unquote(quoted).ok_or_else(|| Error::usage(format!("unclosed quote in the column names {text:?}")))
        }
        None => {
            let (name, after) = text.split_at(text.find(ends).unwrap_or(text.len()));
            Ok((name.to_owned(), after))
        }
    }
}

/// The text up to the closing quote, and what follows.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let (part, after) = rest.split_once('"')?;
        name.push_str(part);
        match after.strip_prefix('"') {
            Some(next) => {
                name.push('"');
                rest = next;
            }
            None => return Some((name, after)),
        }
    }
}

#[cold]
pub(crate) fn unknown_column(all: &[ColumnInfo], name: &str) -> Error {
    let names: Vec<String> = all.iter().map(|column| column.name.clone()).collect();
    container_arrow::unknown_column(&names, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_rows_begin_in_the_table_and_before_their_end() {
        let check = |rows, one| RowRange { rows, one }.check(3).map_err(|error| error.to_string());
        assert_eq!(check(3..9, false), Ok(()));
        assert!(check(3..9, true).unwrap_err().contains("no row 3: the input has 3 rows"));
        #[expect(clippy::reversed_empty_ranges, reason = "it is refused")]
        let reversed = 2..1;
        assert_eq!(check(reversed, false).unwrap_err(), "the range ends at 1, before its start 2");
    }

    #[test]
    fn names_split_at_commas_outside_quotes() {
        let names = |text: &str| split(text).map_err(|error| error.to_string());
        assert_eq!(names("a,b"), Ok(vec!["a".into(), "b".into()]));
        assert_eq!(names(r#""a,b",c"#), Ok(vec!["a,b".into(), "c".into()]));
        assert_eq!(names(r#""say ""hi""""#), Ok(vec![r#"say "hi""#.into()]));
        assert_eq!(names(r#""""#), Ok(vec![String::new()]));
        assert!(names(r#""a"#).unwrap_err().contains("unclosed quote"));
        assert!(names(r#""a"b"#).unwrap_err().contains("missing comma"));
    }
}
