//! Stores of documents with the crate zippy_data and the Python package built on it, and the golden files again.

use crate::interop::{made_again, numbers};
use crate::python::Python;
use crate::shell;
use crate::zippy::Zippy;

/// What was compared, in the order in which it is told, and what has to be there of it.
const COUNTED: [(&str, Least); 17] = [
    ("stores of theirs", Least::Count),
    ("stores of ours", Least::Count),
    ("archives of theirs", Least::Count),
    ("archives of ours", Least::Count),
    ("documents", Least::Count),
    ("documents in Python", Least::Count),
    ("lines", Least::One),
    ("scanned", Least::One),
    ("turns", Least::One),
    ("turns among files", Least::One),
    ("refused", Least::One),
    ("after a kill", Least::One),
    ("kills of theirs", Least::One),
    ("without line feed", Least::One),
    ("beyond the last index", Least::One),
    ("kills of ours", Least::One),
    ("states beyond the last flush", Least::One),
];

/// How many of a thing are the least.
#[derive(Clone, Copy)]
enum Least {
    /// As many as are generated.
    Count,
    One,
}

pub(crate) fn run(zippy: &Zippy, python: &Python, seed: u64, count: u64) -> Result<(), String> {
    let work = shell::target()?.join("interop/zds");
    shell::empty_directory(&work)?;
    let ours = shell::test_build("zdx-driver")?;
    println!("zippy_data and we write {count} stores of random documents each (seed {seed})");
    let mut script = python.script("zippy_interop.py", [zippy.program(), &ours, &work.join("stores")]);
    script.args(["--seed", &seed.to_string(), "--count", &count.to_string()]);
    let told = shell::text(script).map_err(|error| format!("zippy_data and we do not agree: {error}"))?;
    let told = numbers(&told)?;
    let mut words = Vec::new();
    for (what, least) in COUNTED {
        let found = told(what)?;
        let least = match least {
            Least::Count => count,
            Least::One => 1,
        };
        if found < least {
            return Err(format!("of {what} {found} were compared, where {least} are the least"));
        }
        words.push(format!("{found} {what}"));
    }
    println!("the same to both: {}", words.join(", "));
    golden(zippy, python)
}

/// Files whose bytes differ from run to run: they hold times, or come in the order of a hash map or of a directory.
const LOOSE: [&str; 4] = ["/journal.log", "/doc_index.jsonl", "/schemas.jsonl", "/manifest.json"];

/// The script makes the golden files again: archives have no bytes of their own, as directories have no order.
pub(crate) fn golden(zippy: &Zippy, python: &Python) -> Result<(), String> {
    let fresh = shell::target()?.join("interop/zds/golden");
    let mut script = python.script("zippy_golden.py", [zippy.program()]);
    script.arg(&fresh);
    made_again(script, "zds", &fresh, |name| name.ends_with(".zds") || LOOSE.iter().any(|loose| name.ends_with(loose)))
}
