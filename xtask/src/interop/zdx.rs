//! Stores of documents with the crate zippy_data and the Python package built on it, and the golden files again.

use crate::interop::made_again;
use crate::python::Python;
use crate::shell;
use crate::zippy::Zippy;

pub(crate) fn run(zippy: &Zippy, python: &Python) -> Result<(), String> {
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
