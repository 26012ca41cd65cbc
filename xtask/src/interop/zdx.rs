//! Document stores with the crate zippy_data and the Python package built on it, and the golden files.

use crate::interop::{compare_golden, numbers};
use crate::python::Python;
use crate::shell;
use crate::zippy::Zippy;

/// The counts that the script reports, in this order, and the minimum of each.
const COUNTS: [(&str, Minimum); 17] = [
    ("stores of theirs", Minimum::Count),
    ("stores of ours", Minimum::Count),
    ("archives of theirs", Minimum::Count),
    ("archives of ours", Minimum::Count),
    ("documents", Minimum::Count),
    ("documents in Python", Minimum::Count),
    ("lines", Minimum::One),
    ("scanned", Minimum::One),
    ("turns", Minimum::One),
    ("turns among files", Minimum::One),
    ("refused", Minimum::One),
    ("after a kill", Minimum::One),
    ("kills of theirs", Minimum::One),
    ("without line feed", Minimum::One),
    ("beyond the last index", Minimum::One),
    ("kills of ours", Minimum::One),
    ("states beyond the last flush", Minimum::One),
];

/// The minimum of a count.
#[derive(Clone, Copy)]
enum Minimum {
    /// The number of generated stores.
    Count,
    One,
}

pub(crate) fn run(zippy: &Zippy, python: &Python, seed: u64, count: u64) -> Result<(), String> {
    let work = shell::target()?.join("interop/zds");
    shell::empty_directory(&work)?;
    let ours = shell::test_build("zdx-driver")?;
    println!("zippy_data and wharf write {count} stores of random documents each (seed {seed})");
    let mut script = python.script("zippy_interop.py", [zippy.program(), &ours, &work.join("stores")]);
    script.args(["--seed", &seed.to_string(), "--count", &count.to_string()]);
    let report = shell::text(script).map_err(|error| format!("zippy_data and wharf disagree: {error}"))?;
    let reported = numbers(&report)?;
    let mut parts = Vec::new();
    for (name, minimum) in COUNTS {
        let found = reported(name)?;
        let minimum = match minimum {
            Minimum::Count => count,
            Minimum::One => 1,
        };
        if found < minimum {
            return Err(format!("{name}: expected at least {minimum}, compared {found}"));
        }
        parts.push(format!("{found} {name}"));
    }
    println!("both agree on: {}", parts.join(", "));
    golden(zippy, python)
}

/// Files whose bytes vary between runs: they hold times, or follow the order of a hash map or directory.
const UNSTABLE: [&str; 4] = ["/journal.log", "/doc_index.jsonl", "/schemas.jsonl", "/manifest.json"];

/// Writes the golden files again. The bytes of archives vary, as directories have no order.
pub(crate) fn golden(zippy: &Zippy, python: &Python) -> Result<(), String> {
    let fresh = shell::target()?.join("interop/zds/golden");
    let mut script = python.script("zippy_golden.py", [zippy.program()]);
    script.arg(&fresh);
    compare_golden(script, "zds", &fresh, |name| {
        name.ends_with(".zds") || UNSTABLE.iter().any(|suffix| name.ends_with(suffix))
    })
}
