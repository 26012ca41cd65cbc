//! datadings with the Python package of that name, both ways: samples, keys, all files byte for byte, and the golden files again.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::python::Python;
use crate::shell;

/// Ways in which every set is written by us; from JSON and from structs only some are.
const WAYS_OF_ALL: u64 = 6;

pub(crate) fn run(python: &Python, seed: u64, count: u64) -> Result<(), String> {
    let work = shell::target()?.join("interop/datadings");
    shell::empty_directory(&work)?;
    let directory = work.join("sets");
    shell::make_directory(&directory)?;
    println!("datadings writes {count} sets of random samples (seed {seed}) and real ones, in five ways each");
    let mut write = python.script("datadings_interop.py", ["write"]);
    write.arg(&directory).args(["--seed", &seed.to_string(), "--count", &count.to_string()]);
    let told = numbers(&shell::text(write)?)?;

    let mut ours = shell::cargo(["run", "--quiet", "--release", "--package", "wharf-tests", "--bin"]);
    ours.args(["datadings-interop", "--"]).arg(&directory);
    let found = shell::text(ours).map_err(|error| format!("not all is as datadings has it: {error}"))?;
    let found = numbers(&found)?;
    let all = |name, times| Ok::<_, String>(found(name)? == times * told(name)? && found(name)? > 0);
    // Each set is there in the four ways in which Python has all of it; beside the sets are the shards.
    if found("sets")? != told("sets")? + 1 || !all("samples", 4)? || !all("sharded", 1)? {
        return Err("we have not read every sample of every set that datadings wrote".to_owned());
    }
    let (sets, files) = (told("sets")?, found("files")?);
    println!("we read {} samples of {sets} sets as it does; {files} files of ours have its bytes", found("samples")?);

    let mut check = python.script("datadings_interop.py", ["check"]);
    check.arg(&directory);
    let checked = shell::text(check).map_err(|error| format!("datadings reads something else in ours: {error}"))?;
    let checked = numbers(&checked)?;
    // Raw, and converted in two ways: those are not counted as written.
    let (written, others) = (found("written")?, 3 * sets);
    if checked("datasets")? != written + others || written < WAYS_OF_ALL * sets {
        return Err(format!("we wrote {written} and {others} datasets, datadings read {}", checked("datasets")?));
    }
    println!("datadings reads {} datasets of ours, {} samples, as its own", checked("datasets")?, checked("samples")?);
    golden(python, &work.join("golden"))
}

/// The numbers in the one line of JSON that a program printed.
fn numbers(line: &str) -> Result<impl Fn(&str) -> Result<u64, String> + use<>, String> {
    let line: Value = serde_json::from_str(line).map_err(|error| format!("\"{line}\" is no JSON: {error}"))?;
    Ok(move |name: &str| line.get(name).and_then(Value::as_u64).ok_or_else(|| format!("no number {name} in {line}")))
}

/// The script makes the golden files again, every byte of them.
fn golden(python: &Python, fresh: &Path) -> Result<(), String> {
    let rows = shell::text(python.script("datadings_golden.py", [fresh]))?;
    let kept = shell::root().join("tests/golden/datadings");
    let page = shell::read(&kept.join("PROVENANCE.md"))?;
    if let Some(row) = rows.lines().find(|row| !page.lines().any(|line| line == *row)) {
        return Err(format!("golden/datadings/PROVENANCE.md has no row \"{row}\""));
    }
    let names = |directory: &Path| -> Result<BTreeSet<String>, String> {
        let names = shell::entries(directory)?.iter().map(|path| shell::file_name(path)).collect::<BTreeSet<_>>();
        Ok(names.into_iter().filter(|name| name != "PROVENANCE.md" && !name.starts_with('.')).collect())
    };
    let (made, there) = (names(fresh)?, names(&kept)?);
    if let Some(name) = made.symmetric_difference(&there).next() {
        return Err(format!("golden/datadings/{name} is there and is not made again, or the other way round"));
    }
    for name in &made {
        let bytes = |path: std::path::PathBuf| {
            std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        if bytes(fresh.join(name))? != bytes(kept.join(name))? {
            return Err(format!("golden/datadings/{name} is not what datadings makes now"));
        }
    }
    println!("{} golden files made again, the same", made.len());
    Ok(())
}
