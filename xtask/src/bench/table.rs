//! Result tables in Markdown, for terminals and pages.

use serde_json::{Value, json};

/// One comparison. The ratio says how many times faster, or smaller, ours is.
pub(crate) struct Row {
    pub(crate) work: String,
    /// What it is compared with.
    pub(crate) beside: String,
    pub(crate) theirs: f64,
    pub(crate) ours: f64,
    pub(crate) unit: &'static str,
    pub(crate) ratio: f64,
    /// The minimum ratio.
    pub(crate) target: Option<f64>,
}

impl Row {
    /// Whether the target is met, with a tolerance of 0.005.
    pub(crate) fn met(&self) -> Option<bool> {
        self.target.map(|target| self.ratio >= target - 0.005)
    }

    fn json(&self) -> Value {
        json!({"work": self.work, "beside": self.beside, "theirs": self.theirs, "ours": self.ours, "unit": self.unit,
            "ratio": self.ratio, "target": self.target, "met": self.met()})
    }
}

/// Prints the rows as a table or as JSON lines.
pub(crate) fn print(rows: &[Row], json: bool) {
    if json {
        for row in rows {
            println!("{}", row.json());
        }
        return;
    }
    let head = ["work", "beside", "theirs", "ours", "unit", "ratio", "at least", ""].map(str::to_owned);
    let mut cells = vec![head.to_vec()];
    cells.extend(rows.iter().map(|row| {
        let verdict = row.met().map_or("", |met| if met { "met" } else { "NOT MET" });
        let target = row.target.map_or(String::new(), |target| format!("{target:.2}"));
        vec![
            row.work.clone(),
            row.beside.clone(),
            format_figure(row.theirs),
            format_figure(row.ours),
            row.unit.to_owned(),
            format!("{:.2}", row.ratio),
            target,
            verdict.to_owned(),
        ]
    }));
    for line in aligned(&cells) {
        println!("{line}");
    }
    let met = rows.iter().filter(|row| row.met() == Some(true)).count();
    let targets = rows.iter().filter(|row| row.target.is_some()).count();
    println!("{met} of {targets} targets met");
}

/// Formats a number with four significant digits.
fn format_figure(value: f64) -> String {
    let digits: usize = match value {
        100.0.. => 1,
        10.0..100.0 => 2,
        1.0..10.0 => 3,
        0.1..1.0 => 4,
        _ => 5,
    };
    format!("{value:.digits$}")
}

/// Formats a table with aligned columns; the first row is the header.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        widths.resize(row.len().max(widths.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |row: &Vec<String>| {
        let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("| {} |", cells.join(" | "))
    };
    let mut lines: Vec<_> = rows.iter().map(line).collect();
    let rule: Vec<_> = widths.iter().map(|width| "-".repeat(*width)).collect();
    lines.insert(1.min(lines.len()), line(&rule));
    lines
}

/// The median; of an even number of values, the lower of the two in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len().checked_sub(1)? / 2;
    values.get(middle).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_columns() {
        let rows = [vec!["a".to_owned(), "head".to_owned()], vec!["Größe".to_owned(), "1".to_owned()]];
        assert_eq!(aligned(&rows), ["| a     | head |", "| ----- | ---- |", "| Größe | 1    |"]);
    }

    #[test]
    fn median_is_a_measured_value() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), Some(2.0));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn compares_ratio_with_target() {
        let row = |ratio, target| Row {
            work: String::new(),
            beside: String::new(),
            theirs: 1.0,
            ours: 1.0,
            unit: "s",
            ratio,
            target,
        };
        assert_eq!(row(2.29, Some(2.3)).met(), Some(false));
        assert_eq!(row(2.3, Some(2.3)).met(), Some(true));
        assert_eq!(row(0.1, None).met(), None);
    }
}
