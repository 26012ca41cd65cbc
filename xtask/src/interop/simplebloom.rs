//! Bloom filters with Python's simplebloom, both ways: files byte for byte, answers one by one, and the golden files again.

use crate::interop::golden_again;
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
    let said = shell::text(agree).map_err(|error| format!("not every byte and answer is simplebloom's: {error}"))?;
    if !said.starts_with(&format!("{count} filters, ")) {
        return Err(format!("{count} filters were written, and compared: {said}"));
    }
    print!("ours are the same, byte for byte: {said}");

    let mut ask = python.script("simplebloom_interop.py", ["ask"]);
    ask.arg(&generated);
    let said = shell::text(ask).map_err(|error| format!("simplebloom answers otherwise from our files: {error}"))?;
    println!("simplebloom loads ours: {} answers as before", said.trim());

    golden_again(python, "simplebloom_golden.py", "simplebloom", &golden, &[])
}
