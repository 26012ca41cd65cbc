//! `wharf stats`: statistics of columns.

use std::ffi::OsString;

use container_core::Result;
use serde_json::Value;
use wharf::Stats;
use wharf::hub::convert::{Convert, Report};
use wharf::stats::{ColumnStats, Scalar};

use super::Outcome;
use super::display::{self, abbreviated, clean, grouped};
use super::env::Env;
use super::select::Selection;
use super::{inputs, progress};

const EXAMPLES: &str = "\
Examples:
  wharf stats adult.idv
  wharf stats adult.idv age Label
  wharf stats 'day-*.parquet' --top 20
  wharf stats model.nc temperature pressure
  wharf stats climate.ds --json | jq '{column, mean}'";

/// Show statistics of columns: count, nulls, distinct and frequent values, extremes, mean, deviation, median, percentiles
///
/// Nulls and NaN are counted, and excluded from everything else. std is the population standard deviation. p50, p68, p95 and p99 are the central
/// intervals that contain 50, 68, 95 and 99 percent of the values. Members of structs are a.b, elements of vectors and lists a[]; lengths of texts
/// are in bytes. The mean of times is a time.
///
/// Everything is exact, except for columns with many distinct values (more than 131,072, or 8 MiB of text): their median, percentiles, distinct and
/// frequent values are estimates, marked with ~; --json has their errors. Quantiles of ds and NetCDF variables are always exact.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Input file, or a quoted glob pattern such as 'day-*.idv' for several that are one table; - for standard input
    #[arg(value_name = "FILE")]
    file: OsString,

    /// Columns, or variables [default: all; of ds and NetCDF all numeric ones]
    #[arg(value_name = "COLUMN")]
    names: Vec<String>,

    /// Maximum number of frequent values of each column
    #[arg(long, value_name = "N", default_value_t = 5)]
    top: usize,

    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    part: super::ds::PartOptions,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let locations = inputs::expand_one(&arguments.file)?;
    let mut selection = arguments.part.select(arguments.selection.plain()?)?;
    selection.columns.splice(0..0, arguments.names.iter().cloned());
    env.opener.apply(&selection)?;
    let mut convert = Convert::default();
    (convert.inputs, convert.selection) = (locations, selection);
    let mut report = Report::default();
    let computed = progress::with_line(env.report.terminal, |progress| {
        let mut stats = Stats::of(convert.with_progress(progress));
        stats.top = arguments.top;
        stats.run(&mut env.opener, &mut report)
    });
    let mut outcome = env.lost(&report.losses);
    let mut columns = Vec::new();
    for column in computed? {
        match column {
            Err(error) => outcome = outcome.max(env.fail(&error)),
            Ok(column) if env.json() => {
                let json = serde_json::to_string(&column).unwrap_or_default(); // cannot fail for such members
                env.stdout.print(&format!("{json}\n"))?;
            }
            Ok(column) => columns.push(column),
        }
    }
    if !columns.is_empty() {
        let text = table(&columns, env.stdout.terminal);
        env.stdout.print(&text)?;
    }
    Ok(outcome)
}

/// Maximum characters of a text in the table.
const MAX_CHARACTERS: usize = 24;

/// A row per column. What no column has is left out.
fn table(columns: &[ColumnStats], width: Option<u16>) -> String {
    const LEFT: [&str; 3] = ["column", "type", "frequent"];
    let rows: Vec<Vec<(&str, String)>> = columns.iter().map(row).collect();
    let headers = rows.first().map(|row| row.iter().map(|(header, _)| *header).collect::<Vec<_>>());
    let is_shown = |index: &usize| rows.iter().any(|row| row.get(*index).is_some_and(|(_, cell)| !cell.is_empty()));
    let headers = headers.unwrap_or_default();
    let shown: Vec<usize> = (0..headers.len()).filter(is_shown).collect();
    let mut lines = display::table(width);
    lines.set_header(shown.iter().filter_map(|index| headers.get(*index)));
    for row in &rows {
        lines.add_row(shown.iter().filter_map(|index| row.get(*index).map(|(_, cell)| cell)));
    }
    for (column, header) in lines.column_iter_mut().zip(shown.iter().filter_map(|index| headers.get(*index))) {
        if !LEFT.contains(header) {
            column.set_cell_alignment(display::ALIGN_RIGHT);
        }
    }
    display::render(&mut lines)
}

fn row(stats: &ColumnStats) -> Vec<(&'static str, String)> {
    let about = if stats.estimates.is_some() { "~" } else { "" };
    let plain = |scalar: &Option<Scalar>| scalar.as_ref().map(text).unwrap_or_default();
    let estimate = |text: String| if text.is_empty() { text } else { format!("{about}{text}") };
    let ends = |ends: &Option<[Scalar; 2]>| match ends {
        Some([low, high]) => estimate(format!("{} .. {}", text(low), text(high))),
        None => String::new(),
    };
    let lengths = stats.lengths.map(|lengths| match (lengths.min, lengths.max) {
        (min, max) if min == max => grouped(min),
        (min, max) => format!("{} .. {}", grouped(min), grouped(max)),
    });
    let count = |count: u64| if count == 0 { String::new() } else { grouped(count) };
    let repeated = stats.top.iter().flatten().filter(|(_, count)| *count > 1);
    let top = repeated.map(|(value, count)| format!("{} ({about}{})", text(value), grouped(count)));
    vec![
        ("column", clean(&stats.column).into_owned()),
        ("type", abbreviated(&clean(&stats.data_type), MAX_CHARACTERS).into_owned()),
        ("count", grouped(stats.count)),
        ("nulls", grouped(stats.nulls)),
        ("NaN", count(stats.nan)),
        ("distinct", estimate(stats.distinct.map(grouped).unwrap_or_default())),
        ("min", plain(&stats.min)),
        ("max", plain(&stats.max)),
        ("mean", plain(&stats.mean)),
        ("std", plain(&stats.std)),
        ("median", estimate(plain(&stats.median))),
        ("p68", ends(&stats.p68)),
        ("p95", ends(&stats.p95)),
        ("p99", ends(&stats.p99)),
        ("length", lengths.unwrap_or_default()),
        ("frequent", top.collect::<Vec<_>>().join(", ")),
    ]
}

/// Floats with seven significant digits, integers with all, texts without quotes.
fn text(scalar: &Scalar) -> String {
    let json = scalar.get();
    match serde_json::from_str(json) {
        Ok(Value::String(text)) => abbreviated(&clean(&text), MAX_CHARACTERS).into_owned(),
        Ok(Value::Number(number)) if json.contains(['.', 'e']) => short(number.as_f64().unwrap_or(f64::NAN)),
        _ => abbreviated(&clean(json), MAX_CHARACTERS).into_owned(),
    }
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
