//! Bloom filters with Python's simplebloom, both ways: files byte for byte, every answer, and the golden files.

use crate::interop::compare_golden_script;
use crate::python::Python;
use crate::shell;

pub(crate) fn run(python: &Python, seed: u64, count: u64) -> Result<(), String> {
    let work = shell::target()?.join("interop/simplebloom");
    let (generated, golden) = (work.join("generated"), work.join("golden"));
    shell::empty_directory(&generated)?;
    println!("simplebloom writes {count} filters of random shapes and keys (seed {seed})");
    let mut write = python.script("simplebloom_interop.py", ["write"]);
    write.arg(&generated).args([seed.to_string(), count.to_string()]);
    shell::run(write)?;

    let mut agree = shell::program(shell::test_build("examples/agree")?);
    agree.arg(&generated);
    let report = shell::text(agree).map_err(|error| format!("bytes or answers differ from simplebloom: {error}"))?;
    if !report.starts_with(&format!("{count} filters, ")) {
        return Err(format!("expected {count} filters, compared: {report}"));
    }
    print!("our files are identical: {report}");

    let mut ask = python.script("simplebloom_interop.py", ["ask"]);
    ask.arg(&generated);
    let answers =
        shell::text(ask).map_err(|error| format!("simplebloom gives other answers from our files: {error}"))?;
    println!("simplebloom loads our files: {} answers as before", answers.trim());

    compare_golden_script(python, "simplebloom_golden.py", "simplebloom", &golden, &[])
}
