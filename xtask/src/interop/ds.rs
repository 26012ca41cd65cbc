//! ds with the Python package ds-format, both ways: every value, files byte for byte, changes by commands, and the golden files again.

use crate::interop::{golden_again, numbers};
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
    let told = numbers(&shell::text(write)?)?;

    let mut ours = shell::program(shell::test_build("ds-interop")?);
    ours.arg(&directory);
    let found = shell::text(ours).map_err(|error| format!("not all is as ds-format has it: {error}"))?;
    let found = numbers(&found)?;
    let elements = found("elements")? + found("misplaced")?;
    if found("datasets")? != told("datasets")? || elements != told("elements")? || elements == 0 {
        return Err("we have not read every element of every dataset that ds-format wrote".to_owned());
    }
    println!(
        "we read {} elements of {} variables as they were written; {} are not where ds-format says",
        found("elements")?,
        told("variables")?,
        found("misplaced")?
    );
    if found("equal")? == 0 || found("written")? < 2 * told("datasets")? {
        return Err("we have not written every dataset in every way".to_owned());
    }
    println!("we wrote {} files; all {} that can be have ds-format's bytes", found("written")?, found("equal")?);

    let mut check = python.script("ds_interop.py", ["check"]);
    check.arg(&directory);
    let checked = shell::text(check).map_err(|error| format!("ds-format reads something else in ours: {error}"))?;
    let checked = numbers(&checked)?;
    if checked("datasets")? != found("written")? || checked("same")? == 0 {
        return Err(format!("we wrote {} files, ds-format read {}", found("written")?, checked("datasets")?));
    }
    println!(
        "ds-format reads {} variables in ours as they were; of {} more its reader gives nothing",
        checked("same")?,
        checked("variables")? - checked("same")?
    );
    changed(python, seed, count)?;
    golden(python)
}

/// Commands of ours and of ds-format do the same to the same files.
fn changed(python: &Python, seed: u64, count: u64) -> Result<(), String> {
    let work = shell::target()?.join("interop/ds-changed");
    shell::empty_directory(&work)?;
    let wharf = shell::test_build("wharf")?;
    let mut compare = python.script("ds_edit_interop.py", [&wharf, &work]);
    compare.args(["--seed", &seed.to_string(), "--count", &count.to_string()]);
    let told =
        shell::text(compare).map_err(|error| format!("what we change is not what ds-format changes: {error}"))?;
    let told = numbers(&told)?;
    // Once for each dataset.
    for command in ["datasets", "rename", "rm", "create", "merge_new"] {
        if told(command)? != count {
            return Err(format!("of {count} datasets {} went through {command}", told(command)?));
        }
    }
    for command in ["rename_dim", "swap_dims", "rename_attr", "rm_attr", "set", "set_attr", "cut", "merge", "equal"] {
        if told(command)? == 0 && count > 0 {
            return Err(format!("{command} was not compared"));
        }
    }
    println!(
        "rename, rm, set, merge and cuts of {count} datasets: {} outputs have the bytes of ds-format's, {} but for lengths \
         that it misstates or the order of members; {} changes are refused by both",
        told("equal")?,
        told("alike")?,
        told("refused")?
    );
    Ok(())
}

/// The script makes the golden files again, every byte of them.
pub(crate) fn golden(python: &Python) -> Result<(), String> {
    let fresh = shell::target()?.join("interop/ds");
    golden_again(python, "ds_golden.py", "ds", &fresh.join("golden"), &[])?;
    golden_again(python, "ds_time.py", "ds-time", &fresh.join("time"), &[])?;
    // HDF5 leaves the holes of structures as it finds them in memory.
    golden_again(python, "ds_netcdf_golden.py", "netcdf", &fresh.join("netcdf"), &["rich.nc"])
}
