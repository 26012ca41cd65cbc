//! Tables of many columns: time and memory are linear in the number of columns.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use container_core::testkit::cases;

use crate::common;

/// Writes CSV of some columns and three rows.
fn table(path: &str, columns: usize) {
    let line = |cell: &dyn Fn(usize) -> String| (0..columns).map(cell).collect::<Vec<_>>().join(",") + "\n";
    let rows = (0..3).map(|row| line(&|column| (column * 7 + row).to_string()));
    let text: String = std::iter::once(line(&|column| format!("c{column}"))).chain(rows).collect();
    fs::write(path, text).unwrap();
}

/// Runs the command and returns its processor time in seconds, which does not depend on the load of the machine.
fn seconds(arguments: &[&str]) -> f64 {
    // The last line of `times` has the user and system time of children.
    let script = r#""$0" "$@" >/dev/null || exit; times"#;
    let wharf = env!("CARGO_BIN_EXE_wharf");
    let ran = Command::new("sh").args(["-c", script, wharf]).args(arguments).output().unwrap();
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    let times = String::from_utf8(ran.stdout).unwrap();
    let of = |time: &str| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
    };
    times.lines().last().unwrap().split_whitespace().map(of).sum()
}

/// Converts a table, and one with four times as many columns, to each format and reads them: the times must have about the same ratio.
fn is_linear(forms: &[&str], few: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).into_os_string().into_string().unwrap();
    let [few, many] = [few, few * 4].map(|columns| {
        let text = path(&format!("{columns}.csv"));
        table(&text, columns);
        text
    });
    let back = path("back.jsonl");
    for &form in forms {
        let of = |text: &str| {
            let there = format!("{text}.{form}");
            let mut write = vec!["convert", text, &there];
            match form {
                "ds" => write.extend(["--dim", "row"]),
                "msgpack" => write.push("--number"),
                _ => {}
            }
            [
                ("write", seconds(&write)),
                ("read", seconds(&["convert", &there, &back, "--force"])),
                ("info", seconds(&["info", "--json", &there])),
                ("verify", seconds(&["verify", &there])),
            ]
        };
        for ((verb, short), (_, long)) in of(&few).into_iter().zip(of(&many)) {
            // Ignores the constant time to start a process.
            assert!(long < short.max(0.1) * 8.0, "{verb} {form}: {short} s for {few}, {long} s for {many}");
        }
    }
}

#[test]
fn time_is_linear_in_columns() {
    is_linear(&["parquet", "arrow", "msgpack", "zds"], 5_000);
}

#[test]
fn time_is_linear_in_columns_for_every_format() {
    is_linear(&["arrows", "idv", "ds", "jsonl", "tsv"], cases(500, 5_000));
}

/// Runs the command and returns its output and peak memory.
fn peak(arguments: &[&str]) -> (String, u64) {
    let mut child = common::wharf(arguments).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let printed = std::thread::spawn(move || {
        let mut text = Vec::new();
        out.read_to_end(&mut text).map(|_| text)
    });
    let mut most = 0;
    let ended = loop {
        // The peak so far; missing once the process has ended.
        let status = fs::read_to_string(&status).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        most = line.map_or(most, |kib| kib.parse::<u64>().unwrap() << 10);
        match child.try_wait().unwrap() {
            Some(ended) => break ended,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    assert!(ended.success(), "{arguments:?}: {ended}");
    (String::from_utf8(printed.join().unwrap().unwrap()).unwrap(), most)
}

#[test]
#[cfg(target_os = "linux")]
fn the_description_of_a_wide_table_takes_little_memory() {
    let columns = cases(100_000, 1_000_000);
    // For a million columns this is 516 MB, their file included, and 40 MB of an unoptimized program with all formats.
    let most = (96 << 20) + columns as u64 * 415;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).into_os_string().into_string().unwrap();
    let text = path("t.csv");
    table(&text, columns);
    for form in cases(&["csv"][..], &["csv", "jsonl", "msgpack", "zds", "ds"]) {
        let file = path(&format!("t.{form}"));
        match *form {
            "csv" => {}
            "ds" => drop(peak(&["convert", &text, &file, "--dim", "row"])),
            "msgpack" => drop(peak(&["convert", &text, &file, "--number"])),
            _ => drop(peak(&["convert", &text, &file])),
        }
        for json in [false, true] {
            let arguments = ["info", &file, "--json"];
            let (printed, bytes) = peak(&arguments[..2 + usize::from(json)]);
            assert!(bytes < most, "{form}, json {json}: {bytes} bytes");
            // A dataset is shown whole, as `ncdump` does.
            let last = format!("c{}", columns - 1);
            // Keys and ids are an additional column.
            let more = cases(80_000, 980_000) + usize::from(matches!(*form, "msgpack" | "zds"));
            let more = format!("… and {},{:03} more columns", more / 1_000, more % 1_000);
            assert!(printed.contains(if json || *form == "ds" { &last } else { &more }), "{form}, json {json}");
        }
    }
}
