//! Regions as text, as commands and configuration files have them.

use container_core::{Error, Result};

use super::{Coordinate, Region};
use crate::read::Select;

impl Region {
    /// Adds a selection by index: `DIM=2`, `DIM=-1`, `DIM=0,3,5` or `DIM=FROM:TO:STEP`, as in Python.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for another form.
    pub fn parse_indexes(self, text: &str) -> Result<Self> {
        let (dimension, indexes) = split_name(text, "DIM=...")?;
        let select = select(indexes).ok_or_else(|| invalid("DIM=N, DIM=N,N,... or DIM=FROM:TO:STEP", text))?;
        Ok(self.with(dimension, select))
    }

    /// Adds a range of coordinates: `VAR=A..B`, `VAR=A..` or `VAR=..B`. `A,B` and, without times of day, `A:B` are the same.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for another form.
    pub fn parse_between(self, text: &str) -> Result<Self> {
        let (variable, range) = split_name(text, "VAR=A..B")?;
        let ends = range.split_once("..").or_else(|| range.split_once(','));
        // Several colons are those of a time of day.
        let ends = ends.or_else(|| range.split_once(':').filter(|(_, to)| !to.contains(':')));
        let (from, to) = ends.ok_or_else(|| invalid("VAR=A..B, VAR=A.. or VAR=..B", text))?;
        let end = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        Ok(self.between(variable, end(from), end(to)))
    }

    /// Adds points along a coordinate: `VAR=VALUE`, or `VAR=VALUE,VALUE,...` to keep the dimension. A value in double quotes may contain commas.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for another form.
    pub fn parse_points(self, text: &str) -> Result<Self> {
        let (variable, values) = split_name(text, "VAR=VALUE")?;
        let (mut all, mut is_list) = (Vec::new(), false);
        let mut rest = values.trim();
        while !rest.is_empty() {
            let (value, after) = match rest.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').ok_or_else(|| invalid("a closing quote", text))?,
                None => rest.split_at(rest.find(',').unwrap_or(rest.len())),
            };
            all.push(Coordinate::Text(value.to_owned()));
            rest = after.trim_start();
            match rest.strip_prefix(',') {
                Some(after) => (rest, is_list) = (after.trim_start(), true),
                None if rest.is_empty() => {}
                None => return Err(invalid("a comma after the closing quote", text)),
            }
        }
        match (all.pop(), is_list) {
            (None, _) => Err(invalid("VAR=VALUE", text)),
            (Some(one), false) => Ok(self.at(variable, one)),
            (Some(last), true) => Ok(self.at_each(variable, all.into_iter().chain([last]))),
        }
    }

    /// Sets a tolerance: `NUMBER` for all coordinates, or `VAR=NUMBER`, for times also `VAR=6h`.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for another form.
    pub fn parse_tolerance(self, text: &str) -> Result<Self> {
        match text.rsplit_once('=') {
            None if text.trim().is_empty() => Err(invalid("NUMBER or VAR=NUMBER", text)),
            None => Ok(self.with_common_tolerance(text)),
            Some((name, tolerance)) if !name.is_empty() && !tolerance.trim().is_empty() => {
                Ok(self.with_tolerance(name, tolerance))
            }
            Some(_) => Err(invalid("NUMBER or VAR=NUMBER", text)),
        }
    }
}

fn invalid(expected: &str, found: &str) -> Error {
    Error::usage(format!("expected {expected}, found {found:?}"))
}

/// Splits `NAME=REST` at the last `=`: a name may contain `=`.
fn split_name<'t>(text: &'t str, form: &str) -> Result<(&'t str, &'t str)> {
    text.rsplit_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| invalid(form, text))
}

/// Parses indexes; `None` for another form.
fn select(indexes: &str) -> Option<Select> {
    let number = |text: &str| text.trim().parse::<i64>().ok();
    let part = |text: Option<&str>| match text.map(str::trim) {
        None | Some("") => Some(None),
        Some(text) => number(text).map(Some),
    };
    if indexes.contains(':') {
        let mut parts = indexes.split(':');
        let (start, stop, step) = (part(parts.next())?, part(parts.next())?, part(parts.next())?);
        return parts.next().is_none().then_some(Select::Range { start, stop, step });
    }
    match indexes.contains(',') {
        true => indexes.trim_end_matches(',').split(',').map(number).collect::<Option<_>>().map(Select::List),
        false => number(indexes).map(Select::Index),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_indexes() {
        assert_eq!(select("-1"), Some(Select::Index(-1)));
        assert_eq!(select("1, 2,5"), Some(Select::List(vec![1, 2, 5])));
        assert_eq!(select("7,"), Some(Select::List(vec![7])));
        assert_eq!(select("2:9"), Some(Select::range(2, 9)));
        assert_eq!(select(":"), Some(Select::all()));
        assert_eq!(select("::-2"), Some(Select::Range { start: None, stop: None, step: Some(-2) }));
        for wrong in ["", "a", "1:2:3:4", "1,a", "1.5", ",", "1:a"] {
            assert_eq!(select(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn parses_ranges_and_points() {
        let region = Region::new;
        let between = |from: Option<&str>, to: Option<&str>| region().between("a=b", from, to);
        for text in ["a=b=1..2", "a=b=1,2", "a=b=1:2", "a=b= 1 .. 2 "] {
            assert_eq!(region().parse_between(text).unwrap(), between(Some("1"), Some("2")), "{text}");
        }
        let times = region().parse_between("a=b=2000-01-01T06:00..").unwrap();
        assert_eq!(times, between(Some("2000-01-01T06:00"), None));
        assert_eq!(region().parse_points("s=Oslo").unwrap(), region().at("s", "Oslo"));
        assert_eq!(region().parse_points("s=Oslo,").unwrap(), region().at_each("s", ["Oslo"]));
        assert_eq!(region().parse_points("s=\"a, b\", c").unwrap(), region().at_each("s", ["a, b", "c"]));
        assert_eq!(region().parse_points("s=\"a, b\"").unwrap(), region().at("s", "a, b"));
        assert_eq!(region().parse_tolerance("x=1").unwrap(), region().with_tolerance("x", "1"));
        assert_eq!(region().parse_tolerance("1").unwrap(), region().with_common_tolerance("1"));
        for wrong in ["s", "s=", "=1", "s=\"a", "s=\"a\"b"] {
            assert!(region().parse_points(wrong).is_err(), "{wrong}");
        }
        let error = region().parse_between("lat=1").unwrap_err().to_string();
        assert_eq!(error, "expected VAR=A..B, VAR=A.. or VAR=..B, found \"lat=1\"");
        assert!(region().parse_between("=1..2").is_err() && region().parse_tolerance("x=").is_err());
    }
}
