//! datadings with the Python package of that name, both ways: samples, keys, all files byte for byte, and the golden files.

use crate::interop::{compare_golden_script, numbers};
use crate::python::Python;
use crate::shell;

/// The number of ways in which we write every dataset. From JSON and from structs we write only some.
const WRITE_WAYS: u64 = 6;

pub(crate) fn run(python: &Python, seed: u64, count: u64) -> Result<(), String> {
    let work = shell::target()?.join("interop/datadings");
    shell::empty_directory(&work)?;
    let directory = work.join("sets");
    shell::make_directory(&directory)?;
    println!("datadings writes {count} datasets of random samples (seed {seed}) and real ones, in five ways each");
    let mut write = python.script("datadings_interop.py", ["write"]);
    write.arg(&directory).args(["--seed", &seed.to_string(), "--count", &count.to_string()]);
    let reported = numbers(&shell::text(write)?)?;

    let mut ours = shell::program(shell::test_build("datadings-interop")?);
    ours.arg(&directory);
    let compared = shell::text(ours).map_err(|error| format!("we do not agree with datadings: {error}"))?;
    let compared = numbers(&compared)?;
    let all = |name, times| Ok::<_, String>(compared(name)? == times * reported(name)? && compared(name)? > 0);
    // Python writes every dataset in four ways. The shards are one more dataset.
    if compared("sets")? != reported("sets")? + 1 || !all("samples", 4)? || !all("sharded", 1)? {
        return Err("some samples written by datadings were not read".to_owned());
    }
    let (sets, files) = (reported("sets")?, compared("files")?);
    println!("read the same {} samples of {sets} datasets; {files} of our files are identical", compared("samples")?);

    let mut check = python.script("datadings_interop.py", ["check"]);
    check.arg(&directory);
    let checked = shell::text(check).map_err(|error| format!("datadings reads other values in our files: {error}"))?;
    let checked = numbers(&checked)?;
    // Raw, and converted in two ways, which do not count as written.
    let (written, others) = (compared("written")?, 3 * sets);
    if checked("datasets")? != written + others || written < WRITE_WAYS * sets {
        return Err(format!("we wrote {written} and {others} datasets, datadings read {}", checked("datasets")?));
    }
    println!(
        "datadings reads the same values in {} of our datasets, {} samples",
        checked("datasets")?,
        checked("samples")?
    );
    compare_golden_script(python, "datadings_golden.py", "datadings", &work.join("golden"), &[])
}
