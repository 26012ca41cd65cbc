//! Tables of many columns: what they cost grows as their columns do.

use std::fs;
use std::time::{Duration, Instant};

use crate::common::run;

/// Writes CSV of some columns and three rows.
fn table(path: &std::path::Path, columns: usize) {
    let line = |cell: &dyn Fn(usize) -> String| (0..columns).map(cell).collect::<Vec<_>>().join(",") + "\n";
    let rows = (0..3).map(|row| line(&|column| (column * 7 + row).to_string()));
    let text: String = std::iter::once(line(&|column| format!("c{column}"))).chain(rows).collect();
    fs::write(path, text).unwrap();
}

fn timed(arguments: &[&str]) -> Duration {
    let start = Instant::now();
    let ran = run(arguments);
    assert_eq!(ran.code(), 0, "{arguments:?}: {}", ran.err());
    start.elapsed()
}

#[test]
fn four_times_the_columns_take_about_four_times_as_long() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).into_os_string().into_string().unwrap();
    let [few, many] = [5_000, 20_000].map(|columns| {
        let text = path(&format!("{columns}.csv"));
        table(text.as_ref(), columns);
        text
    });
    for form in ["parquet", "arrow", "arrows", "idv", "ds", "msgpack", "zds", "jsonl", "csv"] {
        let there = |text: &str| format!("{text}.{form}");
        let mut more: Vec<&str> = Vec::new();
        match form {
            "ds" => more.extend(["--dim", "row"]),
            "msgpack" => more.push("--number"),
            _ => {}
        }
        // The shorter of two: others may need the machine.
        let best = |arguments: &dyn Fn(&str) -> Vec<String>, text: &str| {
            let arguments = arguments(text);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            timed(&arguments).min(timed(&arguments))
        };
        let owned = |arguments: &[&str]| arguments.iter().map(|&argument| argument.to_owned()).collect::<Vec<_>>();
        let write = |text: &str| owned(&[&["convert", text, &there(text), "--force"], more.as_slice()].concat());
        let read = |text: &str| owned(&["convert", &there(text), &path("back.jsonl"), "--force"]);
        let info = |text: &str| owned(&["info", "--json", &there(text)]);
        let verify = |text: &str| owned(&["verify", &there(text)]);
        let verbs: [(&str, &dyn Fn(&str) -> Vec<String>); 4] =
            [("write", &write), ("read", &read), ("info", &info), ("verify", &verify)];
        for (verb, arguments) in verbs {
            let (short, long) = (best(arguments, &few), best(arguments, &many));
            // What a process takes to begin is no matter of columns.
            let bound = short.max(Duration::from_millis(30)) * 8;
            assert!(long < bound, "{verb} {form}: {short:?} for 5,000 columns, {long:?} for 20,000");
        }
    }
}
