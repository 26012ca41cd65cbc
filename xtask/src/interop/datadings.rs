//! datadings with the Python package of that name, both ways: samples, keys, all files byte for byte, and the golden files again.

use crate::interop::{golden_again, numbers};
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

    let mut ours = shell::program(shell::test_build("datadings-interop")?);
    ours.arg(&directory);
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
    golden_again(python, "datadings_golden.py", "datadings", &work.join("golden"), &[])
}
