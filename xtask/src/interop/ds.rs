//! ds with the Python package ds-format, both ways: every value, files byte for byte, and the golden files again.

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

    let mut ours = shell::cargo(["run", "--quiet", "--release", "--package", "wharf-tests", "--bin"]);
    ours.args(["ds-interop", "--"]).arg(&directory);
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
    golden(python)
}

/// The script makes the golden files again, every byte of them.
pub(crate) fn golden(python: &Python) -> Result<(), String> {
    let fresh = shell::target()?.join("interop/ds");
    golden_again(python, "ds_golden.py", "ds", &fresh.join("golden"), &[])?;
    golden_again(python, "ds_time.py", "ds-time", &fresh.join("time"), &[])?;
    // HDF5 leaves the holes of structures as it finds them in memory.
    golden_again(python, "ds_netcdf_golden.py", "netcdf", &fresh.join("netcdf"), &["rich.nc"])
}
