//! `wharf stats`: statistics of variables.

use std::ffi::OsString;

use container_core::{Error, Result};
use dsfmt::{Reader, Stats, Variable};

use super::Outcome;
use super::env::Env;
use super::human::{self, clean, grouped};
use super::inputs;
use super::netcdf;

const EXAMPLES: &str = "\
Examples:
  wharf stats climate.ds temperature
  wharf stats model.nc temperature pressure
  wharf stats climate.ds --json | jq '{variable, mean}'";

/// Show statistics of variables: counts, extremes, mean, median, standard deviation, intervals (ds, NetCDF)
///
/// Missing values and NaN are left out, and counted. The deviation is that of a population. p68, p95 and p99 are the intervals that hold so
/// many of 100 values, as percentiles. Medians and percentiles are exact. Without names: all variables of numbers.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The file; - is standard input
    #[arg(value_name = "FILE")]
    file: OsString,

    /// Variables
    #[arg(value_name = "VAR")]
    variables: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let places = inputs::expand(std::slice::from_ref(&arguments.file))?;
    let [place] = places.as_slice() else {
        return Err(Error::usage(format!("the pattern matches {} files; stats reads one", places.len()))
            .in_file(arguments.file.display().to_string()));
    };
    let file = |error: Error| error.in_file(place.name());
    let input = place.input(&mut env.opener).map_err(file)?;
    let reader = match netcdf::variables(&input, &env.opener).map_err(file)? {
        Some(reader) => reader,
        None => {
            let opened = place.open_input(&input, &env.opener)?;
            let detail = format!("stats works on ds and NetCDF files, this one is {}", opened.container.format());
            return Err(file(Error::usage(detail)));
        }
    };
    let mut outcome = Outcome::Done;
    let mut lines = human::table(env.stdout.terminal);
    lines.set_header([
        "variable", "count", "missing", "NaN", "min", "max", "mean", "median", "std", "p68", "p95", "p99",
    ]);
    let mut shown = 0;
    for variable in chosen(&reader, &arguments.variables).map_err(file)? {
        match variable.stats() {
            Err(error) => {
                outcome = outcome.max(env.fail(&file(error)));
            }
            Ok(stats) if env.json() => {
                // By way of a value a float of 32 bits would get the digits of one of 64.
                let stats = serde_json::to_string(&stats).unwrap_or_default(); // a map of numbers
                let name = serde_json::Value::from(variable.name());
                env.stdout.print(&format!("{{\"variable\":{name},{}\n", stats.trim_start_matches('{')))?;
            }
            Ok(stats) => {
                lines.add_row(row(&variable, &stats));
                shown += 1;
            }
        }
    }
    if shown > 0 {
        lines.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(human::RIGHT));
        env.stdout.print(&human::print(&mut lines))?;
    }
    Ok(outcome)
}

/// The variables that were asked for: all of numbers where none were, and those that cannot be read, so that it is said.
fn chosen<'r>(reader: &'r Reader, names: &[String]) -> Result<Vec<Variable<'r>>> {
    let numbers = |variable: &Variable<'_>| {
        variable.problem().is_some() || variable.data_type().is_some_and(|data_type| !data_type.is_text())
    };
    let chosen: Vec<Variable<'_>> = match names {
        [] => reader.variables().filter(numbers).collect(),
        names => names.iter().map(|name| reader.variable(name)).collect::<Result<_>>()?,
    };
    reader.check_declared_bytes(chosen.iter().copied())?;
    Ok(chosen)
}

fn row(variable: &Variable<'_>, stats: &Stats) -> Vec<String> {
    let float = |number: Option<f64>| number.map(short).unwrap_or_default();
    let ends = |ends: Option<[f64; 2]>| ends.map(|[low, high]| format!("{} .. {}", short(low), short(high)));
    let exact = |number: Option<dsfmt::Number>| match number {
        Some(dsfmt::Number::Integer(number)) => number.to_string(),
        Some(number) => short(number.as_f64()),
        None => String::new(),
    };
    let mut cells = vec![clean(variable.name()).into_owned(), grouped(stats.count), grouped(stats.missing)];
    cells.extend([grouped(stats.nan), exact(stats.min), exact(stats.max)]);
    cells.extend([stats.mean, stats.median, stats.std].map(float));
    cells.extend([stats.p68, stats.p95, stats.p99].map(|interval| ends(interval).unwrap_or_default()));
    cells
}

/// Seven digits, which are enough for the eye: programs get all.
fn short(number: f64) -> String {
    let scientific = format!("{number:.6e}");
    let exponent: i32 = scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    if !number.is_finite() || !(-5..15).contains(&exponent) {
        return if number.is_finite() { scientific } else { number.to_string() };
    }
    let digits = usize::try_from(6 - exponent).unwrap_or(0);
    let text = format!("{number:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_digits() {
        for (number, wanted) in [
            (0.0, "0"),
            (1.0 / 3.0, "0.3333333"),
            (-12_345.678_91, "-12345.68"),
            (1e14, "100000000000000"),
            (1.5e20, "1.500000e20"),
            (2e-7, "2.000000e-7"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(short(number), wanted);
        }
    }
}
