//! Which part of a variable: options that become a selection.

use container_core::{Error, Result};
use dsfmt::time::{self, Date};
use dsfmt::{Reader, Select, Selection};

/// Options that choose a part of a variable.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Part {
    /// A part of a dimension, by numbers from 0 (negative ones from the end): DIM=2, DIM=0,3,5 or DIM=FROM:TO:STEP as in Python (ds)
    #[arg(long, value_name = "DIM=...", allow_hyphen_values = true)]
    sel: Vec<String>,

    /// Where this variable's value is the nearest to a number, or to a date (ds)
    #[arg(long, value_name = "VAR=VALUE", allow_hyphen_values = true)]
    at: Vec<String>,

    /// Where this variable's values are from A on and below B, either of which may be missing: numbers or dates (ds)
    #[arg(long, value_name = "VAR=A..B", allow_hyphen_values = true)]
    between: Vec<String>,
}

impl Part {
    /// Fails where a part was asked for and there is none.
    pub(crate) fn refuse(&self) -> Result<()> {
        match self.is_all() {
            true => Ok(()),
            false => Err(Error::usage("--sel, --at and --between choose a part of a variable, which ds files have")),
        }
    }

    /// Nothing was asked for.
    pub(crate) fn is_all(&self) -> bool {
        self.sel.is_empty() && self.at.is_empty() && self.between.is_empty()
    }

    /// What was asked for, resolved against the variables of the file.
    pub(crate) fn selection(&self, reader: &Reader) -> Result<Selection> {
        let mut selection = Selection::new();
        for text in &self.sel {
            let (dimension, wanted) = named(text, "--sel", "DIM=...")?;
            if selection.get(dimension).is_some() {
                return Err(Error::usage(format!("--sel names the dimension {dimension:?} twice")));
            }
            selection = selection.with(dimension, select(text, wanted)?);
        }
        for text in &self.at {
            let (variable, wanted) = named(text, "--at", "VAR=VALUE")?;
            selection = selection.at(reader, variable, value(reader, variable, wanted)?)?;
        }
        for text in &self.between {
            let (variable, wanted) = named(text, "--between", "VAR=A..B")?;
            // A time of day has colons, too: then there have to be two points.
            let ends = wanted.split_once("..").or_else(|| wanted.split_once(':').filter(|(_, to)| !to.contains(':')));
            let (from, to) = ends.ok_or_else(|| {
                Error::usage(format!("--between {text:?} has no two ends: allowed are VAR=A..B, VAR=A.. and VAR=..B"))
            })?;
            let end = |text: &str| match text.trim() {
                "" => Ok(None),
                text => value(reader, variable, text).map(Some),
            };
            selection = selection.between(reader, variable, end(from)?, end(to)?)?;
        }
        Ok(selection)
    }
}

/// A name and what is wanted of it. A name may have equals signs of its own.
fn named<'t>(text: &'t str, option: &str, form: &str) -> Result<(&'t str, &'t str)> {
    let parts = text.rsplit_once('=').filter(|(name, _)| !name.is_empty());
    parts.ok_or_else(|| Error::usage(format!("{option} {text:?} is not of the form {form}")))
}

fn select(text: &str, wanted: &str) -> Result<Select> {
    let wrong = || {
        Error::usage(format!(
            "--sel {text:?} cannot be understood: allowed are DIM=N, DIM=N,N,... and DIM=FROM:TO:STEP"
        ))
    };
    let number = |text: &str| text.trim().parse::<i64>().map_err(|_| wrong());
    let part = |text: Option<&str>| match text.map(str::trim) {
        None | Some("") => Ok(None),
        Some(text) => number(text).map(Some),
    };
    if wanted.contains(':') {
        let mut parts = wanted.split(':');
        let (start, stop, step) = (part(parts.next())?, part(parts.next())?, part(parts.next())?);
        return if parts.next().is_none() { Ok(Select::Range { start, stop, step }) } else { Err(wrong()) };
    }
    match wanted.contains(',') {
        true => wanted.trim_end_matches(',').split(',').map(number).collect::<Result<_>>().map(Select::List),
        false => number(wanted).map(Select::Index),
    }
}

/// A number, or the number that a date has in a time variable.
fn value(reader: &Reader, variable: &str, text: &str) -> Result<f64> {
    if let Ok(number) = text.trim().parse::<f64>() {
        return Ok(number);
    }
    let units = time::of(&reader.variable(variable)?)?;
    let units = units.ok_or_else(|| {
        Error::usage(format!("{text:?} is no number, and {variable:?} is no time variable, which dates would fit"))
    })?;
    let date = Date::from_iso(text, units.calendar())?;
    units.value(date).ok_or_else(|| Error::usage(format!("the calendar {} has no day {text}", units.calendar())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_dimensions() {
        let of = |wanted: &str| select("x", wanted);
        assert_eq!(of("-1").unwrap(), Select::Index(-1));
        assert_eq!(of("1, 2,5").unwrap(), Select::List(vec![1, 2, 5]));
        assert_eq!(of("7,").unwrap(), Select::List(vec![7]));
        assert_eq!(of("2:9").unwrap(), Select::range(2, 9));
        assert_eq!(of(":").unwrap(), Select::all());
        assert_eq!(of("::-2").unwrap(), Select::Range { start: None, stop: None, step: Some(-2) });
        for wrong in ["", "a", "1:2:3:4", "1,a", "1.5", ",", "1:a"] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(named("a=b=3", "--sel", "").unwrap(), ("a=b", "3"));
        assert!(named("=3", "--sel", "").is_err() && named("x", "--sel", "").is_err());
    }
}
