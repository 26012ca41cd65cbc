//! Tables of many columns: what they cost grows as their columns do.

use std::fs;
use std::process::Command;

/// Writes CSV of some columns and three rows.
fn table(path: &str, columns: usize) {
    let line = |cell: &dyn Fn(usize) -> String| (0..columns).map(cell).collect::<Vec<_>>().join(",") + "\n";
    let rows = (0..3).map(|row| line(&|column| (column * 7 + row).to_string()));
    let text: String = std::iter::once(line(&|column| format!("c{column}"))).chain(rows).collect();
    fs::write(path, text).unwrap();
}

/// Runs the command, and says how many seconds processors worked for it: how long it takes depends on what else the machine does.
fn seconds(arguments: &[&str]) -> f64 {
    // The last line of `times` is that of the children: user, system.
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

fn is_linear(forms: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).into_os_string().into_string().unwrap();
    let [few, many] = [5_000, 20_000].map(|columns| {
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
            // What a process takes to begin is no matter of columns.
            assert!(long < short.max(0.1) * 8.0, "{verb} {form}: {short} s for 5,000 columns, {long} s for 20,000");
        }
    }
}

#[test]
fn four_times_the_columns_take_about_four_times_as_long() {
    is_linear(&["parquet", "arrow", "msgpack", "zds"]);
}

#[test]
#[ignore = "it takes longer than all others together"]
fn four_times_the_columns_take_about_four_times_as_long_in_every_format() {
    is_linear(&["arrows", "idv", "ds", "jsonl", "tsv"]);
}
