//! `wharf diff`: how two inputs differ.

use std::ffi::OsString;

use container_core::{Error, Result};
use serde_json::Value;
use wharf::Diff;
use wharf::diff::{ColumnDifference, ColumnDifferenceKind, Differences, ValueDifference};
use wharf::hub::convert::{Convert, Report};
use wharf::stats::Scalar;

use super::Outcome;
use super::display::{self, abbreviated, clean, counted, grouped};
use super::env::Env;
use super::select::Selection;
use super::{inputs, progress};

const EXAMPLES: &str = "\
Examples:
  wharf diff adult.idv adult.parquet               does the conversion have the same values?
  wharf diff old.csv new.csv --key id              rows with the same id
  wharf diff a.idv b.csv --relative 1e-6           floats of fewer digits
  wharf diff a.ds b.ds --columns time,rain --rows ..1000

Exit codes: 0 the same; 1 different, or failure; 2 wrong usage.";

/// Compare the columns and rows of two inputs of any formats
///
/// Columns are compared by name: types, metadata that give values their meaning, such as units and slot names, and values. Values are compared by
/// their meaning: the same texts, numbers, times and lists are equal whatever their types, also in dictionaries. A 32-bit float equals a 64-bit one
/// that is the same number or has the same shortest digits. NaN equals NaN, 0 equals -0, null and NaN differ.
///
/// Rows are compared by position, or those with the same --key: then the rows of B are kept in memory, at most 1 GiB.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// First input; - for standard input
    #[arg(value_name = "A")]
    one: OsString,

    /// Other input; - for standard input
    #[arg(value_name = "B")]
    other: OsString,

    /// Compare the rows that have the same value in this column, which must be unique
    #[arg(long, value_name = "COLUMN")]
    key: Option<String>,

    /// Floats are equal if they differ by at most this
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0, value_parser = tolerance)]
    tolerance: f64,

    /// Floats are equal if they differ by at most this, relative to the larger one
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0, value_parser = tolerance)]
    relative: f64,

    /// 0 and -0 differ
    #[arg(long)]
    exact: bool,

    /// Other types are a difference, even if values are the same
    #[arg(long)]
    types: bool,

    /// Maximum number of differing values that are shown
    #[arg(long, value_name = "N", default_value_t = 10)]
    show: usize,

    #[command(flatten)]
    selection: Selection,
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number that is not negative".to_owned()),
    }
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let sides = [&arguments.one, &arguments.other];
    let [one, other] = sides.map(|side| inputs::expand_single(side, "diff with two inputs"));
    let locations = [one?, other?];
    if locations.iter().all(|location| *location == inputs::Location::Stdin) {
        return Err(Error::usage("standard input (-) can be given only once"));
    }
    let selection = arguments.selection.plain()?;
    env.opener.apply(&selection)?;
    let names = locations.each_ref().map(inputs::Location::name);
    let mut reports = [Report::default(), Report::default()];
    let compared = progress::with_line(env.report.terminal, |progress| {
        let [one, other] = locations.map(|location| {
            let mut convert = Convert::default();
            convert.inputs.push(location);
            convert.selection = selection.clone();
            convert
        });
        let mut diff = Diff::of(one.with_progress(progress), other);
        diff.key.clone_from(&arguments.key);
        diff.tolerance.absolute = arguments.tolerance;
        diff.tolerance.relative = arguments.relative;
        diff.tolerance.signed_zero = arguments.exact;
        (diff.exact_types, diff.limit) = (arguments.types, arguments.show);
        diff.run(&mut env.opener, &mut reports)
    });
    let outcomes = reports.iter().map(|report| env.lost(&report.losses));
    let outcome = outcomes.max().unwrap_or(Outcome::Done);
    let differences = compared?;
    if env.json() {
        let json = serde_json::to_string(&differences).unwrap_or_default(); // cannot fail for such members
        env.stdout.print(&format!("{json}\n"))?;
    } else {
        for note in differences.columns.iter().filter(|difference| difference.is_note) {
            env.report.note(line(note, &names));
        }
        let text = describe(&differences, &names, arguments.key.is_some(), env.stdout.terminal);
        env.stdout.print(&text)?;
        if differences.is_same() {
            env.report.note(format!("no differences in {}", counted(differences.rows[0], "row")));
        }
    }
    Ok(if differences.is_same() { outcome } else { Outcome::Failed })
}

fn line(difference: &ColumnDifference, [one, other]: &[String; 2]) -> String {
    let column = format!("column {:?}", difference.column);
    let found =
        |found: &Option<String>| found.as_deref().map(|text| abbreviated(text, 200).into_owned()).unwrap_or_default();
    let (here, there) = (found(&difference.one), found(&difference.other));
    match difference.kind {
        ColumnDifferenceKind::Missing => {
            format!("{column} only in {}", if difference.one.is_some() { one } else { other })
        }
        ColumnDifferenceKind::Metadata if here.is_empty() => format!("{column}: in {other}, {there} ({one})"),
        ColumnDifferenceKind::Order => format!("{column} is column {here} in {one}, {there} in {other}"),
        _ => format!("{column}: {here} in {one}, {there} in {other}"),
    }
}

/// What differs, for people.
fn describe(differences: &Differences, names: &[String; 2], keyed: bool, width: Option<u16>) -> String {
    let mut text = String::new();
    let mut add = |line: String| text.push_str(&format!("{}\n", clean(&line)));
    for difference in differences.columns.iter().filter(|difference| !difference.is_note) {
        add(line(difference, names));
    }
    for ((only, rows), name) in differences.only.iter().zip(differences.rows).zip(names) {
        if *only > 0 {
            let rows = counted(rows, "row");
            add(format!("{} only in {name}, which has {rows}", counted(*only, "row")));
        }
    }
    if differences.differing_rows > 0 {
        add(format!("{} with other values", counted(differences.differing_rows, "row")));
        let mut lines = display::table(width);
        lines.set_header(["column", "differing rows"]);
        for (column, count) in &differences.counts {
            lines.add_row([clean(column).into_owned(), grouped(count)]);
        }
        if let Some(column) = lines.column_mut(1) {
            column.set_cell_alignment(display::ALIGN_RIGHT);
        }
        text.push_str(&display::render(&mut lines));
    }
    if !differences.first.is_empty() {
        let mut lines = display::table(width);
        let [one, other] = names.each_ref().map(|name| clean(name).into_owned());
        lines.set_header([if keyed { "key" } else { "row" }.to_owned(), "column".to_owned(), one, other]);
        for difference in &differences.first {
            lines.add_row(cells(difference));
        }
        text.push_str(&display::render(&mut lines));
    }
    text
}

fn cells(difference: &ValueDifference) -> [String; 4] {
    /// Maximum characters of a value.
    const MAX: usize = 60;
    let plain = |scalar: &Scalar| match serde_json::from_str(scalar.get()) {
        // Quoted where a text could be taken for a number, or for nothing.
        Ok(Value::String(text)) if !text.is_empty() && serde_json::from_str::<Value>(&text).is_err() => {
            abbreviated(&clean(&text), MAX).into_owned()
        }
        _ => abbreviated(&clean(scalar.get()), MAX).into_owned(),
    };
    let row = difference.rows.iter().flatten().next().map(ToString::to_string).unwrap_or_default();
    let [one, other] = match (&difference.column, &difference.rows) {
        (None, [Some(_), _]) => ["row".to_owned(), "no row".to_owned()],
        (None, _) => ["no row".to_owned(), "row".to_owned()],
        _ => difference.values.each_ref().map(|value| value.as_ref().map(plain).unwrap_or_default()),
    };
    let column = difference.column.as_ref().map(|column| clean(column).into_owned());
    [difference.key.as_ref().map_or(row, plain), column.unwrap_or_default(), one, other]
}
