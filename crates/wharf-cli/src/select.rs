//! Options that select a table, columns and rows.

use container_core::Result;
use wharf::hub::select as library;
pub(crate) use wharf::hub::select::{RowRange, columns, filter, split, table};

/// Selection options of verbs that read rows.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Selection {
    /// Only these columns, in this order: comma-separated names as listed by `info` (quote a name that contains a comma:
    /// '"a,b",c'). Repeatable
    #[arg(long, value_name = "NAMES")]
    pub(crate) columns: Vec<String>,

    /// Only these rows, counted from 0 across all inputs: A..B (excluding B), A.., ..B, or a single row N
    #[arg(long, value_name = "A..B", value_parser = parse_rows, allow_hyphen_values = true)]
    pub(crate) rows: Option<RowRange>,

    /// Maximum number of rows
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<u64>,

    #[command(flatten)]
    pub(crate) condition: Condition,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Selects rows by a condition.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Condition {
    /// Only rows for which an SQL condition holds, such as "age > 30 and name like 'A%'"; a.b is the field b of a, and "a b" in double
    /// quotes the column with that name. Row numbers count these rows. Repeatable: all conditions must hold
    #[arg(long = "where", value_name = "CONDITION", allow_hyphen_values = true)]
    pub(crate) conditions: Vec<String>,
}

impl Condition {
    /// The predicate of all conditions; `None` without any.
    pub(crate) fn predicate(&self) -> Result<Option<wharf::Predicate>> {
        library::filter(&self.conditions)
    }
}

/// Options for reading rows.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Reading {
    /// The table, if the file has several (`info` lists them)
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,

    /// Maximum number of threads; 0 for all processors
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,

    /// Print values that represent a missing value (NaN; in old IDV files, the smallest integer) as null
    #[arg(long)]
    pub(crate) missing_as_null: bool,
}

impl Selection {
    /// The library's form of these options.
    pub(crate) fn plain(&self) -> Result<library::Selection> {
        let filter = self.condition.predicate()?;
        Ok(library::Selection::new(self.columns.clone(), self.rows.clone(), self.limit, filter, self.reading.plain()))
    }
}

impl Reading {
    /// The library's form of these options.
    pub(crate) fn plain(&self) -> library::Reading {
        library::Reading::new(self.table.clone(), self.threads, self.missing_as_null)
    }

    pub(crate) fn scan(&self) -> container_core::Scan {
        self.plain().scan()
    }
}

fn parse_rows(text: &str) -> std::result::Result<RowRange, String> {
    let number = |text: &str, default: u64| match text {
        "" => Ok(default),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().map_err(|_| format!("{digits} is above {}", u64::MAX))
        }
        other => Err(format!("expected a row number, found {other:?}; allowed are A..B, A.., ..B and N")),
    };
    let range = match text.split_once("..") {
        Some((start, end)) => RowRange { rows: number(start, 0)?..number(end, u64::MAX)?, one: false },
        None if text.is_empty() => return Err("expected A..B, A.., ..B or N".to_owned()),
        None => {
            let row = number(text, 0)?;
            RowRange { rows: row..row.saturating_add(1), one: true }
        }
    };
    if range.rows.start > range.rows.end {
        return Err(format!("the range ends at {}, before its start {}", range.rows.end, range.rows.start));
    }
    Ok(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_row_ranges() {
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
    fn range_may_start_at_the_end_but_a_row_may_not() {
        let check = |text: &str| parse_rows(text).unwrap().check(3).map_err(|error| error.to_string());
        assert_eq!(check("3.."), Ok(()));
        assert_eq!(check("2"), Ok(()));
        assert_eq!(check("3").unwrap_err(), "no row 3: the input has 3 rows, counted from 0");
        assert!(check("4..").is_err());
    }
}
