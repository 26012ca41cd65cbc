//! Which table, which columns, which rows.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use container_core::{ColumnInfo, Container, Error, Result, Scan, Table};
use dsfmt::container::TimeForm;

/// Which table, which columns, which rows.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Selection {
    /// Columns by name, in this order; none for all. A name that no column has is split at commas outside of double quotes.
    pub columns: Vec<String>,
    /// Rows, counted from 0 over all inputs.
    pub rows: Option<RowRange>,
    /// Rows at most, from the first of `rows` on.
    pub limit: Option<u64>,
    /// Filters of documents (ZDS), all of which must hold: `FIELD=VALUE`, `FIELD`, `!FIELD`.
    pub filters: Vec<String>,
    /// How tables are read.
    pub reading: Reading,
}

/// How tables are read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Reading {
    /// The table, where a container has several.
    pub table: Option<String>,
    /// Threads that may work at once; 0 for all the machine has.
    pub threads: usize,
    /// Numbers that stand for "missing" (NaN, the smallest integer in old IDV files) are null.
    pub missing_as_null: bool,
    /// Times of ds files are read as such; `None` for the numbers that are stored. For other formats it is an error.
    pub time: Option<TimeForm>,
}

impl Selection {
    /// Everything of these columns, rows and so on that is given.
    #[must_use]
    pub fn new(
        columns: Vec<String>,
        rows: Option<RowRange>,
        limit: Option<u64>,
        filters: Vec<String>,
        reading: Reading,
    ) -> Self {
        Self { columns, rows, limit, filters, reading }
    }
}

impl Reading {
    /// The table of this name, read by so many threads.
    #[must_use]
    pub const fn new(table: Option<String>, threads: usize, missing_as_null: bool) -> Self {
        Self { table, threads, missing_as_null, time: None }
    }

    /// With times of ds files read as such.
    #[must_use]
    pub const fn with_time(mut self, time: Option<TimeForm>) -> Self {
        self.time = time;
        self
    }

    /// A scan of whole tables.
    #[must_use]
    pub fn scan(&self) -> Scan {
        Scan::default().with_threads(self.threads).with_missing_as_null(self.missing_as_null)
    }
}

/// Rows by number, and whether the first of them has to exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRange {
    pub rows: Range<u64>,
    /// One row by its number, which must be there; the beginning of a range may be the end of the table.
    pub one: bool,
}

impl RowRange {
    /// Fails when the selection begins past the end of what `total` rows there are.
    pub fn check(&self, total: u64) -> Result<()> {
        let start = self.rows.start;
        if start < total || (start == total && !self.one) {
            return Ok(());
        }
        let s = if total == 1 { "" } else { "s" };
        Err(Error::usage(format!("there is no row {start}: the input has {total} row{s}, counted from 0")))
    }
}

/// The table of this name, or the only one.
pub fn table<'c>(container: &'c dyn Container, name: Option<&str>) -> Result<&'c dyn Table> {
    let tables = container.tables();
    let names = || tables.iter().map(|table| table.name().to_owned()).collect::<Vec<_>>();
    match (name, tables.as_slice()) {
        (Some(name), all) => match all.iter().find(|table| table.name() == name) {
            Some(table) => Ok(*table),
            None => Err(Error::usage(format!("there is no table {name:?}; {}", listed("the tables are", &names())))),
        },
        (None, [table]) => Ok(*table),
        (None, []) => Err(Error::usage("there are no tables")),
        (None, _) => Err(Error::usage(listed("there are several tables:", &names())).advising("{table} chooses one")),
    }
}

/// Indexes of the columns that were asked for; `None` when none were, which means all.
pub fn columns(table: &dyn Table, asked: &[String]) -> Result<Option<Vec<usize>>> {
    columns_of(table.columns(), asked).or_else(|_| {
        // It may be one that only some rows have.
        table.infer_columns()?;
        columns_of(table.columns(), asked)
    })
}

/// The same for columns without a table.
pub fn columns_of(all: &[ColumnInfo], asked: &[String]) -> Result<Option<Vec<usize>>> {
    if asked.is_empty() {
        return Ok(None);
    }
    // A column that stands at a path may be called as another one: it is asked for by the path.
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
    let mut chosen = Vec::new();
    for argument in asked {
        // A name that exists is taken whole, commas and all.
        if let Some(found) = index(argument) {
            chosen.push(found);
            continue;
        }
        for name in split(argument)? {
            chosen.push(index(&name).ok_or_else(|| unknown_column(all, &name))?);
        }
    }
    let mut seen = HashSet::new();
    if let Some(column) = chosen.iter().find(|&&column| !seen.insert(column)).and_then(|&twice| all.get(twice)) {
        return Err(Error::usage(format!("the column {:?} is chosen twice", column.name)));
    }
    Ok(Some(chosen))
}

/// Splits at commas; a part in double quotes is one name, a quote in it is doubled.
pub fn split(argument: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = argument;
    loop {
        let (name, after) = match rest.strip_prefix('"') {
            Some(quoted) => unquote(quoted)
                .ok_or_else(|| Error::usage(format!("a quote is not closed in the column names {argument:?}")))?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                let (name, after) = rest.split_at(end);
                (name.to_owned(), after)
            }
        };
        names.push(name);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(names),
            None => {
                let detail = format!("a comma is missing before {after:?} in the column names {argument:?}");
                return Err(Error::usage(detail));
            }
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
fn unknown_column(all: &[ColumnInfo], name: &str) -> Error {
    let names: Vec<String> = all.iter().map(|column| column.name.clone()).collect();
    let near = near(name, &names);
    let hint = if near.is_empty() { listed("the columns are", &names) } else { listed("near are", &near) };
    Error::usage(format!("there is no column {name:?}; {hint}"))
}

/// `the columns are "a", "b" and 5 more`.
pub fn listed(what: &str, names: &[String]) -> String {
    const SHOWN: usize = 10;
    let quoted: Vec<_> = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect();
    match names.len().checked_sub(SHOWN) {
        _ if names.is_empty() => format!("{what} none"),
        Some(more @ 1..) => format!("{what} {} and {more} more", quoted.join(", ")),
        _ => format!("{what} {}", quoted.join(", ")),
    }
}

/// The names that somebody who wrote `name` may have meant: the nearest first, five at most.
fn near(name: &str, names: &[String]) -> Vec<String> {
    /// Names beyond this are not compared: it is a hint and must not take time.
    const COMPARED: usize = 10_000;
    let wanted: Vec<char> = name.to_lowercase().chars().take(64).collect();
    let most = wanted.len() / 3 + 1;
    let mut found: Vec<(usize, &String)> = Vec::new();
    for candidate in names.iter().take(COMPARED) {
        let other: Vec<char> = candidate.to_lowercase().chars().take(64).collect();
        let distance = distance(&wanted, &other);
        let contains = wanted.len() > 2 && other.len() > 2 && (contains(&other, &wanted) || contains(&wanted, &other));
        if distance <= most {
            found.push((distance, candidate));
        } else if contains {
            found.push((most + distance, candidate));
        }
    }
    found.sort_by_key(|(distance, _)| *distance);
    found.into_iter().take(5).map(|(_, name)| name.clone()).collect()
}

fn contains(whole: &[char], part: &[char]) -> bool {
    whole.windows(part.len()).any(|window| window == part)
}

/// How many characters have to be put in, taken out or changed to make one text of the other.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, b) in row.iter_mut().skip(1).zip(other) {
            let changed = diagonal + usize::from(a != b);
            diagonal = *cell;
            left = changed.min(diagonal + 1).min(left + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_split_at_commas_outside_quotes() {
        let names = |text: &str| split(text).map_err(|error| error.to_string());
        assert_eq!(names("a,b"), Ok(vec!["a".into(), "b".into()]));
        assert_eq!(names(r#""a,b",c"#), Ok(vec!["a,b".into(), "c".into()]));
        assert_eq!(names(r#""say ""hi""""#), Ok(vec![r#"say "hi""#.into()]));
        assert_eq!(names(r#""""#), Ok(vec![String::new()]));
        assert!(names(r#""a"#).unwrap_err().contains("not closed"));
        assert!(names(r#""a"b"#).unwrap_err().contains("comma is missing"));
    }

    #[test]
    fn near_names() {
        let names: Vec<String> =
            ["SepalLength", "SepalWidth", "PetalLength", "Label", "Id"].map(str::to_owned).to_vec();
        assert_eq!(near("sepallenght", &names), ["SepalLength", "PetalLength"]);
        assert_eq!(near("sepal", &names)[..2], ["SepalWidth", "SepalLength"]);
        assert_eq!(near("lable", &names), ["Label"]);
        assert_eq!(near("ID", &names), ["Id"]);
        assert_eq!(near("nothing like it", &names), Vec::<String>::new());
    }

    #[test]
    fn distances() {
        let distance = |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("abc", "abc"), 0);
    }
}
