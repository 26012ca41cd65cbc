//! Options that select a part of a variable.

use container_core::{Error, Result};
use dsfmt::time::{self, Date};
use dsfmt::{Reader, Select, Selection};

/// `--sel`, `--at` and `--between`.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct SliceOptions {
    /// Select by index along a dimension, as in Python: DIM=2, DIM=-1, DIM=0,3,5 or DIM=FROM:TO:STEP (ds, NetCDF)
    #[arg(long, value_name = "DIM=...", allow_hyphen_values = true)]
    sel: Vec<String>,

    /// Select where the coordinate variable is nearest to a number or date (ds, NetCDF)
    #[arg(long, value_name = "VAR=VALUE", allow_hyphen_values = true)]
    at: Vec<String>,

    /// Select where the coordinate variable is at least A and less than B, numbers or dates; either may be omitted (ds, NetCDF)
    #[arg(long, value_name = "VAR=A..B", allow_hyphen_values = true)]
    between: Vec<String>,
}

impl SliceOptions {
    /// Fails if an option was given: the input has no variables.
    pub(crate) fn refuse(&self) -> Result<()> {
        match self.is_all() {
            true => Ok(()),
            false => Err(Error::usage("--sel, --at and --between require a variable of a ds or NetCDF file")),
        }
    }

    /// Whether no option was given.
    pub(crate) fn is_all(&self) -> bool {
        self.sel.is_empty() && self.at.is_empty() && self.between.is_empty()
    }

    /// The selection, with coordinates resolved to indexes.
    pub(crate) fn selection(&self, reader: &Reader) -> Result<Selection> {
        let mut selection = Selection::new();
        for text in &self.sel {
            let (dimension, indexes) = split_name(text, "--sel", "DIM=...")?;
            if selection.get(dimension).is_some() {
                return Err(Error::usage(format!("--sel: duplicate dimension {dimension:?}")));
            }
            selection = selection.with(dimension, parse_select(text, indexes)?);
        }
        for text in &self.at {
            let (variable, coordinate) = split_name(text, "--at", "VAR=VALUE")?;
            selection = selection.at(reader, variable, parse_coordinate(reader, variable, coordinate)?)?;
        }
        for text in &self.between {
            let (variable, range) = split_name(text, "--between", "VAR=A..B")?;
            // A:B is accepted too, unless there are several colons: then they are those of a time of day.
            let ends = range.split_once("..").or_else(|| range.split_once(':').filter(|(_, to)| !to.contains(':')));
            let (from, to) = ends.ok_or_else(|| {
                Error::usage(format!("--between: expected VAR=A..B, VAR=A.. or VAR=..B, found {text:?}"))
            })?;
            let end = |text: &str| match text.trim() {
                "" => Ok(None),
                text => parse_coordinate(reader, variable, text).map(Some),
            };
            selection = selection.between(reader, variable, end(from)?, end(to)?)?;
        }
        Ok(selection)
    }
}

/// Splits `NAME=REST` at the last `=`: a name may contain `=`.
fn split_name<'t>(text: &'t str, option: &str, form: &str) -> Result<(&'t str, &'t str)> {
    let parts = text.rsplit_once('=').filter(|(name, _)| !name.is_empty());
    parts.ok_or_else(|| Error::usage(format!("{option}: expected {form}, found {text:?}")))
}

/// Parses the part of a `--sel` argument after the `=`. `text` is the whole argument, for messages.
fn parse_select(text: &str, indexes: &str) -> Result<Select> {
    let invalid = || Error::usage(format!("--sel: expected DIM=N, DIM=N,N,... or DIM=FROM:TO:STEP, found {text:?}"));
    let number = |text: &str| text.trim().parse::<i64>().map_err(|_| invalid());
    let part = |text: Option<&str>| match text.map(str::trim) {
        None | Some("") => Ok(None),
        Some(text) => number(text).map(Some),
    };
    if indexes.contains(':') {
        let mut parts = indexes.split(':');
        let (start, stop, step) = (part(parts.next())?, part(parts.next())?, part(parts.next())?);
        return if parts.next().is_none() { Ok(Select::Range { start, stop, step }) } else { Err(invalid()) };
    }
    match indexes.contains(',') {
        true => indexes.trim_end_matches(',').split(',').map(number).collect::<Result<_>>().map(Select::List),
        false => number(indexes).map(Select::Index),
    }
}

/// Parses a number, or a date in the units of a time variable.
fn parse_coordinate(reader: &Reader, variable: &str, text: &str) -> Result<f64> {
    if let Ok(number) = text.trim().parse::<f64>() {
        return Ok(number);
    }
    let units = time::of(&reader.variable(variable)?)?;
    let units = units.ok_or_else(|| {
        Error::usage(format!("expected a number, found {text:?}; only time variables accept dates"))
            .in_column(variable.to_owned())
    })?;
    let date = Date::from_iso(text, units.calendar())?;
    units.value(date).ok_or_else(|| Error::usage(format!("the calendar {} has no day {text}", units.calendar())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_selections() {
        let of = |indexes: &str| parse_select("x", indexes);
        assert_eq!(of("-1").unwrap(), Select::Index(-1));
        assert_eq!(of("1, 2,5").unwrap(), Select::List(vec![1, 2, 5]));
        assert_eq!(of("7,").unwrap(), Select::List(vec![7]));
        assert_eq!(of("2:9").unwrap(), Select::range(2, 9));
        assert_eq!(of(":").unwrap(), Select::all());
        assert_eq!(of("::-2").unwrap(), Select::Range { start: None, stop: None, step: Some(-2) });
        for wrong in ["", "a", "1:2:3:4", "1,a", "1.5", ",", "1:a"] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(split_name("a=b=3", "--sel", "").unwrap(), ("a=b", "3"));
        assert!(split_name("=3", "--sel", "").is_err() && split_name("x", "--sel", "").is_err());
    }
}
