//! Bloom filters with Python's simplebloom, both ways: files byte for byte, answers one by one, and the golden files again.

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

    let mut agree =
        shell::cargo(["run", "--quiet", "--release", "--package", "simplebloom", "--example", "agree", "--"]);
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

    shell::empty_directory(&golden)?;
    let mut again = python.script("simplebloom_golden.py", [&golden]);
    again.env_remove("SIMPLEBLOOM_USEPY");
    shell::run(again)?;
    let kept = shell::root().join("tests/golden/simplebloom");
    let mut names: Vec<String> = shell::entries(&kept)?.iter().map(|path| shell::file_name(path)).collect();
    names.retain(|name| name != "PROVENANCE.md");
    let made: Vec<String> = shell::entries(&golden)?.iter().map(|path| shell::file_name(path)).collect();
    if names != made {
        return Err(format!("the golden files are {names:?}, and the script makes {made:?}"));
    }
    for name in &names {
        let bytes = |path: std::path::PathBuf| {
            std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        if bytes(kept.join(name))? != bytes(golden.join(name))? {
            return Err(format!("golden/simplebloom/{name} is not what simplebloom makes now"));
        }
    }
    println!("{} golden files made again, the same", names.len());
    Ok(())
}
