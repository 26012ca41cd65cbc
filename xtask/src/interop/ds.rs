//! ds with the Python package ds-format, both ways: every value, files byte for byte, edits by commands, and the golden files.

use crate::interop::{compare_golden_script, numbers};
use crate::python::Python;
use crate::shell;

pub(crate) fn run(python: &Python, seed: u64, count: u64) -> Result<(), String> {
    let work = shell::target()?.join("interop/ds");
    shell::empty_directory(&work)?;
    let directory = work.join("sets");
    shell::make_directory(&directory)?;
    println!("ds-format writes {count} random datasets (seed {seed})");
    let mut write = python.script("ds_interop.py", ["write"]);
    write.arg(&directory).args(["--seed", &seed.to_string(), "--count", &count.to_string()]);
    let reported = numbers(&shell::text(write)?)?;

    let mut ours = shell::program(shell::test_build("ds-interop")?);
    ours.arg(&directory);
    let compared = shell::text(ours).map_err(|error| format!("we do not agree with ds-format: {error}"))?;
    let compared = numbers(&compared)?;
    let elements = compared("elements")? + compared("misplaced")?;
    if compared("datasets")? != reported("datasets")? || elements != reported("elements")? || elements == 0 {
        return Err("some elements written by ds-format were not read".to_owned());
    }
    println!(
        "read the same {} elements of {} variables; {} are not where ds-format says",
        compared("elements")?,
        reported("variables")?,
        compared("misplaced")?
    );
    if compared("equal")? == 0 || compared("written")? < 2 * reported("datasets")? {
        return Err("some datasets were not written in every way".to_owned());
    }
    println!(
        "wrote {} files; all {} comparable ones are identical to those of ds-format",
        compared("written")?,
        compared("equal")?
    );

    let mut check = python.script("ds_interop.py", ["check"]);
    check.arg(&directory);
    let checked = shell::text(check).map_err(|error| format!("ds-format reads other values in our files: {error}"))?;
    let checked = numbers(&checked)?;
    if checked("datasets")? != compared("written")? || checked("same")? == 0 {
        return Err(format!("we wrote {} files, ds-format read {}", compared("written")?, checked("datasets")?));
    }
    println!(
        "ds-format reads the same values of {} variables in our files; its reader returns nothing for {} more",
        checked("same")?,
        checked("variables")? - checked("same")?
    );
    edits(python, seed, count)?;
    golden(python)
}

/// Runs the editing commands of both on the same files.
fn edits(python: &Python, seed: u64, count: u64) -> Result<(), String> {
    let work = shell::target()?.join("interop/ds-changed");
    shell::empty_directory(&work)?;
    let wharf = shell::test_build("wharf")?;
    let mut compare = python.script("ds_edit_interop.py", [&wharf, &work]);
    compare.args(["--seed", &seed.to_string(), "--count", &count.to_string()]);
    let output = shell::text(compare).map_err(|error| format!("edits differ from those of ds-format: {error}"))?;
    let reported = numbers(&output)?;
    // Once for each dataset.
    for command in ["datasets", "rename", "rm", "create", "merge_new"] {
        if reported(command)? != count {
            return Err(format!("{command}: expected {count} datasets, compared {}", reported(command)?));
        }
    }
    for command in ["rename_dim", "swap_dims", "rename_attr", "rm_attr", "set", "set_attr", "cut", "merge", "equal"] {
        if reported(command)? == 0 && count > 0 {
            return Err(format!("{command} was not compared"));
        }
    }
    println!(
        "rename, rm, set, merge and selections of {count} datasets: {} outputs are identical to those of ds-format, {} differ only \
         in lengths that it misstates or in the order of members; both reject {} edits",
        reported("equal")?,
        reported("alike")?,
        reported("refused")?
    );
    Ok(())
}

/// Writes the golden files again and compares every byte.
pub(crate) fn golden(python: &Python) -> Result<(), String> {
    let fresh = shell::target()?.join("interop/ds");
    compare_golden_script(python, "ds_golden.py", "ds", &fresh.join("golden"), &[])?;
    compare_golden_script(python, "ds_time.py", "ds-time", &fresh.join("time"), &[])?;
    // HDF5 writes the padding of structures uninitialized.
    compare_golden_script(python, "ds_netcdf_golden.py", "netcdf", &fresh.join("netcdf"), &["rich.nc"])
}
