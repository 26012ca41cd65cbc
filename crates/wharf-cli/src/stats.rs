//! `wharf stats`: statistics of variables.

use std::ffi::OsString;

use container_core::{Error, Result};
use dsfmt::{Reader, Stats, Variable};

use super::Outcome;
use super::display::{self, clean, grouped};
use super::env::Env;
use super::inputs;
use super::netcdf;

const EXAMPLES: &str = "\
Examples:
  wharf stats climate.ds temperature
  wharf stats model.nc temperature pressure
  wharf stats climate.ds --json | jq '{variable, mean}'";

/// Show statistics of variables: count, extremes, mean, median, standard deviation, percentile intervals (ds, NetCDF)
///
/// Missing values and NaN are excluded, and counted separately. std is the population standard deviation. p68, p95 and p99 are the central
/// intervals that contain 68, 95 and 99 percent of the values. Medians and percentiles are exact. Without VAR, all numeric variables.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Input file; - for standard input
    #[arg(value_name = "FILE")]
    file: OsString,

    /// Variables
    #[arg(value_name = "VAR")]
    variables: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let location = inputs::expand_single(&arguments.file, "stats")?;
    let file = |error: Error| error.in_file(location.name());
    let input = location.input(&mut env.opener).map_err(file)?;
    let reader = match netcdf::variables(&input, &env.opener).map_err(file)? {
        Some(reader) => reader,
        None => {
            let opened = location.open_input(&input, &env.opener)?;
            let detail = format!("stats requires a ds or NetCDF file, found {}", opened.container.format());
            return Err(file(Error::usage(detail)));
        }
    };
    let mut outcome = Outcome::Done;
    let mut lines = display::table(env.stdout.terminal);
    lines.set_header([
        "variable", "count", "missing", "NaN", "min", "max", "mean", "median", "std", "p68", "p95", "p99",
    ]);
    let mut has_rows = false;
    for variable in selected(&reader, &arguments.variables).map_err(file)? {
        match variable.stats() {
            Err(error) => {
                outcome = outcome.max(env.fail(&file(error)));
            }
            Ok(stats) if env.json() => {
                // Not via `Value`, which would print 32-bit floats with the digits of 64-bit ones.
                let stats = serde_json::to_string(&stats).unwrap_or_default(); // cannot fail for numbers
                let name = serde_json::Value::from(variable.name());
                env.stdout.print(&format!("{{\"variable\":{name},{}\n", stats.trim_start_matches('{')))?;
            }
            Ok(stats) => {
                lines.add_row(row(&variable, &stats));
                has_rows = true;
            }
        }
    }
    if has_rows {
        lines.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(display::ALIGN_RIGHT));
        env.stdout.print(&display::render(&mut lines))?;
    }
    Ok(outcome)
}

/// The named variables, or all numeric ones. Unreadable variables are included so that their errors are reported.
fn selected<'r>(reader: &'r Reader, names: &[String]) -> Result<Vec<Variable<'r>>> {
    let numeric = |variable: &Variable<'_>| {
        variable.problem().is_some() || variable.data_type().is_some_and(|data_type| !data_type.is_text())
    };
    let variables: Vec<Variable<'_>> = match names {
        [] => reader.variables().filter(numeric).collect(),
        names => names.iter().map(|name| reader.variable(name)).collect::<Result<_>>()?,
    };
    reader.check_declared_bytes(variables.iter().copied())?;
    Ok(variables)
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

/// The number with seven significant digits.
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
    fn formats_seven_digits() {
        for (number, expected) in [
            (0.0, "0"),
            (1.0 / 3.0, "0.3333333"),
            (-12_345.678_91, "-12345.68"),
            (1e14, "100000000000000"),
            (1.5e20, "1.500000e20"),
            (2e-7, "2.000000e-7"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(short(number), expected);
        }
    }
}
