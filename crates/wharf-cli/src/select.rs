//! Which table, which columns, which rows: options of the verbs that show rows.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use container_core::{ColumnInfo, Container, Error, Result, Scan, Table};

/// Options that select, shared by verbs.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Selection {
    /// Only these columns, in this order: names as `info` lists them, separated by commas (quote a name that has one:
    /// '"a,b",c'); may be given several times
    #[arg(long, value_name = "NAMES")]
    pub(crate) columns: Vec<String>,

    /// Only these rows, counted from 0 over all files: A..B (without B), A.., ..B, or one N
    #[arg(long, value_name = "A..B", value_parser = parse_rows, allow_hyphen_values = true)]
    pub(crate) rows: Option<RowRange>,

    /// At most so many rows
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<u64>,

    /// Only documents whose FIELD has this VALUE (ZDS): JSON where it is that, else a text. Names with dots between lead into objects. FIELD
    /// alone: it is there; !FIELD: it is not. May be given several times: all must hold
    #[arg(long = "where", value_name = "FIELD=VALUE")]
    pub(crate) filters: Vec<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Options of every verb that reads rows.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Reading {
    /// The table, where a file has several (`info` lists them)
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,

    /// Threads that may work at once; 0 for all the machine has
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,

    /// Show numbers that stand for "missing" (NaN, the smallest integer in old IDV files) as null
    #[arg(long)]
    pub(crate) missing_as_null: bool,
}

impl Reading {
    pub(crate) fn scan(&self) -> Scan {
        Scan::default().with_threads(self.threads).with_missing_as_null(self.missing_as_null)
    }
}

/// Rows by number, and whether the first of them has to exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowRange {
    pub(crate) rows: Range<u64>,
    /// One row by its number, which must be there; the beginning of a range may be the end of the table.
    pub(crate) one: bool,
}

impl RowRange {
    /// Fails when the selection begins past the end of what `total` rows there are.
    pub(crate) fn check(&self, total: u64) -> Result<()> {
        let start = self.rows.start;
        if start < total || (start == total && !self.one) {
            return Ok(());
        }
        let s = if total == 1 { "" } else { "s" };
        Err(Error::usage(format!("there is no row {start}: the input has {total} row{s}, counted from 0")))
    }
}

fn parse_rows(text: &str) -> Result<RowRange, String> {
    let number = |text: &str, missing: u64| match text {
        "" => Ok(missing),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().map_err(|_| format!("{digits} is above {}", u64::MAX))
        }
        other => Err(format!("{other:?} is no row number; allowed are A..B, A.., ..B and N")),
    };
    let range = match text.split_once("..") {
        Some((start, end)) => RowRange { rows: number(start, 0)?..number(end, u64::MAX)?, one: false },
        None if text.is_empty() => return Err("allowed are A..B, A.., ..B and N".to_owned()),
        None => {
            let row = number(text, 0)?;
            RowRange { rows: row..row.saturating_add(1), one: true }
        }
    };
    if range.rows.start > range.rows.end {
        return Err(format!("the range ends at {} before it begins at {}", range.rows.end, range.rows.start));
    }
    Ok(range)
}

/// The table of this name, or the only one.
pub(crate) fn table<'c>(container: &'c dyn Container, name: Option<&str>) -> Result<&'c dyn Table> {
    let tables = container.tables();
    let names = || tables.iter().map(|table| table.name().to_owned()).collect::<Vec<_>>();
    match (name, tables.as_slice()) {
        (Some(name), all) => match all.iter().find(|table| table.name() == name) {
            Some(table) => Ok(*table),
            None => Err(Error::usage(format!("there is no table {name:?}; {}", listed("the tables are", &names())))),
        },
        (None, [table]) => Ok(*table),
        (None, []) => Err(Error::usage("there are no tables")),
        (None, _) => Err(Error::usage(listed("choose one with --table: the tables are", &names()))),
    }
}

/// Indexes of the columns that were asked for; `None` when none were, which means all.
pub(crate) fn columns(table: &dyn Table, asked: &[String]) -> Result<Option<Vec<usize>>> {
    columns_of(table.columns(), asked).or_else(|_| {
        // It may be one that only some rows have.
        table.survey()?;
        columns_of(table.columns(), asked)
    })
}

/// The same for columns without a table.
pub(crate) fn columns_of(all: &[ColumnInfo], asked: &[String]) -> Result<Option<Vec<usize>>> {
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
pub(crate) fn split(argument: &str) -> Result<Vec<String>> {
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
pub(crate) fn listed(what: &str, names: &[String]) -> String {
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
    fn row_ranges() {
        let rows = |text: &str| parse_rows(text).map(|range| (range.rows.start, range.rows.end));
        assert_eq!(rows("3..7"), Ok((3, 7)));
        assert_eq!(rows("3.."), Ok((3, u64::MAX)));
        assert_eq!(rows("..7"), Ok((0, 7)));
        assert_eq!(rows(".."), Ok((0, u64::MAX)));
        assert_eq!(rows("5"), Ok((5, 6)));
        assert_eq!(rows("5..5"), Ok((5, 5)));
        for wrong in ["", "-1", "7..3", "a..b", "1...2", "1..=2", "18446744073709551616", "+1", " 1"] {
            assert!(rows(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_range_may_begin_at_the_end_and_a_row_may_not() {
        let check = |text: &str| parse_rows(text).unwrap().check(3).map_err(|error| error.to_string());
        assert_eq!(check("3.."), Ok(()));
        assert_eq!(check("2"), Ok(()));
        assert_eq!(check("3").unwrap_err(), "there is no row 3: the input has 3 rows, counted from 0");
        assert!(check("4..").is_err());
    }

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
