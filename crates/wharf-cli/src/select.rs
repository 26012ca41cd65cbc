//! Which table, which columns, which rows: options of the verbs that show rows.

use wharf::hub::select as plain;
pub(crate) use wharf::hub::select::{RowRange, columns, table};

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

impl Selection {
    /// The same for the library.
    pub(crate) fn plain(&self) -> plain::Selection {
        plain::Selection::new(
            self.columns.clone(),
            self.rows.clone(),
            self.limit,
            self.filters.clone(),
            self.reading.plain(),
        )
    }
}

impl Reading {
    /// The same for the library.
    pub(crate) fn plain(&self) -> plain::Reading {
        plain::Reading::new(self.table.clone(), self.threads, self.missing_as_null)
    }

    pub(crate) fn scan(&self) -> container_core::Scan {
        self.plain().scan()
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
}
